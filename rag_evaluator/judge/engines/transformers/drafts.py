"""Guesses of what comes next in a text, which are checked in the pass that they are fed in: prompt lookup decoding.

A pass over few tokens reads all weights, so that some more cost little; and judges repeat statements of their prompt,
and themselves, word for word.
"""

from collections.abc import Sequence

NGRAM = 2  # tokens by which a place that was there before is found
AT_ONCE = 64  # tokens of a pass to which guesses are added (SmolLM2, 2 cores: 6 rows a tenth faster than with 32)
GPU_AT_ONCE = 512  # of one on a GPU (SmolLM2, H200: 200 scores take 197 passes in place of 542, and half the time)
MOST = 8  # tokens of a guess


class Draft:
    """The tokens of a text, and where each of its n-grams was followed by another token last.

    Args:
        ids: of the prompt.
    """

    def __init__(self, ids: Sequence[int]) -> None:
        self.ids: list[int] = []
        self.places: dict[tuple[int, ...], int] = {}
        self.prompt_tokens = len(ids)
        self._extend(ids)

    def next_tokens(self, answer: Sequence[int], most: int) -> list[int]:
        """What may follow the answer so far, at most so many tokens; empty where its end has not been there before.

        A text that has begun to repeat itself goes on to do so.
        """
        self._extend(answer[len(self.ids) - self.prompt_tokens :])
        place = self.places.get(tuple(self.ids[-NGRAM:]))
        if place is None:
            return []
        period = len(self.ids) - place
        return [self.ids[place + step % period] for step in range(most)]

    def _extend(self, tokens: Sequence[int]) -> None:
        for token in tokens:
            if len(self.ids) >= NGRAM:
                self.places[tuple(self.ids[-NGRAM:])] = len(self.ids)
            self.ids.append(token)
