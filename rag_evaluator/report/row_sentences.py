"""The sentences of a text as a verifier, or the judge as one, decided on them, and where they are in the text."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from rag_evaluator.report.pages import SentenceMark, ShownText, TextPart, percent, short, shown_pieces
from rag_evaluator.results.judgement import NOT_COUNTED, VERIFIED, JudgedVerdict, Judgement, Tone
from rag_evaluator.results.rows import DETAILS

Json = Mapping[str, Any]  # Any in this module: JSON


@dataclass(frozen=True)
class Compared:
    """Columns of a metric of sentences: the text whose sentences are looked at, and what may support them."""

    text: str
    evidence: str


COMPARED: Mapping[str, Compared] = {
    "groundedness": Compared("response", "retrieved_contexts"),
    "context_coverage": Compared("reference", "retrieved_contexts"),
    "reference_coverage": Compared("reference", "response"),
    "reference_agreement": Compared("response", "reference"),
}


@dataclass(frozen=True)
class Span:
    """A part of a sentence that a classifier of tokens flagged.

    Attributes:
        start, end: in characters of the sentence.
        probability: as percent, that the evidence does not support it.
    """

    start: int
    end: int
    text: str
    probability: str


@dataclass(frozen=True)
class SentenceView:
    """A sentence of a text.

    Attributes:
        number: in the order of the text, from 1.
        section: by which links find it in the row.
        tone: `plain`: it does not count.
        supported: whether it counts as supported.
        text: with the flagged parts.
        probability: that the evidence supports it, as percent; empty where it does not count.
        contexts: places of the contexts in the piece that counted, from 0; empty where the evidence is no context.
        piece: that counted, from 1.
        place: start and end in the text; None where it is not there.
    """

    number: int
    section: str
    tone: Tone
    word: str
    supported: bool
    text: ShownText
    probability: str = ""
    contexts: tuple[int, ...] = ()
    piece: int = 1
    spans: tuple[Span, ...] = ()
    place: tuple[int, int] | None = None

    @property
    def mark(self) -> SentenceMark:
        return SentenceMark(self.number, self.tone, self.word, self.section)


@dataclass(frozen=True)
class Sentences:
    """The sentences of a text, in its order.

    Attributes:
        pieces: of the evidence.
        used: judgements, from the first, that are shown here: what was asked about the sentences, and what came of it.
    """

    compared: Compared
    pieces: int
    sentences: tuple[SentenceView, ...]
    used: int


def compared_by(metric: str) -> Compared | None:
    """The columns of a metric of sentences; None for other metrics."""
    names = (name for name in COMPARED if metric == name or metric.startswith(f"{name}_"))
    return next((COMPARED[name] for name in names), None)


def sentences_of(judgements: Sequence[Judgement], columns: Json, section: str) -> Sentences | None:
    """The sentences behind a score; None where it has none, or they are not written as this program writes them.

    Args:
        judgements: of one score.
        columns: the row's columns under ragas' names.
        section: that of the score.
    """
    verified = next((place for place, judgement in enumerate(judgements) if judgement.prompt == VERIFIED), None)
    if verified is None:
        return None
    compared, response = compared_by(judgements[verified].metric), judgements[verified].response
    rows = response.get("sentences") if isinstance(response, Mapping) else None
    if compared is None or not isinstance(rows, list) or not all(_is_sentence(row) for row in rows):
        return None
    left_out = response.get(NOT_COUNTED) or ()
    text = str(columns.get(compared.text) or "")
    views = tuple(
        _left_out(row, number, section, place)
        if index is None
        else _judged(row, judgements[verified], compared, number, section, place)
        for number, (index, row, place) in enumerate(_placed(text, rows, left_out), start=1)
    )
    return Sentences(compared, response.get("pieces") or 1, views, verified + 1)


def _is_sentence(row: Any) -> bool:
    return isinstance(row, Mapping) and isinstance(row.get("statement"), str) and row.get("verdict") in (0, 1)


Placed = tuple[int | None, Json, tuple[int, int] | None]  # place among those that count, sentence, place in the text


def _placed(text: str, rows: Sequence[Json], left_out: Sequence[Json]) -> list[Placed]:
    """Those that count and those that do not, in the order of the text.

    A text is made of its sentences: the next one begins where the one before ended. One that is not in the text comes
    after those that are.
    """
    queues: list[list[tuple[int | None, Json, str]]] = [
        [(index, row, str(row["statement"])) for index, row in enumerate(rows)],
        [(None, row, str(row["sentence"])) for row in left_out],
    ]
    placed: list[Placed] = []
    at = 0
    while any(queues):
        heads = [(text.find(queue[0][2], at), -len(queue[0][2]), queue) for queue in queues if queue]
        known = [head for head in heads if head[0] >= 0]
        start, length, queue = min(known or heads, key=lambda head: head[:2])
        index, row, _ = queue.pop(0)
        placed.append((index, row, (start, start - length) if known else None))
        at = start - length if known else at
    return placed


def _judged(
    row: Json,
    judgement: Judgement,
    compared: Compared,
    number: int,
    section: str,
    place: tuple[int, int] | None,
) -> SentenceView:
    meaning = JudgedVerdict(judgement, "verdict", row["verdict"]).meaning
    assert meaning is not None, "each metric of COMPARED has its row in MEANINGS"
    spans = tuple(_spans(row))
    contexts = row.get("contexts") or () if compared.evidence == "retrieved_contexts" else ()
    text = [TextPart(row["statement"])]
    return SentenceView(
        number,
        f"{section}-s{number}",
        meaning.tone,
        meaning.word,
        row["verdict"] == 1,
        shown_pieces(_flagged(text, [(span, 0) for span in spans]), DETAILS),
        percent(row.get("probability")),
        tuple(contexts),
        row.get("piece", 0) + 1,
        spans,
        place,
    )


def _left_out(row: Json, number: int, section: str, place: tuple[int, int] | None) -> SentenceView:
    text, why = shown_pieces([TextPart(str(row["sentence"]))], DETAILS), short(row.get("why", ""))
    word = f"not counted: {why}" if why else "not counted"
    return SentenceView(number, f"{section}-s{number}", "plain", word, False, text, place=place)


def _spans(row: Json) -> Iterator[Span]:
    """Those within the sentence, none before the end of another one."""
    text, least = row["statement"], 0
    for start, end, share in row.get("spans") or ():
        if least <= start < end <= len(text):
            yield Span(start, end, short(" ".join(text[start:end].split())), percent(share))
            least = end


def marked(pieces: Iterable[TextPart], sentences: Iterable[SentenceView]) -> list[TextPart]:
    """The pieces of a text, divided so that each belongs to one sentence, or to none."""
    placed = [(sentence, sentence.place) for sentence in sentences if sentence.place]
    starts, ends = [place[0] for _, place in placed], [place[1] for _, place in placed]

    def changed(start: int, part: TextPart) -> TextPart:
        index = bisect_right(starts, start) - 1
        if index < 0 or start >= ends[index]:
            return part
        return replace(part, sentence=placed[index][0].mark, opens=start == starts[index])

    divided = list(_divided(pieces, {*starts, *ends}, changed))
    return _flagged(divided, [(span, place[0]) for sentence, place in placed for span in sentence.spans])


def _flagged(pieces: Iterable[TextPart], spans: Sequence[tuple[Span, int]]) -> list[TextPart]:
    """The pieces with flagged parts; each span has the place in the text where its sentence begins."""
    starts, ends = [at + span.start for span, at in spans], [at + span.end for span, at in spans]

    def changed(start: int, part: TextPart) -> TextPart:
        index = bisect_right(starts, start) - 1
        if index < 0 or start >= ends[index]:
            return part
        return replace(part, flag=spans[index][0].probability or "unknown")

    return list(_divided(pieces, {*starts, *ends}, changed))


def _divided(
    pieces: Iterable[TextPart], edges: Iterable[int], changed: Callable[[int, TextPart], TextPart]
) -> Iterator[TextPart]:
    """Pieces that are cut at the edges, each changed by its place in the text."""
    ordered, place = sorted(edges), 0
    for piece in pieces:
        end = place + len(piece.text)
        inside = ordered[bisect_right(ordered, place) : bisect_right(ordered, end - 1)]
        for number, (start, stop) in enumerate(pairwise([place, *inside, end])):
            part = replace(piece, text=piece.text[start - place : stop - place], opens=piece.opens and number == 0)
            yield changed(start, part)
        place = end
