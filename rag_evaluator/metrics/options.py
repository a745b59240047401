"""Options of metrics that users may set, and what they change of a row of `METRICS`."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from rag_evaluator.config import Section
from rag_evaluator.judge import rubric_numbers
from rag_evaluator.statistics import Scale

RubricKey = Annotated[str, Field(pattern=r"^score[0-9]_description$")]
Meaning = Annotated[str, Field(pattern=r"\S"), AfterValidator(lambda text: " ".join(text.split()))]  # on one line
Mode = Literal["share", "mean", "min"]


class VerdictOptions(Section):
    """Of metrics in which the judge writes statements, and says whether texts support them.

    Attributes:
        verdicts: who says that: the judge or a verifier.
    """

    verdicts: Literal["judge", "verifier"] = "judge"


def by_verifier(name: str, *prompts: str) -> Callable[[VerdictOptions], Mapping[str, Any]]:
    """What changes of a row where a verifier decides.

    Args:
        name: of the class of `own.verdicts`.
        prompts: those by which the judge writes statements; none: the sentences of the text are taken.
    """
    changes = {
        "made_by": f"rag_evaluator.metrics.own.verdicts:{name}",
        "verifier": "model",
        "words": not prompts,
        "judge": bool(prompts),
        "prompts": prompts,
        **({} if prompts else {"claims": "reference"}),
    }
    return lambda options: changes if options.verdicts == "verifier" else {}


class FactualCorrectnessOptions(VerdictOptions):
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


class NoiseSensitivityOptions(VerdictOptions):
    """Of `noise_sensitivity`.

    Attributes:
        mode: wrong claims that come from relevant contexts, or from irrelevant ones.
    """

    mode: Literal["relevant", "irrelevant"] = "relevant"


class RefusalOptions(Section):
    """Of `refusal_correctness`.

    Attributes:
        missing_reference: what a row without a reference means, if it has no column `answerable`.
    """

    missing_reference: Literal["unknown", "unanswerable"] = "unknown"


class RougeOptions(Section):
    """Of `rouge_score`.

    Attributes:
        rouge_type: the longest common subsequence, or single words.
        mode: F-measure of precision and recall, or one of these.
    """

    rouge_type: Literal["rougeL", "rouge1"] = "rougeL"
    mode: Literal["fmeasure", "precision", "recall"] = "fmeasure"


class RubricsScoreOptions(Section):
    """Of `rubrics_score_with_reference` and `rubrics_score_without_reference`.

    Attributes:
        rubrics: what each score means, from `score0_description` to `score9_description`; None: ragas' own, 1 to 5.
    """

    rubrics: (
        Annotated[
            dict[RubricKey, Meaning], Field(min_length=2), AfterValidator(lambda by_name: dict(sorted(by_name.items())))
        ]
        | None
    ) = None


class QuotesOptions(Section):
    """Of `quoted_spans_alignment`.

    Attributes:
        casefold: whether upper and lower case count as equal.
        min_span_words: words that a quotation must have to count.
    """

    casefold: bool = True
    min_span_words: int = Field(default=3, ge=1, le=100)


class SupportOptions(Section):
    """Of the metrics that look at sentences one by one.

    Attributes:
        mode: the share of sentences that are supported, or the mean or the lowest of their probabilities.
    """

    mode: Mode = "share"


def scale_of_support(options: SupportOptions) -> Mapping[str, Any]:
    """A share has few values; probabilities have many, and heap up at both ends."""
    return {} if options.mode == "share" else {"scale": Scale(kind="continuous", atoms=(0.0, 1.0))}


class SummaryOptions(Section):
    """Of `summary_score`.

    Attributes:
        length_penalty: whether long summaries lose.
        coeff: the weight of conciseness in the score.
    """

    length_penalty: bool = True
    coeff: float = Field(default=0.5, ge=0, le=1)


def scale_of_rubrics(options: RubricsScoreOptions) -> Mapping[str, Any]:
    """The range is that of the scores described."""
    numbers = rubric_numbers(options.rubrics or ())
    return {"scale": Scale(float(numbers[0]), float(numbers[-1]))} if numbers else {}
