"""Evidence: contexts in pieces that a verifier reads at once, cut at sentences."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from rag_evaluator.config import Language, sentences

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


@dataclass(frozen=True)
class Limit:
    """The longest piece: tokens and words, each at most."""

    tokens: int
    words: int

    def allows(self, tokens: int, words: int) -> bool:
        return tokens <= self.tokens and words <= self.words


@dataclass(frozen=True)
class _Part:
    """A sentence of a context, or a part of a sentence that is longer than a piece."""

    context: int
    text: str
    tokens: int
    words: int


class Evidence:
    """Contexts whose sentences are found and counted once, for pieces of any length.

    Args:
        count: the tokens of each of several texts.
        each: give every context pieces of its own, so that what supports a sentence can be named.
    """

    def __init__(
        self,
        contexts: Sequence[str],
        count: Callable[[Sequence[str]], Sequence[int]],
        language: Language,
        each: bool = False,
    ) -> None:
        self._count = count
        self._each = each
        texts = [(place, text) for place, context in enumerate(contexts) for text in sentences(context, language)]
        self._parts = self._counted([(place, text) for place, text in texts if text.strip()])
        self._cut: dict[Limit, list[EvidencePiece]] = {}

    def pieces(self, limit: Limit) -> list[EvidencePiece]:
        """The contexts in their order, in pieces as long as the limit allows; nothing is left out.

        A sentence that is too long itself is cut between words. The best piece counts for a sentence, so more pieces
        mean that more is supported by chance.
        """
        if limit not in self._cut:
            groups = [part for group in self._groups(limit) for part in self._checked(group, limit)]
            self._cut[limit] = [_piece(group) for group in groups]
        return self._cut[limit]

    def _counted(self, texts: Sequence[tuple[int, str]]) -> list[_Part]:
        tokens = self._count([text for _, text in texts])
        return [_Part(place, text, n, len(text.split())) for (place, text), n in zip(texts, tokens, strict=True)]

    def _groups(self, limit: Limit) -> Iterator[list[_Part]]:
        """As many parts as the sum of their lengths allows; the tokens of a text are about those of its parts."""
        group: list[_Part] = []
        tokens = words = 0
        for part in chain.from_iterable(self._divided(whole, limit) for whole in self._parts):
            is_new = bool(group) and part.context != group[-1].context
            more = part.tokens + is_new  # the line break between contexts
            if (is_new and self._each) or (group and not limit.allows(tokens + more, words + part.words)):
                yield group
                group = []
                tokens = 0
                words = 0
                more = part.tokens
            group.append(part)
            tokens += more
            words += part.words
        if group:
            yield group

    def _checked(self, group: list[_Part], limit: Limit) -> Iterator[list[_Part]]:
        """A group, halved where its text has more tokens than its parts have together."""
        text = _piece(group).text
        if len(group) == 1 or limit.allows(self._count([text])[0], len(text.split())):
            yield group
            return
        middle = len(group) // 2
        yield from self._checked(group[:middle], limit)
        yield from self._checked(group[middle:], limit)

    def _divided(self, part: _Part, limit: Limit) -> Iterator[_Part]:
        """A part in parts that fit, halved between words, or where it has no spaces between letters."""
        if limit.allows(part.tokens, part.words) or len(part.text.strip()) < 2:
            yield part
            return
        middle = len(part.text) // 2
        space = part.text.rfind(" ", 1, middle) + 1 or middle
        for half in self._counted([(part.context, part.text[:space]), (part.context, part.text[space:])]):
            yield from self._divided(half, limit)


def _piece(group: Sequence[_Part]) -> EvidencePiece:
    texts: dict[int, str] = {}  # by context
    for part in group:
        texts[part.context] = texts.get(part.context, "") + part.text
    return EvidencePiece(BETWEEN.join(texts.values()).strip(), tuple(texts))
