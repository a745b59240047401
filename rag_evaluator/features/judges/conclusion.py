"""Which judge to use, in sentences."""

from collections.abc import Iterator, Mapping, Sequence

from rag_evaluator.files import Json
from rag_evaluator.results import counted, listed, more_labels, with_ends_beside, with_own_ends
from rag_evaluator.statistics import LEVEL

from .figures import LEAST_COVERAGE, LEAST_RARER, LENGTH, WORDS

FASTER = 1.2  # times as fast, from which on a judge is called so
RULES = (
    "AUC: of a row that people accept and one that they reject, how often the first has the higher score; equal scores "
    "and a pair with a missing score count one half. All labelled rows count, so that no judge wins by silence.",
    f"ranked: judges with scores for at least {LEAST_COVERAGE:.0%} of the labelled rows, where each kind of label has "
    f"at least {LEAST_RARER}.",
    f"differences: their {LEVEL:.0%} intervals hold together for all pairs of judges, counting words and length "
    "(DeLong with Student's t by clusters of the rarer kind, single-step max-t). Beats: the interval is above 0. The "
    "interval of an AUC is its own (Newcombe).",
    "faster: a judge that beats counting words where the best one does, and whose lower end is above minus the margin "
    "(judges.margin) of the best. About so many more labels: with these a difference like this is shown with a chance "
    "of 80 %.",
    "balanced accuracy and kappa: by the threshold of the configuration, else by one that the other folds of clusters "
    "chose; rows with a score. Seconds include loading.",
)


def sentences_of(what: str, figures: Json, seconds: Mapping[str, float], margin: float) -> Iterator[str]:
    """The sentences of a metric, the answer first.

    Args:
        what: the metric, or `sentences of` it.
        figures: see `figures_of`.
        seconds: judge -> seconds a row; one that was not measured is not there.
        margin: a difference that does not matter.
    """
    rows: Mapping[str, Json] = figures["rows"]
    judges = [name for name, row in rows.items() if row["is_judge"] and row["ranked"]]
    if figures["not_ranked"] or not judges:
        yield f"No judge is ranked for {what}: {figures['not_ranked'] or 'none has enough scores'}."
    else:
        yield from _ranked(what, judges, figures)
        yield from _advice(judges, figures["differences"], seconds, margin)
    for first, second in _same(judges, figures["differences"]):
        yield f"{first} and {second} are the same for {what}: their scores are equal in every row."
    for name, row in rows.items():
        if row["scored"] < LEAST_COVERAGE * figures["labels"]:
            share = f"{row['scored']} of {counted(figures['labels'], 'label')}"
            yield f"{name} is shown, not ranked: it has scores for {share}."


def _ranked(what: str, judges: Sequence[str], figures: Json) -> Iterator[str]:
    """Who has the highest AUC, and whether that beats counting."""
    rows = figures["rows"]
    differences = figures["differences"]
    best = judges[0]
    area = with_own_ends(rows[best]["auc"])
    if WORDS not in differences:
        few = "words can be counted in too few rows"
        yield f"{best} has the highest AUC for {what}, {area} by {figures['labels']} labels; {few}."
        return
    words = rows[WORDS]["auc"]
    beaten_by = [name for name in judges if _beats(name, WORDS, differences)]
    difference = differences[best][WORDS]
    if not beaten_by:
        more = "" if difference["value"] <= 0 else f": {more_labels(difference['more_labels'])}"
        yield (
            f"No judge is shown to beat counting words for {what}, AUC {with_own_ends(words)} by "
            f"{figures['labels']} labels. Of the judges {best} has the highest, {area} "
            f"(difference {_beside(difference, 0)}){more}."
        )
        return
    yield (
        f"{best} has the highest AUC for {what}, {area} by {figures['labels']} labels; counting words has "
        f"{words['value']:.2f} (difference {_beside(difference, 0)})."
    )
    if best not in beaten_by:
        yield f"Shown to beat counting words: {listed(beaten_by)}, not {best}."
    if LENGTH in differences and not _beats(best, LENGTH, differences):
        length = with_own_ends(rows[LENGTH]["auc"])
        yield f"{best} is not shown to beat length, {length}: short responses are accepted here."


def _advice(judges: Sequence[str], differences: Json, seconds: Mapping[str, float], margin: float) -> Iterator[str]:
    """Whether a faster judge does as well; nothing where nobody beats counting words, as that costs nothing."""
    best = judges[0]
    if WORDS in differences and not any(_beats(name, WORDS, differences) for name in judges):
        return
    times = {name: seconds[best] / seconds[name] for name in judges if name in seconds and best in seconds}
    faster = sorted((name for name in times if times[name] >= FASTER), key=lambda name: -times[name])
    within = f"within {margin:g} of it"
    for name in faster:
        difference = differences[name][best]
        if difference["ci_low"] > -margin and (WORDS not in differences or _beats(name, WORDS, differences)):
            shown = f"(difference {_beside(difference, -margin)})"
            yield f"{name} is {within} {shown} and {_as_fast(times[name])}: take {name}."
            return
    unsettled = [name for name in faster if differences[name][best]["ci_high"] > -margin]
    for name in unsettled[:1]:
        difference = differences[name][best]
        if difference["ci_low"] > -margin:
            yield f"{name}, {_as_fast(times[name])}, is {within}, and not shown to beat counting words."
        else:
            shown = f"(difference {_beside(difference, -margin)})"
            more = more_labels(difference["more_within"])
            yield f"Not settled whether {name}, {_as_fast(times[name])}, is {within} {shown}: {more}."
    if faster and not unsettled:
        yield f"Faster ones are lower by more than {margin:g}: take {best}."
    others = [
        name for name in judges[1:] if not _beats(best, name, differences) and not differences[best][name]["same"]
    ]
    if others and not faster:
        most = [differences[best][name]["more_labels"] for name in others]
        needed = None if None in most else max(most)
        yield f"Not settled whether {best} is better than {listed(others)}: {more_labels(needed)}."


def _same(judges: Sequence[str], differences: Json) -> Iterator[tuple[str, str]]:
    for place, first in enumerate(judges if differences else ()):
        yield from ((first, second) for second in judges[place + 1 :] if differences[first][second]["same"])


def _beats(first: str, second: str, differences: Json) -> bool:
    return bool(differences[first][second]["ci_low"] > 0)


def _as_fast(times: float) -> str:
    """`twice as fast`, `3.4 times as fast`."""
    return "twice as fast" if f"{times:.1f}" == "2.0" else f"{times:.{0 if times >= 10 else 1}f} times as fast"


def _beside(area: Json, limit: float) -> str:
    """A difference with so many digits that each end is on its side of a limit."""
    return with_ends_beside([limit], area["value"], area["ci_low"], area["ci_high"])
