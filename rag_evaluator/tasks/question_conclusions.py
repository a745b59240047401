"""What `sort` and `generate` did, in sentences."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from rag_evaluator.files import Json
from rag_evaluator.results import Conclusion, counted, next_command, the_judge, why_of, with_ends_beside, with_interval
from rag_evaluator.statistics import Scale, difference_interval, difference_test, is_shown, mean_interval

from .references import ROWS

MEASURE = "nDCG@10"  # by which two orders are compared
SHARES = Scale(0.0, 1.0)
CORRELATIONS = Scale(-1.0, 1.0)
CHANCE = 0.5  # agreement below it: most pairs were decided by their place
SORT_RULES = (
    f"better, worse: p of the paired difference of {MEASURE} by the column `relevance`, made as in compare, is at most "
    "0.05; else it is not settled.",
    "changed: the contexts that were sorted are not in the retriever's order.",
    "place: said where both orders of a pair chose the same context in less than half of the pairs, on average.",
)
Fields = Json  # of a question, as in `sorted_indices.json`. Any: JSON
GENERATE_RULES = ("answered: the judge says that the contexts hold an answer, and has written it.",)


def sort_conclusion(rankings: Iterable[Fields], config: Json, words: Sequence[object] = ()) -> Conclusion:
    """How the judge's order is beside the retriever's.

    Args:
        config: as the manifest has it.
        words: the configuration and the keys of the command; empty where it was called from Python.
    """
    questions = list(rankings)
    level = config.get("ci_level") or 0.95
    ordered = [fields for fields in questions if fields["sorted"] is not None]
    judge = the_judge(config)
    failed = [fields["reasons"]["sorted"] for fields in questions if fields["sorted"] is None]
    sentences = list(_orders(ordered, judge, level))
    judged = [fields["good"] for fields in ordered if fields["good"] is not None]
    if none := sum(not good for good in judged):
        inside = judge[0].lower() + judge[1:]
        sentences.append(f"In {none:,} of {counted(len(judged), 'question')} {inside} finds the answer in no context.")
    agreements = [fields["agreement"] for fields in ordered if fields["agreement"] is not None]
    if agreements and math.fsum(agreements) / len(agreements) < CHANCE:
        sentences.append(
            f"{judge} chose by place: the share of pairs in which it chose the same context in both orders is only "
            f"{with_interval(mean_interval(agreements, SHARES, level))}."
        )
    if not questions:
        sentences.append("There is no question to sort.")
    elif len(failed) == len(questions):
        sentences.append(f"No question could be sorted: {why_of(Counter(failed))}.")
    elif failed:
        of = f"{len(failed):,} of {counted(len(questions), 'question')}"
        sentences.append(f"{of} could not be sorted: {why_of(Counter(failed))}.")
    return Conclusion(sentences, next_command(("sort", *words)) if failed and words else "", SORT_RULES)


def _orders(ordered: Sequence[Fields], judge: str, level: float) -> Iterator[str]:
    """The gain where relevance is known; else how far the order changed."""
    measured = [fields["measured"] for fields in ordered if fields.get("measured")]
    pairs = ((of["judge"].get(MEASURE), of["retriever"].get(MEASURE)) for of in measured)
    graded = [(ours, theirs) for ours, theirs in pairs if ours is not None and theirs is not None]
    compared = [fields for fields in ordered if fields["spearman"] is not None]
    if graded:
        yield _gain(graded, judge, level)
    elif compared:
        changed = sum(fields["sorted"] != sorted(fields["sorted"]) for fields in compared)
        estimate = mean_interval([fields["spearman"] for fields in compared], CORRELATIONS, level)
        where = f"{counted(len(compared), 'question')} with two contexts or more to sort"
        did = f"changed the retriever's order in {changed:,} of" if changed else "kept the retriever's order in all of"
        yield (
            f"{judge} {did} {where}: rank correlation {with_interval(estimate)} on average. Whether its order is "
            "better is not known: the rows have no relevance."
        )
    elif any(len(fields["good"] or ()) + len(fields["bad"] or ()) > 1 for fields in ordered):
        yield (
            f"Nothing to sort: the filter of {judge[0].lower()}{judge[1:]} kept fewer than two contexts in each of "
            f"{counted(len(ordered), 'question')}. --set sort.fast=false sorts all."
        )
    elif ordered:
        yield f"Nothing to sort: none of {counted(len(ordered), 'question')} has two contexts or more to sort."


def _gain(graded: Sequence[tuple[float, float]], judge: str, level: float) -> str:
    differences = [ours - theirs for ours, theirs in graded]
    estimate = difference_interval(differences, SHARES, level)
    assert estimate.mean is not None
    assert estimate.ci_low is not None
    assert estimate.ci_high is not None
    means = [math.fsum(side) / len(graded) for side in zip(*graded, strict=True)]
    if is_shown(difference_test(differences, SHARES).p):
        begin = f"{judge}'s order is {'better' if estimate.mean > 0 else 'worse'} than the retriever's"
    else:
        begin = f"Not settled whether {judge[0].lower()}{judge[1:]}'s order is better than the retriever's"
    difference = with_ends_beside([0.0], estimate.mean, estimate.ci_low, estimate.ci_high)
    return (
        f"{begin}: {MEASURE} {means[0]:.2f} against {means[1]:.2f} by the relevance of the rows, difference "
        f"{difference} in {counted(len(graded), 'question')}."
    )


def generate_conclusion(
    asked: int, answered: int, kept: int, config: Json, words: Sequence[object], results: Path
) -> Conclusion:
    """How many questions have an answer now.

    Args:
        asked, answered: questions.
        kept: rows that had a reference already.
        config: as the manifest has it.
        words: the configuration and the keys of the command.
        results: the results folder.
    """
    following = next_command(("evaluate", *words, "--set", f"dataset={(results / ROWS).absolute()}"))
    if not asked:
        sentence = f"Nothing to write: {counted(kept, 'row')} had a reference already."
        return Conclusion([sentence], following, GENERATE_RULES)
    count = "all" if answered == asked else f"{answered:,}" if answered else "none"
    had = f"; {counted(kept, 'row')} had a reference already" if kept else ""
    sentence = f"{the_judge(config)} answered {count} of {counted(asked, 'question')} from the contexts{had}."
    return Conclusion([sentence], following if answered or kept else "", GENERATE_RULES)
