"""`RAGEvaluator`: a configuration and rows in, results out."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rag_evaluator.config import Config, as_config, load_config
from rag_evaluator.dataset import APPEND, REWRITE, CheckedRows, checked_rows
from rag_evaluator.files import ACTIVITY, CHECKING, Progress, Stop, automatic, silent
from rag_evaluator.judge import LLM, LazyJudge
from rag_evaluator.metrics import (
    Metrics,
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
from rag_evaluator.models import Models
from rag_evaluator.prompts import Prompts
from rag_evaluator.ragas_library import BaseRagasEmbedding
from rag_evaluator.results import Results
from rag_evaluator.run import ALONE, Start, Table, Worker, make_all, run_stage
from rag_evaluator.tasks import Evaluation, evaluation_of, results_of, shown, warn_of_rows, with_rewrites


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
        chosen: Metrics | None = None,
    ) -> None:
        if isinstance(config, Mapping) and config.get("metrics"):
            metrics = as_list(config["metrics"])
            judge = model_of(metrics, "llm", judge)
            embeddings = model_of(metrics, "embeddings", embeddings)
            config = with_metrics({**config, "metrics": metrics})
        config = as_config(config)
        self.models = Models(config, judge, embeddings, verifier)
        self.config = self.models.config
        is_other = self.config.verifier != config.verifier  # metrics depend on it
        self.metrics = chosen_metrics(self.config) if chosen is None or is_other else chosen
        check_chosen(self.config, self.metrics)
        self.prompts: Prompts = {}

    @classmethod
    def from_config(cls, path: str | Path, overrides: Sequence[str] = ()) -> "RAGEvaluator":
        """Make an evaluator from a YAML file. Raises `ConfigError`."""
        return cls(load_config(path, overrides))

    @property
    def judge(self) -> LazyJudge:
        """Return the judge, loaded when it is first needed."""
        return self.models.judge

    @property
    def llm(self) -> LLM:
        """Return the judge for `ragas.metrics.collections` (`Faithfulness(llm=evaluator.llm)`); loaded when needed.

        A judge that was given as a ragas LLM is that one; `llm.pipeline` of all others is the `HuggingFacePipeline` of
        a model that runs in this process, for LangChain. Raises `ModelError`.
        """
        return self.judge.llm

    @property
    def embeddings(self) -> BaseRagasEmbedding:
        """Return the embedding model, for ragas' metrics and for LangChain; loaded when first asked for.

        It is both a ragas `BaseRagasEmbedding` and a LangChain `Embeddings`, unless it was given as one of ragas.
        Raises `ModelError`.
        """
        return self.models.embeddings.load()

    def set_prompts(self) -> None:
        """Load the prompts of the configured language; with `prompts.adapt`, make those that are missing.

        Raises `PromptError` naming the packs that are missing. Making them loads the judge.
        """
        self.prompts = prompts_of(self.metrics, self.config, self.judge, self.models.history == REWRITE)

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
                return results_of(make_all(stage, at), stage)
            return results_of(run_stage(stage, Path(folder).expanduser(), ALONE, at, start=start), stage)

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
        return run_stage(self._checked(data), folder, worker, progress, stop, start)

    def _checked(self, data: Any) -> Evaluation:
        stage = self.stage(data)
        warn_of_rows(stage.units, self.metrics, self.models)
        return stage

    @ACTIVITY.phase(CHECKING)
    def stage(self, data: Any = None) -> Evaluation:
        """Return what is to be done, checked as far as that needs no model. Raises `RagEvaluatorError`."""
        rows = self.rows(data)
        self._find_prompts()
        return evaluation_of(rows, self.metrics, self.models, self.prompts)

    def check(self, data: Any = None) -> None:
        """Check everything that needs no loaded model. Raises `RagEvaluatorError`."""
        self.rows(data)
        self.signatures()
        checked_times(self.metrics, self.judge, self.config)

    def signatures(self) -> dict[str, str]:
        """Return for each metric what its numbers depend on. Finds the models, loads none but to make prompts."""
        return with_repeats(self.signatures_once(), times_of(self.metrics, self.config.repeats))

    def signatures_once(self) -> dict[str, str]:
        """Return the same of a single repeat."""
        self._find_prompts()
        return self.models.signatures(self.metrics, self.prompts)

    def _find_prompts(self) -> None:
        if not self.prompts:
            self.set_prompts()

    def rows(self, data: Any = None) -> CheckedRows:
        """Return rows that have what the metrics need; `data` as in `evaluate`. Raises `RagEvaluatorError`."""
        if isinstance(data, CheckedRows):
            rows = data
        else:
            source = self.config.dataset if data is None else data
            rows = checked_rows(source, self.config, self.metrics, are_scored=True)
            rows = with_rewrites(rows, self.config.questions_from)
        self.models.history = self.config.judge.history if rows.has_turns else APPEND
        return rows
