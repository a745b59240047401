"""What a first configuration is made from, and which metrics the columns of rows allow."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rag_evaluator.config_sections import DEMO
from rag_evaluator.dataset.survey import Survey
from rag_evaluator.demo import INSTALL, demo_embeddings
from rag_evaluator.errors import ModelError
from rag_evaluator.metrics.metric import Metric
from rag_evaluator.prompts.pack import ENGLISH

PREFERRED = (
    "faithfulness",
    "answer_relevancy",
    "context_precision_with_reference",
    "context_precision_without_reference",
    "context_recall",
    "answer_accuracy",
)
INSTEAD_OF = {"context_precision_without_reference": "context_precision_with_reference"}  # one of them is enough
FEW = 3  # metrics, where none of those is possible


@dataclass(frozen=True)
class Proposal:
    """A first configuration.

    Attributes:
        text: of the file.
        survey: what the rows hold.
        metrics: proposed.
        possible: other metrics that the columns allow.
        language: of the rows.
        warnings: what the user should know before the run.
    """

    text: str
    survey: Survey
    metrics: Sequence[str]
    possible: Sequence[str]
    language: str
    warnings: Sequence[str]


@dataclass(frozen=True)
class Wishes:
    """What the user has said; None or empty: is to be found out.

    Attributes:
        out: where the configuration will be written; paths in it count from its folder.
        judge, embeddings: folders or hub ids of models.
        columns: the user's names of columns, as in the configuration.
    """

    out: Path
    name: str | None = None
    language: str | None = None
    metrics: Sequence[str] = ()
    judge: str = DEMO
    embeddings: str = DEMO
    columns: Mapping[str, str] | None = None


def is_possible(metric: Metric, present: Iterable[str]) -> bool:
    there = set(present)
    return set(metric.needs(there.__contains__)) <= there


def embeddings_fit(metric: Metric, language: str, wishes: Wishes) -> bool:
    """Whether the embeddings that a metric needs are there, and are for the language."""
    return not metric.embeddings or unfit_embeddings(language, wishes) is None


def unfit_embeddings(language: str, wishes: Wishes) -> str | None:
    """Why texts of the language cannot be compared with the chosen embeddings, and what to do; None if they can."""
    if wishes.embeddings != DEMO:
        return None
    if not has_demo_embeddings():
        return f"those of the demo are not installed ({INSTALL}). Install them, or set embeddings.model for {language}"
    if language == ENGLISH:
        return None
    return f"those of the demo are English only. Set embeddings.model for {language}"


def has_demo_embeddings() -> bool:
    try:
        demo_embeddings()
    except ModelError:
        return False
    return True


def preferred(possible: Sequence[str]) -> list[str]:
    chosen = [name for name in PREFERRED if name in possible and INSTEAD_OF.get(name) not in possible]
    return chosen or list(possible[:FEW])
