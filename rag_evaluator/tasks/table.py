"""What can be run: `evaluate` and the tasks beside it, rows of `TASKS` or of a feature."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rag_evaluator.config import Task, all_features, load

if TYPE_CHECKING:
    from rag_evaluator.run import Journal, Stage

TASKS: Mapping[str, Task] = {
    "evaluate": Task("rag_evaluator.tasks.evaluation:of_journal"),
    "sort": Task("rag_evaluator.tasks.sort:of_journal"),
    "generate": Task("rag_evaluator.tasks.references:of_journal"),
}
"""Name of a task -> what `merge` and `submit` need of it."""


def all_tasks() -> Mapping[str, Task]:
    """Those of the core, then those of the features."""
    return {**TASKS, **{name: task for feature in all_features().values() for name, task in feature.tasks.items()}}


def stage_of(journal: "Journal") -> "Stage":
    """The stage of a journal; loads no model. Raises `ResultsError` if its units are not there any more."""
    stage: Stage = load(all_tasks()[journal.plan.task].stage)(journal)
    return stage
