"""Guesses of what comes next in a text, which are checked in the pass that they are fed in: prompt lookup decoding.

A pass over few tokens reads all weights, so that some more cost little; and judges repeat statements of their prompt,
and themselves, word for word.
"""

from collections.abc import Sequence

NGRAM = 2  # tokens by which a place that was there before is found
LIMITS = {False: (64, 2), True: (512, 1)}  # on GPUs or not: guessed tokens of a pass; repeated ones for each of them
MOST = 16  # tokens of a guess


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

    def next_tokens(self, answer: Sequence[int], most: int, repeated: int) -> list[int]:
        """What may follow the answer so far, at most so many tokens; empty where its end has not been there before.

        A text that has begun to repeat itself goes on to do so: the longer, the more likely. After two tokens the next
        one is right in 60 of 100 cases, after eight in 94, and the fourth after it in 77 (SmolLM2, five metrics). So
        one is guessed for so many `repeated` ones.
        """
        self._extend(answer[len(self.ids) - self.prompt_tokens :])
        end = len(self.ids)
        place = self.places.get(tuple(self.ids[-NGRAM:]))
        if place is None:
            return []
        same = NGRAM
        while same < min(place, most * repeated) and self.ids[place - 1 - same] == self.ids[end - 1 - same]:
            same += 1
        return [self.ids[place + step % (end - place)] for step in range(min(most, same // repeated))]

    def _extend(self, tokens: Sequence[int]) -> None:
        for token in tokens:
            if len(self.ids) >= NGRAM:
                self.places[tuple(self.ids[-NGRAM:])] = len(self.ids)
            self.ids.append(token)
