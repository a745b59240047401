"""What tasks with questions share: rows as units, a judge whose answers are kept, settings, progress in Python."""

import json
import logging
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, ClassVar

from rag_evaluator.config import DEMO, Config, Section, as_config, find_language
from rag_evaluator.dataset import CheckedRows, Sample, TaskColumns, check_lists, checked_rows
from rag_evaluator.errors import SHELL, ResultsError
from rag_evaluator.files import ACTIVITY, APART, CHECKING, Progress, Watch, automatic, short_digest, write_to
from rag_evaluator.judge import CachedJudge, JudgeProtocol, LazyJudge, source_of
from rag_evaluator.metrics import Metrics, with_metrics
from rag_evaluator.models import Models
from rag_evaluator.prompts import ENGLISH, Prompts, identified, languages_in, own_prompts, ready_prompts, with_examples
from rag_evaluator.resources import packaged
from rag_evaluator.results import toy_sentence, unknown_to_toy
from rag_evaluator.run import ALONE, Answers, Journal, Plan, Record, Stage, Table, Work, auto_chunk_size, run_stage

from .manifest import describe

NEEDED = ("user_input", "retrieved_contexts")
NO_QUESTION = "there is no question"
NO_CONTEXTS = "there is no context"
MOST_QUESTIONS = 16  # of a chunk: each may be hundreds of questions to the judge
SIDE_BY_SIDE = 64  # questions worked on at any time, so that batches stay full and memory bounded
Make = Callable[[Any], Awaitable[Record]]
"""Makes the record of a question. Any: each stage has questions of its own kind, with an `index` and a `digest`."""
logger = logging.getLogger(__name__)
FOUR_METRICS = ("answer_relevancy", "faithfulness", "context_recall", "context_precision")
Settings = Config | Mapping[str, Any] | str | Path | None
LOOKED_AT = 20  # rows


def read_rows(config: Config, task: str, needed: Sequence[str] = NEEDED) -> CheckedRows:
    """The configured rows, with the columns that a task needs. Raises `ConfigError` or `DatasetError`."""
    decides = task == "generate" and not config.generate.replace  # which rows have one decides what is written
    return checked_rows(config.dataset, config, {task: TaskColumns(needed, ("reference",) if decides else ())})


def samples_of(journal: Journal, config: Config, task: str, needed: Sequence[str] = NEEDED) -> CheckedRows:
    """The rows that a journal is about. Raises `ResultsError` if they were given from Python."""
    if config.dataset is None:
        raise ResultsError(f"{journal.results}: its questions were given from Python: call {task} again.")
    return read_rows(config, task, needed)


@dataclass(frozen=True)
class Question:
    """A question and its contexts, best first as the retriever has them; `index` is its place in the stage."""

    index: int
    question: str
    contexts: Sequence[str]

    @cached_property
    def digest(self) -> str:
        """16 hexadecimal digits of question and contexts."""
        return short_digest(json.dumps([self.question, *self.contexts], ensure_ascii=False))


def units_of(samples: Iterable[Sample]) -> list[Question]:
    """The questions of rows with their contexts as units, in order; empty where a row has none."""
    return [
        Question(index, sample.columns.get("user_input", ""), sample.columns.get("retrieved_contexts", []))
        for index, sample in enumerate(samples)
    ]


class TaskJudge:
    """The prompts and the judge of a task, found and checked; the judge is not loaded.

    Args:
        owners: of the prompts; None: the task has its own.

    Raises `RagEvaluatorError` for missing prompts or models.
    """

    @ACTIVITY.phase(CHECKING)
    def __init__(self, task: str, config: Config, judge: Any = None, owners: Sequence[str] | None = None) -> None:
        self.judge = source_of(judge, config.judge, config.offline)
        warn_of_toy(self.judge, config.language)
        self.config = config.model_copy(update={"judge": self.judge.config})
        originals = {key: prompt for key, prompt in own_prompts().items() if key[0] in (owners or [task])}
        prompts = ready_prompts(originals, config, self.judge)
        self.prompts: Prompts = with_examples(prompts, config.judge.examples)

    def signature(self, settings: Section | None = None) -> str | None:
        """What a value depends on beside question and contexts; None if the judge has no name."""
        if self.judge.signature is None:
            return None
        sources = "".join(prompt.source for prompt in self.prompts.values())
        options = {} if settings is None else settings.model_dump()
        parts = {"prompts": short_digest(sources), **options}
        return "|".join([self.judge.signature, *(f"{name}:{value}" for name, value in parts.items())])

    def about(self, task: str, rows: int, part: Mapping[str, int] | None = None) -> dict[str, Any]:
        """What the manifest of the results says."""
        return describe(self.config, {task: self.judge.line}, self.prompts, rows, part=part)


def plan_of(
    task: str,
    stage: str,
    units: Sequence[Any],
    column: str,
    signature: str | None,
    chunk_size: int | str,
    data: str,
    part: Mapping[str, int] | None = None,
) -> Plan:
    """What all workers of `sort` or `generate` must agree on.

    Args:
        data: digest of the questions that units were chosen from.
        part: which rows were chosen, see `RowChoice`.
    """
    return Plan(
        task=task,
        stage=stage,
        units=len(units),
        unit_noun="questions",
        column_noun="columns",
        cell_noun="questions",
        data=data,
        options={},
        columns={column: signature},
        chunk_size=chunk_size if isinstance(chunk_size, int) else auto_chunk_size(len(units), MOST_QUESTIONS),
        part=part or {},
    )


def digest_of(units: Sequence[Any]) -> str:
    """16 hexadecimal digits of all questions and contexts."""
    return short_digest("".join(unit.digest for unit in units))


class QuestionStage(Stage):
    """Questions x one column.

    Args:
        units: the questions, in order.
        plan, about: see `rag_evaluator.run.table.Stage`.
        asking: None where nothing is left to be asked.

    Attributes:
        asked: questions that reached the judge in this process.
    """

    def __init__(self, units: Sequence[Any], plan: Plan, about: Mapping[str, Any], asking: TaskJudge | None) -> None:
        self.units = units
        self.plan = plan
        self.about = about
        self.asking = asking
        self.asked = 0

    def check(self, column: str, value: Any) -> None:
        if not isinstance(value, dict):
            raise ValueError(f"{value!r:.40} is no {column}")

    @asynccontextmanager
    async def open(self, answers: Answers | None) -> AsyncIterator[Work]:
        """Load the judge; it is asked through the answers that were kept, unless it has no name."""
        assert self.asking is not None
        kept = None if answers is None else answers()
        source = self.asking.judge
        judge = CachedJudge(source.load(), source.signature, kept)
        try:
            make = self.make(judge)
            yield Work(lambda unit, column, repeat: make(unit), SIDE_BY_SIDE, judge.about)
        finally:
            self.asked += judge.asked
            if kept is not None:
                kept.close()

    def make(self, judge: JudgeProtocol) -> Make:
        """What makes the record of a question."""
        raise NotImplementedError


class ContextStage(QuestionStage):
    """Questions with their contexts x one column: what `sort` and `generate` share.

    Args:
        rows: of a dataset, or of lists in hand.
        signed: the settings that values depend on.
        asking: None where the results of a journal are written.
        journal: whose plan and manifest hold; None: those of a run that begins.
    """

    task: ClassVar[str]
    stage: ClassVar[str]
    column: ClassVar[str]

    def __init__(
        self, rows: CheckedRows, signed: Section, asking: TaskJudge | None, journal: Journal | None = None
    ) -> None:
        units = units_of(self.chosen(rows))
        if journal is not None:
            super().__init__(units, journal.plan, journal.about, asking)
            return
        assert asking is not None
        data = digest_of(units_of(self.chosen(rows.whole)))
        size = asking.config.chunk_size
        signature = asking.signature(signed)
        plan = plan_of(self.task, self.stage, units, self.column, signature, size, data, rows.part)
        super().__init__(units, plan, asking.about(self.task, len(units), rows.part), asking)

    def chosen(self, samples: Sequence[Sample]) -> Sequence[Sample]:
        """The rows whose questions are asked."""
        return samples


def fields_of(record: Record) -> Mapping[str, Any]:
    """What is known of a question, also where there is no value."""
    fields: Mapping[str, Any] = record.details if record.missing else record.value
    return fields


def without_question(fields: Mapping[str, Any]) -> dict[str, Any]:
    """What a record keeps: question and contexts are those of its unit."""
    return {name: value for name, value in fields.items() if name not in ("question", "contexts")}


def settings_of(config: Settings, language: str | None = None) -> Config:
    """The configuration as users give it, in another language if one is named. Raises `ConfigError`."""
    if config is None or isinstance(config, Mapping):
        keys = {"metrics": list(FOUR_METRICS), **(config or {})}
        config = with_metrics(keys) if isinstance(keys["metrics"], list | tuple) else keys
    settings = as_config(config)
    return settings if language is None else settings.model_copy(update={"language": language})


def asked_by_lists(
    task: str,
    question_list: Sequence[str],
    contexts_list: Sequence[Sequence[str]],
    judge: Any,
    language: str | None,
    config: Settings,
) -> tuple[CheckedRows, TaskJudge]:
    """The rows of questions and contexts in hand, and whom a task asks about them. Raises `RagEvaluatorError`."""
    rows = check_lists(question_list, contexts_list)
    settings = settings_of(config, language)
    warn_of_language(rows, settings)
    source = judge_source(judge, settings)
    return rows, TaskJudge(task, settings.model_copy(update={"dataset": None}), source)


def judge_source(judge: Any, settings: Config) -> LazyJudge:
    """The judge as given or configured; a warning, once, where it is the demo judge because nobody named another.

    `warn_of_toy` says the same of a language that this judge was not trained on.
    """
    source = source_of(judge, settings.judge, settings.offline)
    is_demo = judge in (None, DEMO) and source.config.model_name == DEMO
    if is_demo and not unknown_to_toy(DEMO, settings.language):
        warned_once("The demo judge is a toy; give a model of your own as judge.")
    return source


def warn_of_rows(rows: CheckedRows, metrics: Metrics, models: Models) -> None:
    """Say once what is doubtful in the rows, and what the models cannot read of them."""
    for doubt in rows.doubts:
        warned_once(doubt)
    if any(metric.judge for metric in metrics.values()):
        warn_of_toy(models.judge, models.config.language)
    if any(metric.verifier == "model" for metric in metrics.values()) and (note := models.verifier.note):
        warned_once(note)
    if any(metric.judge or metric.verifier == "model" for metric in metrics.values()):
        warn_of_language(rows, models.config)


def warn_of_toy(judge: LazyJudge, language: str) -> None:
    """Warn, once in a process, if the demo judge was not trained on the language."""
    if unknown_to_toy(judge.config.model_name, language):
        warned_once(toy_sentence(judge.config.model_name, language))


def warn_of_language(rows: Sequence[Sample], settings: Config) -> None:
    """Warn, once in a process, where the judge is asked in English and the first rows are in a language with prompts.

    Rows of ASCII letters are taken for English, so that nothing is loaded for them.
    """
    if find_language(settings.language).name != ENGLISH:
        return
    texts = ["\n".join([unit.question, *unit.contexts]) for unit in units_of(rows[:LOOKED_AT])]
    language = None if all(map(str.isascii, texts)) else identified(texts)
    if language and language.name != ENGLISH and language.name in languages_in(packaged("prompts")):
        name = language.name.title()
        key = f"--set language={language.name}" if SHELL.get() else f'language="{language.name}"'
        warned_once(f"The texts look {name}, and the judge is asked in English: {key} gives it {name} prompts.")


@cache
def warned_once(text: str) -> None:
    """A warning that a process gives once."""
    logger.warning("%s", text)


def run_and_keep(stage: QuestionStage, folder: Path, fresh: bool, progress: Progress) -> Table:
    """The finished cells of a stage; what holds of earlier calls is kept."""
    with shown(progress, stage.plan.cell_noun) as at:
        return run_stage(stage, folder, ALONE, at, start="fresh" if fresh else "update")


@contextmanager
def shown(progress: Progress, noun: str) -> Iterator[Progress]:
    """The counts of a call, for its callback; for `automatic` lines on standard error. Commands show their own lines.

    Args:
        noun: what is counted.
    """
    writes = progress is automatic and not SHELL.get()
    with Watch(write_to(sys.stderr), first=APART) if writes else nullcontext(), ACTIVITY.counted(noun) as counted:

        def at(done: int, total: int) -> None:
            counted(done, total)
            progress(done, total)

        yield at
