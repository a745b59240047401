"""`generate`: reference answers, written from the contexts of each question."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rag_evaluator.config import with_arguments
from rag_evaluator.files import Progress, automatic
from rag_evaluator.results import why_of
from rag_evaluator.tasks import Generate, Reference, Settings, asked_by_lists, run_and_keep

logger = logging.getLogger(__name__)


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
    """Write a reference answer to each question from its contexts; empty where they do not hold one.

    Args:
        question_list, contexts_list, language, config, fresh, progress: as in `sort`.
        chat_model: another name of `judge`.
        fast, seed, support: settings, see `GenerateConfig`; None takes those of the section
            `generate` of `config`.
        output_dir: gets `gt/GT_<question>.json` with each answer, its reason where it is empty, the contexts it was
            made from and those that support it; and `result/journal`, from which a call that was stopped continues.
    """
    source = chat_model if judge is None else judge
    lists = (question_list, contexts_list)
    options = {"fast": fast, "seed": seed, "support": support}
    made = written_references(*lists, source, options, language, config, output_dir, fresh, progress)
    return [reference.ground_truth for reference in made]


def written_references(
    question_list: Sequence[str],
    contexts_list: Sequence[Sequence[str]],
    judge: Any,
    given: Mapping[str, Any],
    language: str | None,
    config: Settings,
    output_dir: str | Path,
    fresh: bool,
    progress: Progress,
) -> list[Reference]:
    """What `generate` makes, with the reason where there is no answer; `given`: settings, None those of `config`."""
    rows, asking = asked_by_lists("generate", question_list, contexts_list, judge, language, config)
    options = with_arguments(asking.config.generate, **given)
    folder = Path(output_dir)
    stage = Generate(rows, options, folder, asking)
    table = run_and_keep(stage, folder / "result", fresh, progress)
    references = list(stage.references(table))
    reasons = Counter(reference.reason for reference in references if reference.reason)
    if reasons:
        logger.warning("%d of %d questions have no answer: %s", reasons.total(), len(references), why_of(reasons))
    return references
