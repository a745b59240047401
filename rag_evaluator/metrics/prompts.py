"""The prompts of metrics: English ones of the installed ragas and our own, those of a language, rubrics of the user."""

import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from langchain_core.embeddings import DeterministicFakeEmbedding
from pydantic import BaseModel

from rag_evaluator.config import Config, Language, find_language, prompt_owners, sentences_of
from rag_evaluator.embeddings import as_embeddings
from rag_evaluator.errors import PromptError
from rag_evaluator.files import writing
from rag_evaluator.judge import LazyJudge, PromptText, ScriptedJudge
from rag_evaluator.prompts import (
    ENGLISH,
    PACKAGED,
    REWRITING,
    SHELL,
    Key,
    PackPrompt,
    QuestionPrompt,
    TracedPrompt,
    english_pack,
    own_prompts,
    pack_path,
    prompt_models,
    ready_prompts,
    with_examples,
    write_pack,
)
from rag_evaluator.ragas_library import BasePrompt, ContextRecallInput, InstanceRubricScoreInput, format_rubrics
from rag_evaluator.resources import packaged

from .row import Metrics
from .table import METRICS

RECALL = ("context_recall", "prompt")
LINES = re.compile(r"^score\d_description:.*(?:\n+score\d_description:.*)*", flags=re.MULTILINE)
"""Rubrics in an instruction: their keys are the same in all languages."""


def all_prompts() -> dict[Key, "BasePrompt[Any, Any]"]:
    """The prompts of every metric of `METRICS` that has some, and those of the tasks."""
    # none is asked
    judge = ScriptedJudge([])
    embeddings = as_embeddings(DeterministicFakeEmbedding(size=1))
    of_metrics = {
        (name, attribute): getattr(metric.create(judge, embeddings), attribute)
        for name, metric in METRICS.items()
        for attribute in metric.prompts
        if (metric.owner or name, attribute) not in prompt_models()
    }
    return {**of_metrics, **own_prompts()}


def prompts_asked(metrics: Metrics, rewrites: bool = False) -> dict[Key, "BasePrompt[Any, Any]"]:
    """Those of `all_prompts` that metrics ask: a question that a verifier answers in the judge's place has no pack.

    Args:
        rewrites: whether questions are rewritten, too.
    """
    asked = {(metric.owner or name, attribute) for name, metric in metrics.items() for attribute in metric.prompts}
    asked |= {REWRITING} if rewrites else set()
    return {key: prompt for key, prompt in all_prompts().items() if key in asked} if asked else {}


def prompts_of(metrics: Metrics, config: Config, judge: LazyJudge, rewrites: bool = False) -> dict[Key, TracedPrompt]:
    """(metric, attribute) -> its prompt in the language of the configuration, with rubrics of the user.

    Packs of several metrics may have the same owner. Raises what `ready_prompts` raises.
    """
    prompts = ready_prompts(prompts_asked(metrics, rewrites), config, judge)
    asked = {name: metric.question for name, metric in metrics.items() if metric.question is not None}
    prompts |= {(name, SHELL[1]): QuestionPrompt(prompts[SHELL].pack, question) for name, question in asked.items()}
    rubrics = {name: metric.options["rubrics"] for name, metric in metrics.items() if metric.options.get("rubrics")}
    prompts |= {key: RubricsPrompt(prompt, rubrics[key[0]]) for key, prompt in prompts.items() if key[0] in rubrics}
    if RECALL in prompts:
        prompts[RECALL] = RecallPrompt(prompts[RECALL], find_language(config.language))
    prompts = with_examples(prompts, config.judge.examples)
    return {key: prompts[key] for key in [REWRITING] if rewrites} | {
        (name, attribute): prompts[name if metric.question else metric.owner or name, attribute]
        for name, metric in metrics.items()
        for attribute in metric.prompts
    }


def export(folder: Path, keep: bool = False) -> tuple[list[Path], list[Path]]:
    """Write the English prompts of the installed ragas, one JSON file each.

    Args:
        keep: whether files that are there stay as they are: somebody may have changed them.

    Returns the files that were written, and those that are kept. Raises `ResultsError` when the folder cannot be
    written.
    """
    elsewhere = prompt_owners() if folder.resolve() == packaged("orig_prompts") else ()  # in the folder of a feature
    prompts = {key: prompt for key, prompt in all_prompts().items() if key[0] not in elsewhere}
    packs = {pack_path(folder, key, ENGLISH): english_pack(prompt) for key, prompt in prompts.items()}
    kept = [path for path in packs if keep and path.exists()]
    written = [path for path in packs if path not in kept]
    for path in written:
        write_pack(path, packs[path])
    return written, kept


def export_packs(language: str, folder: Path) -> tuple[list[Path], list[Path]]:
    """Copy the packs of a language that come with the program into a folder.

    Args:
        language: its English name, as in the names of packs.

    Returns the files that were written, and those that were there and are kept. Raises `PromptError` if no packs of the
    language come with the program, `ResultsError` when the folder cannot be written.
    """
    packs = [path for place in PACKAGED for path in sorted((place / language).glob("*.json"))]
    if not packs:
        raise PromptError(f"language '{language}': no packs come with the program. Make them with 'prompts adapt'.")
    kept = [folder / path.name for path in packs if (folder / path.name).exists()]
    missing = {folder / path.name: path for path in packs if folder / path.name not in kept}
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for path, packed in missing.items():
            shutil.copyfile(packed, path)
    return list(missing), kept


class RecallInput(ContextRecallInput):
    """ragas' own, with what is judged one by one."""

    sentences: list[str]


class RecallPrompt(TracedPrompt):
    """ragas' question of context recall; a judge that obeys a schema gives a verdict on each sentence of the reference.

    Left free, a small judge writes one statement in place of all and counts that.

    Args:
        language: of the reference; it decides where a sentence ends.
    """

    def __init__(self, prompt: TracedPrompt, language: Language) -> None:
        super().__init__(prompt.prompt, prompt.name, prompt.pack)
        self.spoken = language

    def to_string(self, data: BaseModel) -> PromptText:
        text = super().to_string(data)
        answer = data.model_dump()["answer"]
        text.data = RecallInput(**data.model_dump(), sentences=sentences_of(answer, self.spoken) or [answer])
        return text


class RubricsPrompt(TracedPrompt):
    """A prompt of ragas' rubric scores with rubrics of the user; its language and examples stay.

    Args:
        prompt: as its pack has it.
        rubrics: key as `score1_description` -> what the score means.

    Raises `PromptError` if the instruction does not hold rubrics once.
    """

    def __init__(self, prompt: TracedPrompt, rubrics: Mapping[str, str]) -> None:
        pack = prompt.pack
        if len(LINES.findall(pack.instruction)) != 1:
            raise PromptError(
                f"the {pack.language} pack of {prompt.name} must have its rubrics once, as lines that begin with "
                "'score1_description:' and so on, so that those of metric_options can take their place."
            )
        text = format_rubrics(dict(rubrics))
        pack = replace(pack, instruction=LINES.sub(lambda _: text, pack.instruction))
        super().__init__(PackPrompt(pack, prompt.prompt), prompt.name, pack)
        self.rubrics = dict(rubrics)

    def to_string(self, data: BaseModel) -> PromptText:
        text = super().to_string(data)
        text.data = InstanceRubricScoreInput(**data.model_dump(), rubrics=self.rubrics)  # the judge reads the scale
        return text
