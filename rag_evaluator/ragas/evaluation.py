"""`evaluate` as ragas 0.1 to 0.4 have it: their arguments and their result, with the scores of `RAGEvaluator`."""

import asyncio
import copy
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from pydantic import BaseModel

from rag_evaluator.config import Config
from rag_evaluator.dataset import ALIASES, accepted_names, open_dataset
from rag_evaluator.errors import ConfigError, DatasetError, JudgementError, did_you_mean
from rag_evaluator.evaluator import RAGEvaluator
from rag_evaluator.files import automatic, safe_names, silent
from rag_evaluator.hub import unwrapped
from rag_evaluator.judge import LangchainJudge, is_langchain, is_pipeline, unread_settings
from rag_evaluator.metrics import (
    METRICS,
    NamedMetric,
    as_list,
    canonical_name,
    chosen_metrics,
    for_metrics,
    metric_names,
    model_of,
    with_own,
)
from rag_evaluator.ragas_library import EvaluationDataset as EvaluationDataset
from rag_evaluator.ragas_library import RunConfig
from rag_evaluator.ragas_library import SingleTurnSample as SingleTurnSample
from rag_evaluator.results import Results, joined, why_of
from rag_evaluator.tasks import Settings, judge_source, settings_of, warned_once

from .names import CHATS, METRIC_CLASSES, no_counterpart
from .result import EvaluationResult

# Any in this module: models, datasets and metrics of users' scripts.

WITHOUT_REFERENCE = METRIC_CLASSES["RubricsScore"]
UNUSED = ("timeout", "max_retries", "max_wait", "exception_types", "log_tenacity")  # of a `RunConfig`
logger = logging.getLogger(__name__)
__getattr__ = partial(no_counterpart, "ragas")


def evaluate(
    dataset: Any,
    metrics: Any = None,
    llm: Any = None,
    embeddings: Any = None,
    experiment_name: str | None = None,
    callbacks: Any = None,
    run_config: RunConfig | None = None,
    token_usage_parser: Any = None,
    raise_exceptions: bool = False,
    column_map: Mapping[str, str] | None = None,
    show_progress: bool = True,
    batch_size: int | None = None,
    _run_id: Any = None,
    _pbar: Any = None,
    return_executor: bool = False,
    allow_nest_asyncio: bool = True,
    *,
    in_ci: bool | None = None,
    is_async: bool | None = None,
    config: Settings = None,
) -> EvaluationResult:
    """Score rows; the arguments are those of ragas 0.4.3.

    Args:
        dataset: a `datasets.Dataset`, an `EvaluationDataset`, a list of samples or dicts, a frame, a file.
        metrics: metrics of `rag_evaluator.ragas.metrics`, their names, or whatever `RAGEvaluator` takes; None: those of
            `config`, without which answer_relevancy, context_precision, faithfulness and context_recall.
        llm: a `HuggingFacePipeline` or another LangChain model, a `LangchainLLMWrapper`, a model folder, what
            `llm_factory` makes of the client of a server; None: the configured judge, without one the demo judge.
        embeddings: an embedding model of LangChain, a `LangchainEmbeddingsWrapper`, a model folder.
        experiment_name: the name of the results.
        run_config: `max_workers` bounds the answers that are made together, where it is not 16, the default; `seed` is
            that of a judge that samples. A warning names what else was set.
        raise_exceptions: whether a missing score is an error, else it is NaN, and `result.results` has its reason.
        column_map: ragas' name of a column -> its name in the dataset; `columns` of a configuration is the reverse.
        show_progress: lines on standard error.
        callbacks, token_usage_parser, batch_size: not used; a warning says so. `return_executor` is refused.
        allow_nest_asyncio, in_ci, is_async: change nothing: it always works inside a running event loop, and a judge
            that decodes greedily is reproducible.
        config: a `Config`, a mapping with its keys or a YAML file, for language, prompts and the like; not of ragas.

    Metrics may be several kinds of one, such as `FactualCorrectness` with two modes: each is a run. Raises
    `RagEvaluatorError` for wrong input before a model is loaded, `JudgementError` with `raise_exceptions`.
    """
    given = {"callbacks": callbacks, "token_usage_parser": token_usage_parser, "batch_size": batch_size}
    _say_unused([name for name, value in given.items() if value], return_executor, run_config)
    settings = _settings(config, experiment_name, column_map, run_config)
    listed = as_list(settings.metrics if metrics is None else metrics)
    if dataset is None or not listed:
        raise ConfigError("evaluate: expected a dataset and at least one metric.")
    rows = _rows(dataset)
    if column_map:
        open_dataset(rows, settings.columns).check_readable(list(map(_canonical, column_map)))
    listed = [with_reference(metric, rows, settings.columns) for metric in listed]
    _check_names(listed)
    runs = _runs(listed, llm, embeddings, settings, run_config)
    for evaluator, _ in runs:
        evaluator.check(rows)
    _say_differences(listed)
    progress = automatic if show_progress else silent
    sources = dict[str, tuple[Results, str]]()
    for evaluator, scored in runs:
        table = evaluator.evaluate(rows, progress)
        sources |= {_key(metric): (table, _row(metric)) for metric in scored}
    names = dict.fromkeys(map(_key, listed))
    result = EvaluationResult(joined({name: sources[name] for name in names}))
    if raise_exceptions:
        _raise_first(result.results)
    _say_missing(result.results)
    return result


async def aevaluate(dataset: Any, metrics: Any = None, *models: Any, **settings: Any) -> EvaluationResult:
    """`evaluate` for a running event loop, which goes on meanwhile; the same arguments."""
    return await asyncio.to_thread(partial(evaluate, dataset, metrics, *models, **settings))


def _runs(
    metrics: Sequence[Any], llm: Any, embeddings: Any, settings: Config, run_config: RunConfig | None
) -> list[tuple[RAGEvaluator, list[Any]]]:
    """Evaluators and the metrics that each scores: with the same models, and one kind of each; one in most scripts."""
    groups: dict[tuple[int, int, int], tuple[Any, Any, list[Any]]] = {}
    kinds: dict[tuple[int, int, str], list[Any]] = {}  # models and row of `METRICS` -> options
    for metric in metrics:
        own_llm = model_of([metric], "llm", None)
        own_embeddings = model_of([metric], "embeddings", None)
        judge = unwrapped(llm) if own_llm is None else own_llm
        vectors = unwrapped(embeddings) if own_embeddings is None else own_embeddings
        options = _options(metric)
        known = kinds.setdefault((id(judge), id(vectors), _row(metric)), [])
        if options not in known:
            known.append(options)
        group = groups.setdefault((id(judge), id(vectors), known.index(options)), (judge, vectors, []))
        group[2].append(metric)
    runs = []
    judges: dict[int, Any] = {}  # runs with the same model share it
    for judge, vectors, chosen in groups.values():
        evaluator = evaluator_of(chosen, judges.get(id(judge), judge), vectors, settings, run_config)
        judges[id(judge)] = evaluator.judge
        runs.append((evaluator, chosen))
    return runs


def evaluator_of(
    metrics: Sequence[Any],
    llm: Any,
    embeddings: Any,
    settings: Config | None = None,
    run_config: RunConfig | None = None,
) -> RAGEvaluator:
    """The evaluator of metrics; the demo judge is announced where a metric asks it. Raises `ConfigError`."""
    settings = settings_of(None) if settings is None else settings
    config = for_metrics(with_own(settings, metrics), metric_names(metrics))
    chosen = chosen_metrics(config)
    if is_langchain(llm) and not is_pipeline(llm) and run_config is not None:
        llm = LangchainJudge(llm, run_config.max_workers)
    asks = any(metric.judge for metric in chosen.values())
    if asks and is_pipeline(llm):
        unread = unread_settings(llm, config.judge)
        if unread:
            keys = " and ".join(f"judge.{key}" for key in dict.fromkeys(unread.values()))
            advice = f"Set {keys}: evaluate(..., config={{'judge': {{...}}}})."
            warned_once(f"Of the pipeline {', '.join(unread)}: not used here. {advice}")
    return RAGEvaluator(config, judge_source(llm, config) if asks else llm, embeddings, chosen=chosen)


def with_reference(metric: Any, rows: Any, columns: Mapping[str, str] | None = None) -> Any:
    """`RubricsScore` with rubrics of one's own compares with the reference where all rows have one; others as they are.

    Args:
        columns: as in a configuration.
    """
    if getattr(metric, "name", None) != WITHOUT_REFERENCE or "rubrics" not in _options(metric):
        return metric
    if not all(sample.has("reference") for sample in open_dataset(rows, columns)):
        return metric
    compared = copy.copy(metric)
    vars(compared)["name"] = "rubrics_score_with_reference"  # not that of its scores
    return compared


def _row(metric: Any) -> str:
    """The name of a metric in `Results`."""
    [name] = metric_names([metric])
    return canonical_name(name) or str(name)


def _options(metric: Any) -> Any:
    return dict(metric.options) if isinstance(metric, NamedMetric) else {}


def _key(metric: Any) -> str:
    """The name of its scores in the result."""
    return getattr(metric, "key", None) or str(metric_names([metric])[0])


def _check_names(metrics: Sequence[Any]) -> None:
    """Raises `ConfigError` if two metrics would have their scores under one name."""
    known: dict[str, Any] = {}
    for position, metric in enumerate(metrics):
        kind = _row(metric), _options(metric)
        if known.setdefault(_key(metric), kind) != kind:
            raise ConfigError(
                f"metrics[{position}] has the name '{_key(metric)}', as another of the metrics has. Give it one of its "
                "own: name='...'."
            )


def _settings(
    config: Settings, name: str | None, column_map: Mapping[str, str] | None, run_config: RunConfig | None
) -> Config:
    settings = settings_of(config)
    columns = {**settings.columns, **{own: _canonical(known) for known, own in (column_map or {}).items()}}
    changes: dict[str, Any] = {"columns": columns, "thresholds": {}, "require": [], "dataset": None}
    if name is not None:
        [changes["name"]] = safe_names([name])
    if run_config is not None:
        if run_config.max_workers < 1 or run_config.seed < 0:
            raise ConfigError("run_config: expected max_workers of 1 or more and a seed of 0 or more.")
        workers = {} if run_config.max_workers == RunConfig.max_workers else {"batch_size": run_config.max_workers}
        changes["judge"] = settings.judge.model_copy(update={"seed": run_config.seed, **workers})
    return settings.model_copy(update=changes)


def _canonical(name: str) -> str:
    """The column that ragas has under a name. Raises `ConfigError`."""
    for canonical in ALIASES:
        if name in accepted_names(canonical):
            return canonical
    names = [known for canonical in ALIASES for known in accepted_names(canonical)]
    raise ConfigError(
        f"column_map: '{name}' is no column of ragas; column_map is {{ragas' name: name in the dataset}}."
        f"{did_you_mean(name, names)}"
    )


def _rows(dataset: Any) -> Any:
    """The rows as `RAGEvaluator` takes them. Raises `DatasetError` for chats of several turns."""
    samples = getattr(dataset, "samples", dataset)  # of an `EvaluationDataset`
    if not isinstance(samples, list | tuple):
        return samples
    rows = [sample.model_dump(exclude_none=True) if isinstance(sample, BaseModel) else sample for sample in samples]
    for place, row in enumerate(rows):
        if isinstance(row, Mapping) and isinstance(row.get("user_input"), list):
            raise DatasetError(f"dataset, row {place}: a MultiTurnSample. {CHATS}")
    return rows


def _say_unused(arguments: Sequence[str], return_executor: bool, run_config: RunConfig | None) -> None:
    """Warns of arguments that change nothing. Raises `ConfigError` for one that asks for something else."""
    if return_executor:
        raise ConfigError(
            "return_executor: there is no executor to cancel. Interrupt the run, and continue it with "
            "RAGEvaluator(config).evaluate(rows, folder=...), which keeps every score."
        )
    names = list(arguments)
    if run_config is not None:
        changed = (name for name in UNUSED if getattr(run_config, name) != getattr(RunConfig, name))
        names += [f"run_config.{name}" for name in changed]
    if names:
        logger.warning("evaluate: %s: not used here", ", ".join(names))


def _say_differences(metrics: Sequence[Any]) -> None:
    """Says once that scores of ragas' older metrics can be others here."""
    rows = dict.fromkeys(_row(metric) for metric in metrics if isinstance(metric, NamedMetric))
    if judged := [name for name in rows if METRICS[name].judge]:
        warned_once(
            f"Scored here by: {', '.join(judged)}. Prompts are those of ragas 0.4's collections or our own, so that "
            "numbers can differ from those of an earlier ragas: docs/from-ragas.md."
        )


def _say_missing(results: Results) -> None:
    """Warns of each metric with missing scores: how many there are, and why."""
    for name, scores in results.scores.items():
        reasons = Counter(str(score.reason) for score in scores if score.missing)
        if reasons:
            logger.warning("%s: %s of %s scores are missing: %s", name, reasons.total(), len(scores), why_of(reasons))


def _raise_first(results: Results) -> None:
    """Raises `JudgementError` for the first score that is missing, in the order of the rows."""
    for place in range(len(results.samples)):
        for name, scores in results.scores.items():
            if scores[place].missing:
                raise JudgementError(f"row {place}, {name}: {scores[place].reason}")
