"""Makes the packs of a language with the judge itself; a pack is written whole or not at all, no text asked twice."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from rag_evaluator.config.languages import Language, misspelt
from rag_evaluator.config.schema import Config
from rag_evaluator.errors import PromptError
from rag_evaluator.files.atomic import write_text
from rag_evaluator.files.jsonl import Records
from rag_evaluator.files.progress import Progress, silent
from rag_evaluator.judge.protocol import JudgeSource
from rag_evaluator.models.event_loop import run
from rag_evaluator.models.ragas_library import BasePrompt
from rag_evaluator.prompts.check import (
    Fault,
    check_pack,
    label_words,
    must_survive,
    place_name,
    prose_of,
    replaced,
)
from rag_evaluator.prompts.loading import PACKAGED, PackSet, TracedPrompt, english_pack
from rag_evaluator.prompts.pack import ENGLISH, Key, Pack, write_pack
from rag_evaluator.prompts.translate import Segment, Translation, Translator, divided, joined

logger = logging.getLogger(__name__)
WORKSHOP = ".adapting"  # folder beside the packs: recorded replies, and a lock against two runs at once
HEADING = """# Packs in {language}: what to review

Written by `rag-evaluator prompts adapt`. Read each text below in its pack, correct it there, and delete it here. Then
run `rag-evaluator prompts check --language {language}`.
"""
SECTION = "\n## "
REPLY_SHOWN = 300  # characters of a reply that was refused


def write_review(folder: Path, language: str, sections: Mapping[str, str]) -> Path:
    """Write the report; sections of packs that are not written anew are kept. Raises `ResultsError`.

    Args:
        sections: what to review in each pack, by its file's name.
    """
    path = folder / f"review_{language}.md"
    earlier = path.read_text(encoding="utf-8").split(SECTION)[1:] if path.is_file() else []
    bodies = [body.rstrip() for body in earlier if body.splitlines()[0].strip() not in sections]
    bodies += [f"{name}\n\n{section}" for name, section in sections.items()]
    write_text(path, HEADING.format(language=language) + "".join(f"{SECTION}{body}\n" for body in bodies))
    return path


@dataclass(frozen=True)
class AdaptedPacks:
    """What a run of `adapt` did.

    Attributes:
        written: new packs.
        kept: packs that were there and were not touched.
        review: the report of what a reader should check; None if nothing was written.
        marked: texts in it.
        asked: questions put to the judge in this run.
    """

    written: Sequence[Path]
    kept: Sequence[Path]
    review: Path | None
    marked: int
    asked: int


def ready_prompts(
    owners: Sequence[str],
    config: Config,
    judge: JudgeSource,
    english: Callable[[], "Mapping[Key, BasePrompt[Any, Any]]"],
) -> dict[Key, TracedPrompt]:
    """The prompts of the configured language; with `prompts.adapt`, packs that are missing are made first.

    Args:
        owners, english: see `PackSet`.
        judge: loaded only if packs are to be made.

    Raises `PromptError` naming every pack that is missing, or the first that does not fit its prompt.
    """
    packs = PackSet(owners, config.language, config.prompts_dir, english)
    if config.prompts.adapt and packs.find(PACKAGED)[1]:
        logger.warning(
            "%s: packs in %s are missing and are made with the judge, which takes a while", packs.folder, packs.language
        )
        done = adapt_packs(packs, judge, config.prompts.adapt_instruction, shared=(PACKAGED,))
        if done.written:  # else another run has made them meanwhile
            logger.warning("%d packs made, nobody has read them yet: see %s", len(done.written), done.review)
    elif packs.folder.name != type(config).model_fields["prompts_dir"].default.name and not packs.folder.is_dir():
        logger.warning("prompts_dir: %s is not there: all prompts are those of the package", packs.folder)
    return packs.load()


def adapt_packs(
    packs: PackSet,
    judge: JudgeSource,
    instruction: bool = True,
    force: bool = False,
    progress: Progress = silent,
    shared: Sequence[Path] = (),
) -> AdaptedPacks:
    """Translate the English prompts of metrics, `sort` or `generate` into a language and write their packs.

    Args:
        packs: what is to be there.
        judge: loaded only if there is something to translate; only recorded replies of its signature are used.
        instruction: False leaves the instructions in English and translates the examples only.
        force: make packs anew that exist.
        progress: called with (texts done, texts in all).
        shared: folders whose packs need not be made.

    Every reply is recorded at once: the next run continues a stopped one. A second run at the same time
    waits for the first. Raises `PromptError` when the folder cannot be written.
    """
    name, workshop = packs.spoken.name, packs.folder / WORKSHOP
    if name == ENGLISH:
        raise PromptError("language 'english': the prompts are English already, there is nothing to adapt.")
    if question := misspelt(packs.language):
        logger.warning("%s Packs are made for it as it is.", question)
    try:
        workshop.mkdir(parents=True, exist_ok=True)
        with FileLock(workshop / f"{name}.lock"):
            return _adapt(packs, judge, instruction, force, progress, shared)
    except OSError as error:
        raise PromptError(f"{packs.folder}: cannot be written: {error}. Choose another folder.") from error


def _adapt(
    packs: PackSet, judge: JudgeSource, instruction: bool, force: bool, progress: Progress, shared: Sequence[Path]
) -> AdaptedPacks:
    existing, missing = packs.find(*shared)
    present = [key for key, path in existing.items() if path.parent == packs.folder]
    chosen = [*present, *missing] if force else list(missing)
    kept = [] if force else list(existing.values())
    if not chosen:
        return AdaptedPacks([], kept, None, 0, 0)
    language, originals = packs.spoken, {key: prompt for key, prompt in packs.originals.items() if key in chosen}
    records = Records(packs.folder / WORKSHOP / f"{language.name}.jsonl", ("question",))

    async def drafts_of() -> tuple[dict[Key, Draft], int]:
        translator = Translator(await judge.load(), language, records, judge.signature or "")
        return await _drafts(originals, translator, instruction, progress), translator.asked

    try:
        drafts, asked = run(drafts_of())
    finally:
        records.close()
    faults = {key: check_pack(draft.pack, originals[key], language, instruction) for key, draft in drafts.items()}
    sections = {packs.path_of(key).name: _section(draft, faults[key]) for key, draft in drafts.items()}
    review = write_review(packs.folder, language.name, sections)  # before the packs: none is ever there without it
    for key, draft in drafts.items():
        write_pack(packs.path_of(key), draft.pack)
    records.path.unlink(missing_ok=True)
    marked = sum(len(draft.refused) + len(faults[key]) for key, draft in drafts.items())
    return AdaptedPacks(list(map(packs.path_of, drafts)), kept, review, marked, asked)


Question = tuple[str, frozenset[str]]  # the text of an English segment, and the words in it that stay as they are
Parts = list[tuple[Segment, Question]]


@dataclass(frozen=True)
class Draft:
    """A pack to be written, and its segments that stay English -> the places of their texts."""

    pack: Pack
    refused: Mapping[tuple[str, Translation], Sequence[str]]


async def _drafts(
    originals: "Mapping[Key, BasePrompt[Any, Any]]", translator: Translator, instruction: bool, progress: Progress
) -> dict[Key, Draft]:
    """The drafts of packs. Each segment is asked for once, and those of all packs together: the batches are full."""
    texts = {key: _texts_of(prompt, instruction) for key, prompt in originals.items()}
    asked = list(dict.fromkeys(question for of in texts.values() for parts in of.values() for _, question in parts))
    done = 0

    async def translate(question: Question) -> Translation:
        nonlocal done
        translation = await translator.translate(*question)
        done += 1
        progress(done, len(asked))
        return translation

    replies = dict(zip(asked, await asyncio.gather(*map(translate, asked)), strict=True))
    return {key: _draft(english_pack(originals[key]), of, replies, translator.language) for key, of in texts.items()}


def _texts_of(prompt: "BasePrompt[Any, Any]", instruction: bool) -> dict[str, Parts]:
    """The texts of a prompt that are for translation, by the names of their places, in segments."""
    prose = prose_of(english_pack(prompt))
    task = prose.pop("instruction")
    known = frozenset(text for text in prose.values() if text.endswith((".", "!", "?")))
    texts = {
        name: [(part, (part.text, frozenset[str]())) for part in divided(text, known)] for name, text in prose.items()
    }
    if instruction:
        labels = label_words(prompt, task)
        texts["instruction"] = [
            (part, (part.text, labels.intersection(must_survive(part.text, labels)))) for part in divided(task)
        ]
    return texts


def _draft(
    english: Pack, texts: Mapping[str, Parts], replies: Mapping[Question, Translation], language: Language
) -> Draft:
    refused: defaultdict[tuple[str, Translation], list[str]] = defaultdict(list)
    done = {"instruction": english.instruction}
    for name, parts in texts.items():
        translations = [replies[question] for _, question in parts]
        for (part, _), reply in zip(parts, translations, strict=True):
            if reply.refused:
                refused[part.text, reply].append(name)
        done[name] = joined([part for part, _ in parts], [reply.text for reply in translations], language)
    examples = replaced({"examples": list(english.examples)}, lambda place: done[place_name(place)])["examples"]
    return Draft(Pack(language.name, done["instruction"], examples, english.original_hash), refused)


def _section(draft: Draft, faults: Sequence[Fault]) -> str:
    """What to review in a pack: what `prompts check` finds in it, and the segments that stay English."""
    lines = [f"- `prompts check` says: {fault}" for fault in faults]
    for (source, reply), places in draft.refused.items():
        lines += [
            f"- {', '.join(f'`{place}`' for place in dict.fromkeys(places))}: {reply.refused}",
            f"  - English, which stays: {source}",
            f"  - refused: {reply.written[:REPLY_SHOWN] or '(nothing)'}",
        ]
    return "\n".join(lines or ["Nothing was doubtful."])
