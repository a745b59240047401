"""`RAGEvaluator`: builds the parts from a configuration and scores a dataset."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rag_evaluator.api.panel import PanelEvaluator, with_judges
from rag_evaluator.api.shown import shown
from rag_evaluator.config import Config, as_config, load_config
from rag_evaluator.config_judges import refuse_panel
from rag_evaluator.dataset import Sample, check_columns, check_readable, open_dataset
from rag_evaluator.dataset.choice import part_of, whole_of
from rag_evaluator.errors import ConfigError, ResultsError
from rag_evaluator.judge.source import judges_by_name, source_of
from rag_evaluator.metrics.chosen import chosen_metrics
from rag_evaluator.metrics.definitions import check_functions, check_rows
from rag_evaluator.metrics.given_metrics import as_list, model_of, with_metrics
from rag_evaluator.metrics.needs import needed_columns, refuse_without_probabilities, with_rubrics
from rag_evaluator.metrics.repeats import refuse_reproducible, times_of, with_repeats
from rag_evaluator.metrics.reported import check_reported
from rag_evaluator.metrics.scorer import Scorer, load_scorer
from rag_evaluator.metrics.signatures import signatures as signatures_of
from rag_evaluator.metrics.table import about_metrics, by_metric, owners_of, questions_of
from rag_evaluator.models.embeddings_source import embeddings_of
from rag_evaluator.models.event_loop import run
from rag_evaluator.progress import ACTIVITY, CHECKING, Progress, automatic, silent
from rag_evaluator.prompts.adapt.adapt import ready_prompts
from rag_evaluator.prompts.loading import TracedPrompt
from rag_evaluator.prompts.pack import Key
from rag_evaluator.results.panel_names import is_panel
from rag_evaluator.results.reporting import check_reporting
from rag_evaluator.results.results import Results
from rag_evaluator.run import manifest
from rag_evaluator.run.finished import changed_files
from rag_evaluator.run.journal import Journal
from rag_evaluator.run.merge import ChunkTable
from rag_evaluator.run.plan import data_digest
from rag_evaluator.run.stages import make_all, run_stage
from rag_evaluator.run.worker_journal import Start
from rag_evaluator.run.workers import ALONE, Worker
from rag_evaluator.signals import Stop
from rag_evaluator.tasks.evaluation import Evaluation, plan_of, results_in_memory, results_of
from rag_evaluator.tasks.probe.stage import Probing, probe_stage
from rag_evaluator.tasks.rows import chosen_rows
from rag_evaluator.tasks.run_digest import run_digest_of

logger = logging.getLogger(__name__)


class RAGEvaluator:
    """Judges a RAG dataset with ragas metrics and local models.

    Args:
        config: a YAML file, a `Config`, or a mapping with its keys. In a mapping `metrics` may also hold rows of
            `METRICS`, metrics of `ragas.metrics.collections`, whose models are used where no other is given, and your
            own: `CustomMetric`, functions with `@metric`.
        judge: in place of the configured model: a folder or hub id, a `HuggingFacePipeline` or transformers pipeline
            already loaded, any ragas `InstructorBaseRagasLLM` such as `ScriptedJudge`, a LangChain language model, or a
            `JudgeProtocol`. A mapping from names to such judges makes a panel, as `judges` of the configuration does.
        embeddings: in place of the configured model: a folder or hub id, a langchain embedding already loaded, or a
            ragas one.

    Examples:
        >>> evaluator = RAGEvaluator.from_config("config.yaml")
        >>> results = evaluator.evaluate()
        >>> results.summary()["faithfulness"]["mean"]

    Models are loaded when they are first needed, after everything else has been checked.
    """

    def __init__(
        self, config: Config | Mapping[str, Any] | str | Path, judge: Any = None, embeddings: Any = None
    ) -> None:
        if isinstance(config, Mapping) and config.get("metrics"):
            metrics = as_list(config["metrics"])
            judge, embeddings = model_of(metrics, "llm", judge), model_of(metrics, "embeddings", embeddings)
            config = with_metrics({**config, "metrics": metrics})
        config = as_config(config)
        given: Mapping[str, Any] = {}
        if config.judges and judge is not None:
            raise ConfigError(f"{config.place('judges')}: 'judges' is set, and a judge was given. Remove one of them.")
        if (several := judges_by_name(judge)) is not None:
            config, judge, given = with_judges(config, several), None, several
        self.judge = source_of(judge, config.judge, config.offline)
        self._embeddings = embeddings_of(embeddings, config.embeddings, config.offline)
        sections = {"judge": self.judge.config, "embeddings": self._embeddings.config}
        self.config = config.model_copy(update=sections)
        self.metrics = chosen_metrics(self.config)
        check_functions(self.config, self.metrics)
        check_reported(self.config, self.metrics)
        if unused := [name for name in self.config.custom_metrics if name not in self.metrics]:
            logger.warning("custom_metrics has %s, which metrics does not: not scored", ", ".join(unused))
        self.prompts: dict[Key, TracedPrompt] = {}
        self.panel = PanelEvaluator(self.config, given, self._of_judge) if config.judges else None

    def _of_judge(self, config: Config, judge: Any) -> "RAGEvaluator":
        """The evaluator of one judge of a panel; all share the embeddings."""
        return type(self)(config, judge, self._embeddings)

    @classmethod
    def from_config(cls, path: str | Path, overrides: Sequence[str] = ()) -> "RAGEvaluator":
        """An evaluator from a YAML file. Raises `ConfigError`."""
        return cls(load_config(path, overrides))

    def set_prompts(self) -> None:
        """Load the prompts of the configured language; with `prompts.adapt`, make those that are missing.

        Raises `PromptError` naming the packs that are missing. Making them loads the judge.
        """
        if self.panel is not None:
            for evaluator in self.panel.evaluators.values():
                evaluator.set_prompts()
            return
        prompts = ready_prompts(owners_of(self.metrics), self.config, self.judge, questions_of(self.metrics))
        self.prompts = by_metric(self.metrics, with_rubrics(prompts, self.metrics))

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
            progress: called with (scores made, scores to make); see docs/progress.md. By default a bar in notebooks.
            folder: results folder that keeps every score the moment it exists, and knows those of an earlier run of the
                same configuration: they are not made again. The result files are written there, too.
            start: what to do with a folder that has been used, see `run`. Scores of a model that has no name are always
                made anew; those of the other metrics are kept.

        Raises `RagEvaluatorError` for bad input before a model is loaded. A score that cannot be made is NaN with its
        reason and does not stop the others. Works inside a running event loop, too.
        """
        with shown(progress, "scores") as at:
            return self._evaluate(data, at, folder, start)

    def _evaluate(self, data: Any, progress: Progress, folder: str | Path | None, start: Start) -> Results:
        if self.panel is not None:
            if folder is None:
                return self.panel.in_memory(data, progress)
            return self.panel.in_folder(data, progress, Path(folder).expanduser(), start)
        stage = self.stage(data)
        if folder is not None:
            journal = self._run(stage, Path(folder).expanduser(), data, ALONE, progress, None, start)
            if changed := changed_files(journal):
                logger.warning("%s: not as written, somebody has changed %s", folder, ", ".join(changed))
            return results_of(ChunkTable(journal, stage), stage)
        records, engine = make_all(stage, run, progress)
        return results_in_memory(records, stage, engine)

    def run(
        self,
        folder: Path,
        data: Any = None,
        worker: Worker = ALONE,
        progress: Progress = silent,
        stop: Stop | None = None,
        start: Start = "continue",
    ) -> Journal:
        """Do one worker's part of an evaluation in a results folder, and merge when all is done.

        Args:
            folder: where the workers of a run meet.
            data: as in `evaluate`.
            worker: which of them this is. It ends when all chunks are finished, by whomever.
            progress: called with (scores made by anybody, scores to make).
            stop: asked to stop, it raises `StopSignal` once what is in the making is done or its grace time is over.
            start: `continue` refuses a folder of another configuration, `fresh` forgets it once the first new score is
                on disk, `update` keeps what holds.

        Of a panel it is the part of every judge's run, one after the other, and the journal is that of the first judge.
        """
        if self.panel is not None:
            return self.panel.run(folder, data, worker, progress, stop, start)
        return self._run(self.stage(data), folder, data, worker, progress, stop, start)

    @ACTIVITY.phase(CHECKING)
    def stage(self, data: Any = None) -> Evaluation:
        """What is to be done, checked as far as that needs no model; a panel has a stage for each judge instead."""
        refuse_panel(self.config.judges, "a stage", self.config.place)
        source = self._source(data)
        samples, signatures, times = self._samples(source), self._signatures(), self._times()
        metrics = about_metrics(self.metrics, self.config.thresholds)
        return Evaluation(
            samples,
            self.metrics,
            plan_of(samples, source, self.config.columns, signatures, self.config.chunk_size, times),
            manifest.describe(
                self.config, with_repeats(signatures, times), self.prompts, len(samples), metrics, part_of(samples)
            ),
            self._scorer,
        )

    @ACTIVITY.phase(CHECKING)
    def probing(self, data: Any = None) -> Probing:
        """What `probe` is to do: rows changed for the worse, each side scored by the metrics that it concerns.

        Raises `RagEvaluatorError` for bad input, and where no probe concerns any of the metrics.
        """
        refuse_panel(self.config.judges, "probe", self.config.place)
        source = self._source(data)
        samples, signatures = self._samples(source), self._signatures()
        refuse_without_probabilities(self.metrics, self.judge, self.config.place)
        metrics = about_metrics(self.metrics)
        about = manifest.describe(self.config, signatures, self.prompts, len(samples), metrics, part_of(samples))
        data = data_digest(source if isinstance(source, str | Path) else whole_of(samples))
        return probe_stage(samples, data, self.config, self.metrics, about, self._scorer)

    def check(self, data: Any = None) -> None:
        """Everything that can be checked without loading a model. Raises `RagEvaluatorError`."""
        if self.panel is not None:
            self.panel.stages(data)
            return
        self._samples(self._source(data))
        self.signatures()
        self._times()

    def signatures(self) -> dict[str, str]:
        """Metric -> what its numbers depend on. Finds the models, loads none but to make missing prompts."""
        if self.panel is not None:
            return self.panel.signatures()
        return with_repeats(self._signatures(), times_of(self.metrics, self.config.repeats))

    def _signatures(self) -> dict[str, str]:
        """The same of a single repeat."""
        if not self.prompts:
            self.set_prompts()
        judge, embeddings = self.judge, self._embeddings
        return signatures_of(
            self.metrics, self.config.language, self.prompts, lambda: judge.parts, lambda: embeddings.parts
        )

    def _times(self) -> dict[str, int]:
        """Metric -> how often its scores are made. Raises `ConfigError` if the judge is known to be unfit for that."""
        times = times_of(self.metrics, self.config.repeats)
        refuse_without_probabilities(self.metrics, self.judge, self.config.place)
        refuse_reproducible(times, self.judge, self.config.place("repeats"))
        return times

    def rows(self, data: Any = None) -> Sequence[Sample]:
        """The rows, checked to have what the metrics need; `data` as in `evaluate`. Raises `RagEvaluatorError`."""
        return self._samples(self._source(data))

    def _source(self, data: Any) -> Any:
        """Where the rows come from. Raises `ConfigError` if nothing says it."""
        source = self.config.dataset if data is None else data
        if source is None:
            raise ConfigError(f"{self.config.source}: 'dataset' is missing. Give the file with your rows.")
        return source

    def _samples(self, source: Any) -> Sequence[Sample]:
        """The rows that the configuration chooses; all are checked. Raises `DatasetError`."""
        samples = open_dataset(source, self.config.columns)
        check_rows(self.config, self.metrics, samples)
        needed = needed_columns(self.metrics, samples)
        check_columns(samples, needed, Path(source).name if isinstance(source, str | Path) else "data")
        check_readable(samples, {column for metric in self.metrics.values() for column in metric.optional})
        check_reporting(samples, self.config)
        return chosen_rows(samples, self.config)

    def _run(
        self,
        stage: Evaluation,
        folder: Path,
        data: Any,
        worker: Worker,
        progress: Progress,
        stop: Stop | None,
        start: Start,
    ) -> Journal:
        if is_panel(folder):
            raise ResultsError(
                f"{folder} holds scores of a panel, and this run has one judge. Choose another name or output_dir."
            )
        of_objects = data is not None or self.judge.is_object or self._embeddings.is_object
        run_digest = (lambda: None) if of_objects else (lambda: run_digest_of(self.config, stage.plan.data))
        return run_stage(stage, folder, worker, run, progress, stop, start, run_digest)

    async def _scorer(self) -> Scorer:
        scorer = await load_scorer(self.metrics, self.config.language, self.prompts, self.judge, self._embeddings)
        self._times()  # now its capabilities are known
        return scorer
