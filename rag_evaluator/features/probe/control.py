"""The control of verifiers: the share of sentences that contexts of other rows support, beside that of the row's own.

The best piece of evidence counts for a sentence, so that more pieces support more by chance: with a specificity of 0.9
a piece, 10 pieces support 1 - 0.9^10 = 0.65 of the sentences that nothing supports.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from math import inf
from typing import Any, NamedTuple

from rag_evaluator.results.conclusion import with_ends
from rag_evaluator.results.overview import Grid, counted, interval
from rag_evaluator.results.verified import verified
from rag_evaluator.run.task import Record
from rag_evaluator.statistics.intervals import PASS, mean_interval

AS_MANY = "as_many_contexts"  # the change whose sentences are counted
PIECES = {"1": (1, 1), "2-5": (2, 5), "6-10": (6, 10), "more": (11, inf)}
"""Heading -> fewest and most pieces of evidence of a row."""
SHOWN = ("n", "mean", "ci_low", "ci_high", "ci_level", "ci_method")
RULE = (
    "control: of the sentences of the good sides the share that as many contexts of other rows support, none of which "
    "holds the answer. The best piece counts, so it grows with the number of pieces. The interval is of 95 %; the "
    "sentences of a row depend on each other."
)


class RowSentences(NamedTuple):
    """Of one row and one kind of evidence.

    Attributes:
        row: its key.
        pieces: of the evidence.
        supported: by sentence.
    """

    row: str
    pieces: int
    supported: Sequence[bool]


def sentences_of(row: str, record: Record) -> RowSentences | None:
    """The sentences of a score; None where it is missing, or no verifier made it."""
    if record.missing:
        return None
    said = verified(record.details["judgements"])
    if not said:
        return None
    return RowSentences(row, said["pieces"], [bool(sentence["verdict"]) for sentence in said["sentences"]])


def control_of(rows: Iterable[tuple[str, Record, Record]]) -> dict[str, Any]:
    """The control of a metric, as JSON; empty where no row has both scores.

    Args:
        rows: key, score with the row's own contexts, score with as many of other rows. A row counts if it has both.

    Returns:
        `own` and `others`: a list of shares, the first of all rows (`pieces` is `all`), then by the number of pieces.
    """
    pairs = [(sentences_of(row, own), sentences_of(row, others)) for row, own, others in rows]
    both = [(own, others) for own, others in pairs if own is not None and others is not None]
    if not both:
        return {}
    return {"own": list(_shares([own for own, _ in both])), "others": list(_shares([others for _, others in both]))}


def _shares(rows: Sequence[RowSentences]) -> Iterator[dict[str, Any]]:
    yield _share("all", rows)
    for heading, (fewest, most) in PIECES.items():
        if chosen := [row for row in rows if fewest <= row.pieces <= most]:
            yield _share(heading, chosen)


def _share(pieces: str, rows: Sequence[RowSentences]) -> dict[str, Any]:
    values = [float(is_supported) for row in rows for is_supported in row.supported]
    units = [row.row for row in rows for _ in row.supported]
    share = asdict(mean_interval(values, PASS, clusters=units))
    return {"pieces": pieces, "rows": len(rows), **{name: share[name] for name in SHOWN}}


def control_sentences(control: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """A sentence for each metric. Any: JSON, as in `probe.json`."""
    for metric, sides in control.items():
        others, own = sides["others"][0], sides["own"][0]
        yield (
            f"As many contexts of other rows support {_percent(others)} of {counted(others['n'], 'sentence')} in "
            f"{metric} (the control); the rows' own contexts support {_percent(own)}."
        )


def _percent(share: Mapping[str, Any]) -> str:
    """`23 % [18, 29]`."""
    mean, low, high = (100 * share[name] for name in ("mean", "ci_low", "ci_high"))
    return with_ends(mean, low, high, digits=0).replace(" [", " % [")


COLUMNS = (
    ("metric", "left"),
    ("pieces", "left"),
    ("sentences", "right"),
    ("by other rows' contexts", "right"),
    ("sentences", "right"),
    ("by own contexts", "right"),
)


def control_grid(control: Mapping[str, Mapping[str, Any]]) -> Iterator[Grid]:
    """The control by the number of pieces; no table where there is no control."""
    if control:
        yield Grid("control: the share of sentences that are supported", COLUMNS, list(control_rows(control)))


def control_rows(control: Mapping[str, Mapping[str, Any]]) -> Iterator[list[str]]:
    """Metric, pieces, then sentences and share of each side. Any: JSON."""
    for metric, sides in control.items():
        others, own = ({share["pieces"]: share for share in sides[side]} for side in ("others", "own"))
        headings = [heading for heading in ("all", *PIECES) if heading in {**others, **own}]
        for position, heading in enumerate(headings):
            cells = [cell for side in (others, own) for cell in _cells(side.get(heading))]
            yield ["" if position else metric, heading, *cells]


def _cells(share: Mapping[str, Any] | None) -> list[str]:
    return ["", ""] if share is None else [f"{share['n']:,}", interval(share)]
