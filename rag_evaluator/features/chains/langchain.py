"""`EvaluatorChain`: scores the results of LangChain's chains, as a Runnable."""

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import run_in_executor

from rag_evaluator.config.schema import Config, as_config, make_config
from rag_evaluator.dataset import check_columns, check_readable, open_dataset, row_names
from rag_evaluator.dataset.checked import CheckedRows, check_custom_columns, needed_columns
from rag_evaluator.dataset.columns import ALIASES
from rag_evaluator.dataset.sample import RowChoice
from rag_evaluator.embeddings.hub import in_one_line
from rag_evaluator.errors import DatasetError, RagEvaluatorError
from rag_evaluator.evaluator import RAGEvaluator
from rag_evaluator.features.chains.collect import RETURN_CONTEXTS, is_named, output_row, unread
from rag_evaluator.metrics.chosen import for_metrics
from rag_evaluator.metrics.definitions import own_metrics
from rag_evaluator.metrics.given_metrics import as_list, model_of, with_metrics, with_own
from rag_evaluator.metrics.table import select_metrics
from rag_evaluator.results.summary import REPORTED_BY
from rag_evaluator.tasks.question import Settings, judge_source

# Any in this module: results of chains of any kind.


class _ResultEvaluator(RAGEvaluator):
    """An evaluator of single results, of which any may be empty: a retriever that found nothing is no wrong input."""

    def _checked_rows(self, source: Any) -> CheckedRows:
        samples, columns = open_dataset(source, self.config.columns), self.config.columns
        check_custom_columns(self.config, self.metrics, samples)
        needed = needed_columns(self.metrics, samples)
        check_readable(samples, {column for names in needed.values() for column in names})
        named = {c for c in ALIASES if any(is_named(c, sample.row, columns) for sample in samples)}
        needed = {name: [c for c in names if c not in named] for name, names in needed.items()}
        are_answers = all("response" in sample.row for sample in samples) and not unread(row_names(samples), columns)
        if "retrieved_contexts" not in named and are_answers:
            _check_more_than_answers(needed)
        check_columns(samples, needed, "results")
        return CheckedRows(samples, RowChoice(len(samples)), source)


def _check_more_than_answers(missing: Mapping[str, Sequence[str]]) -> None:
    """Raises `DatasetError` where a chain returned texts, and metrics need what it was asked, or what it found."""
    needs = [
        f"{metric} needs {' and '.join(columns)}"
        for metric, names in missing.items()
        if (columns := [name for name in names if name in ("user_input", "retrieved_contexts")])
    ]
    if needs:
        raise DatasetError(f"results: received answers alone, and {', '.join(needs)}: {RETURN_CONTEXTS}")


class EvaluatorChain(Runnable[Any, dict[str, Any]]):
    """A Runnable that takes the result of a RAG chain and gives it back with scores.

    A result is what `RetrievalQA`, an LCEL chain or a LangGraph graph returns: question, answer and documents under any
    name that datasets may have (docs/data.md), references as well. It comes back with `<metric>_score` for each metric;
    a score that could not be made is None, and `<metric>_reason` says why. None or an exception among several results
    has no score.

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
        settings = _settings(config, listed)
        custom = own_metrics(settings)
        self._names = {next(iter(select_metrics([name], custom=custom))): name for name in settings.metrics}
        model = model_of(listed, "llm", judge)
        asks = any(metric.judge for metric in select_metrics(settings.metrics, custom=custom).values())
        source = judge_source(model, settings) if asks else model
        self._evaluator = _ResultEvaluator(settings, source, model_of(listed, "embeddings", embeddings))
        self._lock = Lock()  # chains run in threads, and the models are to be loaded once

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> dict[str, Any]:
        return self._call_with_config(lambda result: self._scored([result])[0], input, config, **kwargs)

    __call__ = invoke  # as LangChain's chains had it

    def batch(
        self,
        inputs: list[Any],
        config: RunnableConfig | list[RunnableConfig] | None = None,
        *,
        return_exceptions: bool = False,
        **kwargs: Any,
    ) -> list[dict[str, Any]]:
        def score(results: list[Any]) -> list[Exception | dict[str, Any]]:
            return self._scored_apart(results) if return_exceptions else [*self._scored(results)]

        return self._batch_with_config(score, inputs, config, return_exceptions=return_exceptions, **kwargs)

    async def abatch(
        self,
        inputs: list[Any],
        config: RunnableConfig | list[RunnableConfig] | None = None,
        *,
        return_exceptions: bool = False,
        **kwargs: Any,
    ) -> list[dict[str, Any]]:
        call = lambda: self.batch(inputs, config, return_exceptions=return_exceptions, **kwargs)  # noqa: E731
        return await run_in_executor(None, call)

    def evaluate(self, examples: Sequence[Any], predictions: Sequence[Any]) -> list[dict[str, Any]]:
        """The scores of what a chain returned, in one pass, without the results.

        Args:
            examples: what was asked: questions, or dicts such as `{"query": ..., "ground_truths": ...}`.
            predictions: what the chain returned for each.
        """
        for name, values in {"examples": examples, "predictions": predictions}.items():
            if isinstance(values, str | Mapping) or not hasattr(values, "__len__"):
                raise DatasetError(f"{name}: expected a list, received {type(values).__name__}.")
        if len(examples) != len(predictions):
            raise DatasetError(f"{len(examples)} examples and {len(predictions)} predictions: expected one each.")
        asked = [_asked(place, example) for place, example in enumerate(examples)]
        return self._scores([{**example, **row} for example, row in zip(asked, _rows(predictions), strict=True)])

    def _scored_apart(self, results: list[Any]) -> list[Exception | dict[str, Any]]:
        """The results with scores; those that cannot be read are errors, and do not stop the others."""
        errors = [self._error(result) for result in results]
        scored = iter(self._scored([result for result, error in zip(results, errors, strict=True) if error is None]))
        return [next(scored) if error is None else error for error in errors]

    def _error(self, result: Any) -> RagEvaluatorError | None:
        try:
            self._evaluator.check(_rows([result]))
        except RagEvaluatorError as error:
            return error
        return None

    def _scored(self, results: list[Any]) -> list[dict[str, Any]]:
        rows = _rows(results)
        kept = (result if isinstance(result, Mapping) else row for result, row in zip(results, rows, strict=True))
        return [{**result, **scores} for result, scores in zip(kept, self._scores(rows), strict=True)]

    def _scores(self, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """`<metric>_score` of each row, and `<metric>_reason` where it is missing."""
        if not rows:
            return []
        with self._lock:
            made = self._evaluator.evaluate(list(rows)).scores
        scores: list[dict[str, Any]] = [{} for _ in rows]
        for canonical, name in self._names.items():
            for row, scored, score in zip(rows, scores, made[canonical], strict=True):
                scored[f"{name}_score"] = None if score.missing else score.value
                if score.missing:
                    scored[f"{name}_reason"] = row.get("error") or score.reason
        return scores


def _asked(place: int, example: Any) -> Mapping[str, Any]:
    if isinstance(example, str):
        return {"user_input": example}
    if not isinstance(example, Mapping):
        raise DatasetError(f"examples[{place}]: expected a question or a dict, received {type(example).__name__}.")
    return example


def _rows(results: Sequence[Any]) -> list[dict[str, Any]]:
    """The results as rows; of what is none the error, as `collect` writes it."""
    return [_row(place, result) for place, result in enumerate(results)]


def _row(place: int, result: Any) -> dict[str, Any]:
    if result is None or isinstance(result, Exception):
        return {"error": "the result is None" if result is None else in_one_line(result)}
    try:
        return output_row(result)
    except DatasetError as error:
        raise DatasetError(f"row {place}: {error}") from None


def _settings(config: Settings, metrics: list[Any]) -> Config:
    """The configuration with these metrics, and without what it says of a whole dataset."""
    checked = make_config(with_metrics({"metrics": metrics}))
    settings = {**config, "metrics": checked.metrics} if isinstance(config, Mapping) else config
    if settings is None:
        return checked
    reset = {key: getattr(checked, key) for key in ("dataset", *REPORTED_BY)}
    return for_metrics(with_own(as_config(settings), metrics).model_copy(update=reset), checked.metrics)
