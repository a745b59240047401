"""What an evaluation says, in sentences: lowest mean, missing scores, where to look."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rag_evaluator.config import BY_JUDGE, DEMO, next_words
from rag_evaluator.statistics import PASS, TIE, mean_interval

from .conclusion import (
    Conclusion,
    figure,
    is_judged,
    judge_model,
    judged_by,
    judged_config,
    listed,
    next_command,
    unknown_to_toy,
    whole_ranges,
    why_of,
    with_ends,
)
from .flags import RULES as FLAG_RULES
from .flags import advice, many_flagged, without_figure
from .manifest import PART
from .meanings import FAULTS, OF_SENTENCES
from .overview import Figures, counted
from .refusals import of_answers, refusal_sentence
from .rows import PROBABILITIES
from .run import Run
from .summary import REWRITES
from .tally import Tally
from .trust import do_not_rely, useful_metrics
from .worst import RANK_RULE, listed_rows

Flags = NDArray[np.bool_]  # one a row
NAMED = 5  # worst rows in a sentence
SAMPLES = ("dataset.jsonl", "sample.jsonl")  # names of the bundled rows, and of copies of them
MANY = 10  # scores: fewer may be equal by chance
SAME = 0.2  # share of rewritten questions that may be as they were before it is said
FEWEST = 10  # counted rows: fewer point nowhere
NOTABLE = 0.05  # share of scores that may be missing before it is said
LOWEST_RULE = (
    "Lowest: the smallest mean of the metrics that ask a judge or a verifier, go from 0 to 1, and of which higher is "
    "better."
)
LOOK_RULE = (
    "Where to look: a row whose contexts hold the whole reference (context_recall 1) and whose faithfulness is below 1 "
    "points to the generator; a row with a low score and context_recall below 1 points to retrieval. The latter is not "
    "said where all rows score low, or none has context_recall 1. Nothing is said for a toy judge that does not "
    f"know the language, or in fewer than {FEWEST} counted rows. Rows without both scores, and refusals (an evasive "
    "answer, answer_relevancy 0), are left out."
)
EQUAL_RULE = f"All scores are equal: said of {MANY} or more scores of a model, where they are not the best score."
RECALL = "context_recall"
FAITHFULNESS = "faithfulness"
CORRECT = ("answer_accuracy", "factual_correctness", "answer_correctness", FAITHFULNESS)
"""Metrics that say whether a response is right; the first that a run has tells which rows score low."""
BEST_IS_1 = (0.0, 1.0, "higher")  # of a scale
LOW = 0.5  # below it a row scores low
HALF = 0.5  # the default of verifier.threshold


def conclude_run(run: Run, folder: str | None = None, words: Sequence[object] = ("CONFIG",)) -> Conclusion:
    """The sentences about a finished evaluation, from its summary and the scores of its rows.

    Args:
        folder: what the next command calls the folder of the run; None: by its path.
        words: the configuration and the keys of the command that was typed, without those for which rows are taken.

    Raises `ResultsError` if a file cannot be read.
    """
    useful = useful_metrics(run)
    conclusion = conclude(run.tally, run.name_of, useful)
    sentences = [*do_not_rely(run, run.metrics), *conclusion.sentences]
    return replace(conclusion, sentences=sentences, next=_next(run, useful, folder or str(run.folder), words))


def conclude(rows: Tally, name_of: Callable[[int], str], useful: Collection[str] = ()) -> Conclusion:
    """The sentences about scores, wherever they are.

    Args:
        name_of: what a row is called, by its place.
        useful: metrics of which the judge is known to be useful.
    """
    manifest = rows.manifest
    summary = rows.summary
    if not any(row["scored"] or row.get("flagged") for row in summary.values()):
        reasons = sum((Counter(row["reasons"]) for row in summary.values()), Counter[str]())
        rows_there = counted(next((row["count"] for row in summary.values()), 0), "row")
        why = why_of(reasons) if reasons else "there is no row"
        return Conclusion([f"No score could be made in {rows_there}: {why}."])
    sentences = [
        *refusal_sentence(summary),
        *without_figure(summary),
        *_means(rows, useful),
        *_range(rows),
        *many_flagged(summary),
        *_constant(rows),
        *_missing(summary),
        *_not_rewritten(summary),
        *whole_ranges(row.get("ci_method", "") for row in summary.values()),
        *(f"{words}." for words in [rows.repeats] if words),
    ]
    config = judged_config(manifest)
    if not unknown_to_toy(judge_model(config), config.get("language")):
        sentences += where_to_look(rows, judged_by([manifest], (RECALL, FAITHFULNESS), useful))
    if worst := listed_rows(rows)[:NAMED]:
        sentences.append(f"Worst rows: {', '.join(map(name_of, worst))}.")
    return Conclusion(sentences, rules=(LOWEST_RULE, EQUAL_RULE, LOOK_RULE, RANK_RULE, *FLAG_RULES))


def _next(run: Run, useful: Collection[str], folder: str, words: Sequence[object]) -> str:
    if not any(row["scored"] for row in run.summary.values()):
        return next_command(("status", folder))
    asks = any(is_judged(run.manifest, metric, ["judge"]) for metric in run.metrics)
    if asks and judge_model(judged_config(run.manifest)) == DEMO:
        if Path(run.config.get("dataset") or "").name in SAMPLES:
            return next_command(next_words("sample"), ("report", folder))
        return next_command(("evaluate", *words, "--set", "judge.model=MODEL", "--set", "name=NAME"))
    if useful or not any(is_judged(run.manifest, metric) for metric in run.metrics):
        return next_command(("compare", "BASELINE", folder))
    if run.manifest.get(PART):
        return next_command(("evaluate", *words))  # all rows
    return next_command(next_words("judge not known", folder), ("report", folder))


def _means(rows: Tally, useful: Collection[str]) -> Iterator[str]:
    """The lowest of the means that a model gave on a scale from 0 to 1, the best; where there are none, the means."""
    scored = {metric: row for metric, row in rows.summary.items() if row["mean"] is not None}
    candidates = [
        metric
        for metric in scored
        if is_judged(rows.manifest, metric)
        and (rows.scales[metric].low, rows.scales[metric].high, rows.scales[metric].better) == BEST_IS_1
    ]
    least = min((scored[metric]["mean"] for metric in candidates), default=None)
    lowest = list(scored) if least is None else [name for name in candidates if scored[name]["mean"] <= least + TIE]
    if not lowest:
        return
    means = listed((f"{metric} {_mean(scored[metric])}" for metric in lowest), most=2)
    judge = judged_by([rows.manifest], lowest, useful)
    if least is None:
        most = counted(max(row["scored"] for row in scored.values()), "row")
        ends = _bounds(scored[lowest[0]]) if len(lowest) == 1 else ""
        yield f"Mean{'' if len(lowest) == 1 else 's'} over {most}: {means}{judge}{ends}."
    elif len(lowest) > 1:
        yield f"{'All scores are the best ones' if least >= 1 - TIE else 'Lowest means'}: {means}{judge}."
    else:
        [metric] = lowest
        heading = "Mean of" if len(candidates) == 1 else "Lowest mean:"
        yield f"{heading} {means}{judge}."
        fault = faults_of(rows, metric)
        yield f"{fault[0].upper()}{fault[1:]}{_bounds(scored[metric])}."


def _uncalibrated(rows: Tally) -> dict[str, Figures]:
    """Metrics of sentences on which a judge decides by a threshold that no label has set, with its probabilities."""
    config = judged_config(rows.manifest)
    verifier = config.get("verifier") or {}
    is_set = verifier.get("threshold", HALF) != HALF or verifier.get("calibration")
    if is_set or verifier.get("model", BY_JUDGE) != BY_JUDGE or judge_model(config) == DEMO:
        return {}
    return {name: row[PROBABILITIES] for name, row in rows.summary.items() if PROBABILITIES in row}


def _range(rows: Tally) -> Iterator[str]:
    """Where the probabilities of such a metric lie, the one with the narrowest range."""
    known = _uncalibrated(rows)
    if not known:
        return
    name, of = min(known.items(), key=lambda item: item[1]["high"] - item[1]["low"])
    yield (
        f"No label has set the threshold {HALF:g} of {name}: 90 % of the judge's probabilities for "
        f"{counted(of['sentences'], 'sentence')} lie between {figure(of['low'])} and {figure(of['high'])}. Read the "
        "sentences lowest first, or set verifier.threshold by labels."
    )


def _constant(rows: Tally) -> Iterator[str]:
    """Metrics by which a model gave each of many rows the same score, and not the best one."""
    equal = []
    for metric, scores in rows.scores.items():
        known = scores[~np.isnan(scores)]
        scale = rows.scales[metric]
        if len(known) < MANY or np.ptp(known) > TIE or not is_judged(rows.manifest, metric):
            continue
        best = scale.high if scale.better == "higher" else scale.low
        if abs(known[0] - best) > TIE:
            equal.append(f"{metric} ({known[0]:g})")
    if equal:
        yield f"All scores of {listed(equal)} are equal: read some rows to see whether the judge is right."


def _mean(row: Figures) -> str:
    return with_ends(row["mean"], row.get("ci_low"), row.get("ci_high"))


def _bounds(row: Figures) -> str:
    """Where the mean would be if each missing score were the lowest or the highest; empty where none is missing."""
    if row["scored"] == row["count"] or row.get("bound_low") is None:
        return ""
    return f"; with the missing scores the mean is from {figure(row['bound_low'])} to {figure(row['bound_high'])}"


def faults_of(rows: Tally, metric: str) -> str:
    """`in 7 of 12 rows the response says something that its contexts do not support`; empty for other ranges.

    A probability below 1 says no such thing, nor does a share above a threshold that no label has set.
    """
    scale = rows.scales[metric]
    if (scale.low, scale.high, scale.better) != BEST_IS_1:
        return ""
    known = rows.scores[metric][~np.isnan(rows.scores[metric])]
    below = int(np.count_nonzero(known < 1 - TIE))
    fault = next((words for name, words in FAULTS.items() if metric == name or metric.startswith(f"{name}_")), None)
    if metric in _uncalibrated(rows) or (metric in OF_SENTENCES and scale.kind == "continuous"):
        fault = None
    if not below:
        return f"no score of {counted(len(known), 'row')} is below 1"
    return f"in {below:,} of {counted(len(known), 'row')} {fault or 'the score is below 1'}"


def _missing(summary: Mapping[str, Figures]) -> Iterator[str]:
    """The metric that lacks most scores, and how many others lack some."""
    whole = summary
    summary = {metric: of_answers(row) for metric, row in whole.items()}
    shares = {metric: 1 - row["scored"] / row["count"] for metric, row in summary.items() if row["mean"] is not None}
    notable = {metric: share for metric, share in shares.items() if share >= NOTABLE}
    if not notable:
        return
    metric = max(notable, key=lambda name: notable[name])
    row = summary[metric]
    others = len(notable) - 1
    missing = row["count"] - row["scored"]
    why = f" ({why_of(row['reasons'])})" if row["reasons"] else ""
    more = f" {counted(others, 'other metric')} {'lacks' if others == 1 else 'lack'} scores, too." if others else ""
    verb = "is" if missing == 1 else "are"
    which = "" if row["count"] == whole[metric]["count"] else " for responses that answer"
    yield f"{missing:,} of {row['count']:,} scores of {metric}{which} {verb} missing{why}.{more}{advice(metric, row)}"


def _not_rewritten(summary: Mapping[str, Figures]) -> Iterator[str]:
    """`In 7 of 20 rows the rewritten question is the question itself.`"""
    row = next((row[REWRITES] for row in summary.values() if REWRITES in row), None)
    if row and row["same"] >= SAME * row["rows"]:
        yield f"In {row['same']:,} of {counted(row['rows'], 'row')} the rewritten question is the question itself."


def where_to_look(rows: Tally, judge: str = "") -> Iterator[str]:
    """Which rows point to the generator and which to retrieval, row by row; nothing without both metrics.

    Args:
        judge: who says so, as `judge_words` has it.
    """
    recall, faithfulness = (rows.scores.get(metric) for metric in (RECALL, FAITHFULNESS))
    if recall is None or faithfulness is None:
        return
    refused = np.zeros(len(recall), dtype=np.bool_)
    if "answer_relevancy" in rows.scores:
        refused = np.abs(rows.scores["answer_relevancy"]) <= TIE
    have_both = ~np.isnan(recall) & ~np.isnan(faithfulness)
    sentences = []
    enough = have_both & ~refused & (recall >= 1 - TIE)
    if np.count_nonzero(enough) >= FEWEST:
        share = _share(faithfulness < 1 - TIE, enough, rows, "faithfulness below 1", "the generator")
        which = "whose contexts hold the whole reference (context_recall 1)"
        sentences.append(f"of {counted(int(enough.sum()), 'row')} {which}, {share}")
    name = next(metric for metric in CORRECT if metric in rows.scores)
    scores = rows.scores[name]
    known = ~np.isnan(recall) & ~np.isnan(scores) & ~refused
    low = known & (np.nan_to_num(scores, nan=1.0) < LOW)
    lacking = recall < 1 - TIE
    if (
        np.count_nonzero(known) >= FEWEST and low.any() and (known & ~low).any() and (known & ~lacking).any()
    ):  # else theirs must be the share of all rows
        of_all = f"; of all {int(known.sum()):,} counted rows {100 * np.mean(lacking[known]):.0f} %"
        sentences.append(
            f"of {counted(int(low.sum()), 'row')} with {name} below {LOW:g}, "
            f"{_share(lacking, low, rows, 'context_recall below 1', 'retrieval', of_all)}"
        )
    for place, sentence in enumerate(sentences):
        yield sentence[0].upper() + sentence[1:] if place else f"Where to look{judge}: {sentence}"
    apart = {
        "{} whose response the judge takes for a refusal": refused,
        "{} without both scores": ~have_both & ~refused,
    }
    texts = [words.format(counted(int(flags.sum()), "row")) for words, flags in apart.items() if flags.any()]
    if sentences and texts:
        yield f"Not counted there: {listed(texts)}."


def _share(flags: Flags, chosen: Flags, rows: Tally, what: str, side: str, more: str = "") -> str:
    """`3 have faithfulness below 1 (43 % [12, 81]): they point to the generator.`

    Args:
        flags: which rows have what is counted.
        chosen: the rows that are looked at.
    """
    places = np.flatnonzero(chosen).tolist()
    values = flags[places].astype(np.float64)
    clusters = None if rows.clusters is None else [rows.clusters[place] for place in places]
    estimate = mean_interval(values, PASS, rows.level, clusters)
    mean, low, high = (f"{100 * (end or 0):.0f}" for end in (estimate.mean, estimate.ci_low, estimate.ci_high))
    share = f"{mean} % [{low}, {high}]{more}"
    count = int(values.sum())
    if not count:
        return f"none has {what} ({share}): nothing points to {side}."
    verbs = ("has", "it points") if count == 1 else ("have", "they point")
    return f"{count:,} {verbs[0]} {what} ({share}): {verbs[1]} to {side}."
