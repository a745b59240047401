"""What the prompts of a group begin with, instruction and examples: encoded once, where that changes no token.

A text may be encoded in two parts, cut between a sign and a space, if no token of the vocabulary holds both in a row:
merges never cross that place, and a tokenizer that splits texts into words splits them there. What a tokenizer puts
before a text is seen when a cut is tried: both parts must give the tokens of the whole.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from os.path import commonprefix

CUT = re.compile(r"[!-~](?= \S)")  # ASCII: one byte, so one sign in byte-level tokens, too
ACROSS = re.compile("[^ \t\n\r\u0120\u010a\u0109\u010d\u2581][ \u0120\u2581]")  # in byte-level tokens \u0120 is a space
MARGIN = 64  # characters behind the cut that are the same in all prompts: further ahead no tokenizer looks

Encode = Callable[[str], list[int]]


@dataclass(frozen=True)
class Head:
    """The beginning of the prompts of a group.

    Attributes:
        text: up to the cut.
        ids: its tokens.
        skip: characters after it that the tokenizer puts before every text by itself: 1 for a space, else 0.
    """

    text: str
    ids: list[int] = field(repr=False)
    skip: int


class PromptHeads:
    """Encodes prompts; those that show how far a group is alike whole, later ones from where they may differ.

    Args:
        tokens: of the vocabulary, as it writes them.
    """

    def __init__(self, tokens: Iterable[str]) -> None:
        self._across = {match[0][0] for token in tokens for match in ACROSS.finditer(token)}
        self._common: dict[str, str] = {}  # what the prompts of a group began with so far
        self._heads: dict[str, Head | None] = {}

    def encode(self, text: str, group: str, encode: Encode) -> list[int]:
        """Token ids of a text.

        Args:
            group: the same for prompts that begin with the same words; empty for others.
            encode: of any text; the same function in every call.
        """
        head = self._heads.get(group)
        if head is not None and text.startswith(head.text):
            return [*head.ids, *encode(text[len(head.text) + head.skip :])]
        ids = encode(text)
        if group:
            self._learn(group, text, ids, encode)
        return ids

    def _learn(self, group: str, text: str, ids: list[int], encode: Encode) -> None:
        """Make the head of a group shorter, if a text begins with less of it; the first text has no head yet."""
        known = self._common.setdefault(group, text)
        common = commonprefix([known, text])  # noqa: RUF071  # characters are meant
        if len(common) < len(known):
            self._common[group] = common
            self._heads[group] = self._head(common, text, ids, encode)

    def _head(self, common: str, text: str, ids: list[int], encode: Encode) -> Head | None:
        """The longest head that texts may be cut behind; None if that changes tokens.

        Args:
            common: what the texts begin with.
            ids: of the text as a whole.
        """
        cuts = [match.end() for match in CUT.finditer(common[:-MARGIN]) if match[0] not in self._across]
        if not cuts:
            return None
        before = encode(text[: cuts[-1]])
        fitting = (skip for skip in (0, 1) if [*before, *encode(text[cuts[-1] + skip :])] == ids)
        skip = next(fitting, None)
        return None if skip is None else Head(text[: cuts[-1]], before, skip)
