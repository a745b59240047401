"""`EvaluatorChain`: scores the results of LangChain's chains, as a Runnable."""

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any

from langchain_core.runnables import Runnable

from rag_evaluator.config import make_config
from rag_evaluator.dataset import CheckedRows, RowChoice, accepted_names, open_dataset
from rag_evaluator.errors import DatasetError
from rag_evaluator.evaluator import RAGEvaluator
from rag_evaluator.hub import in_one_line
from rag_evaluator.metrics import as_list, canonical_name, for_metrics, model_of, with_metrics, with_own
from rag_evaluator.tasks import Settings, judge_source, settings_of

from .collecting import output_row

# Any in this module: results of chains of any kind.


class EvaluatorChain(Runnable[Any, dict[str, Any]]):
    """A Runnable that takes the result of a RAG chain and gives it back with scores.

    A result has question, answer and documents under any name that datasets may have (docs/data.md), references as
    well. It comes back with `<metric>_score`; None where it could not be made, and `<metric>_reason` says why.

    Args:
        metric: one or several, as `metrics` of `RAGEvaluator`; scores have the names given here.
        judge, embeddings: as in `RAGEvaluator`.
        config: a `Config`, a mapping with its keys or a YAML file. Its metrics do not count, nor what it says of
            other metrics, of datasets and of reports.

    `batch` and `evaluate` judge all results together, which is much faster than one by one. Models are loaded with the
    first result and stay loaded. Raises `RagEvaluatorError` for wrong input before a model is loaded.
    """

    def __init__(
        self, metric: Any = "faithfulness", *, judge: Any = None, embeddings: Any = None, config: Settings = None
    ) -> None:
        listed = as_list(metric)
        names = make_config(with_metrics({"metrics": listed})).metrics
        model = model_of(listed, "llm", judge)
        settings = settings_of(config).model_copy(update={"thresholds": {}, "require": []})
        settings = for_metrics(with_own(settings, listed), names)
        self._names = {canonical_name(name) or name: name for name in names}
        self._evaluator = RAGEvaluator(settings, model, model_of(listed, "embeddings", embeddings))
        if any(metric.judge for metric in self._evaluator.metrics.values()):
            judge_source(model, settings)  # warns of the demo judge
        self._lock = Lock()  # chains run in threads, and the models are to be loaded once

    def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> dict[str, Any]:
        """Return the result of a chain with `<metric>_score`; where that is None, with `<metric>_reason`."""
        return self._call_with_config(lambda result: self._scored([result])[0], input, config, **kwargs)

    def batch(self, inputs: list[Any], config: Any = None, **kwargs: Any) -> list[dict[str, Any]]:
        """Score all results in one pass; return them in their order, as `invoke` does."""
        return self._batch_with_config(self._scored, inputs, config, **kwargs)

    def evaluate(self, examples: Sequence[Any], predictions: Sequence[Any]) -> list[dict[str, Any]]:
        """Return the scores of what a chain returned for questions, or for dicts such as `{"query": ...}`."""
        if len(examples) != len(predictions):
            raise DatasetError(f"{len(examples)} examples and {len(predictions)} predictions: expected one each.")
        asked = [{"user_input": example} if isinstance(example, str) else example for example in examples]
        return self._scores([{**example, **_row(result)} for example, result in zip(asked, predictions, strict=True)])

    def _scored(self, results: list[Any]) -> list[Any]:
        rows = [_row(result) for result in results]
        kept = [result if isinstance(result, Mapping) else row for result, row in zip(results, rows, strict=True)]
        return [{**result, **scores} for result, scores in zip(kept, self._scores(rows), strict=True)]

    def _scores(self, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """`<metric>_score` of each row, and `<metric>_reason` where it is missing: a retriever may find nothing."""
        config = self._evaluator.config
        columns = config.columns
        samples = open_dataset(rows, columns, config.responses, config.judge.history)
        needed = samples.needed_by(self._evaluator.metrics)
        samples.check_readable({column for needs in needed.values() for column in needs})
        named = {columns.get(name, name) for row in rows for name in row}
        absent = {name: [c for c in needs if named.isdisjoint(accepted_names(c))] for name, needs in needed.items()}
        samples.check_columns(absent, "results")
        with self._lock:
            made = self._evaluator.evaluate(CheckedRows(samples, RowChoice(len(samples)), rows)).scores
        scores: list[dict[str, Any]] = [{} for _ in rows]
        for canonical, name in self._names.items():
            for row, scored, score in zip(rows, scores, made[canonical], strict=True):
                scored[f"{name}_score"] = None if score.missing else score.value
                if score.missing:
                    scored[f"{name}_reason"] = row.get("error") or score.reason
        return scores


def _row(result: Any) -> dict[str, Any]:
    return {"error": in_one_line(result)} if isinstance(result, Exception) else output_row(result)
