"""What a comparison says, in sentences: what is shown, what is equal within a margin, what is not settled."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain

from rag_evaluator.files import folder_names
from rag_evaluator.statistics import ALPHA, MetricComparison, Verdict

from .aligned import Aligned, differing_conditions, row_match, unlike_rows
from .changes import ChangedScore, from_to
from .comparison import ComparedMetric, Decision, LabelDifference, RefusalDifference, RowMatch, word
from .conclusion import (
    Conclusion,
    about,
    figure,
    judged_by,
    listed,
    next_command,
    whole_ranges,
    with_ends,
    with_interval,
)
from .flags import MANY_FLAGGED, MUCH
from .overview import counted
from .rows import row_name
from .trust import doubts_of, useful_metrics

WITHIN: Mapping[Verdict, str] = {
    "different, but less than the margin": "Different, but less than",
    "equal within the margin": "Equal within",
}
DIFFERENCE_RULE = (
    "Shown: p after Holm, over the {tests} of this comparison, is at most {alpha}. p is the larger one of two: that of "
    "the interval of the paired difference, below {alpha} where the 95 % interval excludes 0, and that of a test which "
    "knows that a few rows may fall much though none of these did. Intervals are for {level:g} %. Not settled: all "
    "others. Equal in all rows: no row has another score in the second run; other rows may. Equal within the margin: "
    "both ends of the 95 % interval lie inside a margin that was given beforehand. The metric "
    "that is named is the one whose difference is the largest share of its range. May be better: not settled, though "
    "the interval of this difference alone excludes 0. Rows that would settle a difference this large: for a power of "
    "0.8 after the correction for {tests}, if rows differ as much as these do; of a difference below {effect} the rows "
    "that {effect} needs are named instead, by this metric alone."
)
LABEL_RULE = (
    "By people's labels: p belongs to the interval of the difference of the mean labels, which the scores narrow where "
    "they help. Shown: p after Holm, over the {tests} by labels of this comparison, is at most {alpha}. Intervals are "
    "for {level:g} %. Labels that a difference needs: for a power of 0.8, of this metric alone, if the true "
    "difference is the one found, and the interval narrows with the root of their number. Labels of texts that are "
    "equal in both runs count as equal. A margin is for scores only."
)
FEW_ROWS = 0.9  # share of the matched rows below which it is said how many rows a metric was compared in
LEAST_TO_TELL = 10  # rows whose spread says how many would settle a difference
NAMED = 3  # rows to read before deciding
MOST_UNSCORED = 0.05  # share of the rows scored in the other run that a run which is named may lack
DECISION_RULE = (
    "The line below the first sentence names a run if it is shown to be better in a metric, and worse in none, by the "
    "scores and by people's labels. It names none where judge or other conditions differ, where more than "
    f"{MUCH:.0%} of the rows have other questions or references, where the judge's work is doubtful in more than "
    f"{MANY_FLAGGED:.0%} of the rows or people's labels show that it is worse than chance, and where the run has no "
    f"score in more than {MOST_UNSCORED:.0%} of the other run's rows, or in so many that with the worst score there "
    "its lead would be gone. It names the rows whose scores fell, or rose, most. A row is called by its id, else by "
    "the number of its line in scores.jsonl; where the two runs have it in different lines, by that of the run that is "
    "named."
)


def conclude_comparison(
    first: Aligned,
    others: Sequence[Aligned],
    lines: Sequence[ComparedMetric],
    effect: float,
    level: float,
    labels: Sequence[LabelDifference] = (),
    following: Sequence[str] = (),
    refusals: Sequence[RefusalDifference] = (),
) -> Conclusion:
    """The sentences about each run against the first, those of people's labels first, and the command that shows rows.

    Args:
        lines: of all runs, tested together.
        effect: what `rows_needed` is for.
        labels: of all runs, tested together.
        following: what the next command has after the folders.
        refusals: of all runs.
    """
    names = folder_names([side.run.name for side in (first, *others)])
    sentences = list(conclude_labels(names, labels, lambda place: row_name(place, first.run.samples[place].row)))
    for side in others:
        figures = [line.figures for line in lines if line.run == side.run.name]
        known = [run.manifest for run in (first.run, side.run) if run.manifest.get("signatures")]
        metrics = [line.metric for line in figures]
        differing = differing_conditions(known[0], known[1], metrics) if len(known) == 2 else {}
        useful = useful_metrics(first.run) & useful_metrics(side.run)  # both judges
        judged = partial(judged_by, known if differing else known[-1:], useful=useful)
        scores = " by the scores" * any(line.run == side.run.name for line in labels)
        matched = row_match(first, side).matched
        several = len(others) > 1
        name = names[side.run.name]
        sides = names[first.run.name], name
        tests = counted(len(lines), "difference" if several else "metric")
        said = conclude_pair(sides, figures, matched, effect, tests, judged, bool(differing), scores)
        said = chain(said, (it.words(name, names[first.run.name]) for it in refusals if it.run == side.run.name))
        sentences += (f"{name}: {line}" if several and not line.startswith(f"{name} ") else line for line in said)
    folders = [side.run.folder for side in (first, *others) if side.run.folder is not None]
    is_report = len(folders) == len(others) + 1  # tables from elsewhere have none
    seen = next_command(("report", *folders, *following)) if is_report else ""
    tested = [line for line in labels if line.tested is not None]
    families = {DIFFERENCE_RULE: len(lines), **({LABEL_RULE: len(tested)} if labels else {})}
    limits = {"level": 100 * level, "alpha": ALPHA, "effect": figure(effect)}
    rules = [rule.format(**limits, tests=counted(tests, "difference")) for rule, tests in families.items()]
    return Conclusion(sentences, seen, rules)


def decisions_of(
    first: Aligned,
    others: Sequence[Aligned],
    lines: Sequence[ComparedMetric],
    changed: Sequence[ChangedScore],
    meanings: Mapping[str, str],
    labels: Sequence[LabelDifference],
    on: str,
) -> Iterator[Decision]:
    """`B. Not settled: context_recall. Read rows Q010 and Q031, where B lost.`: what is shown, and what to read first.

    One for each run but the first, the baseline.

    Args:
        lines, changed, labels: of all runs.
        meanings: metric -> what its score says, where that is known.
        on: the column that rows are matched on.
    """
    names = folder_names([side.run.name for side in (first, *others)])
    baseline = names[first.run.name]
    for side in others:
        run = side.run.name
        figures = [line.figures for line in lines if line.run == run]
        people = [line.tested for line in labels if line.run == run and line.tested is not None]
        better, worse = (
            [*_shown_as(kind, figures), *(f"{metric} by people's labels" for metric in _shown_as(kind, people))]
            for kind in ("better", "worse")
        )
        named: str | None = None
        if not better and not worse:
            parts = ["Neither run is shown to be better."]
        elif whys := list(_objections(first, side, [line.metric for line in figures], on)):
            parts = [f"No run is named: {'; '.join(whys)}."]
        elif better and worse:
            parts = [f"Neither: {names[run]} is better in {listed(better)}, and worse in {listed(worse)}."]
        else:
            named = run if better else first.run.name
            parts = [f"{names[named]}."]
            if why := next(_lacking(figures, row_match(first, side), bool(better)), ""):
                parts = [f"No run is named: {names[named]} is better, but {why}."]
                named = None
        if unsettled := [line.metric for line in figures if line.verdict == "not settled"]:
            parts.append(f"Not settled: {listed(unsettled)}.")
        against, loser = ("better", baseline) if worse and not better else ("worse", names[run])
        of_run = [change for change in changed if (change.run, change.direction) == (run, against)][:NAMED]
        if rows := list(dict.fromkeys(change.name for change in of_run)):
            lines_of = f" of {baseline}" if any(change.lines_differ for change in of_run) else ""
            parts.append(f"Read {'row' if len(rows) == 1 else 'rows'} {listed(rows)}{lines_of}, where {loser} lost.")
        yield Decision(run, " ".join(parts), _in_rows(names[run], figures, meanings), named)


def _shown_as(kind: str, lines: Iterable[MetricComparison]) -> list[str]:
    """The metrics that are shown to be `better`, or `worse`, and not within a margin that does not matter."""
    return [line.metric for line in lines if line.verdict == "shown" and word(line) == kind]


def _objections(first: Aligned, second: Aligned, metrics: list[str], on: str) -> Iterator[str]:
    """Why scores of two runs decide nothing, whatever they are."""
    runs = first.run, second.run
    manifests = [run.manifest for run in runs if run.manifest.get("signatures")]
    if len(manifests) == 2 and (differing := differing_conditions(manifests[0], manifests[1], metrics)):
        yield f"the runs differ in {listed(differing)}"
    matched = len(first.places.keys() & second.places.keys())
    if any(count > MUCH * matched for count, _ in unlike_rows(first, second, on)):
        yield f"more than {MUCH:.0%} of the rows have other questions or references"
    if any(doubts_of(run, metrics) for run in runs):
        yield "the judge's work is doubtful"


def _lacking(lines: Sequence[MetricComparison], match: RowMatch, is_second: bool) -> Iterator[str]:
    """Why the better run is not named for want of scores that the other run has; `is_second`: it is not the first."""
    for line in lines:
        absent = line.only_a + match.unmatched_a if is_second else line.only_b + match.unmatched_b
        both = line.difference.n
        lead = abs(line.difference.mean or 0.0) / line.scale.width
        if absent > MOST_UNSCORED * (both + absent) or (line.verdict == "shown" and absent >= lead * both):
            yield f"it has no score of {line.metric} in {absent:,} of {counted(both + absent, 'row')} of the other run"


def _in_rows(run: str, lines: Sequence[MetricComparison], meanings: Mapping[str, str]) -> str:
    """`In rouge_score (runs of words) B scores better in 14 of 40 rows, worse in 5, the same in 21.`; empty if in none.

    It is about the metric that the first sentence about scores names first; empty where nobody says which of its scores
    are better, too.
    """
    known = [line for line in lines if line.difference.mean is not None]
    shown = sorted(
        (line for line in known if line.verdict == "shown"),
        key=lambda line: (not line.scale.is_directed, not line.is_better),
    )
    rest = [line for line in known if line.verdict == "not settled"]
    first = shown or [line for line in known if line.verdict in WITHIN] or [_largest(rest)[0] for _ in rest]
    if not first or not first[0].scale.is_directed or not (first[0].wins or first[0].losses):
        return ""
    line = first[0]
    rows = counted(line.wins + line.losses + line.ties, "row")
    means = f" ({meanings[line.metric]})" if line.metric in meanings else ""
    better = f"In {line.metric}{means} {run} scores better in {line.wins:,} of {rows}"
    return f"{better}, worse in {line.losses:,}, the same in {line.ties:,}."


def conclude_pair(
    names: tuple[str, str],
    lines: Sequence[MetricComparison],
    matched: int,
    effect: float,
    tests: str,
    judged: Callable[[Iterable[str]], str] = lambda metrics: "",
    differently: bool = False,
    scores: str = "",
) -> Iterator[str]:
    """The sentences about a run against the baseline.

    Args:
        names: of the baseline and the run.
        lines: its metrics, tested.
        matched: rows that both have.
        effect: what `rows_needed` is for.
        tests: what p is corrected for, such as `5 metrics`.
        judged: tells who judged some metrics, see `judged_by`.
        differently: whether the baseline was judged by another one.
        scores: the words `by the scores` where a sentence about labels comes first; else empty.
    """
    known = [line for line in lines if line.difference.mean is not None]
    shown = [line for line in known if line.verdict == "shown"]
    if shown:
        by = judged(line.metric for line in shown)
        yield f"{names[1]} {listed(_shown(shown, differently), most=len(shown))}{by}."
    for line in known:
        if line.verdict in WITHIN:
            difference = f"{line.metric} {with_interval(line.difference, 3)}"
            yield f"{WITHIN[line.verdict]} the margin of {line.margin:g}: {difference}{judged([line.metric])}."
    rest = [line for line in known if line.verdict == "not settled"]
    same = [line for line in known if line.verdict == "equal in all rows"]
    if rest:
        largest, _ = _largest(rest)
        is_all = len(rest) + len(same) == len(known)
        may = f"Not settled{scores}: {_may(largest, names, differently)}{judged([largest.metric])}."
        figures = f"{_in_shared_rows(largest, tests)} {_needed(largest, effect)}".rstrip()
        yield f"{may if is_all else 'Nothing else is settled:'} {figures}"
    if same:
        which = "no score" if len(same) == len(known) else f"no score of {listed(line.metric for line in same)}"
        yield f"In {_rows(same)} {which} differs."
    yield from _coverage(lines, matched)


def _rows(lines: Sequence[MetricComparison]) -> str:
    """`30 rows`: how many count in each metric; `20 to 30 rows` where these differ."""
    least, most = (end(line.difference.n for line in lines) for end in (min, max))
    return f"{least:,} to " * (least < most) + counted(most, "row")


def _largest(lines: Sequence[MetricComparison]) -> tuple[MetricComparison, str]:
    """The largest difference as a share of its range: `faithfulness differs by 0.10 [-0.04, 0.23]`."""
    largest = max(lines, key=lambda line: abs(line.difference.mean or 0.0) / line.scale.width)
    which = f"{largest.metric} differs by" if len(lines) == 1 else f"the largest difference is {largest.metric}"
    return largest, f"{which} {with_interval(largest.difference)}"


def _shown(lines: Sequence[MetricComparison], differently: bool = False) -> Iterator[str]:
    """`is better in faithfulness by 0.18 [0.02, 0.34]`; `scores better` where runs were judged differently."""
    unknown = [line for line in lines if not line.scale.is_directed]
    for is_better in (True, False):
        group = [line for line in lines if line.is_better == is_better and line.scale.is_directed]
        verb = "is better" if is_better else "is worse"
        if differently:
            verb = "scores better" if is_better else "scores worse"
        if group:
            yield f"{verb} in {listed((_by(line) for line in group), most=len(group))}"
    if unknown:
        differences = (f"{line.metric} by {with_interval(line.difference)}" for line in unknown)
        yield f"differs in {listed(differences, most=len(unknown))}"


def _by(line: MetricComparison) -> str:
    """A difference without its sign: the verb says the direction."""
    low, high = sorted(abs(end or 0.0) for end in (line.difference.ci_low, line.difference.ci_high))
    return f"{line.metric} by {with_ends(abs(line.difference.mean or 0.0), low, high)}"


def _may(line: MetricComparison, names: tuple[str, str], differently: bool) -> str:
    """`B may be better than A`, where the interval excludes 0; else `B may be better or worse than A`."""
    low = line.difference.ci_low or 0.0
    high = line.difference.ci_high or 0.0
    verb = "score" if differently else "be"
    words = "better" if line.is_better else "worse"
    if low <= 0 <= high:
        words = "better or worse"
    if not line.scale.is_directed:
        return f"{names[1]} may differ from {names[0]}"
    return f"{names[1]} may {verb} {words} than {names[0]}"


def _in_shared_rows(line: MetricComparison, tests: str) -> str:
    """`faithfulness 0.18 → 0.38 in 32 shared rows (+0.20 [0.02, 0.38]; p 0.17 after correction for 5 metrics).`"""
    means = line.mean_a or 0.0, line.mean_b or 0.0
    before, after = from_to(*means, 2) if means[0] != means[1] else map(figure, means)
    sign = "+" if (line.difference.mean or 0.0) > 0 else ""
    corrected = "" if tests.startswith("1 ") else f" after correction for {tests}"
    p = "" if line.p_holm is None else f"; p {_p(line.p_holm)}{corrected}"
    rows = f"{line.difference.n:,} shared {'row' if line.difference.n == 1 else 'rows'}"
    return f"{line.metric} {before} → {after} in {rows} ({sign}{with_interval(line.difference)}{p})."


def _p(value: float) -> str:
    """A p-value that is above `ALPHA`, never shown as if it were not."""
    return figure(value) if value >= ALPHA + 0.005 else f"{value:.4f}"


def _needed(line: MetricComparison, effect: float) -> str:
    """How many rows would settle a difference this large, or show one of `effect`, as far as their spread says it."""
    if line.difference.n < LEAST_TO_TELL:
        return "So few rows do not tell how many would settle it."
    clustered = line.difference.is_clustered
    more = " in more clusters" * clustered
    if line.rows_needed is None:
        return "More rows of the same clusters do not help, more clusters do." if clustered else ""
    if (settling := line.rows_to_settle) is not None and settling > line.difference.n:
        return f"{about(settling).capitalize()} rows like these{more} would settle a difference this large."
    if line.rows_needed <= line.difference.n:
        return f"A difference of {figure(effect)} would be found in 4 of 5 such comparisons."
    return f"A difference of {figure(effect)} needs {about(line.rows_needed)} rows{more}."


def _coverage(lines: Sequence[MetricComparison], matched: int) -> Iterator[str]:
    """Metrics that few rows say something of, or none."""
    for line in lines:
        if not line.difference.n:
            yield f"No row has a score of {line.metric} in both runs: nothing is known of it."
        elif line.difference.n < FEW_ROWS * matched:
            rows = f"{line.difference.n:,} of {counted(matched, 'row')}"
            yield f"{line.metric} was compared in {rows} only: the others lack a score, and may differ."
    yield from whole_ranges(line.difference.ci_method for line in lines)


def conclude_labels(
    names: Mapping[str, str],
    labels: Sequence[LabelDifference],
    name_of: Callable[[int], str] = lambda place: str(place + 1),
) -> Iterator[str]:
    """The sentences about people's labels: what they show of each run, then what they do not settle.

    Args:
        names: of the runs, in sentences.
        labels: of all runs.
        name_of: what a row of the first run is called, by its place.
    """
    runs = dict.fromkeys(line.run for line in labels)
    for run in runs:
        own = [line for line in labels if line.run == run]
        known = [line.tested for line in own if line.tested is not None]
        which_run = "" if len(runs) == 1 else f" of {names[run]}"
        if shown := [line for line in known if line.verdict == "shown"]:
            verbs = listed(_shown(shown), most=len(shown))
            yield f"By people's labels of {_rows(shown)}, {names[run]} {verbs}."
        if rest := [line for line in known if line.verdict == "not settled"]:
            largest, difference = _largest(rest)
            count = largest.rows_needed
            needed = f"; a true difference of this size needs {about(count)} labels in each run" if count else ""
            yield f"Not settled by labels of {_rows([largest])}{which_run}: {difference}{needed}."
        if same := [line for line in known if line.verdict == "equal in all rows"]:
            yield f"In {_rows(same)} no label of {listed(line.metric for line in same)} differs{which_run}."
        for line in own:
            if line.contradicting:
                yield (
                    f"In {counted(len(line.contradicting), 'row')} the texts are equal in both runs, and the labels of "
                    f"{line.metric} are not: that is noise of the labels and counts as no difference. Label again, in "
                    f"both runs (rows of {next(iter(names.values()))}): {listed(map(name_of, line.contradicting))}."
                )
            if line.tested is None:
                yield f"Not settled by labels{which_run} in {line.metric}: {line.why_none()}."
