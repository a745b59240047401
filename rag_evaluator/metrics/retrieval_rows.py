"""The rows of `METRICS` for retrieval by judged chunks: one class each, with what they share."""

from collections.abc import Mapping, Sequence
from typing import Any

from rag_evaluator.config_sections import RetrievalConfig
from rag_evaluator.metrics.metric import Metric

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
