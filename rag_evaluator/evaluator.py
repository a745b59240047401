"""`RAGEvaluator`: builds the parts from a configuration and scores a dataset."""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragas.embeddings.base import BaseRagasEmbedding
from ragas.llms.base import InstructorBaseRagasLLM

from rag_evaluator import manifest
from rag_evaluator.chunks import Work
from rag_evaluator.config import Config, load_config, make_config
from rag_evaluator.dataset import Sample, check_columns, open_dataset
from rag_evaluator.embeddings import LocalEmbeddings, find_embeddings
from rag_evaluator.errors import ConfigError, ModelError
from rag_evaluator.journal import Journal, Start, WorkerJournal, now
from rag_evaluator.judge import Judge, run
from rag_evaluator.judges import GivenJudge, identity_of, kind_of
from rag_evaluator.languages import find_language
from rag_evaluator.merge import is_finished, merge_once, read_results
from rag_evaluator.metrics import select_metrics
from rag_evaluator.offline import disable_network
from rag_evaluator.plan import Plan, auto_chunk_size, data_digest
from rag_evaluator.prompts import CarryingPrompt, Key
from rag_evaluator.prompts.adapt import ready_prompts
from rag_evaluator.results import Results
from rag_evaluator.scores import Score
from rag_evaluator.scoring import Job, Progress, Scorer
from rag_evaluator.seal import seal_of
from rag_evaluator.stop import Stop, StopSignal
from rag_evaluator.workers import ALONE, Worker, process_name, run_id

if TYPE_CHECKING:
    from ragas.metrics.collections import BaseMetric

IN_FLIGHT = 2  # scores of each metric in the making, per row of a batch: enough that batches stay full


class RAGEvaluator:
    """Judges a RAG dataset with ragas metrics and local models.

    Args:
        config: a `Config`, or a mapping with its keys.
        judge: in place of the configured model: a folder or hub id, a `HuggingFacePipeline` or transformers pipeline
            already loaded, or any ragas `InstructorBaseRagasLLM` such as `ScriptedJudge`.
        embeddings: in place of the configured model: a folder or hub id, a langchain embedding already loaded, or a
            ragas one.

    Example:
        >>> evaluator = RAGEvaluator.from_config("config.yaml")
        >>> results = evaluator.evaluate()
        >>> results.summary()["faithfulness"]["mean"]

    Models are loaded when they are first needed, after everything else has been checked.
    """

    def __init__(self, config: Config | Mapping[str, Any], judge: Any = None, embeddings: Any = None) -> None:
        config = config if isinstance(config, Config) else make_config(config)
        self.config = _with_named(config, judge=judge, embeddings=embeddings)
        judge, embeddings = (None if isinstance(model, str | Path) else model for model in (judge, embeddings))
        self.metrics = select_metrics(self.config.metrics, self.config.source)
        if self.config.offline:
            disable_network()
        self.prompts: dict[Key, CarryingPrompt] = {}
        self._needs_judge = any(metric.judge for metric in self.metrics.values())
        self._needs_embeddings = any(metric.embeddings for metric in self.metrics.values())
        self._judge = None if judge is None else GivenJudge(judge, self.config.judge)
        self._embeddings = None if embeddings is None else _as_embeddings(embeddings)
        self._given = judge is not None or embeddings is not None
        self._identity = {} if embeddings is None else {"embeddings": identity_of(embeddings) or kind_of(embeddings)}

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
            start: what to do with a folder that has been used, see `run`.

        Raises `RagEvaluatorError` for bad input before a model is loaded. A score that cannot be made is NaN with its
        reason and does not stop the others. Works inside a running event loop, too.
        """
        if folder is not None:
            return read_results(*self.run(Path(folder), data, progress=progress, start=start))
        samples, signatures = self.check(data), self.signatures()
        jobs = [Job(sample, name, line) for sample in samples for name, line in signatures.items()]
        made: dict[tuple[int, str], Score] = {}
        tell = progress or _tell_nobody

        def keep(job: Job, score: Score) -> None:
            made[job.sample.index, job.metric] = score
            tell(len(made), len(jobs))

        tell(0, len(jobs))
        scorer = self._scorer()
        run(scorer.score_all(iter(jobs), keep, Stop()))
        scores = {name: [made[sample.index, name] for sample in samples] for name in self.metrics}
        ways = {"judge_paths": [scorer.judge.about]} if isinstance(scorer.judge, Judge) else {}
        return Results(samples, scores, signatures, {**self._about(len(samples)), **ways})

    def run(
        self,
        folder: Path,
        data: Any = None,
        worker: Worker = ALONE,
        progress: Progress | None = None,
        stop: Stop | None = None,
        start: Start = "continue",
    ) -> tuple[Journal, Sequence[Sample]]:
        """Do one worker's part of an evaluation in a results folder, and merge when all is done.

        Args:
            folder: where the workers of a run meet.
            data: as in `evaluate`.
            worker: which of them this is. It ends when all chunks are finished, by whomever.
            progress: called with (scores made by anybody, scores to make).
            stop: asked to stop, it raises `StopSignal` once what is in the making is done or its grace time is over.
            start: `continue` refuses a folder of another configuration, `fresh` forgets it, `update` keeps what holds.

        Returns the journal and the samples, from which the results can be read.
        """
        stop = stop or Stop()
        samples = self.check(data)
        plan = self._plan(samples, data)
        journal = WorkerJournal(folder, plan, self._about(len(samples)), process_name(worker), start)
        if is_finished(journal) and not journal.try_again(run_id()):
            return journal, samples
        note: dict[str, Any] = {"worker": str(worker), "plan": journal.digest, "began": now(), "run": run_id()}
        journal.note_worker(note)
        work = Work(journal, samples, worker, progress or _tell_nobody)
        try:
            self._work(work, stop, note)
        except StopSignal as signal:
            journal.note_worker({**note, "ended": f"stopped by {signal}", "at": now()})
            raise
        finally:
            work.close()
        given = data is not None or self._given
        merge_once(journal, samples, {"run": run_id(), "seal": None if given else seal_of(self.config)})
        journal.note_worker({**note, "ended": "finished", "at": now()})
        return journal, samples

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
            self._identity["embeddings"] = manifest.fingerprint(folder)
        if not self.prompts:
            self.set_prompts()
        return manifest.signatures(self.config, self.metrics, self.prompts, self._identity)

    def _work(self, work: Work, stop: Stop, note: dict[str, Any]) -> None:
        """Load models if there is a job at all, and do the jobs. The worker's note gets how the judge is run."""
        jobs = work.jobs()
        first = next(jobs, None)
        if first is None:
            return
        scorer = self._scorer()
        if isinstance(scorer.judge, Judge):
            note["judge"] = scorer.judge.about
            work.journal.note_worker(note)
        with stop.patiently():
            run(scorer.score_all(itertools.chain([first], jobs), work.done, stop, work.tick))
        if stop.asked and work.journal.missing():
            raise StopSignal(stop.asked)

    def _plan(self, samples: Sequence[Sample], data: Any) -> Plan:
        source = self.source(data)
        is_path = isinstance(source, str | Path)
        size = self.config.chunk_size
        return Plan(
            rows=len(samples),
            data=data_digest(source if is_path else samples),
            columns=self.config.columns,
            signatures=self.signatures(),
            chunk_size=auto_chunk_size(len(samples)) if size == "auto" else size,
        )

    def _about(self, rows: int) -> dict[str, Any]:
        return manifest.describe(self.config, self.signatures(), self.prompts, rows)

    def _identify_judge(self) -> None:
        """The fingerprint of the judge, after all checks that need not load it."""
        if self._needs_judge and "judge" not in self._identity:
            if self._judge is None:
                self._judge = GivenJudge(None, self.config.judge, self.config.offline)
            self._identity["judge"] = self._judge.identity or kind_of(self._judge.given)

    def _judge_signature(self) -> str:
        self._identify_judge()
        return manifest.judge_signature(self.config.judge, self._identity["judge"])

    def _loaded_judge(self) -> InstructorBaseRagasLLM:
        """The judge, loaded when it is first needed."""
        self._identify_judge()
        assert self._judge is not None
        return self._judge.load()

    def _scorer(self) -> Scorer:
        """Loads the models and makes the ragas metrics with the prompts of the language."""
        judge = self._loaded_judge() if self._needs_judge else None
        if self._embeddings is None and self._needs_embeddings:
            self._embeddings = LocalEmbeddings.from_config(self.config.embeddings, self.config.offline)
        language = find_language(self.config.language)
        metrics: dict[str, BaseMetric] = {
            name: metric.create(judge, self._embeddings, language) for name, metric in self.metrics.items()
        }
        for (name, attribute), prompt in self.prompts.items():
            setattr(metrics[name], attribute, prompt)
        in_flight = IN_FLIGHT * len(metrics) * self.config.judge.batch_size
        return Scorer(metrics, self.metrics, judge, self._embeddings, in_flight)


def _tell_nobody(done: int, total: int) -> None:
    """Progress where nobody asked for it."""


def _with_named(config: Config, **models: Any) -> Config:
    """The configuration with the models that were given by name or folder."""
    named = {
        part: getattr(config, part).model_copy(update={"model": str(model)})
        for part, model in models.items()
        if isinstance(model, str | Path)
    }
    return config.model_copy(update=named)


def _as_embeddings(embeddings: Any) -> BaseRagasEmbedding:
    """A ragas embedding as it is; a langchain one with its vectors remembered."""
    if isinstance(embeddings, BaseRagasEmbedding):
        return embeddings
    if not hasattr(embeddings, "embed_documents"):
        raise ModelError(
            f"embeddings: expected a folder or hub id, a langchain Embeddings or a ragas BaseRagasEmbedding, received "
            f"{type(embeddings).__name__}."
        )
    return LocalEmbeddings(embeddings)
