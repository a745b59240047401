"""The metrics: one row each, naming the class that computes it and what it needs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rag_evaluator.config import RetrievalConfig
from rag_evaluator.errors import ConfigError, did_you_mean
from rag_evaluator.statistics import Scale

from .options import (
    FactualCorrectnessOptions,
    NoiseSensitivityOptions,
    QuotesOptions,
    RefusalOptions,
    RougeOptions,
    RubricsScoreOptions,
    SummaryOptions,
    SupportOptions,
    VerdictOptions,
    by_verifier,
    scale_of_rubrics,
    scale_of_support,
)
from .row import IDS, KNOWN, UNKNOWN, Component, Metric, Metrics

CONTEXT = ("user_input", "retrieved_contexts")
PAIR = ("response", "reference")
COSINE = Scale(-1.0, 1.0, "continuous")
COMPARED = Scale(kind="continuous", atoms=(0.0, 1.0))  # texts with nothing in common, and equal ones
RATING = Scale(1.0, 5.0)
OWN = "rag_evaluator.metrics.own"
STATEMENTS = ("statement_generator_prompt", "nli_statement_prompt")
JUDGES = ("judge1_prompt", "judge2_prompt")
CONTEXTS = "retrieved_contexts"
ANSWER = "response"
CHUNK = "chunk_prompt"
MATCH = "match_prompt"
JUDGED = ("user_input", "retrieved_contexts", "reference")
EXPECTED = ("retrieved_contexts", "reference_contexts")


def _supported(name: str, text: str, evidence: str, component: Component, about: str) -> Metric:
    """A row of a metric of `own.grounded`."""
    return Metric(
        f"rag_evaluator.metrics.own.grounded:{name}",
        (evidence, text),
        optional=("user_input",),
        prompts=("prompt",),
        owner="groundedness",
        words=True,
        component=component,
        settings=SupportOptions,
        changes=scale_of_support,
        verifier="judge",
        claims=text,
        about=f"sentences of the {text} that the {about}",
    )


SUPPORT: Metrics = {
    "groundedness": _supported("Groundedness", ANSWER, CONTEXTS, "generation", "contexts support"),
    "context_coverage": _supported(
        "ContextCoverage", "reference", CONTEXTS, "retrieval", "contexts support, by a verifier"
    ),
    "reference_coverage": _supported("ReferenceCoverage", "reference", ANSWER, "generation", "response supports"),
    "reference_agreement": _supported("ReferenceAgreement", ANSWER, "reference", "generation", "reference supports"),
}
"""The metrics that need a verifier, or the judge as one."""


def _row(name: str, *prompts: str, columns: Sequence[str] = JUDGED, **fields: Any) -> Metric:
    """A row; Any: other fields of `Metric`."""
    return Metric(
        f"rag_evaluator.metrics.own.retrieval:{name}",
        columns,
        optional=[name for name in ("reference_contexts", "document_score") if name not in columns],
        may_be_empty=("retrieved_contexts", "retrieved_context_ids"),
        prompts=prompts,
        owner="retrieval",
        component="retrieval",
        settings=RetrievalConfig,
        section="retrieval",
        changes=_changes,
        **fields,
    )


def _changes(options: RetrievalConfig) -> Mapping[str, Any]:
    """Where texts or ids are compared, or a reranker is asked, there is no judge and no prompt."""
    if options.match == "judge":
        return {}
    without_judge: dict[str, Any] = {"judge": False, "prompts": (), "owner": ""}
    if options.match == "reranker":
        decides = options.reranker.model_copy(update={"model": None, "batch_size": "auto"})  # changes a number
        return {
            **without_judge,
            "columns": ("user_input", "retrieved_contexts"),
            "optional": ("document_score",),
            "options": options.model_copy(update={"reranker": decides}).model_dump(exclude_defaults=True),
            "reranker": options.reranker,
        }
    ids = IDS if options.match == "exact" else ()
    return {
        **without_judge,
        "columns": EXPECTED,
        "optional": ("document_score", *ids),
        "instead": ids,
    }


RETRIEVAL: Metrics = {
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


def _compared(made_by: str, about: str, *aliases: str, **fields: Any) -> Metric:
    """A row of a metric that compares the letters of response and reference. Any: other fields of `Metric`."""
    return Metric(made_by, PAIR, judge=False, aliases=aliases, about=about, scale=COMPARED, **fields)


METRICS: Metrics = {
    "faithfulness": Metric(
        "Faithfulness",
        (*CONTEXT, "response"),
        prompts=STATEMENTS,
        settings=VerdictOptions,
        changes=by_verifier("Faithfulness", "statement_generator_prompt"),
        claims=ANSWER,
        about="statements of the response that the contexts support",
    ),
    "answer_relevancy": Metric(
        "AnswerRelevancy",
        ("user_input", "response"),
        embedded=("user_input",),
        prompts=("prompt",),
        aliases=("response_relevancy", "answer_relevance"),
        scale=COSINE._replace(atoms=(0.0,)),  # evasive answers
        about="how near questions made from the response are to the question",
    ),
    "context_precision_with_reference": Metric(
        "ContextPrecisionWithReference",
        (*CONTEXT, "reference"),
        prompts=("prompt",),
        aliases=("context_precision", "LLMContextPrecisionWithReference"),
        component="retrieval",
        about="whether useful contexts come first, by reference",
    ),
    "context_precision_without_reference": Metric(
        "ContextPrecisionWithoutReference",
        (*CONTEXT, "response"),
        prompts=("prompt",),
        aliases=("context_utilization", "LLMContextPrecisionWithoutReference"),
        component="retrieval",
        about="whether useful contexts come first, by the response",
    ),
    "context_recall": Metric(
        "ContextRecall",
        (*CONTEXT, "reference"),
        prompts=("prompt",),
        aliases=("LLMContextRecall",),
        component="retrieval",
        settings=VerdictOptions,
        changes=by_verifier("ContextRecall"),
        about="sentences of the reference that the contexts support",
    ),
    "context_relevance": Metric(
        "ContextRelevance",
        CONTEXT,
        prompts=JUDGES,
        aliases=("nv_context_relevance",),
        component="retrieval",
        about="rating of the contexts as a whole; context_relevancy counts sentences",
    ),
    "context_relevancy": Metric(
        f"{OWN}.judged:ContextRelevancy",
        CONTEXT,
        prompts=("prompt",),
        words=True,
        component="retrieval",
        outcomes=("sentences help", "insufficient information"),
        about="sentences of the contexts that help to answer; context_relevance rates them as a whole",
    ),
    "answer_correctness": Metric(
        "AnswerCorrectness",
        ("user_input", *PAIR),
        embedded=PAIR,
        prompts=("statement_generator_prompt", "correctness_classifier_prompt"),
        scale=Scale(-0.25, 1.0),  # three quarters F1 of verdicts, one quarter cosine: as lumpy as other judged scores
        about="statements shared with the reference, and nearness of meaning",
    ),
    "semantic_similarity": Metric(
        "SemanticSimilarity",
        PAIR,
        judge=False,
        embedded=PAIR,
        aliases=("answer_similarity",),
        scale=COSINE,
        about="nearness of meaning to the reference",
    ),
    "factual_correctness": Metric(
        "FactualCorrectness",
        PAIR,
        prompts=("prompt", "nli_prompt"),
        aliases=("factual_correctness(mode=f1)",),
        settings=FactualCorrectnessOptions,
        changes=by_verifier("FactualCorrectness", "prompt"),
        about="claims shared with the reference",
    ),
    "answer_accuracy": Metric(
        "AnswerAccuracy",
        ("user_input", *PAIR),
        prompts=JUDGES,
        aliases=("nv_accuracy",),
        about="rating of the agreement with the reference",
    ),
    "response_groundedness": Metric(
        "ResponseGroundedness",
        ("response", "retrieved_contexts"),
        prompts=JUDGES,
        aliases=("nv_response_groundedness",),
        claims=ANSWER,
        about="rating of how far the contexts support the response",
    ),
    "refusal_correctness": Metric(
        f"{OWN}.judged:RefusalCorrectness",
        ("user_input", "response"),
        optional=("answerable", "reference", "retrieved_contexts"),
        prompts=("answerable_prompt", "refused_prompt"),
        aliases=("abstention",),
        settings=RefusalOptions,
        outcomes=("rightly answered", "wrongly answered", "rightly refused", "wrongly refused"),
        about="whether it refused to answer where it should have, and only there",
    ),
    "noise_sensitivity": Metric(
        "NoiseSensitivity",
        (*CONTEXT, *PAIR),
        prompts=("statement_prompt", "faithfulness_prompt"),
        aliases=("noise_sensitivity_relevant", "noise_sensitivity(mode=relevant)"),
        scale=Scale(better="lower"),
        settings=NoiseSensitivityOptions,
        changes=by_verifier("NoiseSensitivity", "statement_prompt"),
        claims=ANSWER,
        about="wrong statements that come from the contexts",
    ),
    "context_entity_recall": Metric(
        "ContextEntityRecall",
        ("retrieved_contexts", "reference"),
        prompts=("prompt",),
        component="retrieval",
        about="names of the reference that the contexts have",
    ),
    **SUPPORT,
    **RETRIEVAL,
    "bleu_score": _compared(
        f"{OWN}.of_ragas:BleuScore",
        "runs of words shared with the reference",
        "bleu",
        words=True,
        package="sacrebleu",
    ),
    "rouge_score": _compared(
        f"{OWN}.of_ragas:RougeScore",
        "words shared with the reference, in order",
        "rouge",
        "rouge_score(mode=fmeasure)",
        words=True,
        settings=RougeOptions,
        package="rouge-score",
    ),
    "chrf_score": _compared("CHRFScore", "letter sequences shared with the reference", "chrf", package="sacrebleu"),
    "rubrics_score_without_reference": Metric(
        "RubricsScoreWithoutReference",
        ("user_input", "response"),
        prompts=("scoring_prompt",),
        aliases=("domain_specific_rubrics", "DomainSpecificRubrics", "rubrics_score"),
        scale=RATING,
        settings=RubricsScoreOptions,
        changes=scale_of_rubrics,
        about="rating from 1 to 5 by a rubric",
    ),
    "rubrics_score_with_reference": Metric(
        "RubricsScoreWithReference",
        ("user_input", *PAIR),
        prompts=("scoring_prompt",),
        scale=RATING,
        settings=RubricsScoreOptions,
        changes=scale_of_rubrics,
        about="rating from 1 to 5 by a rubric, against the reference",
    ),
    "instance_specific_rubrics": Metric(
        f"{OWN}.of_ragas:RowRubrics",
        ("user_input", "response", "rubrics"),
        optional=("reference",),
        prompts=("scoring_prompt",),
        aliases=("instance_rubrics",),
        scale=RATING,
        about="rating by the rubric of each row",
    ),
    "summary_score": Metric(
        f"{OWN}.of_ragas:DefinedSummary",
        ("reference_contexts", "response"),
        prompts=("extract_keyphrases_prompt", "generate_questions_prompt", "generate_answers_prompt"),
        aliases=("summarization_score",),
        settings=SummaryOptions,
        about="whether a summary answers questions made from the text",
    ),
    "quoted_spans_alignment": Metric(
        f"{OWN}.of_ragas:DefinedQuotes",
        ("response", "retrieved_contexts"),
        judge=False,
        settings=QuotesOptions,
        about="quotes of the response that are in the contexts",
    ),
    "answer_rubric": Metric(
        f"{OWN}.judged:AnswerRubric",
        ("user_input", *PAIR),
        prompts=("prompt",),
        about="one of five labels: agreement with the reference, with a reason",
    ),
    "exact_match": Metric(
        "ExactMatch", PAIR, judge=False, about="equal to the reference"
    ),  # 0 or 1 as a verdict is: judged, though by no model
    "string_presence": Metric(
        "StringPresence", PAIR, judge=False, aliases=("string_present",), about="the reference is in the response"
    ),  # likewise
    "non_llm_string_similarity": _compared(
        "NonLLMStringSimilarity", "edit distance to the reference", "string_similarity"
    ),
}


def plain_name(name: str) -> str:
    """A name as it is compared with others."""
    return name.lower().replace("_", "").replace("-", "").replace(" ", "")


_NAMES = {
    plain_name(alias): name
    for name, metric in METRICS.items()
    for alias in (name, metric.made_by.rpartition(":")[2], *metric.aliases)
}


def canonical_name(name: str) -> str | None:
    """The name in `METRICS` of a metric by any of its names."""
    return _NAMES.get(plain_name(name))


def select_metrics(
    names: Sequence[str], place: str | Callable[..., str] = "config", custom: Metrics | None = None
) -> dict[str, Metric]:
    """The chosen rows of `METRICS` under their canonical names, in the order given, each once.

    Args:
        place: where the names were written, or `Config.place`, which tells it for each.
        custom: the user's own metrics.

    Raises `ConfigError` for an unknown name, with the nearest known one.
    """
    known = {**METRICS, **(custom or {})}
    canonical = [name if name in known else canonical_name(name) for name in names]
    if None in canonical:
        position = canonical.index(None)
        where = place if isinstance(place, str) else place("metrics", position)
        name = names[position]
        raise ConfigError(
            f"{where}: metrics[{position}] is '{name}', which is not a metric.{did_you_mean(name, known)}"
        )
    return {name: known[name] for name in canonical if name is not None}


def choose_owners(names: Sequence[str], owners: Iterable[str]) -> list[str]:
    """Whose prompts are meant by metrics under any of their names, `sort` and `generate`; all if none is named.

    Raises `ConfigError` for an unknown name.
    """
    known = list(dict.fromkeys(owners))
    metrics = select_metrics([name for name in names if name not in known], "--metrics")
    chosen = {*names, *(metric.owner or name for name, metric in metrics.items() if metric.prompts)}
    return [owner for owner in known if owner in chosen or not names]


def about_metrics(metrics: Metrics, thresholds: Mapping[str, float] | None = None) -> dict[str, Any]:
    """What a manifest says of metrics, so that their scores can be read without this table.

    Args:
        thresholds: score from which a row passes, by any name of the metric.
    """
    limits = {canonical_name(name) or name: limit for name, limit in (thresholds or {}).items()}
    return {
        name: {
            "range": [metric.scale.low, metric.scale.high],
            "kind": metric.scale.kind,
            "atoms": list(metric.scale.atoms),
            "better": metric.scale.better,
            "stage": metric.component,
            "threshold": limits.get(name),
        }
        for name, metric in metrics.items()
    }
