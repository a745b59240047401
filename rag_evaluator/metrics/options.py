"""The options of metrics that users may set: one class for each, with ragas' names and defaults."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field, field_validator

from rag_evaluator.config.sections import RetrievalConfig, Section
from rag_evaluator.judge.grammar.schema import rubric_numbers
from rag_evaluator.metrics.metric import Metric


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


class AnswerRubricOptions(Section):
    """Of `answer_rubric`.

    Attributes:
        expected: the expectation over the probabilities of the labels, in place of the label that the judge writes.
    """

    expected: bool = False


class RubricsScoreOptions(Section):
    """Of `rubrics_score_with_reference` and `rubrics_score_without_reference`.

    Attributes:
        rubrics: what each score means, from `score0_description` to `score9_description`; None: ragas' own, 1 to 5.
    """

    rubrics: dict[str, str] | None = None

    @field_validator("rubrics")
    @classmethod
    def _describe_scores(cls, rubrics: dict[str, str] | None) -> dict[str, str] | None:
        if rubrics is None:
            return None
        wrong = [name for name in rubrics if not rubric_numbers([name])]
        if wrong or len(rubrics) < 2:
            got = f", not {wrong[0]}" if wrong else ""
            raise ValueError(f"expected at least two of score0_description to score9_description{got}")
        empty = [name for name, text in rubrics.items() if not text.strip()]
        if empty:
            raise ValueError(f"expected a text for {empty[0]}")
        return {name: " ".join(rubrics[name].split()) for name in sorted(rubrics)}


class QuotesOptions(Section):
    """Of `quoted_spans_alignment`.

    Attributes:
        casefold: whether upper and lower case count as equal.
        min_span_words: words that a quotation must have to count.
    """

    casefold: bool = True
    min_span_words: int = Field(default=3, ge=1, le=100)


class SummaryOptions(Section):
    """Of `summary_score`.

    Attributes:
        length_penalty: whether long summaries lose.
        coeff: the weight of conciseness in the score.
    """

    length_penalty: bool = True
    coeff: float = Field(default=0.5, ge=0, le=1)


def expectation(options: AnswerRubricOptions) -> Mapping[str, Any]:
    """An expectation needs probabilities. It stays `judged`: after a reason it is near one of the five values."""
    return {"probabilities": options.expected}


def scale_of_rubrics(options: RubricsScoreOptions) -> Mapping[str, Any]:
    """The range is that of the scores described."""
    numbers = rubric_numbers(options.rubrics or ())
    return {"range": (float(numbers[0]), float(numbers[-1]))} if numbers else {}


IDS = ("retrieved_context_ids", "reference_context_ids")
KNOWN, UNKNOWN = "total_relevant: known", "total_relevant: unknown"
CHUNK, MATCH = "chunk_prompt", "match_prompt"
JUDGED = ("user_input", "retrieved_contexts", "reference")
EXPECTED = ("retrieved_contexts", "reference_contexts")


def _row(name: str, *prompts: str, columns: Sequence[str] = JUDGED, **fields: Any) -> Metric:
    """A row; Any: other fields of `Metric`."""
    return Metric(
        f"rag_evaluator.metrics.own.retrieval:{name}",
        columns,
        optional=[name for name in ("reference_contexts", "document_score") if name not in columns],
        may_be_empty=("retrieved_contexts", "retrieved_context_ids"),
        prompts=prompts,
        owner="retrieval",
        stage="retrieval",
        settings=RetrievalConfig,
        section="retrieval",
        changes=_changes,
        **fields,
    )


def _changes(options: RetrievalConfig) -> Mapping[str, Any]:
    """Where texts or ids are compared there is no judge and no prompt."""
    if options.match == "judge":
        return {}
    ids = IDS if options.match == "exact" else ()
    return {
        "judge": False,
        "prompts": (),
        "owner": "",
        "columns": EXPECTED,
        "optional": ("document_score", *ids),
        "instead": ids,
    }


RETRIEVAL: Mapping[str, Metric] = {
    "retrieval_precision": _row(
        "RetrievalPrecision", CHUNK, aliases=("precision_at_k",), about="retrieved contexts that are relevant"
    ),
    "retrieval_ndcg": _row(
        "RetrievalNDCG",
        CHUNK,
        MATCH,
        aliases=("ndcg", "ndcg_at_k"),
        outcomes=(KNOWN, UNKNOWN),
        about="whether relevant contexts come first, nDCG",
    ),
    "retrieval_map": _row(
        "RetrievalMAP",
        CHUNK,
        MATCH,
        aliases=("map", "average_precision"),
        outcomes=(KNOWN, UNKNOWN),
        about="whether relevant contexts come first, average precision",
    ),
    "retrieval_mrr": _row(
        "RetrievalMRR", CHUNK, aliases=("mrr", "reciprocal_rank"), about="how early the first relevant context comes"
    ),
    "retrieval_recall": _row(
        "RetrievalRecall", MATCH, columns=EXPECTED, aliases=("recall_at_k",), about="expected contexts that were found"
    ),
}
