"""What can be run: `evaluate` and the tasks beside it. A task is a row of `TASKS`."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from rag_evaluator.run.journal import Journal
from rag_evaluator.run.task import Stage

TASKS: Mapping[str, str] = {
    "evaluate": "rag_evaluator.tasks.evaluation:of_journal",
    "sort": "rag_evaluator.tasks.sort:of_journal",
    "generate": "rag_evaluator.tasks.references:of_journal",
    "probe": "rag_evaluator.features.probe.stage:of_journal",
    "duel": "rag_evaluator.features.duel.stage:of_journal",
    "testset": "rag_evaluator.features.testset.stage:of_journal",
    "testset_check": "rag_evaluator.features.testset.check:of_journal",
}
"""Name of a task -> what makes a stage from its journal, to write the results of."""


def stage_of(journal: Journal) -> Stage[Any]:
    """The stage of a journal; loads no model. Raises `ResultsError` if its units are not there any more."""
    module, _, name = TASKS[journal.plan.task].partition(":")
    stage: Stage[Any] = getattr(import_module(module), name)(journal)
    return stage
