"""`RAGEvaluator`: builds the parts from a configuration and scores a dataset."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_evaluator.config import Config, load_config, make_config, model_path
from rag_evaluator.dataset import Sample, check_columns, open_dataset
from rag_evaluator.errors import ConfigError
from rag_evaluator.judge.protocol import JudgeProtocol
from rag_evaluator.judge.signature import UNNAMED, is_unnamed, judge_signature
from rag_evaluator.judge.source import GivenJudge, identity_of_embeddings, source_of
from rag_evaluator.languages import find_language
from rag_evaluator.metrics.given_metrics import read_metrics
from rag_evaluator.metrics.scorer import Scorer
from rag_evaluator.metrics.signatures import signatures as metric_signatures
from rag_evaluator.metrics.table import select_metrics
from rag_evaluator.metrics.tracing import Recorder
from rag_evaluator.models.embeddings import LocalEmbeddings, as_embeddings, find_embeddings
from rag_evaluator.models.event_loop import run
from rag_evaluator.models.fingerprint import fingerprint
from rag_evaluator.prompts.adapt.adapt import ready_prompts
from rag_evaluator.prompts.loading import TracedPrompt
from rag_evaluator.prompts.pack import Key
from rag_evaluator.results.results import Results
from rag_evaluator.results.score import Score
from rag_evaluator.results.writers import refuse_foreign
from rag_evaluator.run import manifest
from rag_evaluator.run.chunks import Progress
from rag_evaluator.run.finished import changed_files
from rag_evaluator.run.journal import Journal
from rag_evaluator.run.merge import ChunkTable
from rag_evaluator.run.plan import auto_chunk_size
from rag_evaluator.run.stages import run_stage, work_all
from rag_evaluator.run.task import Cell, Record
from rag_evaluator.run.worker_journal import Start
from rag_evaluator.run.workers import ALONE, Worker
from rag_evaluator.signals import Stop
from rag_evaluator.tasks.evaluation import Evaluation, plan_of, results_of, to_score, with_engines
from rag_evaluator.tasks.run_digest import seal_of

if TYPE_CHECKING:
    from ragas.metrics.collections import BaseMetric

logger = logging.getLogger(__name__)
IN_FLIGHT = 2  # scores of each metric in the making, per row of a batch: enough that batches stay full


class RAGEvaluator:
    """Judges a RAG dataset with ragas metrics and local models.

    Args:
        config: a YAML file, a `Config`, or a mapping with its keys. In a mapping `metrics` may also hold rows of
            `METRICS` and metrics of `ragas.metrics.collections`, whose models are used where no other is given.
        judge: in place of the configured model: a folder or hub id, a `HuggingFacePipeline` or transformers pipeline
            already loaded, any ragas `InstructorBaseRagasLLM` such as `ScriptedJudge`, a LangChain language model, or a
            `JudgeProtocol`.
        embeddings: in place of the configured model: a folder or hub id, a langchain embedding already loaded, or a
            ragas one.

    Example:
        >>> evaluator = RAGEvaluator.from_config("config.yaml")
        >>> results = evaluator.evaluate()
        >>> results.summary()["faithfulness"]["mean"]

    Models are loaded when they are first needed, after everything else has been checked.
    """

    def __init__(
        self, config: Config | Mapping[str, Any] | str | Path, judge: Any = None, embeddings: Any = None
    ) -> None:
        if isinstance(config, Mapping) and config.get("metrics"):
            names, judge, embeddings = read_metrics(config["metrics"], judge, embeddings)
            config = {**config, "metrics": names}
        config = _as_config(config)
        self.config = _with_named(config, judge=judge, embeddings=embeddings)
        judge, embeddings = (None if isinstance(model, str | Path) else model for model in (judge, embeddings))
        self.metrics = select_metrics(self.config.metrics, self.config.place)
        self.prompts: dict[Key, TracedPrompt] = {}
        self._needs_judge = any(metric.judge for metric in self.metrics.values())
        self._needs_embeddings = any(metric.embeddings for metric in self.metrics.values())
        self._judge = None if judge is None else source_of(judge, self.config.judge)
        self._embeddings = None if embeddings is None else as_embeddings(embeddings)
        self._given = judge is not None or embeddings is not None
        self._identity: dict[str, str] = {}
        if embeddings is not None and self._needs_embeddings:
            self._identity["embeddings"] = identity_of_embeddings(embeddings) or UNNAMED

    @classmethod
    def from_config(cls, path: str | Path, overrides: Sequence[str] = ()) -> "RAGEvaluator":
        """An evaluator from a YAML file. Raises `ConfigError`."""
        return cls(load_config(path, overrides))

    def set_prompts(self) -> None:
        """Load the prompts of the configured language; with `prompts.adapt`, make those that are missing.

        Raises `PromptError` naming the packs that are missing. Making them loads the judge.
        """
        self.prompts = ready_prompts(list(self.metrics), self.config, self._loaded_judge, self._judge_signature)

    def evaluate(
        self,
        data: Any = None,
        progress: Progress | None = None,
        folder: str | Path | None = None,
        start: Start = "continue",
    ) -> Results:
        """Score every sample with every metric.

        Args:
            data: path, list of dicts, pandas frame or `datasets.Dataset`; None takes `dataset` of the configuration.
            progress: called with (scores made, scores to make).
            folder: results folder that keeps every score the moment it exists, and knows those of an earlier run of the
                same configuration: they are not made again. The result files are written there, too.
            start: what to do with a folder that has been used, see `run`. Scores of a model that has no name are always
                made anew; those of the other metrics are kept.

        Raises `RagEvaluatorError` for bad input before a model is loaded. A score that cannot be made is NaN with its
        reason and does not stop the others. Works inside a running event loop, too.
        """
        stage = self.stage(data)
        if folder is not None:
            journal = self._run(stage, Path(folder).expanduser(), data, ALONE, progress, None, start)
            if changed := changed_files(journal):
                logger.warning("%s: not as written, somebody has changed %s", folder, ", ".join(changed))
            return results_of(ChunkTable(journal, stage), stage)
        made: dict[tuple[int, str], Score] = {}
        tell = progress or _tell_nobody

        def keep(cell: Cell, record: Record) -> None:
            made[cell.unit.index, cell.column] = to_score(record)
            tell(len(made), stage.plan.cells)

        async def work() -> Mapping[str, Any]:
            cells = (Cell(sample, name) for sample in stage.units for name in self.metrics)
            async with stage.open(None) as scoring:
                await work_all(cells, scoring, keep, Stop())
                return scoring.about

        tell(0, stage.plan.cells)
        engine = run(work())
        scores = {name: [made[sample.index, name] for sample in stage.units] for name in self.metrics}
        return Results(stage.units, scores, self.signatures(), with_engines(stage.about, [engine]))

    def run(
        self,
        folder: Path,
        data: Any = None,
        worker: Worker = ALONE,
        progress: Progress | None = None,
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
        """
        return self._run(self.stage(data), folder, data, worker, progress, stop, start)

    def stage(self, data: Any = None) -> Evaluation:
        """What is to be done, checked as far as that needs no model."""
        samples = self.check(data)
        signatures, size = self.signatures(), self.config.chunk_size
        keys = {name: None if is_unnamed(line) else line for name, line in signatures.items()}
        chunk_size = auto_chunk_size(len(samples)) if size == "auto" else size
        plan = plan_of(samples, self.source(data), self.config.columns, keys, chunk_size)
        about = manifest.describe(self.config, signatures, self.prompts, len(samples))
        return Evaluation(samples, self.metrics, plan, about, self._scorer)

    def check(self, data: Any = None) -> Sequence[Sample]:
        """Everything that can be checked without loading a model; returns the samples."""
        source = self.source(data)
        samples = open_dataset(source, self.config.columns)
        needed = {name: metric.columns for name, metric in self.metrics.items()}
        check_columns(samples, needed, Path(source).name if isinstance(source, str | Path) else "data")
        self.signatures()
        return samples

    def source(self, data: Any = None) -> Any:
        """Where the rows come from. Raises `ConfigError` if nothing says it."""
        source = self.config.dataset if data is None else data
        if source is None:
            raise ConfigError(f"{self.config.source}: 'dataset' is missing. Give the file with your rows.")
        return source

    def signatures(self) -> dict[str, str]:
        """Metric -> what its numbers depend on. Finds the models, loads none but to make missing prompts."""
        self._identify_judge()
        if self._needs_embeddings and "embeddings" not in self._identity:
            folder = find_embeddings(self.config.embeddings, self.config.offline)
            self._identity["embeddings"] = fingerprint(folder)
        if not self.prompts:
            self.set_prompts()
        return metric_signatures(self.config, self.metrics, self.prompts, self._identity)

    def _run(
        self,
        stage: Evaluation,
        folder: Path,
        data: Any,
        worker: Worker,
        progress: Progress | None,
        stop: Stop | None,
        start: Start,
    ) -> Journal:
        refuse_foreign(folder)
        given = data is not None or self._given
        seal = (lambda: None) if given else (lambda: seal_of(self.config, stage.plan.data))
        return run_stage(stage, folder, worker, run, progress or _tell_nobody, stop, start, seal)

    def _identify_judge(self) -> None:
        """The fingerprint of the judge, after all checks that need not load it."""
        if self._needs_judge and "judge" not in self._identity:
            if self._judge is None:
                self._judge = GivenJudge(None, self.config.judge, self.config.offline)
            self._identity["judge"] = self._judge.name

    def _judge_signature(self) -> str:
        self._identify_judge()
        return judge_signature(self.config.judge, self._identity["judge"])

    async def _loaded_judge(self) -> JudgeProtocol:
        """The judge, loaded when it is first needed."""
        self._identify_judge()
        assert self._judge is not None
        return await self._judge.load()

    async def _scorer(self) -> Scorer:
        """Loads the models and makes the ragas metrics with the prompts of the language."""
        judge = await self._loaded_judge() if self._needs_judge else None
        if self._embeddings is None and self._needs_embeddings:
            self._embeddings = LocalEmbeddings.from_config(self.config.embeddings, self.config.offline)
        language = find_language(self.config.language)
        llm, greedy = Recorder(judge, {}), judge is not None and bool(judge.capabilities.greedy)
        metrics: dict[str, BaseMetric] = {
            name: metric.create(llm, self._embeddings, language, greedy) for name, metric in self.metrics.items()
        }
        for (name, attribute), prompt in self.prompts.items():
            setattr(metrics[name], attribute, prompt)
        in_flight = IN_FLIGHT * len(metrics) * self.config.judge.batch_size
        return Scorer(metrics, self.metrics, judge, self._embeddings, in_flight)


def _tell_nobody(done: int, total: int) -> None:
    """Progress where nobody asked for it."""


def _as_config(config: Config | Mapping[str, Any] | str | Path) -> Config:
    if isinstance(config, str | Path):
        return load_config(config)
    if isinstance(config, Mapping):
        return make_config(config)
    if not isinstance(config, Config):
        raise ConfigError(
            f"config: expected a YAML file, a Config or a mapping with its keys, received {type(config).__name__}."
        )
    return config


def _with_named(config: Config, **models: Any) -> Config:
    """The configuration with the models that were given by name or folder. Raises `ConfigError`."""
    named = {}
    for part, model in models.items():
        if isinstance(model, str | Path):
            named[part] = getattr(config, part).model_copy(update={"model": model_path(str(model), Path.cwd())})
    return config.model_copy(update=named)
