"""The options of metrics that users may set: one class for each, with ragas' names and defaults."""

from typing import Literal

from pydantic import Field

from rag_evaluator.config_sections import Section


class FactualCorrectnessOptions(Section):
    """Of `factual_correctness`.

    Attributes:
        mode: F1 of precision and recall of the claims, or one of these.
        beta: above 1 weighs recall more.
        atomicity, coverage: into how small claims a text is divided, and how much of it they cover.
    """

    mode: Literal["f1", "precision", "recall"] = "f1"
    beta: float = Field(default=1.0, gt=0, le=100)
    atomicity: Literal["low", "high"] = "low"
    coverage: Literal["low", "high"] = "low"


class NoiseSensitivityOptions(Section):
    """Of `noise_sensitivity`: wrong claims that come from relevant contexts, or from irrelevant ones."""

    mode: Literal["relevant", "irrelevant"] = "relevant"


class RefusalOptions(Section):
    """Of `refusal_correctness`: what a row without a reference means, if it has no column `answerable`."""

    missing_reference: Literal["unknown", "unanswerable"] = "unknown"


class RougeOptions(Section):
    """Of `rouge_score`: longest common subsequence or single words; F-measure, precision or recall."""

    rouge_type: Literal["rougeL", "rouge1"] = "rougeL"
    mode: Literal["fmeasure", "precision", "recall"] = "fmeasure"


class SummaryOptions(Section):
    """Of `summary_score`: whether long summaries lose, and how much of the score that is."""

    length_penalty: bool = True
    coeff: float = Field(default=0.5, ge=0, le=1)
