"""Makes the packs of a language with the judge itself; a pack is written whole or not at all."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from rag_evaluator.config import Config, misspelt
from rag_evaluator.errors import PromptError
from rag_evaluator.files import Progress, silent
from rag_evaluator.judge import LazyJudge, run
from rag_evaluator.ragas_library import BasePrompt

from .check import (
    Fault,
    check_pack,
    label_words,
    place_name,
    prose_of,
    replaced,
)
from .loading import PackSet, TracedPrompt, english_pack
from .pack import ENGLISH, PACKAGED, Key, Pack, write_pack
from .translate import Translation, Translator, divided, joined

logger = logging.getLogger(__name__)
WORKSHOP = ".adapting"  # folder beside the packs: a lock against two runs at once
REPLY_SHOWN = 300  # characters of a reply that was refused
Refused = Mapping[tuple[str, Translation], Sequence[str]]
"""English segment and its translation, where that is refused -> the places of its texts."""


@dataclass(frozen=True)
class AdaptedPacks:
    """What a run of `adapt` did.

    Attributes:
        written: new packs.
        kept: packs that were there and were not touched.
        marked: texts that a reader should check, each of which a warning names.
    """

    written: Sequence[Path]
    kept: Sequence[Path]
    marked: int


def ready_prompts(
    originals: "Mapping[Key, BasePrompt[Any, Any]]", config: Config, judge: LazyJudge
) -> dict[Key, TracedPrompt]:
    """English prompts in the configured language; with `prompts.adapt`, packs that are missing are made first.

    Args:
        judge: loaded only if packs are to be made.

    Raises `PromptError` naming every pack that is missing, or the first that does not fit its prompt.
    """
    packs = PackSet(originals, config.language, config.prompts_dir)
    if config.prompts.adapt and packs.find(*PACKAGED)[1]:
        logger.warning(
            "%s: packs in %s are missing and are made with the judge, which takes a while", packs.folder, packs.language
        )
        done = adapt_packs(packs, judge, shared=PACKAGED)
        if done.written:  # else another run has made them meanwhile
            logger.warning("%d packs made, nobody has read them yet: %d doubtful texts", len(done.written), done.marked)
    elif packs.folder.name != type(config).model_fields["prompts_dir"].default.name and not packs.folder.is_dir():
        logger.warning("prompts_dir: %s is not there: all prompts are those of the package", packs.folder)
    return packs.load()


def adapt_packs(
    packs: PackSet,
    judge: LazyJudge,
    progress: Progress = silent,
    shared: Sequence[Path] = (),
) -> AdaptedPacks:
    """Translate the English prompts of metrics, `sort` or `generate` into a language and write their packs.

    Args:
        packs: what is to be there.
        judge: loaded only if there is something to translate.
        progress: called with (packs done, packs in all).
        shared: folders whose packs need not be made.

    Each pack is written when it is done, after its warnings: the next run continues a stopped one. A second run at the
    same time waits for the first. Raises `PromptError` when the folder cannot be written.
    """
    name = packs.spoken.name
    workshop = packs.folder / WORKSHOP
    if name == ENGLISH:
        raise PromptError("language 'english': the prompts are English already, there is nothing to adapt.")
    if question := misspelt(packs.language):
        logger.warning("%s Packs are made for it as it is.", question)
    try:
        workshop.mkdir(parents=True, exist_ok=True)
        with FileLock(workshop / f"{name}.lock"):
            return _adapt(packs, judge, progress, shared)
    except OSError as error:
        raise PromptError(f"{packs.folder}: cannot be written: {error}. Choose another folder.") from error


def _adapt(packs: PackSet, judge: LazyJudge, progress: Progress, shared: Sequence[Path]) -> AdaptedPacks:
    existing, missing = packs.find(*shared)
    marked = 0

    async def make() -> None:
        nonlocal marked
        translator = Translator(judge.load(), packs.spoken)
        for done, (key, path) in enumerate(missing.items()):
            progress(done, len(missing))
            pack, refused = await _translated(packs.originals[key], translator)
            doubts = _doubts(check_pack(pack, packs.originals[key], packs.spoken), refused)
            for doubt in doubts:
                logger.warning("%s: %s", path.name, doubt)
            write_pack(path, pack)
            marked += len(doubts)
        progress(len(missing), len(missing))

    if missing:
        run(make())
    return AdaptedPacks(list(missing.values()), list(existing.values()), marked)


async def _translated(prompt: "BasePrompt[Any, Any]", translator: Translator) -> tuple[Pack, Refused]:
    """The pack of a prompt; all its segments at once, so that the judge's batches are full."""
    english = english_pack(prompt)
    prose = prose_of(english)
    task = prose.pop("instruction")
    known = frozenset(text for text in prose.values() if text.endswith((".", "!", "?")))
    parts = {place: divided(text, known) for place, text in prose.items()}
    parts["instruction"] = divided(task)
    labels = label_words(prompt, task)
    asked = {
        place: [translator.translate(part.text, labels if place == "instruction" else frozenset()) for part in of]
        for place, of in parts.items()
    }
    replies = dict(zip(asked, await asyncio.gather(*(asyncio.gather(*of) for of in asked.values())), strict=True))
    refused: defaultdict[tuple[str, Translation], list[str]] = defaultdict(list)
    texts = {}
    for place, of in parts.items():
        texts[place] = joined(of, [reply.text for reply in replies[place]], translator.language)
        for part, reply in zip(of, replies[place], strict=True):
            if reply.refused:
                refused[part.text, reply].append(place)
    examples = replaced({"examples": list(english.examples)}, lambda place: texts[place_name(place)])["examples"]
    return Pack(translator.language.name, texts["instruction"], examples, english.original_hash), refused


def _doubts(faults: Sequence[Fault], refused: Refused) -> list[str]:
    """What to review in a pack: what `prompts check` finds in it, and the segments that stay English."""
    lines = [f"prompts check says: {fault}" for fault in faults]
    for (source, reply), places in refused.items():
        where = ", ".join(dict.fromkeys(places))
        written = reply.written[:REPLY_SHOWN] or "(nothing)"
        lines.append(f"{where}: {reply.refused}. English, which stays: {source!r}; refused: {written!r}")
    return lines
