"""`RAGEvaluator`: builds the parts from a configuration and scores a dataset."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rag_evaluator.config import Config, as_config, find_language, load_config
from rag_evaluator.dataset import CheckedRows, checked_rows
from rag_evaluator.embeddings import EmbeddingsSource
from rag_evaluator.files import ACTIVITY, CHECKING, Progress, Stop, automatic, silent
from rag_evaluator.hub import is_unnamed
from rag_evaluator.judge import LLM, source_of
from rag_evaluator.metrics import (
    Metric,
    Recorder,
    about_metrics,
    as_list,
    check_chosen,
    checked_times,
    chosen_metrics,
    model_of,
    prompts_of,
    times_of,
    with_metrics,
    with_repeats,
)
from rag_evaluator.metrics import signatures as signatures_of
from rag_evaluator.prompts import Prompts
from rag_evaluator.ragas_library import BaseRagasEmbedding
from rag_evaluator.results import Results
from rag_evaluator.run import (
    ALONE,
    MAIN_STAGE,
    MAIN_TASK,
    MadeInMemory,
    Plan,
    Start,
    Table,
    Worker,
    auto_chunk_size,
    make_all,
    run_stage,
)
from rag_evaluator.scorer import Scorer
from rag_evaluator.tasks import Evaluation, describe, results_of, shown, warn_of_language, warn_of_toy, warned_once
from rag_evaluator.verifiers import AsyncReranker, VerifierSource, reranker_of


class RAGEvaluator:
    """Judges a RAG dataset with ragas metrics and local models.

    Args:
        config: a YAML file, a `Config`, or a mapping with its keys. In a mapping `metrics` may also hold rows of
            `METRICS`, metrics of `ragas.metrics.collections`, whose models are used where no other is given, and your
            own: `CustomMetric`, functions with `@metric`.
        judge: in place of the configured model: a folder or hub id, a `HuggingFacePipeline` or transformers pipeline
            already loaded, any ragas `InstructorBaseRagasLLM` such as `ScriptedJudge`, a LangChain language model, or a
            `JudgeProtocol`.
        embeddings: in place of the configured model: a folder or hub id, a `HuggingFaceEmbeddings` or another
            langchain embedding already loaded, or a ragas one.
        verifier: in place of the configured model: a folder or hub id, a `Verifier`, or another `VerifierProtocol`.
        chosen: the rows of `METRICS` that the configuration chooses, where they have been looked up already.

    Examples:
        >>> evaluator = RAGEvaluator.from_config("config.yaml")
        >>> results = evaluator.evaluate()
        >>> results.summary()["faithfulness"]["mean"]

    Models are loaded when they are first needed, after everything else has been checked.
    """

    def __init__(
        self,
        config: Config | Mapping[str, Any] | str | Path,
        judge: Any = None,
        embeddings: Any = None,
        verifier: Any = None,
        *,
        chosen: Mapping[str, Metric] | None = None,
    ) -> None:
        if isinstance(config, Mapping) and config.get("metrics"):
            metrics = as_list(config["metrics"])
            judge = model_of(metrics, "llm", judge)
            embeddings = model_of(metrics, "embeddings", embeddings)
            config = with_metrics({**config, "metrics": metrics})
        config = as_config(config)
        self.judge = source_of(judge, config.judge, config.offline)
        self._embeddings = EmbeddingsSource(embeddings, config.embeddings, config.offline)
        self._verifier = VerifierSource(verifier, config.verifier, config.language)
        sections = {
            "judge": self.judge.config,
            "embeddings": self._embeddings.config,
            "verifier": self._verifier.config,
        }
        self.config = config.model_copy(update=sections)
        is_other = self._verifier.config != config.verifier  # metrics depend on it
        self.metrics = chosen_metrics(self.config) if chosen is None or is_other else chosen
        check_chosen(self.config, self.metrics)
        self.prompts: Prompts = {}

    @classmethod
    def from_config(cls, path: str | Path, overrides: Sequence[str] = ()) -> "RAGEvaluator":
        """An evaluator from a YAML file. Raises `ConfigError`."""
        return cls(load_config(path, overrides))

    @property
    def llm(self) -> LLM:
        """The judge, for `ragas.metrics.collections` (`Faithfulness(llm=evaluator.llm)`); loaded when first asked for.

        A judge that was given as a ragas LLM is that one; `llm.pipeline` of all others is the `HuggingFacePipeline` of
        a model that runs in this process, for LangChain. Raises `ModelError`.
        """
        return self.judge.llm

    @property
    def embeddings(self) -> BaseRagasEmbedding:
        """The embedding model, for ragas' metrics and for LangChain; loaded when first asked for.

        It is both a ragas `BaseRagasEmbedding` and a LangChain `Embeddings`, unless it was given as one of ragas.
        Raises `ModelError`.
        """
        return self._embeddings.load()

    def set_prompts(self) -> None:
        """Load the prompts of the configured language; with `prompts.adapt`, make those that are missing.

        Raises `PromptError` naming the packs that are missing. Making them loads the judge.
        """
        self.prompts = prompts_of(self.metrics, self.config, self.judge)

    def evaluate(
        self,
        data: Any = None,
        progress: Progress = automatic,
        folder: str | Path | None = None,
        start: Start = "continue",
    ) -> Results:
        """Score every sample with every metric.

        Args:
            data: path, list of dicts, pandas frame or `datasets.Dataset`; None takes `dataset` of the configuration.
            progress: called with (scores made, scores to make); see docs/progress.md. By default lines.
            folder: results folder that keeps every score the moment it exists, and knows those of an earlier run of the
                same configuration: they are not made again. The result files are written there, too.
            start: what to do with a folder that has been used, see `run`. Scores of a model that has no name are always
                made anew; those of the other metrics are kept.

        Raises `RagEvaluatorError` for bad input before a model is loaded. A score that cannot be made is NaN with its
        reason and does not stop the others. Works inside a running event loop, too.
        """
        with shown(progress, "scores") as at:
            stage = self._checked(data)
            if folder is None:
                table: Table | MadeInMemory = make_all(stage, at)
            else:
                table = run_stage(stage, Path(folder).expanduser(), ALONE, at, start=start)
            return results_of(table, stage)

    def run(
        self,
        folder: Path,
        data: Any = None,
        worker: Worker = ALONE,
        progress: Progress = silent,
        stop: Stop | None = None,
        start: Start = "continue",
    ) -> Table:
        """Do one worker's part of an evaluation in a results folder, and merge when all is done; returns the scores.

        Args:
            folder: where the workers of a run meet.
            data: as in `evaluate`.
            worker: which of them this is. It ends when all chunks are finished, by whomever.
            progress: called with (scores made by anybody, scores to make).
            stop: asked to stop, it raises `StopSignal` once what is in the making is done or its grace time is over.
            start: `continue` refuses a folder of another configuration, `fresh` forgets it once the first new score is
                on disk, `update` keeps what holds.
        """
        stage = self._checked(data)
        return run_stage(stage, folder, worker, progress, stop, start)

    def _checked(self, data: Any) -> Evaluation:
        """What is to be done, with warnings about the rows."""
        stage = self.stage(data)
        for doubt in stage.units.doubts:
            warned_once(doubt)
        if any(metric.judge for metric in self.metrics.values()):
            warn_of_toy(self.judge, self.config.language)
        if any(metric.judge or metric.verifier == "model" for metric in self.metrics.values()):
            warn_of_language(stage.units, self.config)
        return stage

    @ACTIVITY.phase(CHECKING)
    def stage(self, data: Any = None) -> Evaluation:
        """What is to be done, checked as far as that needs no model. Raises `RagEvaluatorError`."""
        rows = self.rows(data)
        signatures = self.signatures_once()
        times = self._times()
        size = self.config.chunk_size
        columns = dict(self.config.columns)
        repeats = max(times.values())
        plan = Plan(
            task=MAIN_TASK,
            stage=MAIN_STAGE,
            units=len(rows),
            unit_noun="rows",
            column_noun="metrics",
            cell_noun="scores",
            data=rows.digest,
            options={"columns": json.dumps(columns, ensure_ascii=False)} if columns else {},
            columns={name: None if is_unnamed(line) else line for name, line in signatures.items()},
            chunk_size=auto_chunk_size(len(rows)) if size == "auto" else size,
            repeats=repeats,
            once=[name for name, number in times.items() if number < repeats],
            part=rows.part,
        )
        about = describe(
            rows.named_in(self.config),
            with_repeats(signatures, times),
            self.prompts,
            plan.units,
            about_metrics(self.metrics, self.config.thresholds),
            plan.part,
        )
        return Evaluation(rows, self.metrics, plan, about, self.config.report, self.scorer)

    def check(self, data: Any = None) -> None:
        """Everything that can be checked without loading a model. Raises `RagEvaluatorError`."""
        self.rows(data)
        self.signatures()
        self._times()

    def signatures(self) -> dict[str, str]:
        """Metric -> what its numbers depend on. Finds the models, loads none but to make missing prompts."""
        return with_repeats(self.signatures_once(), times_of(self.metrics, self.config.repeats))

    def signatures_once(self) -> dict[str, str]:
        """The same of a single repeat."""
        if not self.prompts:
            self.set_prompts()
        models = (self.judge, self._embeddings, self._verifier)
        return signatures_of(self.metrics, self.config.language, self.prompts, *models)

    def _times(self) -> dict[str, int]:
        """Metric -> how often its scores are made. Raises `ConfigError` if the judge is known to be unfit for that."""
        return checked_times(self.metrics, self.judge, self.config)

    def rows(self, data: Any = None) -> CheckedRows:
        """The rows, checked to have what the metrics need; `data` as in `evaluate`. Raises `RagEvaluatorError`."""
        if isinstance(data, CheckedRows):
            return data
        return checked_rows(self.config.dataset if data is None else data, self.config, self.metrics, are_scored=True)

    def scorer(self) -> Scorer:
        """What scores rows: the metrics with their models, which are loaded, and prompts. Raises `ModelError`."""
        rows = self.metrics.values()
        language = find_language(self.config.language)
        judge = self.judge.load() if any(row.judge for row in rows) else None
        embeddings = self._embeddings.load() if any(row.embeddings for row in rows) else None
        verifier = self._verifier.load() if any(row.verifier == "model" for row in rows) else None
        reranker = next((AsyncReranker(reranker_of(row.reranker)) for row in rows if row.reranker), None)
        greedy = judge is not None and bool(judge.capabilities.greedy)
        llm = Recorder(judge, {})
        metrics = {
            name: row.create(llm, embeddings, language, greedy, verifier, reranker)
            for name, row in self.metrics.items()
        }
        for (name, attribute), prompt in self.prompts.items():
            setattr(metrics[name], attribute, prompt)
        self._times()  # now the judge's capabilities are known
        return Scorer(metrics, self.metrics, judge, embeddings)
