"""Evidence: contexts in pieces that a verifier reads at once, cut at sentences."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rag_evaluator.config.languages import Language, sentences

BETWEEN = "\n"  # contexts in one piece


@dataclass(frozen=True)
class EvidencePiece:
    """A part of the evidence.

    Attributes:
        text: as the verifier reads it.
        contexts: positions of the contexts of which it has a part, in order.
    """

    text: str
    contexts: tuple[int, ...]


def pieces(
    contexts: Sequence[str], fits: Callable[[str], bool], language: Language, each: bool = False
) -> list[EvidencePiece]:
    """The contexts in their order, in as few pieces as a verifier can read; nothing is left out.

    Args:
        fits: whether a text is short enough.
        each: give every context pieces of its own, so that what supports a sentence can be named.

    A sentence that is too long itself is cut between words. The best piece counts for a sentence, so more pieces mean
    that more is supported by chance.
    """
    made: list[EvidencePiece] = []
    for context, text in _parts(contexts, fits, language):
        last = made[-1] if made else None
        joined = None if last is None else _joined(last, context, text)
        if last is None or joined is None or (each and context not in last.contexts) or not fits(joined):
            made.append(EvidencePiece(text, (context,)))
        else:
            made[-1] = EvidencePiece(joined, tuple(dict.fromkeys((*last.contexts, context))))
    return [EvidencePiece(piece.text.strip(), piece.contexts) for piece in made]


def _joined(piece: EvidencePiece, context: int, text: str) -> str:
    return piece.text + ("" if context in piece.contexts else BETWEEN) + text


def _parts(contexts: Sequence[str], fits: Callable[[str], bool], language: Language) -> Iterator[tuple[int, str]]:
    """Sentences with the positions of their contexts; parts of one that does not fit."""
    for place, context in enumerate(contexts):
        for sentence in sentences(context, language):
            if sentence.strip():
                yield from ((place, part) for part in _cut(sentence, fits))


def _cut(text: str, fits: Callable[[str], bool]) -> Iterator[str]:
    """A text in parts that fit, halved between words, or where it has no spaces between letters."""
    if fits(text) or len(text.strip()) < 2:
        yield text
        return
    middle = len(text) // 2
    space = text.rfind(" ", 1, middle) + 1 or middle
    yield from _cut(text[:space], fits)
    yield from _cut(text[space:], fits)
