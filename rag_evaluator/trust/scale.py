"""What kind of number a score is, which decides how sure a mean of such numbers can be."""

from typing import Literal, NamedTuple

TIE = 1e-6  # scores that differ by no more are equal: 1.0000000000000002 is a cosine, too
Kind = Literal["judged", "continuous"]
Better = Literal["higher", "lower"]


class Scale(NamedTuple):
    """The scale of a metric.

    Attributes:
        low, high: the range of its scores.
        kind: `judged` scores come from verdicts, so they take few values and are often all equal; `continuous` ones
            come from embeddings or from comparing strings.
        better: which end of the range is the better one.
        atoms: values that have a mass by construction, of continuous scores: 0 of an evasive answer, 0 and 1 of texts
            that have nothing in common or are equal.
    """

    low: float = 0.0
    high: float = 1.0
    kind: Kind = "judged"
    better: Better = "higher"
    atoms: tuple[float, ...] = ()

    @property
    def width(self) -> float:
        return self.high - self.low

    def holds(self, value: float) -> bool:
        """Whether a score lies in the range, `TIE` allowed for; NaN does not."""
        return self.low - TIE <= value <= self.high + TIE
