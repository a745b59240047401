"""`sort`: each question's contexts in the judge's order, for those who have questions and contexts in hand."""

import logging
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rag_evaluator.config import with_arguments
from rag_evaluator.files import Progress, automatic
from rag_evaluator.results import why_of
from rag_evaluator.tasks import Settings, Sort, asked_by_lists, run_and_keep

logger = logging.getLogger(__name__)


def sort(
    question_list: Sequence[str],
    contexts_list: Sequence[Sequence[str]],
    k: int | None = None,
    top: bool | None = None,
    fast: bool | None = None,
    *,
    indices: bool = False,
    strategy: str | None = None,
    both_orders: bool | None = None,
    judge: Any = None,
    language: str | None = None,
    config: Settings = None,
    output_dir: str | Path = ".",
    fresh: bool = False,
    progress: Progress = automatic,
) -> list[Any]:
    """Order each question's contexts by the judge, and compare with the retriever's order.

    Args:
        question_list: the questions, as a list, a tuple, a pandas, numpy or `datasets` column.
        contexts_list: the contexts of each, best first as the retriever has them.
        k, top, fast, strategy, both_orders: settings, see `SortConfig`; None takes those of the
            section `sort` of `config`.
        indices: return the positions alone.
        judge: a model folder, a `Judge`, a `HuggingFacePipeline` or any ragas LLM; None takes the configured one.
        language: of the prompts; None takes the configured one, English.
        config: a `Config`, a mapping with its keys or a YAML file; the demo judge if None. Its `dataset`, `columns`,
            `name` and `output_dir` are those of the commands and do not count here.
        output_dir: gets `result/sorted_indices.json`, and the judge's answers in `result/journal`, from which a call
            that was stopped continues.
        fresh: forget answers of earlier calls.
        progress: called with (questions done, questions); see docs/progress.md. By default lines.

    Returns one dict per question, as written to the file: `question, contexts, good, bad, sorted, spearman, sim,
    overlap` and more (docs/sort-generate.md). Any: with `indices` a list per question, the positions of `sorted`, best
    first; empty where there is no order, which a warning says. Raises `RagEvaluatorError` for bad input before a
    model is loaded.
    """
    rows, asking = asked_by_lists("sort", question_list, contexts_list, judge, language, config)
    options = with_arguments(asking.config.sort, k=k, top=top, fast=fast, strategy=strategy, both_orders=both_orders)
    stage = Sort(rows, options, asking)
    table = run_and_keep(stage, Path(output_dir) / "result", fresh, progress)
    rankings = [dict(ranking) for ranking in stage.rankings(table)]
    if not indices:
        return rankings
    reasons = [ranking["reasons"] for ranking in rankings if not ranking["sorted"]]
    if reasons:
        why = why_of(Counter(reason.get("sorted") or reason["spearman"] for reason in reasons))
        logger.warning("%d of %d questions have no order: %s", len(reasons), len(rankings), why)
    return [ranking["sorted"] or [] for ranking in rankings]
