"""Which texts go into one prompt: groups that fit the window, and the balanced groups of the reduce tree."""

import itertools
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Piece:
    """A context, or a part of one that is too long to be read at once.

    Attributes:
        index: position of the context.
    """

    index: int
    text: str


def shuffled(pieces: Sequence[Piece], seed: int) -> list[Piece]:
    """The same order for the same seed; in the retriever's order the best would be in one group."""
    return random.Random(seed).sample(pieces, len(pieces))


def fitting_groups(pieces: Sequence[Piece], size: int, room: int, tokens: Callable[[str], int]) -> list[list[Piece]]:
    """Consecutive groups of at most `size` pieces and `room` tokens; a longer piece is a group of its own."""
    groups: list[list[Piece]] = []
    used = 0
    for piece in pieces:
        needed = tokens(piece.text)
        if not groups or len(groups[-1]) == size or used + needed > room:
            groups.append([])
            used = 0
        groups[-1].append(piece)
        used += needed
    return groups


def balanced_groups(texts: Sequence[str], size: int, fits: Callable[[Sequence[str]], bool]) -> list[list[str]]:
    """Consecutive groups of nearly equal length, each of at least two texts, as few as fit.

    So the number of groups is at most half the number of texts, and reducing them level by level always ends. Where not
    even two texts fit, the groups are pairs (or three, of an odd number).
    """
    groups: list[list[str]] = []
    most = max(len(texts) // 2, 1)
    for count in range(min(math.ceil(len(texts) / size), most), most + 1):
        groups = _split(texts, count)
        if all(fits(group) for group in groups):
            break
    return groups


def _split(texts: Sequence[str], count: int) -> list[list[str]]:
    bounds = [len(texts) * number // count for number in range(count + 1)]
    return [list(texts[start:end]) for start, end in itertools.pairwise(bounds)]
