"""`sort`, `generate` and `evaluate` of lists: the three functions for those who have questions and contexts in hand."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rag_evaluator.config import DEMO, Config, load_config, make_config
from rag_evaluator.dataset import as_text, is_blank, plain
from rag_evaluator.documents import write_json, write_whole
from rag_evaluator.errors import DatasetError
from rag_evaluator.evaluator import RAGEvaluator
from rag_evaluator.ground_truth import GenerateOptions
from rag_evaluator.judges import GivenJudge
from rag_evaluator.metrics import METRICS, Metric, select_metrics
from rag_evaluator.ranking import SortOptions
from rag_evaluator.results import Results
from rag_evaluator.runs import Progress, Run
from rag_evaluator.tables import write_xlsx

FOUR_METRICS = ("answer_relevancy", "faithfulness", "context_recall", "context_precision")
logger = logging.getLogger(__name__)
Settings = Config | Mapping[str, Any] | str | Path | None


def sort(
    question_list: Sequence[str],
    contexts_list: Sequence[Sequence[str]],
    k: int = 10,
    top: bool = True,
    fast: bool = True,
    *,
    strategy: str = "insertion",
    both_orders: bool = True,
    judge: Any = None,
    language: str | None = None,
    config: Settings = None,
    output_dir: str | Path = ".",
    fresh: bool = False,
    progress: Progress = lambda done, total: None,
) -> list[dict[str, Any]]:
    """The judge's order of each question's contexts, compared with the retriever's.

    Args:
        question_list: the questions.
        contexts_list: the contexts of each, best first as the retriever has them.
        k: number of contexts for `sim`, `overlap`, nDCG@k and P@k.
        top: compare the first k of both orders, else the last.
        fast: leave out contexts that do not hold the answer before sorting; else sort all.
        strategy: `insertion`, `merge` or `allpairs`; see `rag_evaluator.ranking.STRATEGIES`.
        both_orders: show each pair in both orders, so that a preference for one place cancels out.
        judge: a model folder, a `Judge`, a `HuggingFacePipeline` or any ragas LLM; None takes the configured one.
        language: of the prompts; None takes the configured one, English.
        config: a `Config`, a mapping with its keys or a YAML file; the demo judge if None.
        output_dir: gets `result/sorted_indices.json`, and the judge's answers in `result/journal`, from which a call
            that was stopped continues.
        fresh: forget answers of earlier calls.
        progress: called with (questions done, questions).

    Returns one dict per question, as written to the file: `question, contexts, good, bad, sorted, spearman, sim,
    overlap` and more (docs/sort-generate.md). Raises `RagEvaluatorError` for bad input before a model is loaded.
    """
    questions, contexts = check_lists(question_list, contexts_list)
    options = SortOptions(k, top, fast, strategy, both_orders)
    settings, folder = _settings(config, language), Path(output_dir) / "result"
    run = Run("sort", settings, _given_judge(judge, settings))
    rankings = run.sort(questions, contexts, options, folder, fresh, progress)
    rows = [dict(ranking.fields) for ranking in rankings]
    write_json(folder / "sorted_indices.json", rows)
    return rows


def generate(
    question_list: Sequence[str],
    contexts_list: Sequence[Sequence[str]],
    chat_model: Any = None,
    *,
    fast: bool = True,
    seed: int = 0,
    support: bool = True,
    judge: Any = None,
    language: str | None = None,
    config: Settings = None,
    output_dir: str | Path = ".",
    fresh: bool = False,
    progress: Progress = lambda done, total: None,
) -> list[str]:
    """A reference answer to each question, written from its contexts; empty where they do not hold one.

    Args:
        question_list, contexts_list, language, config, fresh, progress: as in `sort`.
        chat_model: another name of `judge`.
        fast: groups of 20 contexts are answered from together; else every context is asked alone.
        seed: of the shuffle before groups are made.
        support: ask which contexts support the answer.
        output_dir: gets `gt/GT_<question>.json` with each answer, its reason where it is empty, the contexts it was
            made from and those that support it; and `result/journal`, from which a call that was stopped continues.
    """
    questions, contexts = check_lists(question_list, contexts_list)
    settings = _settings(config, language)
    run = Run("generate", settings, _given_judge(chat_model if judge is None else judge, settings))
    options = GenerateOptions(fast=fast, seed=seed, support=support)
    output_dir = Path(output_dir)
    references = run.generate(
        questions, contexts, options, output_dir / "result", fresh, progress, answers=output_dir / "gt"
    )
    return [reference.ground_truth for reference in references]


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
    metrics: Sequence[str] = FOUR_METRICS,
    k: int = 10,
    judge: Any = None,
    embeddings: Any = None,
    language: str | None = None,
    config: Settings = None,
    output_dir: str | Path = ".",
    fresh: bool = False,
    progress: Progress = lambda done, total: None,
) -> Scores:
    """Scores of a RAG system's answers.

    Args:
        question_list, contexts_list, judge, language, config, fresh, progress: as in `sort`.
        answer_list: the answers to be scored; without them only metrics that need none are scored, and the others are
            told.
        ground_truth_list: reference answers; where one is None, or all are, they are written by `generate` first and
            saved in `gt/`.
        metrics: any names of `METRICS` or their aliases.
        k: contexts that count, from the first; fewer, but at least one, where they do not fit the judge's window.
        embeddings: a model folder or a langchain embedding; None takes the configured one.
        output_dir: gets `result/result.xlsx` and the files of an evaluation beside it.

    Returns the means by metric, under the names given; `.results` has all scores.
    """
    questions, contexts = check_lists(
        question_list, contexts_list, answers=answer_list, ground_truths=ground_truth_list
    )
    if k < 1:
        raise DatasetError(f"k is {k}: expected 1 or more.")
    settings, folder = _settings(config, language), Path(output_dir) / "result"
    chosen, skipped = _possible(metrics, answer_list)
    settings = settings.model_copy(update={"metrics": list(chosen)})
    if isinstance(embeddings, str | Path):
        changed = settings.embeddings.model_copy(update={"model": str(embeddings)})
        settings, embeddings = settings.model_copy(update={"embeddings": changed}), None
    given = _given_judge(judge, settings)
    settings = settings.model_copy(update={"judge": given.config})
    references = [None if is_blank(plain(text)) else text for text in ground_truth_list or [None] * len(questions)]
    rows = [
        {"question": question, "contexts": texts[:k], "ground_truth": reference, "answer": answer}
        for question, texts, reference, answer in zip(
            questions, contexts, references, answer_list or [None] * len(questions), strict=True
        )
    ]
    needs_reference = any("reference" in metric.columns for metric in chosen.values())
    _check(settings, rows, needs_reference, given, embeddings)
    if needs_reference:
        missing = [position for position, reference in enumerate(references) if reference is None]
        lists = [questions[position] for position in missing], [contexts[position] for position in missing]
        made = generate(*lists, judge=given, config=settings, output_dir=output_dir, fresh=fresh) if missing else []
        for position, reference in zip(missing, made, strict=True):
            rows[position]["ground_truth"] = reference
    evaluator = RAGEvaluator(settings, judge=given.given, embeddings=embeddings)
    if given.identity is None or embeddings is not None:  # nothing tells these models from others of their kind
        results = evaluator.evaluate(rows, progress)
        results.write(folder)
    else:
        results = evaluator.evaluate(rows, progress, folder, "fresh" if fresh else "update")
    named = replace(results, scores={_given_name(name, metrics): row for name, row in results.scores.items()})
    write_whole(folder / "result.xlsx", lambda path: write_xlsx(named, path))
    return Scores(named, skipped)


def check_lists(
    question_list: Sequence[str], contexts_list: Sequence[Sequence[str]], **others: Sequence[Any] | None
) -> tuple[list[str], list[list[str]]]:
    """The lists as plain ones; contexts may be LangChain documents.

    Raises `DatasetError` naming the list and the position of what is wrong.
    """
    lists = {"question_list": question_list, "contexts_list": contexts_list}
    lists |= {f"{name[:-1]}_list": values for name, values in others.items() if values is not None}
    for name, values in lists.items():
        if isinstance(values, str | Mapping) or not hasattr(values, "__len__"):
            raise DatasetError(f"{name}: expected a list, received {type(values).__name__}.")
        if len(values) != len(question_list):
            count = len(question_list)
            raise DatasetError(f"{name} has {len(values)} items, question_list has {count}: expected one each.")
        if name != "contexts_list":
            _texts(name, values, optional=name != "question_list")
    if not len(question_list):
        raise DatasetError("question_list is empty: expected at least one question.")
    return _texts("question_list", question_list), [
        _contexts(position, texts) for position, texts in enumerate(contexts_list)
    ]


def _texts(name: str, values: Sequence[Any], optional: bool = False) -> list[str]:
    """The values, numbers as text; where they are `optional`, None is left out."""
    texts = []
    for position, value in enumerate(map(plain, values)):
        text = as_text(value)
        if text is not None:
            texts.append(text)
        elif not (optional and value is None):
            raise DatasetError(f"{name}[{position}]: expected a text, received {value!r:.60}.")
    return texts


def _contexts(position: int, texts: Any) -> list[str]:
    name = f"contexts_list[{position}]"
    if isinstance(texts, str | Mapping) or not hasattr(texts, "__len__"):
        raise DatasetError(f"{name}: expected a list of texts, received {texts!r:.60}. Put a single one in a list.")
    return _texts(name, [getattr(text, "page_content", text) for text in texts])


def _settings(config: Settings, language: str | None) -> Config:
    if isinstance(config, str | Path):
        config = load_config(config)
    if not isinstance(config, Config):
        config = make_config({"metrics": list(FOUR_METRICS), **(config or {})})
    return config if language is None else config.model_copy(update={"language": language})


def _given_judge(judge: Any, settings: Config) -> GivenJudge:
    if isinstance(judge, GivenJudge):
        return judge
    given = GivenJudge(judge, settings.judge, settings.offline)
    if judge in (None, DEMO) and given.config.model == DEMO:
        logger.warning("The demo judge is a toy that shows the way; give a model of your own as judge.")
    return given


def _possible(metrics: Sequence[str], answer_list: Sequence[Any] | None) -> tuple[dict[str, Metric], dict[str, str]]:
    """The metrics that can be scored, and why others cannot."""
    chosen = select_metrics(metrics, "evaluate")
    skipped = {
        name: "needs answer_list" for name, metric in chosen.items() if "response" in metric.columns and not answer_list
    }
    possible = {name: metric for name, metric in chosen.items() if name not in skipped}
    if not possible:
        others = ", ".join(name for name, metric in METRICS.items() if "response" not in metric.columns)
        raise DatasetError(f"answer_list is missing, and {', '.join(skipped)} need it. Without answers: {others}.")
    if skipped:
        logger.warning("without answer_list not scored: %s; scored: %s", ", ".join(skipped), ", ".join(possible))
    return possible, skipped


def _check(
    settings: Config, rows: Sequence[Mapping[str, Any]], generates: bool, given: GivenJudge, embeddings: Any
) -> None:
    """What can be checked before references are written."""
    if generates:
        rows = [{**row, "ground_truth": row["ground_truth"] or "not written yet"} for row in rows]
    RAGEvaluator(settings, judge=given.given, embeddings=embeddings).check(list(rows))


def _given_name(canonical: str, metrics: Sequence[str]) -> str:
    """The name by which the caller asked for a metric."""
    return next(name for name in metrics if canonical in select_metrics([name]))
