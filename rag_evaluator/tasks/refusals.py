"""Which rows refuse to answer, who says so, whether their questions can be answered, and the scores that they have."""

import math
from collections.abc import Mapping
from dataclasses import replace

from rag_evaluator.config import Language
from rag_evaluator.dataset import Sample
from rag_evaluator.metrics import JUDGED, Metric, Metrics
from rag_evaluator.results import REFUSES, Score
from rag_evaluator.verifiers import is_refusal


def with_refusal(
    scores: Mapping[str, Score], sample: Sample, metrics: Metrics, refusals: str | int, language: Language
) -> dict[str, Score]:
    """The scores of a row; those of metrics that judge the response say whether it refuses.

    The judge decides where `refusal_correctness` has an outcome, else the words do.

    Args:
        refusals: of the configuration: the value that a refusal has.
    """
    if not any(metrics[name].judges_response for name in scores):
        return dict(scores)
    outcome = scores[JUDGED].outcome if JUDGED in scores else None
    judged = None if outcome is None else outcome in ("rightly answered", "wrongly refused")
    by_words = refuses_by_words(sample, language)
    refuses = outcome.endswith("refused") if outcome else by_words
    by = ("judge" if outcome else "words") if refuses else ""
    answerable = is_answerable(sample, language, judged) if sample.has("response") else None  # else nobody answers
    return {
        name: _valued(
            replace(score, refused_by=by, answerable=answerable, disagrees=refuses != by_words), metrics[name], refusals
        )
        if metrics[name].judges_response
        else score
        for name, score in scores.items()
    }


def refuses_by_words(sample: Sample, language: Language) -> bool:
    """Whether a row has a response that refuses."""
    return sample.has("response") and is_refusal(sample.value("response"), language)


def is_answerable(sample: Sample, language: Language, judged: bool | None = None) -> bool | None:
    """Whether a question can be answered: by the column `answerable`, the reference, or else as the judge says.

    A reference that is a refusal says that it cannot. None: nobody says it.
    """
    if isinstance(known := sample.columns.get("answerable"), bool):
        return known
    return not is_refusal(sample.value("reference"), language) if sample.has("reference") else judged


def _valued(score: Score, metric: Metric, refusals: str | int) -> Score:
    """A score, with the value that is declared for a refusal if it is one."""
    if not score.refused_by:
        return score
    if refusals == 0:
        return replace(score, value=metric.scale.worst, reason=None, is_applicable=True)
    if refusals == "missing" or metric.claims == "response":
        reason = f"the response {REFUSES}, by {score.by_whom}"
        reason += ": refusals is missing" if refusals == "missing" else ": it has no claim to judge"
        return replace(score, value=math.nan, reason=reason, outcome=None, is_applicable=False)
    return score
