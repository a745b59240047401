"""The rows that a configuration chooses, and rows as `sort` and `generate` need them."""

import logging
from collections.abc import Sequence
from pathlib import Path

from rag_evaluator.config import Config
from rag_evaluator.dataset import Sample, check_columns, check_readable, open_dataset
from rag_evaluator.dataset.choice import RowChoice, S, choose
from rag_evaluator.errors import ConfigError, ResultsError
from rag_evaluator.run.journal import Journal

NEEDED = ("user_input", "retrieved_contexts")
logger = logging.getLogger(__name__)


def chosen_rows(samples: Sequence[S], config: Config) -> Sequence[S]:
    """The first rows, or those that are drawn; where there are no more rows than that, all, and a warning says so."""
    for key in ("limit", "sample"):
        number = getattr(config, key)
        if number is not None and number > len(samples):
            logger.warning("%s is %s, and there are %s rows: all of them are taken", key, number, len(samples))
    choice = RowChoice.make(len(samples), config.limit, config.sample, config.sample_seed)
    return choose(samples, choice.to_json())


def read_rows(config: Config, task: str, needed: Sequence[str] = NEEDED) -> Sequence[Sample]:
    """The configured rows, with the columns that a task needs. Raises `ConfigError` or `DatasetError`."""
    if config.dataset is None:
        raise ConfigError(f"{config.source}: 'dataset' is missing. Give the file with your rows.")
    samples = open_dataset(config.dataset, config.columns)
    check_columns(samples, {task: needed}, config.dataset.name)
    if task == "generate" and not config.generate.replace:
        check_readable(samples, ["reference"])  # which rows have one decides what is written
    return chosen_rows(samples, config)


def questions_of(samples: Sequence[Sample]) -> tuple[list[str], list[list[str]]]:
    """Questions and contexts, in order; empty where a row has none."""
    questions = [sample.columns.get("user_input", "") for sample in samples]
    return questions, [sample.columns.get("retrieved_contexts", []) for sample in samples]


def samples_of(journal: Journal, config: Config, task: str, needed: Sequence[str] = NEEDED) -> Sequence[Sample]:
    """The rows that a journal is about. Raises `ResultsError` if they were given from Python or are gone."""
    if config.dataset is None:
        raise ResultsError(f"{journal.results}: its questions were given from Python: call {task} again.")
    if not Path(config.dataset).exists():
        raise ResultsError(f"{config.dataset}: the rows of {journal.results} are not there any more.")
    return read_rows(config, task, needed)
