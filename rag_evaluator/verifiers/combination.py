"""One probability from two figures of a sentence: what a model says of it, and how many of its words the evidence has.

The log-odds of both are added, each with a weight. Without labels the weight of the model comes from the examples of
its prompt, which it is not shown (`combination_of`); labels of sentences give all of them (`calibration.json`). A
sentence has the same value in every run of the same judge.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rag_evaluator.errors import ConfigError
from rag_evaluator.judge import sigmoid
from rag_evaluator.results import parts_of, parts_of_verifier

from .batches import rounded
from .counting import StopWords, share_of_words
from .evidence import BETWEEN

NEVER = 1e-4  # in place of a probability of 0; 1 is as far from 1
SPREAD = 0.25  # the least standard deviation of log-odds: a few examples may be alike
# of shares of words: of the sentences of RAGTruth that the forms of the question were chosen on, supported ones have
# 0.73 on average and unsupported ones 0.44, with a standard deviation of 0.26: benchmarks/worth.md
WORDS = 4.3
MIDDLE = 0.585


@dataclass(frozen=True)
class Combination:
    """A logistic function of a sentence's two figures.

    Attributes:
        intercept: of the log-odds.
        judge: weight of the log-odds of the model's probability.
        words: weight of the share of words.
    """

    intercept: float
    judge: float
    words: float

    def probability(self, judged: float, share: float) -> float:
        """Return the probability that the evidence supports the sentence, see `rounded`.

        Args:
            judged: what the model says.
            share: of its words, see `shares_of_words`.
        """
        return rounded(sigmoid(self.intercept + self.judge * logit(judged) + self.words * share))


UNLABELLED = Combination(-WORDS * MIDDLE, 1.0, WORDS)
"""Of a judge whose probabilities are taken as they are."""


def shares_of_words(texts: Sequence[str], contexts: Sequence[str], language: str) -> list[float]:
    """Return the `share_of_words` of each text in all contexts; the middle for one without a content word."""
    stop_words = StopWords.of(language).words
    shares = (share_of_words(text, BETWEEN.join(contexts), stop_words) for text in texts)
    return [MIDDLE if math.isnan(share) else rounded(share) for share in shares]


def logit(probability: float) -> float:
    """Return the log-odds of a probability, at most those of `NEVER` from 0."""
    kept = min(max(probability, NEVER), 1 - NEVER)
    return math.log(kept / (1 - kept))


def combination_of(supported: Sequence[float], unsupported: Sequence[float]) -> Combination:
    """Return the sum of log likelihood ratios of a model's log-odds and of shares of words.

    Linear discriminant analysis with one variable each (Fisher 1936), both classes as likely: the weight is the
    difference of their means in variances. A model that does not tell the classes apart has weight 0.

    Args:
        supported, unsupported: probabilities that the model gives to sentences of each class, at least two of each.
    """
    sides = [np.array([logit(probability) for probability in side]) for side in (supported, unsupported)]
    high, low = (float(side.mean()) for side in sides)
    spread = max(math.sqrt(sum(float(side.var(ddof=1)) for side in sides) / 2), SPREAD)
    judge = max(high - low, 0.0) / spread**2
    return Combination(-judge * (high + low) / 2 - WORDS * MIDDLE, judge, WORDS)


@dataclass(frozen=True)
class Calibration:
    """What labels of sentences say of a judge's probabilities, as `calibration.json` holds it.

    Attributes:
        combination: fitted to the labels.
        metric: whose sentences were labelled.
        signature: parts of the metric's signature on which its probabilities depend, and its language.
        clusters: digests of the clusters whose labels were used.
    """

    combination: Combination
    metric: str
    signature: Mapping[str, str]
    clusters: frozenset[str]

    @classmethod
    def read(cls, path: Path) -> "Calibration":
        """Read the file. Raises `ConfigError` for one that is missing, or is none."""
        try:
            values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))  # Any: JSON
            combination = Combination(**{name: float(value) for name, value in values["combination"].items()})
            clusters = frozenset(map(str, values["clusters"]))
            made = cls(combination, str(values["metric"]), dict(values["signature"]), clusters)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ConfigError(
                f"verifier.calibration: {path} is no calibration ({type(error).__name__}: {error}). How labels of "
                "sentences give one: docs/small-judges.md."
            ) from error
        if not all(map(math.isfinite, asdict(combination).values())):
            raise ConfigError(f"verifier.calibration: {path}: the weights are not all numbers. Make it again.")
        return made

    def refusal(self, signature: str) -> str:
        """Return why its weights are not those of a run whose metric has this signature; empty where they are."""
        parts = calibrated_parts(signature)
        other = sorted(name for name in {*self.signature, *parts} if self.signature.get(name) != parts.get(name))
        return f"it was made with another {' and another '.join(other)}" if other else ""


def calibrated_parts(signature: str) -> dict[str, str]:
    """Return what the judge's probabilities depend on, by name, from the signature of a metric."""
    return {**parts_of_verifier(signature), "language": parts_of(signature).get("language", "")}
