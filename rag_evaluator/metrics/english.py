"""The English prompts of all metrics: those of the installed ragas and our own, and their export to `orig_prompts/`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ragas.embeddings.base import BaseRagasEmbedding
from ragas.prompt.metrics.base_prompt import BasePrompt

from rag_evaluator.judge.scripted import ScriptedJudge
from rag_evaluator.metrics.table import METRICS
from rag_evaluator.prompts.loading import PackSet, TracedPrompt, english_pack, english_source
from rag_evaluator.prompts.own import OWN_PROMPTS, own_prompts
from rag_evaluator.prompts.pack import ENGLISH, Key, Source, pack_path, write_pack, write_schemas


def all_prompts() -> dict[Key, "BasePrompt[Any, Any]"]:
    """The prompts of every metric of `METRICS` that has some, and those of the tasks."""
    judge, embeddings = ScriptedJudge([]), _NoEmbeddings()
    of_metrics = {
        (name, attribute): getattr(metric.create(judge, embeddings), attribute)
        for name, metric in METRICS.items()
        for attribute in metric.prompts
        if (metric.owner or name, attribute) not in OWN_PROMPTS
    }
    return {**of_metrics, **own_prompts()}


def load_prompts(owners: Sequence[str], language: str, folder: Path) -> dict[Key, TracedPrompt]:
    """The prompts of metrics, `sort` or `generate` in a language, see `PackSet.load`."""
    return PackSet(owners, language, folder, all_prompts).load()


def installed_sources() -> dict[Key, Source]:
    """The sources in the installed ragas, and those of our own prompts."""
    return {key: english_source(prompt) for key, prompt in all_prompts().items()}


def export(folder: Path) -> list[Path]:
    """Write the English prompts of the installed ragas, one JSON file each, and the schemas of their models.

    Returns the files of the prompts.

    Raises `ResultsError` when the folder cannot be written.
    """
    prompts = all_prompts()
    packs = {pack_path(folder, key, ENGLISH): english_pack(prompt) for key, prompt in prompts.items()}
    for path, pack in packs.items():
        write_pack(path, pack)
    write_schemas(folder, prompts)
    return list(packs)


class _NoEmbeddings(BaseRagasEmbedding):
    """Allows to make a metric of which only the prompts are needed."""

    def embed_text(self, text: str, **kwargs: Any) -> list[float]:
        raise NotImplementedError("made for its prompts only")

    async def aembed_text(self, text: str, **kwargs: Any) -> list[float]:
        raise NotImplementedError("made for its prompts only")
