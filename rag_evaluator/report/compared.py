"""The comparison of runs as HTML: caveats, paired differences, groups, labels, the rows that changed most."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from rag_evaluator.files import JsonDict, folder_names
from rag_evaluator.results import (
    DECISION_RULE,
    DIRECTIONS,
    ChangedScore,
    ComparedMetric,
    Comparison,
    Direction,
    from_to,
    verdict_words,
    word,
)
from rag_evaluator.statistics import TIE, MetricComparison

from .charts import ChartPoint, chart, chart_labels, dots, why_no_charts
from .pages import render, rows_link
from .table import difference_key, group_name
from .texts import ShownText, difference, shown

GROUPS = 40  # in a chart
FOLDED = 300  # characters of a response before the fold
SIGNS: Mapping[Direction, str] = {"worse": "▼ ", "better": "▲ ", "differs": "", "missing": "○ "}


def comparison_html(comparison: Comparison) -> str:
    """A comparison as a fragment of a page; rows that changed lead to `#row=N`, the row of the baseline."""
    baseline, *compared = comparison.runs
    names = folder_names(comparison.runs)
    pairs = [_pair(comparison, run, (names[baseline], names[run])) for run in compared]
    return render(
        "comparison.html",
        baseline=names[baseline],
        pairs=pairs,
        comparison=comparison,
        caveats=[_without_folders(caveat, names) for caveat in comparison.caveats],
        no_charts=why_no_charts(),
        word=word,
        verdict=verdict_words,
        from_to=from_to,
        decision_rule=DECISION_RULE,
    )


def _without_folders(sentence: str, names: Mapping[str, str]) -> str:
    """The sentence with the names of runs for their paths: a page is given to others."""
    for path in sorted(names, key=len, reverse=True):
        sentence = sentence.replace(path, names[path])
    return sentence


def _pair(comparison: Comparison, run: str, names: Sequence[str]) -> dict[str, Any]:
    """A run against the baseline, whose name comes first. Any: see `comparison.html`."""
    lines = [line.figures for line in comparison.metrics if line.run == run]
    lower = {line.metric for line in lines if line.scale.better == "lower"}
    groups: dict[str, list[ComparedMetric]] = {}
    for line in comparison.groups:
        if line.run == run:
            groups.setdefault(line.group_by or "", []).append(line)
    return {
        "name": names[1],
        "decided": next(decided for decided in comparison.decisions if decided.run == run),
        "match": next(match for match in comparison.matches if match.run == run),
        "lines": list(_lines(lines, comparison.runs.index(run))),
        "groups": [
            (column, of_column, _group_charts(of_column), _group_links(column, of_column))
            for column, of_column in groups.items()
        ],
        "labels": [line for line in comparison.labels if line.run == run],
        "changed": list(_changed(comparison, run, names, lower)),
        "lower": lower,
    }


def _group_links(column: str, lines: Sequence[ComparedMetric]) -> dict[str, str]:
    """Group -> the address of its rows."""
    groups = dict.fromkeys(line.group or "" for line in lines)
    return {group: rows_link(**{f"group:{column}": group_name(group)}) for group in groups}


def _changed(
    comparison: Comparison, run: str, names: Sequence[str], lower: Collection[str]
) -> Iterator[dict[str, Any]]:
    """The rows that changed most in each direction, and links to all of them.

    Args:
        names: of the baseline and the run.
        lower: metrics of which lower is better.
    """
    place = comparison.runs.index(run)
    links: dict[Direction, list[tuple[str, str]]] = {}
    for line in (line.figures for line in comparison.metrics if line.run == run):
        for direction, count, href in _links(line, place):
            if count:
                links.setdefault(direction, []).append((line.metric, href))
    for direction, words in DIRECTIONS.items():
        changes = [change for change in comparison.changed if (change.run, change.direction) == (run, direction)]
        if changes or direction in links:
            shown = [(change, list(_responses(change, names))) for change in changes]
            title = f"{SIGNS[direction]}{words.capitalize()}"
            yield {"direction": direction, "title": title, "rows": shown, "links": links.get(direction, ())}


def _links(line: MetricComparison, place: int) -> Iterator[tuple[Direction, int, str]]:
    """How many rows became worse and better, and what shows them; `place`: of the run."""
    key = difference_key(line.metric, place)
    fell = rows_link(metric=key, max=f"{-TIE:f}", sort=key)
    rose = rows_link(metric=key, min=f"{TIE:f}", sort=key, descending="1")
    worse, better = (rose, fell) if line.scale.better == "lower" else (fell, rose)
    yield "worse", line.losses, worse
    yield "better", line.wins, better


def _lines(lines: Sequence[MetricComparison], place: int) -> Iterator[tuple[MetricComparison, JsonDict, list[Any]]]:
    """Each metric, its bar, and links to its rows: count, sign, word, address. Any: see `comparison.html`."""
    ends = [
        abs(end) / line.scale.width
        for line in lines
        for end in (line.difference.mean, line.difference.ci_low, line.difference.ci_high)
        if end is not None
    ]
    most = max(ends, default=0.0) or 1.0
    for line in lines:
        it = line.difference
        marks = {"mean": it.mean, "ci_low": it.ci_low, "ci_high": it.ci_high, "zero": 0.0}
        places = {
            name: None if end is None else f"{50 + 50 * end / line.scale.width / most:.1f}%"
            for name, end in marks.items()
        }
        links = [(count, SIGNS[word], word, href) for word, count, href in _links(line, place) if count]
        yield line, {"mark": {"band": None, "threshold": None, **places}, "ends": ()}, links


def _responses(change: ChangedScore, names: Sequence[str]) -> Iterator[tuple[str, ShownText]]:
    """The responses of both sides, where there are any; where they are the same, the contexts that came and went."""
    first = change.response_a
    second = change.response_b
    if first is not None and first == second:
        yield "Response, the same in both runs", shown(first, FOLDED)
        contexts = change.contexts_a, change.contexts_b
        for what, name, own, other in zip(("Went", "Came"), names, contexts, contexts[::-1], strict=True):
            for place, context in enumerate(own, start=1):
                if context not in other:
                    heading = f"{what}: context {place} of {name}"
                    yield heading, shown(context, FOLDED)
        return
    marked = difference(first or "", second or "")
    for heading, text, pieces in (
        (names[0], first, marked.first),
        (names[1], second, marked.second),
    ):
        if text is not None:
            yield heading, shown(pieces if first and second else text, FOLDED)


def _dot(name: str, line: MetricComparison) -> ChartPoint:
    return ChartPoint(name, line.difference.mean, line.difference.ci_low, line.difference.ci_high)


def _group_charts(lines: Sequence[ComparedMetric]) -> dict[str, Markup]:
    """The differences within the groups of a column: a chart for each metric."""
    names = list(dict.fromkeys(line.group or "" for line in lines))[:GROUPS]
    labels = dict(zip(names, chart_labels(names), strict=True))
    panels: dict[str, list[ChartPoint]] = {}
    for line in lines:
        if line.group in labels:
            panels.setdefault(line.figures.metric, []).append(_dot(labels[line.group], line.figures))
    return {metric: chart(dots(rows), f"Paired differences by group: {metric}") for metric, rows in panels.items()}
