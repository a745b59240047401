"""The control of verifiers: the share of sentences that contexts of other rows support, beside that of the row's own.

The best piece of evidence counts for a sentence, so that more pieces support more by chance: with a specificity of 0.9
a piece, 10 pieces support 1 - 0.9^10 = 0.65 of the sentences that nothing supports.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf

from rag_evaluator.files import Json, JsonDict
from rag_evaluator.results import counted, verified, with_ends_beside
from rag_evaluator.run import Record
from rag_evaluator.statistics import PASS, mean_interval

from .verdicts import figures_of

AS_MANY = "as_many_contexts"  # the change whose sentences are counted
PIECES = {"1": (1, 1), "2-5": (2, 5), "6-10": (6, 10), "more": (11, inf)}
"""Heading -> fewest and most pieces of evidence of a row."""
RULE = (
    "control: of the sentences of the good sides the share that as many contexts of other rows support, none of which "
    "holds the answer. The best piece counts, so it grows with the number of pieces. The interval is of 95 %; the "
    "sentences of a row depend on each other."
)


def sentences_of(record: Record) -> tuple[int, list[bool]] | None:
    """The pieces of evidence and whether each sentence is supported; None without a score, or one of no verifier."""
    said = {} if record.missing else verified(record.details["judgements"])
    return (said["pieces"], [bool(sentence["verdict"]) for sentence in said["sentences"]]) if said else None


def control_of(rows: Iterable[tuple[str, Record, Record]]) -> JsonDict:
    """The control of a metric, as JSON; empty where no row has both scores.

    Args:
        rows: key, score with the row's own contexts, score with as many of other rows. A row counts if it has both.

    Returns:
        `own` and `others`: a list of shares, the first of all rows (`pieces` is `all`), then by the number of pieces.
    """
    sentences = [(row, sentences_of(own), sentences_of(others)) for row, own, others in rows]
    both = [(row, {"own": own, "others": others}) for row, own, others in sentences if own and others]
    sides = ("own", "others") if both else ()
    return {side: list(_shares([(row, *said[side]) for row, said in both])) for side in sides}


def _shares(rows: Sequence[tuple[str, int, list[bool]]]) -> Iterator[JsonDict]:
    for heading, (fewest, most) in {"all": (0, inf), **PIECES}.items():
        chosen = [(row, supported) for row, pieces, supported in rows if fewest <= pieces <= most]
        values = [float(is_supported) for _, supported in chosen for is_supported in supported]
        units = [row for row, supported in chosen for _ in supported]
        if chosen:
            share = figures_of(mean_interval(values, PASS, clusters=units))
            yield {"pieces": heading, "rows": len(chosen), **share}


def control_sentences(control: Mapping[str, Json]) -> Iterator[str]:
    """A sentence for each metric. Any: JSON, as in `probe.json`."""
    for metric, sides in control.items():
        others = sides["others"][0]
        own = sides["own"][0]
        yield (
            f"As many contexts of other rows support {percent(others, 0)} of {counted(others['n'], 'sentence')} in "
            f"{metric} (the control); the rows' own contexts support {percent(own, 0)}."
        )


def percent(share: Json, *limits: float) -> str:
    """`23 % [18, 29]`; with as many digits as tell it from limits."""
    mean, low, high = (100 * share[name] for name in ("mean", "ci_low", "ci_high"))
    return with_ends_beside([100 * limit for limit in limits], mean, low, high, digits=0).replace(" [", " % [")
