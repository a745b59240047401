"""`RAGEvaluator`: builds the parts from a configuration and scores a dataset."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragas.embeddings.base import BaseRagasEmbedding
from ragas.llms.base import InstructorBaseRagasLLM

from rag_evaluator import manifest
from rag_evaluator.config import Config, load_config, make_config
from rag_evaluator.dataset import Sample, check_columns, load_dataset
from rag_evaluator.embeddings import LocalEmbeddings, find_embeddings
from rag_evaluator.errors import ConfigError, ModelError
from rag_evaluator.journal import Journal
from rag_evaluator.judge import Judge, run
from rag_evaluator.judge.local import find_judge
from rag_evaluator.languages import find_language
from rag_evaluator.metrics import select_metrics
from rag_evaluator.offline import disable_network
from rag_evaluator.prompts import CarryingPrompt, Key
from rag_evaluator.prompts.adapt import ready_prompts
from rag_evaluator.results import Results
from rag_evaluator.scoring import Job, Progress, Scorer

if TYPE_CHECKING:
    from ragas.metrics.collections import BaseMetric

IN_FLIGHT = 2  # scores of each metric in the making, per row of a batch: enough that batches stay full


class RAGEvaluator:
    """Judges a RAG dataset with ragas metrics and local models.

    Args:
        config: a `Config`, or a mapping with its keys.
        judge: in place of the configured model: a `HuggingFacePipeline` or transformers pipeline already loaded, or any
            ragas `InstructorBaseRagasLLM` such as `ScriptedJudge`.
        embeddings: in place of the configured model: a langchain embedding already loaded, or a ragas one.

    Example:
        >>> evaluator = RAGEvaluator.from_config("config.yaml")
        >>> results = evaluator.evaluate()
        >>> results.summary()["faithfulness"]["mean"]

    Models are loaded when they are first needed, after everything else has been checked.
    """

    def __init__(self, config: Config | Mapping[str, Any], judge: Any = None, embeddings: Any = None) -> None:
        self.config = config if isinstance(config, Config) else make_config(config)
        self.metrics = select_metrics(self.config.metrics, self.config.source)
        if self.config.offline:
            disable_network()
        self.prompts: dict[Key, CarryingPrompt] = {}
        self._needs_judge = any(metric.judge for metric in self.metrics.values())
        self._needs_embeddings = any(metric.embeddings for metric in self.metrics.values())
        self._judge = None if judge is None else _as_judge(judge, self.config)
        self._embeddings = None if embeddings is None else _as_embeddings(embeddings)
        self._identity = {"judge": _identity(judge), "embeddings": _identity(embeddings)}

    @classmethod
    def from_config(cls, path: str | Path, overrides: Sequence[str] = ()) -> "RAGEvaluator":
        """An evaluator from a YAML file. Raises `ConfigError`."""
        return cls(load_config(path, overrides))

    def set_prompts(self) -> None:
        """Load the prompts of the configured language; with `prompts.adapt`, make those that are missing.

        Raises `PromptError` naming the packs that are missing. Making them loads the judge.
        """
        self.prompts = ready_prompts(list(self.metrics), self.config, self._loaded_judge, self._judge_signature)

    def evaluate(self, data: Any = None, progress: Progress | None = None, journal: Journal | None = None) -> Results:
        """Score every sample with every metric.

        Args:
            data: path, list of dicts, pandas frame or `datasets.Dataset`; None takes `dataset` of the configuration.
            progress: called with (scores made, scores to make).
            journal: keeps every score the moment it exists, and knows those of an earlier run: they are not made again.

        Raises `RagEvaluatorError` for bad input before a model is loaded. A score that cannot be made is NaN with its
        reason and does not stop the others. Works inside a running event loop, too.
        """
        started = time.time()
        samples = self.check(data)
        signatures = manifest.signatures(self.config, self.metrics, self.prompts, self._identity)
        jobs = [Job(sample, name, signatures[name]) for sample in samples for name in self.metrics]
        scores = [None if journal is None else journal.find(*job, judgements=False) for job in jobs]
        if None in scores:
            run(self._scorer().fill(jobs, scores, journal, progress or (lambda done, total: None)))
        made = [score for score in scores if score is not None]
        assert len(made) == len(jobs), "every job has a score, if only a missing one"
        return Results(
            samples,
            {name: made[position :: len(self.metrics)] for position, name in enumerate(self.metrics)},
            signatures,
            manifest.describe(self.config, signatures, self.prompts, len(samples), started),
            journal,
        )

    def check(self, data: Any = None) -> list[Sample]:
        """Everything that can be checked without loading a model; returns the samples."""
        source = self.config.dataset if data is None else data
        if source is None:
            raise ConfigError(f"{self.config.source}: 'dataset' is missing. Give the file with your rows.")
        samples = load_dataset(source, columns=self.config.columns)
        needed = {name: metric.columns for name, metric in self.metrics.items()}
        check_columns(samples, needed, Path(source).name if isinstance(source, str | Path) else "data")
        self._identify_judge()
        if self._embeddings is None and self._needs_embeddings:
            folder = find_embeddings(self.config.embeddings, self.config.offline)
            self._identity["embeddings"] = manifest.fingerprint(folder)
        if not self.prompts:
            self.set_prompts()
        return samples

    def _identify_judge(self) -> None:
        """The fingerprint of the configured judge, after all checks that need not load it."""
        if self._judge is None and self._needs_judge:
            self._identity["judge"] = manifest.fingerprint(find_judge(self.config.judge, self.config.offline))

    def _judge_signature(self) -> str:
        self._identify_judge()
        return manifest.judge_signature(self.config.judge, self._identity["judge"])

    def _loaded_judge(self) -> InstructorBaseRagasLLM:
        """The judge, loaded when it is first needed."""
        if self._judge is None:
            self._judge = Judge.from_config(self.config.judge, self.config.offline)
        return self._judge

    def _scorer(self) -> Scorer:
        """Loads the models and makes the ragas metrics with the prompts of the language."""
        judge = self._loaded_judge() if self._needs_judge else self._judge
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


def _as_judge(judge: Any, config: Config) -> InstructorBaseRagasLLM:
    """A ragas LLM as it is; a pipeline under the grammars."""
    if isinstance(judge, InstructorBaseRagasLLM):
        return judge
    inner = getattr(judge, "pipeline", judge)  # langchain's wrapper holds transformers' pipeline
    if not hasattr(inner, "model") or not hasattr(inner, "tokenizer"):
        raise ModelError(
            f"judge: expected a HuggingFacePipeline, a transformers text-generation pipeline or a ragas "
            f"InstructorBaseRagasLLM, received {type(judge).__name__}. A model's folder belongs into judge.model."
        )
    return Judge(judge, config.judge)


def _as_embeddings(embeddings: Any) -> BaseRagasEmbedding:
    """A ragas embedding as it is; a langchain one with its vectors remembered."""
    if isinstance(embeddings, BaseRagasEmbedding):
        return embeddings
    if not hasattr(embeddings, "embed_documents"):
        raise ModelError(
            f"embeddings: expected a langchain Embeddings or a ragas BaseRagasEmbedding, received "
            f"{type(embeddings).__name__}. A model's folder belongs into embeddings.model."
        )
    return LocalEmbeddings(embeddings)


def _identity(model: Any) -> str:
    """What can be told of a model handed in: the fingerprint of its folder, its id, or its kind."""
    inner = getattr(model, "model", None)  # of a transformers pipeline
    names = (getattr(model, "model_id", None), getattr(model, "model_name", None), getattr(inner, "name_or_path", None))
    return manifest.fingerprint(next((str(name) for name in names if name), type(model).__name__))
