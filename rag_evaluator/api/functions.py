"""`sort`, `generate` and `evaluate` of lists: the three functions for those who have questions and contexts in hand."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rag_evaluator.api.evaluator import RAGEvaluator
from rag_evaluator.config import DEMO, Config, load_config, make_config, with_arguments
from rag_evaluator.dataset import as_text, is_blank, plain
from rag_evaluator.dataset.marks import Unwritable
from rag_evaluator.errors import DatasetError
from rag_evaluator.files.atomic import write_whole
from rag_evaluator.judge.source import GivenJudge, source_of
from rag_evaluator.metrics.given_metrics import read_metrics
from rag_evaluator.metrics.table import METRICS, Metric, select_metrics
from rag_evaluator.models.event_loop import run
from rag_evaluator.progress import Progress, silent
from rag_evaluator.results.results import Results
from rag_evaluator.results.writers import refuse_foreign, write_xlsx
from rag_evaluator.run.merge import ChunkTable
from rag_evaluator.run.stages import run_stage
from rag_evaluator.run.workers import ALONE
from rag_evaluator.tasks.generate import Output, generate_stage
from rag_evaluator.tasks.question import Asking, QuestionStage
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
    progress: Progress = silent,
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
        progress: called with (questions done, questions).

    Returns one dict per question, as written to the file: `question, contexts, good, bad, sorted, spearman, sim,
    overlap` and more (docs/sort-generate.md). Raises `RagEvaluatorError` for bad input before a model is loaded.
    """
    questions, contexts = check_lists(question_list, contexts_list)
    settings, folder = _settings(config, language), Path(output_dir) / "result"
    options = with_arguments(settings.sort, k=k, top=top, fast=fast, strategy=strategy, both_orders=both_orders)
    asking = Asking("sort", settings.model_copy(update={"dataset": None}), _given_judge(judge, settings))
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
    progress: Progress = silent,
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
    settings = _settings(config, language)
    options = with_arguments(settings.generate, fast=fast, seed=seed, support=support)
    given = _given_judge(chat_model if judge is None else judge, settings)
    asking, output_dir = Asking("generate", settings.model_copy(update={"dataset": None}), given), Path(output_dir)
    stage = generate_stage(questions, contexts, options, asking, Output(output_dir / "gt"))
    table = _run(stage, output_dir / "result", fresh, progress)
    return [reference.ground_truth for reference in stage.references(table)]


def _run(stage: QuestionStage, folder: Path, fresh: bool, progress: Progress) -> ChunkTable:
    """The finished cells of a stage; what holds of earlier calls is kept."""
    refuse_foreign(folder, stage.files)
    journal = run_stage(stage, folder, ALONE, run, progress, start="fresh" if fresh else "update")
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
    progress: Progress = silent,
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
    answers = _optional("answer_list", answer_list, len(questions))
    given_references = _optional("ground_truth_list", ground_truth_list, len(questions))
    references = [None if is_blank(reference) else reference for reference in given_references]
    if k < 1:
        raise DatasetError(f"k is {k}: expected 1 or more.")
    settings, folder = _settings(config, language), Path(output_dir) / "result"
    source = settings.source if metrics is None else "evaluate"
    names = settings.metrics
    if metrics is not None:
        names, judge, embeddings = read_metrics(metrics, judge, embeddings)
    chosen, skipped = _possible(select_metrics(names, source), answers)
    settings = settings.model_copy(update={"metrics": list(chosen)})
    if isinstance(embeddings, str | Path):
        changed = settings.embeddings.model_copy(update={"model": str(embeddings)})
        settings, embeddings = settings.model_copy(update={"embeddings": changed}), None
    given = _given_judge(judge, settings)
    settings = settings.model_copy(update={"judge": given.config})
    rows = [
        {"question": question, "contexts": texts[:k], "ground_truth": reference, "answer": answer}
        for question, texts, reference, answer in zip(questions, contexts, references, answers, strict=True)
    ]
    needs_reference = any("reference" in metric.columns for metric in chosen.values())
    _check(settings, rows, needs_reference, given, embeddings)
    if needs_reference:
        missing = [position for position, reference in enumerate(references) if reference is None]
        lists = [questions[position] for position in missing], [contexts[position] for position in missing]
        made = generate(*lists, judge=given, config=settings, output_dir=output_dir, fresh=fresh) if missing else []
        for position, reference in zip(missing, made, strict=True):
            rows[position]["ground_truth"] = reference
    evaluator = RAGEvaluator(settings, judge=given, embeddings=embeddings)
    results = evaluator.evaluate(rows, progress, folder, "fresh" if fresh else "update")
    named = replace(results, scores={_given_name(name, names): row for name, row in results.scores.items()})
    write_whole(folder / "result.xlsx", lambda path: write_xlsx(named, path))
    return Scores(named, skipped)


def check_lists(
    question_list: Sequence[str], contexts_list: Sequence[Sequence[str]]
) -> tuple[list[str], list[list[str]]]:
    """The lists as plain ones; contexts may be LangChain documents.

    Raises `DatasetError` naming the list and the position of what is wrong.
    """
    questions = _list("question_list", question_list)
    contexts = _list("contexts_list", contexts_list, len(questions))
    if not questions:
        raise DatasetError("question_list is empty: expected at least one question.")
    return (
        [_text(f"question_list[{position}]", question) for position, question in enumerate(questions)],
        [_contexts(position, texts) for position, texts in enumerate(contexts)],
    )


def _list(name: str, values: Any, count: int | None = None) -> list[Any]:
    """The values of a list of any library. Any: its items are checked later."""
    is_table = hasattr(values, "itertuples")  # a pandas frame: iterating gives the names of its columns
    if isinstance(values, str | Mapping) or not hasattr(values, "__len__") or is_table:
        raise DatasetError(f"{name}: expected a list, received {type(values).__name__}.")
    if count is not None and len(values) != count:
        raise DatasetError(f"{name} has {len(values)} items, question_list has {count}: expected one each.")
    return list(values)


def _optional(name: str, values: Any, count: int) -> list[str | None]:
    """Texts of which some, or all, may be missing."""
    if values is None:
        return [None] * count
    values = _list(name, values, count)
    return [
        None if _plain(place, value) is None else _text(place, value)
        for place, value in ((f"{name}[{position}]", value) for position, value in enumerate(values))
    ]


def _text(name: str, value: Any) -> str:
    text = as_text(_plain(name, value))
    if text is None:
        raise DatasetError(f"{name}: expected a text, received {value!r:.60}.")
    return text


def _plain(name: str, value: Any) -> Any:
    """The value as JSON has it, None for the missing values of pandas and numpy. Any: it is checked by the caller."""
    found = plain(value)
    if isinstance(found, Unwritable):
        raise DatasetError(f"{name}: {found.reason}.")
    return found


def _contexts(position: int, texts: Any) -> list[str]:
    name = f"contexts_list[{position}]"
    if isinstance(texts, str | Mapping) or not hasattr(texts, "__len__"):
        raise DatasetError(f"{name}: expected a list of texts, received {texts!r:.60}. Put a single one in a list.")
    return [_text(f"{name}[{rank}]", getattr(text, "page_content", text)) for rank, text in enumerate(texts)]


def _settings(config: Settings, language: str | None) -> Config:
    if isinstance(config, str | Path):
        config = load_config(config)
    if not isinstance(config, Config):
        config = make_config({"metrics": list(FOUR_METRICS), **(config or {})})
    return config if language is None else config.model_copy(update={"language": language})


def _given_judge(judge: Any, settings: Config) -> GivenJudge:
    given = source_of(judge, settings.judge, settings.offline)
    if judge in (None, DEMO) and given.config.model == DEMO:
        logger.warning("The demo judge is a toy that shows the way; give a model of your own as judge.")
    return given


def _possible(chosen: Mapping[str, Metric], answers: Sequence[str | None]) -> tuple[dict[str, Metric], dict[str, str]]:
    """The metrics that can be scored, and why others cannot."""
    answered = any(answer is not None for answer in answers)
    skipped = {
        name: "needs answer_list" for name, metric in chosen.items() if "response" in metric.columns and not answered
    }
    possible = {name: metric for name, metric in chosen.items() if name not in skipped}
    if not possible:
        others = ", ".join(name for name, metric in METRICS.items() if "response" not in metric.columns)
        raise DatasetError(
            f"answer_list is missing, which is needed for {', '.join(skipped)}. Without answers: {others}."
        )
    if skipped:
        logger.warning("without answer_list not scored: %s; scored: %s", ", ".join(skipped), ", ".join(possible))
    return possible, skipped


def _check(
    settings: Config, rows: Sequence[Mapping[str, Any]], generates: bool, given: GivenJudge, embeddings: Any
) -> None:
    """What can be checked before references are written."""
    if generates:
        rows = [{**row, "ground_truth": row["ground_truth"] or "not written yet"} for row in rows]
    RAGEvaluator(settings, judge=given, embeddings=embeddings).check(list(rows))


def _given_name(canonical: str, metrics: Sequence[str]) -> str:
    """The name by which the caller asked for a metric."""
    return next(name for name in metrics if canonical in select_metrics([name]))
