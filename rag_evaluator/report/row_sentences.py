"""The sentences of a text as a verifier, or the judge as one, decided on them, and where they are in the text."""

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

from rag_evaluator.dataset import Response, structure_of
from rag_evaluator.files import Json
from rag_evaluator.results import NOT_COUNTED, SIGNS, VERIFIED, JudgedVerdict, Judgement, Tone

from .pages import percent
from .texts import SentenceView, Span, TextPart, divided, short, shown

Value = TypeVar("Value")


class Compared(NamedTuple):
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
class Sentences:
    """The sentences of a text, in its order.

    Attributes:
        pieces: of the evidence.
        lowest_first: the same by their probability, those that do not count at the end.
        used: judgements, from the first, that are shown here: what was asked about the sentences, and what came of it.
    """

    compared: Compared
    pieces: int
    sentences: tuple[SentenceView, ...]
    lowest_first: tuple[SentenceView, ...]
    used: int

    @property
    def legend(self) -> list[tuple[Tone, str]]:
        """What the marks mean, each once, in the order of `SIGNS`; of what does not count without the reason."""
        words = {(view.tone, "not counted" if view.tone == "plain" else view.word) for view in self.sentences}
        return sorted(words, key=lambda meaning: (list(SIGNS).index(meaning[0]), meaning[1]))


def sentences_of(judgements: Sequence[Judgement], columns: Json, section: str) -> Sentences | None:
    """The sentences behind a score; None where it has none.

    Args:
        judgements: of one score.
        columns: the row's columns under ragas' names.
        section: that of the score.
    """
    used = next((place for place, judgement in enumerate(judgements, 1) if judgement.prompt == VERIFIED), 0)
    judgement = judgements[used - 1] if used else Judgement()
    names = (name for name in COMPARED if judgement.metric == name or judgement.metric.startswith(f"{name}_"))
    compared = COMPARED.get(next(names, ""))
    response = judgement.response
    if compared is None or not isinstance(response, Mapping):
        return None
    placed = [*_placed(str(columns.get(compared.text) or ""), response["sentences"], response.get(NOT_COUNTED) or ())]
    views = [
        _view(row, judgement, compared, number, f"{section}-s{number}", place)
        for number, (row, place) in enumerate(placed, start=1)
    ]
    by_probability = sorted(zip(views, placed, strict=True), key=lambda pair: pair[1][0].get("probability", math.inf))
    return Sentences(
        compared, response.get("pieces") or 1, tuple(views), tuple(view for view, _ in by_probability), used
    )


def _placed(text: str, rows: Sequence[Json], left_out: Sequence[Json]) -> Iterator[tuple[Json, tuple[int, int] | None]]:
    """Those that count and those that do not, in the order of the text, each with its place there.

    A text is made of its sentences: the next one begins where the one before ended. One that is not in the text comes
    after those that are.
    """
    queues = [[(row, str(row["statement"])) for row in rows], [(row, str(row["sentence"])) for row in left_out]]
    at = 0
    while any(queues):
        heads = [(text.find(queue[0][1], at), -len(queue[0][1]), queue) for queue in queues if queue]
        start, length, queue = min([head for head in heads if head[0] >= 0] or heads, key=lambda head: head[:2])
        at = start - length if start >= 0 else at
        yield queue.pop(0)[0], (start, at) if start >= 0 else None


def _view(
    row: Json, judgement: Judgement, compared: Compared, number: int, section: str, place: tuple[int, int] | None
) -> SentenceView:
    if "statement" not in row:
        word = f"not counted: {row['why']}" if row.get("why") else "not counted"
        return SentenceView(number, "plain", word, section, False, shown(str(row["sentence"])), place=place)
    meaning = JudgedVerdict(judgement, "verdict", row["verdict"]).meaning
    assert meaning is not None, "each metric of COMPARED has its row in MEANINGS"
    spans = tuple(_spans(row))
    return SentenceView(
        number,
        meaning.tone,
        meaning.word,
        section,
        row["verdict"] == 1,
        shown(list(_flagged([TextPart(row["statement"])], [(span, 0) for span in spans]))),
        percent(row.get("probability")),
        tuple(row.get("contexts") or () if compared.evidence == "retrieved_contexts" else ()),
        row.get("piece", 0) + 1,
        spans,
        place,
    )


def _spans(row: Json) -> Iterator[Span]:
    """Those within the sentence, none before the end of another one."""
    text = row["statement"]
    least = 0
    for start, end, share in row.get("spans") or ():
        if least <= start < end <= len(text):
            yield Span(start, end, short(" ".join(text[start:end].split())), percent(share))
            least = end


def marked(pieces: Iterable[TextPart], sentences: Iterable[SentenceView]) -> list[TextPart]:
    """The pieces of a text, divided so that each belongs to one sentence, or to none."""
    placed = [(*sentence.place, sentence) for sentence in sentences if sentence.place]
    parts = [replace(part, sentence=sentence) for part, sentence in _inside(pieces, placed)]
    return list(_flagged(parts, [(span, start) for start, _, sentence in placed for span in sentence.spans]))


def as_written(pieces: Iterable[TextPart], response: Response) -> Iterator[TextPart]:
    """The pieces of what a response says, with all that is around it in its place."""
    around: list[tuple[int, TextPart]] = []
    place = 0
    for text, kind in response.pieces:
        if kind or response.endless:
            around.append((place, TextPart(text, aside=kind or response.kinds[0])))
        else:
            place += len(text)
    inside = [replace(part, aside=kind or "") for part, kind in _inside(pieces, structure_of(response.said))]
    before = None
    for start, part in divided(inside, [place for place, _ in around]):
        within = part.sentence if part.sentence is before else None  # a mark within a sentence does not divide it
        while around and around[0][0] <= start:
            yield replace(around.pop(0)[1], sentence=within)
        before = part.sentence
        yield part
    yield from (part for _, part in around)


def _flagged(pieces: Iterable[TextPart], spans: Sequence[tuple[Span, int]]) -> Iterator[TextPart]:
    """The pieces with flagged parts; each span has the place in the text where its sentence begins."""
    for part, span in _inside(pieces, [(at + span.start, at + span.end, span) for span, at in spans]):
        yield part if span is None else replace(part, flag=span.probability or "unknown")


def _inside(
    pieces: Iterable[TextPart], places: Sequence[tuple[int, int, Value]]
) -> Iterator[tuple[TextPart, Value | None]]:
    """The pieces of a text, cut at the ends of places in it, each with what is at its place."""
    starts = [start for start, _, _ in places]
    ends = [end for _, end, _ in places]
    for start, part in divided(pieces, {*starts, *ends}):
        index = bisect_right(starts, start) - 1
        yield part, places[index][2] if index >= 0 and start < ends[index] else None
