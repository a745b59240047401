"""`evaluate`: scores of a RAG system's answers that are in lists."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rag_evaluator.dataset import REASON, check_lists, is_blank, optional_texts
from rag_evaluator.errors import DatasetError
from rag_evaluator.evaluator import RAGEvaluator
from rag_evaluator.files import Progress, automatic, silent, write_whole
from rag_evaluator.ground_truth import written_references
from rag_evaluator.metrics import (
    as_list,
    for_metrics,
    metric_names,
    model_of,
    option_names,
    own_metrics,
    select_metrics,
    with_own,
)
from rag_evaluator.results import Results, joined, write_xlsx
from rag_evaluator.tasks import Settings, judge_source, settings_of, units_of

logger = logging.getLogger(__name__)


class Scores(dict[str, float | None]):
    """Mean of each metric over what could be scored; None where nothing could.

    Attributes:
        results: every score with its reason; `results.rows()`, `results.to_pandas()`.
        skipped: metrics that were asked for -> what they need that was not given.
    """

    def __init__(self, results: Results, skipped: Sequence[str]) -> None:
        super().__init__({name: row["mean"] for name, row in results.summary().items()})
        self.results = results
        self.skipped = dict.fromkeys(skipped, "needs answer_list")

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
    """Score a RAG system's answers.

    Args:
        question_list, contexts_list, judge, language, config, fresh, progress: as in `sort`.
        answer_list: the answers, None or NaN where there is none; without any, metrics that need them are skipped.
        ground_truth_list: reference answers; where one is None or NaN, or all are, they are written first, by
            `generate` with the section `generate` of `config`, and saved in `gt/`. Those given are never replaced.
        metrics: names of `METRICS` or their aliases, metrics of your own, or one of these; None takes those of
            `config`, and without any `FOUR_METRICS`.
        k: contexts that count, from the first; fewer, but at least one, where they do not fit the judge's window.
        embeddings: a model folder or a langchain embedding; None takes the configured one.
        output_dir: gets `result/result.xlsx` and the files of an evaluation beside it.

    Returns the means by metric, under the names given; `.results` has all scores.
    """
    units = units_of(check_lists(question_list, contexts_list))
    answers = optional_texts("answer_list", answer_list, len(units))
    given_references = optional_texts("ground_truth_list", ground_truth_list, len(units))
    references = [None if is_blank(reference) else reference for reference in given_references]
    if k < 1:
        raise DatasetError(f"k is {k}: expected 1 or more.")
    settings = settings_of(config, language)
    folder = Path(output_dir) / "result"
    listed = settings.metrics if metrics is None else as_list(metrics)
    names = metric_names(listed)
    settings = with_own(settings, listed)
    custom = own_metrics(settings)
    chosen = select_metrics(names, settings.place() if metrics is None else "evaluate", custom)
    option_names(settings, chosen)  # those of a metric that is not chosen are refused, not left out
    unanswered = all(answer is None for answer in answers)
    skipped = [name for name, metric in chosen.items() if unanswered and "response" in metric.columns]
    possible = [name for name in chosen if name not in skipped]
    if not possible:
        raise DatasetError(f"answer_list is missing, which is needed for {', '.join(skipped)}.")
    if skipped:
        logger.warning("without answer_list not scored: %s; scored: %s", ", ".join(skipped), ", ".join(possible))
    source = judge_source(model_of(listed, "llm", judge), settings)
    settings = for_metrics(settings, possible)
    evaluator = RAGEvaluator(settings, source, model_of(listed, "embeddings", embeddings))
    rows = [
        {"question": unit.question, "contexts": unit.contexts[:k], "ground_truth": reference, "answer": answer}
        for unit, reference, answer in zip(units, references, answers, strict=True)
    ]
    if any("reference" in metric.columns for metric in evaluator.metrics.values()):
        evaluator.check([{**row, "ground_truth": row["ground_truth"] or "not written yet"} for row in rows])
        missing = [position for position, reference in enumerate(references) if reference is None]
        if missing:
            lists = [units[place].question for place in missing], [units[place].contexts for place in missing]
            bar = automatic if progress is automatic else silent
            made = written_references(*lists, source, {}, None, settings, output_dir, fresh, bar)
            for position, reference in zip(missing, made, strict=True):
                rows[position]["ground_truth"] = reference.ground_truth
                if reference.reason:
                    rows[position][REASON] = reference.reason
    results = evaluator.evaluate(rows, progress, folder, "fresh" if fresh else "update")
    asked = {canonical: name for name in reversed(names) for canonical in select_metrics([name], custom=custom)}
    named = joined({asked[metric]: (results, metric) for metric in results.scores})
    write_whole(folder / "result.xlsx", lambda path: write_xlsx(named.heading, named, path))
    return Scores(named, skipped)
