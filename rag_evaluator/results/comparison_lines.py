"""A comparison as sentences and cells of a table."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rag_evaluator.results.overview import Grid

if TYPE_CHECKING:
    from rag_evaluator.results.comparison import ComparedMetric, Comparison, LabelDifference, RowMatch

FIGURES = ("first", "second", "difference", "won/tie/lost")
TESTS, POWER = ("p", "p Holm"), ("detectable",)


def parts_of(comparison: "Comparison") -> Iterator[Grid | str]:
    """What must be known first, then the tables."""
    yield from comparison.caveats
    for judge in comparison.judges:
        yield f"{judge.run}, judge{'' if judge.metric is None else f' of {judge.metric}'}: {judge.words}"
    for match in comparison.matches:
        yield from match_lines(comparison, match)
        title, needed = f"{comparison.runs[0]} → {match.run}", f"rows\nfor {comparison.effect:g}"
        columns = [("metric", "left"), *_right(*FIGURES, *TESTS, *POWER, needed)]
        yield Grid(title, columns, list(map(_cells, _lines_of(comparison.metrics, match.run))))
        if groups := _lines_of(comparison.groups, match.run):
            rows = [
                [f"{line.group_by}: {line.group}", str(line.figures.difference.n), *_figures(line)] for line in groups
            ]
            columns = [("group", "left"), *_right("rows"), ("metric", "left"), *_right(*FIGURES)]
            yield Grid("groups, not tested", columns, rows)
    for difference in comparison.labels:
        yield _of_labels(difference)


def match_lines(comparison: "Comparison", match: "RowMatch") -> Iterator[str]:
    """How many rows belong together, and what does not count."""
    baseline = comparison.runs[0]
    yield f"{match.matched} rows of {baseline} and {match.run} matched by '{comparison.on}'"
    if match.unmatched_a or match.unmatched_b:
        yield f"  without a partner: {match.unmatched_a} rows of {baseline}, {match.unmatched_b} of {match.run}"
    if match.repeated:
        yield f"  {match.repeated} of them have several answers, whose scores are averaged"
    for line in _lines_of(comparison.metrics, match.run):
        if line.figures.only_a or line.figures.only_b:
            only = f"{line.figures.only_a} only in {baseline}, {line.figures.only_b} only in {match.run}"
            yield f"  {line.figures.metric}: rows that one run scored: {only}"


def number(value: float | None, digits: int = 3) -> str:
    """A figure of a table; `-` where there is none."""
    return "-" if value is None else f"{value:.{digits}f}"


def _of_labels(line: "LabelDifference") -> str:
    start = f"{line.metric}, by people's labels of {line.both} rows, {line.run}: "
    if line.figures is None or line.figures.label_mean is None:
        return start + (line.reason or (line.figures.ci_method if line.figures else ""))
    mean = line.figures
    only = f"; {mean.labels_only}" if mean.labels_only else ""
    return start + f"difference {number(mean.label_mean)} [{number(mean.ci_low)}, {number(mean.ci_high)}]{only}"


def _lines_of(lines: Sequence["ComparedMetric"], run: str) -> list["ComparedMetric"]:
    return [line for line in lines if line.run == run]


def _right(*headings: str) -> list[tuple[str, str]]:
    return [(heading, "right") for heading in headings]


def _cells(line: "ComparedMetric") -> list[str]:
    figures = line.figures
    needed = "-" if figures.rows_needed is None else f"{figures.rows_needed:,}"
    tests = [number(p, 4) for p in (figures.p, figures.p_holm)]
    return [*_figures(line), *tests, number(figures.smallest_difference), needed]


def _figures(line: "ComparedMetric") -> list[str]:
    figures, difference = line.figures, line.figures.difference
    interval = "-"
    if difference.mean is not None:
        interval = f"{number(difference.mean)} [{number(difference.ci_low)}, {number(difference.ci_high)}]"
    counts = f"{figures.wins}/{figures.ties}/{figures.losses}"
    return [figures.metric, number(figures.mean_a), number(figures.mean_b), interval, counts]
