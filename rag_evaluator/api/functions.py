"""`sort`, `generate` and `evaluate` of lists: the three functions for those who have questions and contexts in hand."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rag_evaluator.api.collect import check_lists, optional_texts
from rag_evaluator.api.evaluator import RAGEvaluator
from rag_evaluator.api.shown import shown
from rag_evaluator.config import Config, load_config, make_config, with_arguments
from rag_evaluator.config_judges import refuse_panel
from rag_evaluator.config_sections import DEMO
from rag_evaluator.dataset import is_blank
from rag_evaluator.errors import DatasetError
from rag_evaluator.files.atomic import write_whole
from rag_evaluator.judge.source import LazyJudge, source_of
from rag_evaluator.metrics.chosen import for_metrics
from rag_evaluator.metrics.definitions import own_metrics
from rag_evaluator.metrics.given_metrics import as_list, metric_names, model_of, with_metrics, with_own
from rag_evaluator.metrics.metric import Metric
from rag_evaluator.metrics.table import METRICS, canonical_name, select_metrics
from rag_evaluator.models.event_loop import run
from rag_evaluator.progress import Progress, automatic, silent
from rag_evaluator.results.results import Results
from rag_evaluator.results.xlsx import write_xlsx
from rag_evaluator.run.merge import ChunkTable
from rag_evaluator.run.stages import run_stage
from rag_evaluator.run.workers import ALONE
from rag_evaluator.tasks.generate import Output, generate_stage
from rag_evaluator.tasks.question import QuestionStage, TaskJudge
from rag_evaluator.tasks.sort import sort_stage

FOUR_METRICS = ("answer_relevancy", "faithfulness", "context_recall", "context_precision")
logger = logging.getLogger(__name__)
Settings = Config | Mapping[str, Any] | str | Path | None


def sort(
    question_list: Sequence[str],
    contexts_list: Sequence[Sequence[str]],
    k: int | None = None,
    top: bool | None = None,
    fast: bool | None = None,
    *,
    strategy: str | None = None,
    both_orders: bool | None = None,
    judge: Any = None,
    language: str | None = None,
    config: Settings = None,
    output_dir: str | Path = ".",
    fresh: bool = False,
    progress: Progress = automatic,
) -> list[dict[str, Any]]:
    """The judge's order of each question's contexts, compared with the retriever's.

    Args:
        question_list: the questions, as a list, a tuple, a pandas, numpy or `datasets` column.
        contexts_list: the contexts of each, best first as the retriever has them.
        k, top, fast, strategy, both_orders: settings, see `rag_evaluator.config.SortConfig`; None takes those of the
            section `sort` of `config`.
        judge: a model folder, a `Judge`, a `HuggingFacePipeline` or any ragas LLM; None takes the configured one.
        language: of the prompts; None takes the configured one, English.
        config: a `Config`, a mapping with its keys or a YAML file; the demo judge if None. Its `dataset`, `columns`,
            `name` and `output_dir` are those of the commands and do not count here.
        output_dir: gets `result/sorted_indices.json`, and the judge's answers in `result/journal`, from which a call
            that was stopped continues.
        fresh: forget answers of earlier calls.
        progress: called with (questions done, questions); see docs/progress.md. By default a bar in notebooks.

    Returns one dict per question, as written to the file: `question, contexts, good, bad, sorted, spearman, sim,
    overlap` and more (docs/sort-generate.md). Raises `RagEvaluatorError` for bad input before a model is loaded.
    """
    questions, contexts = check_lists(question_list, contexts_list)
    settings, folder = settings_of(config, language), Path(output_dir) / "result"
    options = with_arguments(settings.sort, k=k, top=top, fast=fast, strategy=strategy, both_orders=both_orders)
    asking = TaskJudge("sort", settings.model_copy(update={"dataset": None}), judge_source(judge, settings))
    stage = sort_stage(questions, contexts, options, asking)
    table = _run(stage, folder, fresh, progress)
    return [dict(ranking.fields) for ranking in stage.rankings(table)]


def generate(
    question_list: Sequence[str],
    contexts_list: Sequence[Sequence[str]],
    chat_model: Any = None,
    *,
    fast: bool | None = None,
    seed: int | None = None,
    support: bool | None = None,
    judge: Any = None,
    language: str | None = None,
    config: Settings = None,
    output_dir: str | Path = ".",
    fresh: bool = False,
    progress: Progress = automatic,
) -> list[str]:
    """A reference answer to each question, written from its contexts; empty where they do not hold one.

    Args:
        question_list, contexts_list, language, config, fresh, progress: as in `sort`.
        chat_model: another name of `judge`.
        fast, seed, support: settings, see `rag_evaluator.config.GenerateConfig`; None takes those of the section
            `generate` of `config`.
        output_dir: gets `gt/GT_<question>.json` with each answer, its reason where it is empty, the contexts it was
            made from and those that support it; and `result/journal`, from which a call that was stopped continues.
    """
    questions, contexts = check_lists(question_list, contexts_list)
    settings = settings_of(config, language)
    options = with_arguments(settings.generate, fast=fast, seed=seed, support=support)
    source = judge_source(chat_model if judge is None else judge, settings)
    asking, output_dir = TaskJudge("generate", settings.model_copy(update={"dataset": None}), source), Path(output_dir)
    stage = generate_stage(questions, contexts, options, asking, Output(output_dir / "gt"))
    table = _run(stage, output_dir / "result", fresh, progress)
    return [reference.ground_truth for reference in stage.references(table)]


def _run(stage: QuestionStage[Any], folder: Path, fresh: bool, progress: Progress) -> ChunkTable:
    """The finished cells of a stage; what holds of earlier calls is kept."""
    with shown(progress, stage.plan.cell_noun) as at:
        journal = run_stage(stage, folder, ALONE, run, at, start="fresh" if fresh else "update")
        return ChunkTable(journal, stage)


class Scores(dict[str, float | None]):
    """Mean of each metric over what could be scored; None where nothing could.

    Attributes:
        results: every score with its reason; `results.rows()`, `results.to_pandas()`.
        skipped: metrics that were asked for and need what was not given -> what that is.
    """

    def __init__(self, results: Results, skipped: Mapping[str, str]) -> None:
        super().__init__({name: row["mean"] for name, row in results.summary().items()})
        self.results, self.skipped = results, dict(skipped)

    def _repr_html_(self) -> str:
        return self.results._repr_html_()


def evaluate(
    question_list: Sequence[str],
    contexts_list: Sequence[Sequence[str]],
    answer_list: Sequence[str | None] | None = None,
    ground_truth_list: Sequence[str | None] | None = None,
    *,
    metrics: Any = None,
    k: int = 10,
    judge: Any = None,
    embeddings: Any = None,
    language: str | None = None,
    config: Settings = None,
    output_dir: str | Path = ".",
    fresh: bool = False,
    progress: Progress = automatic,
) -> Scores:
    """Scores of a RAG system's answers.

    Args:
        question_list, contexts_list, judge, language, config, fresh, progress: as in `sort`.
        answer_list: the answers to be scored, None or NaN where there is none; without any, only metrics that need none
            are scored, and the others are named.
        ground_truth_list: reference answers; where one is None or NaN, or all are, they are written first, by
            `generate` with the section `generate` of `config`, and saved in `gt/`. Those given are never replaced.
        metrics: names of `METRICS` or their aliases, ragas' metrics, or one of these; None takes those of `config`,
            and without any `FOUR_METRICS`.
        k: contexts that count, from the first; fewer, but at least one, where they do not fit the judge's window. No
            key of `config`: `sort.k` is how much of two orders is compared.
        embeddings: a model folder or a langchain embedding; None takes the configured one.
        output_dir: gets `result/result.xlsx` and the files of an evaluation beside it.

    Returns the means by metric, under the names given; `.results` has all scores.
    """
    questions, contexts = check_lists(question_list, contexts_list)
    answers = optional_texts("answer_list", answer_list, len(questions))
    given_references = optional_texts("ground_truth_list", ground_truth_list, len(questions))
    references = [None if is_blank(reference) else reference for reference in given_references]
    if k < 1:
        raise DatasetError(f"k is {k}: expected 1 or more.")
    settings, folder = settings_of(config, language), Path(output_dir) / "result"
    listed = settings.metrics if metrics is None else as_list(metrics)
    names, settings = metric_names(listed), with_own(settings, listed)
    custom = own_metrics(settings)
    chosen, skipped = _possible(
        select_metrics(names, settings.source if metrics is None else "evaluate", custom), answers
    )
    settings = settings if metrics is None else for_metrics(settings, names)
    options = {name: row for name, row in settings.metric_options.items() if canonical_name(name) not in skipped}
    source = judge_source(model_of(listed, "llm", judge), settings)
    settings = settings.model_copy(update={"metrics": list(chosen), "metric_options": options, "judges": []})
    evaluator = RAGEvaluator(settings, source, model_of(listed, "embeddings", embeddings))
    rows = [
        {"question": question, "contexts": texts[:k], "ground_truth": reference, "answer": answer}
        for question, texts, reference, answer in zip(questions, contexts, references, answers, strict=True)
    ]
    if any("reference" in metric.columns for metric in chosen.values()):
        evaluator.check([{**row, "ground_truth": row["ground_truth"] or "not written yet"} for row in rows])
        missing = [position for position, reference in enumerate(references) if reference is None]
        lists = [questions[position] for position in missing], [contexts[position] for position in missing]
        bar = automatic if progress is automatic else silent
        made = (
            generate(*lists, judge=source, config=settings, output_dir=output_dir, fresh=fresh, progress=bar)
            if missing
            else []
        )
        for position, reference in zip(missing, made, strict=True):
            rows[position]["ground_truth"] = reference
    results = evaluator.evaluate(rows, progress, folder, "fresh" if fresh else "update")
    named = _renamed(results, {name: _given_name(name, names, custom) for name in results.scores})
    write_whole(folder / "result.xlsx", lambda path: write_xlsx(named, path))
    return Scores(named, skipped)


def settings_of(config: Settings, language: str | None) -> Config:
    """The configuration as users give it, in another language if one is named. Raises `ConfigError`."""
    if isinstance(config, str | Path):
        config = load_config(config)
    if not isinstance(config, Config):
        keys = {"metrics": list(FOUR_METRICS), **(config or {})}
        config = make_config(with_metrics(keys) if isinstance(keys["metrics"], list | tuple) else keys)
    return config if language is None else config.model_copy(update={"language": language})


def judge_source(judge: Any, settings: Config) -> LazyJudge:
    """The judge as given or configured; a warning where it is the demo judge because nobody named another."""
    if judge is None:
        refuse_panel(settings.judges, "this function", settings.place)
    source = source_of(judge, settings.judge, settings.offline)
    if judge in (None, DEMO) and source.config.model == DEMO:
        logger.warning("The demo judge is a toy; give a model of your own as judge.")
    return source


def _possible(chosen: Mapping[str, Metric], answers: Sequence[str | None]) -> tuple[dict[str, Metric], dict[str, str]]:
    """The metrics that can be scored, and why others cannot."""
    answered = any(answer is not None for answer in answers)
    skipped = {
        name: "needs answer_list" for name, metric in chosen.items() if "response" in metric.columns and not answered
    }
    possible = {name: metric for name, metric in chosen.items() if name not in skipped}
    if not possible:
        without_answers = ", ".join(name for name, metric in METRICS.items() if "response" not in metric.columns)
        raise DatasetError(
            f"answer_list is missing, which is needed for {', '.join(skipped)}. Without answers: {without_answers}."
        )
    if skipped:
        logger.warning("without answer_list not scored: %s; scored: %s", ", ".join(skipped), ", ".join(possible))
    return possible, skipped


def _renamed(results: Results, names: Mapping[str, str]) -> Results:
    """The results with other names of metrics, by which their scales are found, too."""
    manifest = results.manifest
    metrics = {names[name]: row for name, row in manifest.get("metrics", {}).items()}
    return replace(
        results,
        scores={names[name]: row for name, row in results.scores.items()},
        signatures={names[name]: line for name, line in results.signatures.items()},
        manifest={**manifest, "metrics": metrics},
    )


def _given_name(canonical: str, metrics: Sequence[str], custom: Mapping[str, Metric]) -> str:
    """The name by which the caller asked for a metric."""
    return next(name for name in metrics if canonical in select_metrics([name], custom=custom))
