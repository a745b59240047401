"""`make_testset`: questions with answers and all their correct contexts, from the user's documents."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rag_evaluator.config.schema import Config, with_arguments
from rag_evaluator.dataset.checked import TaskColumns, checked_rows
from rag_evaluator.embeddings.embeddings import embeddings_of
from rag_evaluator.features.testset.check import NEEDED, check_stage, summary_of
from rag_evaluator.features.testset.check import TASK as CHECK
from rag_evaluator.features.testset.prepare import corpus_of
from rag_evaluator.features.testset.section import TestsetConfig
from rag_evaluator.features.testset.stage import ROWS, read_summary, testset_stage
from rag_evaluator.files.jsonl import read_lines
from rag_evaluator.files.progress import Progress, automatic
from rag_evaluator.run.merge import ChunkTable
from rag_evaluator.run.stages import run_stage
from rag_evaluator.run.workers import ALONE
from rag_evaluator.tasks.question import Settings, TaskJudge, judge_source, settings_of, shown

OWNERS = ("testset", "generate")  # of prompts


@dataclass(frozen=True)
class MadeTestset:
    """What `make_testset` gives.

    Attributes:
        folder: where the files are.
        rows: of `testset.jsonl`; `dataset` of an evaluation can be this list once responses are added.
        summary: as in `testset_summary.json`: kinds, difficulty, what was left out and why.
    """

    folder: Path
    rows: list[dict[str, Any]] = field(repr=False)
    summary: Mapping[str, Any]  # Any: JSON


def make_testset(
    documents: Sequence[Any] | None = None,
    size: int | None = None,
    *,
    judge: Any = None,
    second_judge: Any = None,
    embeddings: Any = None,
    language: str | None = None,
    config: Settings = None,
    output_dir: str | Path | None = None,
    fresh: bool = False,
    progress: Progress = automatic,
) -> MadeTestset:
    """Make a test set from documents: questions, reference answers and, of each, all correct contexts.

    Args:
        documents: files, folders and LangChain `Document`s, or a single path; None takes `testset.documents` of the
            configuration.
        size: questions wanted; None takes the configured size.
        judge: a model folder, a `Judge`, a `HuggingFacePipeline` or any ragas LLM; None takes the configured one.
        second_judge: another model, given in the same way: how hard the questions are for it is measured, too; None
            takes the configured one, if there is one.
        embeddings: a folder or hub id, or a langchain `Embeddings`; None takes the configured ones.
        language: of prompts and questions; None takes the configured one.
        config: a `Config`, a mapping with its keys or a YAML file.
        output_dir: gets the files, and a journal from which a call that was stopped continues; None: `results/<name>`.
        fresh: forget candidates of earlier calls.
        progress: called with (candidates done, candidates); see docs/progress.md. By default a bar in notebooks.

    Raises `RagEvaluatorError` for bad input before the judge is loaded.
    """
    settings = settings_of(config, language)
    settings = settings.model_copy(update={"testset": with_arguments(settings.section(TestsetConfig), size=size)})
    settings = _in_folder(settings, output_dir)
    asking = TaskJudge("testset", settings, judge_source(judge, settings), OWNERS)
    corpus = corpus_of(settings, documents)
    source = embeddings_of(embeddings, settings.embeddings, settings.offline)
    stage = testset_stage(settings, corpus, asking, source, second_judge)
    with shown(progress, stage.plan.cell_noun) as at:
        run_stage(stage, settings.results_dir, ALONE, at, start="fresh" if fresh else "update")
    rows = [row for _, row in read_lines(settings.results_dir / ROWS, json.loads)]
    return MadeTestset(settings.results_dir, rows, read_summary(settings.results_dir))


@dataclass(frozen=True)
class CheckedTestset:
    """What `check_testset` gives.

    Attributes:
        folder: where the files are.
        findings: a row each, with its flags: too_easy, ambiguous, not_answerable, wrong_reference, duplicate,
            other_language, copied.
        summary: how many rows have each flag.
    """

    folder: Path
    findings: list[dict[str, Any]] = field(repr=False)
    summary: Mapping[str, Any]  # Any: JSON


def check_testset(
    data: Any,
    *,
    judge: Any = None,
    embeddings: Any = None,
    language: str | None = None,
    config: Settings = None,
    output_dir: str | Path | None = None,
    fresh: bool = False,
    progress: Progress = automatic,
) -> CheckedTestset:
    """Pass the rows of a test set that exists through the filters of `make_testset`.

    Args:
        data: a file or rows with `user_input`, `reference` and `reference_contexts` or `retrieved_contexts`.
        judge, embeddings, language, config, fresh, progress: as in `make_testset`.
        output_dir: gets `testset_check.jsonl`; None: `results/<name>`.

    Raises `RagEvaluatorError` for bad input before the judge is loaded.
    """
    settings = _in_folder(settings_of(config, language), output_dir)
    path = Path(data).expanduser().resolve() if isinstance(data, str | Path) else None
    settings = settings.model_copy(update={"dataset": path})
    asking = TaskJudge("testset", settings, judge_source(judge, settings), OWNERS)
    rows = checked_rows(data, settings, {CHECK: TaskColumns(NEEDED)})
    stage = check_stage(rows, settings, asking, embeddings_of(embeddings, settings.embeddings, settings.offline))
    with shown(progress, stage.plan.cell_noun) as at:
        journal = run_stage(stage, settings.results_dir, ALONE, at, start="fresh" if fresh else "update")
    findings = stage.findings(ChunkTable(journal, stage))
    return CheckedTestset(settings.results_dir, findings, summary_of(findings))


def _in_folder(settings: Config, output_dir: str | Path | None) -> Config:
    if output_dir is None:
        return settings
    folder = Path(output_dir).expanduser().resolve()
    return settings.model_copy(update={"output_dir": folder.parent, "name": folder.name})
