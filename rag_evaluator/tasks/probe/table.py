"""The probes: one row each, naming the change, the rows that it can be made of, and what the judge has to notice."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rag_evaluator.dataset import Sample
from rag_evaluator.tasks.probe import changes
from rag_evaluator.tasks.probe.changes import Material

Expected = Literal["worse", "equal", "not better"]

CORRECTNESS = ("answer_correctness", "factual_correctness", "answer_rubric")
SUPPORT = ("faithfulness", "response_groundedness")
PRECISION = ("context_precision_with_reference", "context_precision_without_reference")
RANKING = ("retrieval_ndcg", "retrieval_map", "retrieval_mrr")


@dataclass(frozen=True)
class Probe:
    """A row of `PROBES`.

    Attributes:
        change: what it makes of a row: the columns that are other, or None where the change is not certain.
        needs: canonical columns without which a row cannot be changed.
        metrics: those that it concerns; empty: all that read a column which it changes.
        expected: what must become of the score: worse for a probe; equal or not better for a control.
        meaning: what is changed, for reports.
    """

    change: Callable[[Sample, Material], Mapping[str, Any] | None]
    needs: Sequence[str]
    metrics: Sequence[str]
    expected: Expected
    meaning: str

    @property
    def is_control(self) -> bool:
        return self.expected != "worse"


PROBES: Mapping[str, Probe] = {
    "other_answer": Probe(
        changes.other_answer,
        ("response",),
        ("answer_relevancy", *CORRECTNESS, "answer_accuracy", "semantic_similarity", "faithfulness"),
        "worse",
        "the response of another row",
    ),
    "changed_number": Probe(
        changes.changed_number,
        ("response",),
        (*SUPPORT, *CORRECTNESS, "answer_accuracy"),
        "worse",
        "a number in the response is another one of the dataset",
    ),
    "changed_name": Probe(
        changes.changed_name,
        ("response",),
        (*SUPPORT, *CORRECTNESS, "answer_accuracy"),
        "worse",
        "a name in the response is another one of the dataset",
    ),
    "contradiction": Probe(
        changes.contradiction,
        ("response", "retrieved_contexts"),
        SUPPORT,
        "worse",
        "the response goes on with a sentence of the contexts in which a number or name is wrong",
    ),
    "other_contexts": Probe(
        changes.other_contexts,
        ("response", "retrieved_contexts"),
        (
            *SUPPORT,
            *PRECISION,
            *RANKING,
            "context_recall",
            "context_relevance",
            "context_relevancy",
            "retrieval_precision",
            "retrieval_recall",
        ),
        "worse",
        "the contexts of another row",
    ),
    "dropped_context": Probe(
        changes.dropped_context,
        ("reference", "retrieved_contexts"),
        ("context_recall", "retrieval_recall"),
        "worse",
        "without the only context that holds the reference",
    ),
    "shuffled_contexts": Probe(
        changes.shuffled_contexts,
        ("reference_contexts", "retrieved_contexts"),
        (*PRECISION, *RANKING),
        "worse",
        "the contexts that should be found come last: mostly a test of the formula",
    ),
    "evasive": Probe(changes.evasive, ("response",), ("answer_relevancy",), "worse", "an answer that says nothing"),
    "same_text": Probe(changes.same_text, ("response",), (), "equal", "other quotes and spaces"),
    "longer": Probe(
        changes.longer, ("response",), (*CORRECTNESS, "answer_accuracy"), "not better", "the response said twice"
    ),
}
"""Name -> probe, in the order of the report."""
