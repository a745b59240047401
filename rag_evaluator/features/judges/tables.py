"""The tables of judges, the same in a terminal and on the page."""

from collections.abc import Iterator, Mapping, Sequence

from rag_evaluator.files import Json
from rag_evaluator.results import Grid, with_ends

from .candidates import NamedJudge
from .figures import WORDS
from .running import Cost

LEFT = ("judge",)
AGREEMENT = ("AUC", "above counting words", "below the best", "balanced accuracy", "kappa", "scored", "flagged")
WORK = ("metrics", "thinking", "reasons", "rows an hour", "s a row", "CPU s a row", "memory", "tokens a row")
GB = 1e9


def agreement_grid(what: str, figures: Json, work: Mapping[str, Json]) -> Grid:
    """Return a line for each judge and baseline, the highest AUC first; not ranked ones have no differences."""
    rows = figures["rows"]
    best = next((name for name, row in rows.items() if row["ranked"] and row["is_judge"]), "")
    lines = []
    for name, row in rows.items():
        differences = figures["differences"].get(name, {})
        below = figures["differences"].get(best, {}).get(name)
        lines.append(
            [
                name if row["ranked"] or figures["not_ranked"] else f"{name} (not ranked)",
                _shown(row["auc"]),
                _shown(differences.get(WORDS)),
                _shown(below),
                _shown(row["balanced_accuracy"]),
                _shown(row["kappa"]),
                f"{row['scored']}/{figures['labels']}",
                f"{work[name]['flagged']:.0%}" if name in work else "",
            ]
        )
    columns = [(LEFT[0], "left"), *((heading, "right") for heading in AGREEMENT)]
    return Grid(f"{what}: agreement with labels, [95 % interval]", columns, lines, ("below the best", "kappa"))


def pairs_grid(what: str, figures: Json) -> Grid:
    """Return a line for each pair of ranked ones, with the difference on rows that both scored, which is secondary."""
    differences = figures["differences"]
    order = [name for name in figures["rows"] if name in differences]
    lines = [
        [first, second, _shown(area), _shown(area["both"]), str(area["both"]["rows"]) if area["both"] else "-"]
        for place, first in enumerate(order)
        for second in order[place + 1 :]
        if (area := differences[first][second])
    ]
    headings = ("difference of the AUCs", "secondary: on rows that both scored", "rows")
    columns = [(LEFT[0], "left"), ("less", "left"), *((heading, "right") for heading in headings)]
    return Grid(f"{what}: differences; those of all labelled rows hold together", columns, lines)


def work_grid(
    candidates: Sequence[NamedJudge], costs: Mapping[str, Cost], work: Mapping[str, Mapping[str, Json]]
) -> Grid:
    """Return how each judge was asked, and what it took. `work`: metric -> judge -> see `work_of`."""
    lines = [list(_work_line(candidate, costs.get(candidate.name), work)) for candidate in candidates]
    columns = [(LEFT[0], "left"), *((heading, "left" if heading in WORK[:3] else "right") for heading in WORK)]
    return Grid("what each judge took, loading included", columns, lines)


def _work_line(candidate: NamedJudge, cost: Cost | None, work: Mapping[str, Mapping[str, Json]]) -> Iterator[str]:
    about = candidate.about
    yield candidate.name
    yield ", ".join(candidate.chosen)
    yield from (about["thinking"], about["reasons"])
    if cost is None:
        yield from ("-",) * 4
    else:
        yield f"{3600 / cost.seconds:,.0f}"
        yield from (f"{value:.2f}" for value in (cost.seconds, cost.cpu))
        yield f"{cost.memory / GB:.1f} GB"
    tokens = sum(judges[candidate.name]["tokens"] for judges in work.values() if candidate.name in judges)
    yield f"{tokens:,.0f}" if tokens else "-"


def _shown(area: Json | None) -> str:
    if area is None or area["value"] is None:
        return "-"
    return "the same" if area.get("same") else with_ends(area["value"], area["ci_low"], area["ci_high"])
