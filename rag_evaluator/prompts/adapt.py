"""Makes the packs of a language with the judge itself; a pack is written whole or not at all, no text asked twice."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

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
from rag_evaluator.prompts.check import Fault, check_pack, is_prose, label_words, leaves, place_name, replaced
from rag_evaluator.prompts.loading import PACKAGED, PackSet, TracedPrompt, english_pack, english_source
from rag_evaluator.prompts.pack import ENGLISH, CustomQuestion, Key, Pack, check_examples, write_pack
from rag_evaluator.prompts.translate import DoubtfulSegment, TranslatedText, Translator

logger = logging.getLogger(__name__)
WORKSHOP = ".adapting"  # folder beside the packs: recorded replies, and a lock against two runs at once
HEADING = """# Packs in {language}: what to review

Written by `rag-evaluator prompts adapt`. Read each text below in its pack, correct it there, and delete it here. Then
run `rag-evaluator prompts check --language {language}`.
"""
SECTION = "\n## "
PLACES_SHOWN = 3
REPLY_SHOWN = 300  # characters of a reply that was refused; others are shown in full


class PackReview(NamedTuple):
    """The report on one pack: its file name, marks with their places, and faults that `prompts check` finds."""

    name: str
    marks: Mapping[DoubtfulSegment, Sequence[str]]
    faults: Sequence[str]


def review_path(folder: Path, language: str) -> Path:
    return folder / f"review_{language}.md"


def write_review(folder: Path, language: str, sections: Sequence[PackReview]) -> Path:
    """Write the report; sections of packs that are not written anew are kept. Raises `ResultsError`."""
    path = review_path(folder, language)
    earlier = path.read_text(encoding="utf-8").split(SECTION)[1:] if path.is_file() else []
    names = {section.name for section in sections}
    bodies = [body.rstrip() for body in earlier if body.splitlines()[0].strip() not in names]
    bodies += [_body(section) for section in sections]
    write_text(path, HEADING.format(language=language) + "".join(f"{SECTION}{body}\n" for body in bodies))
    return path


def _body(section: PackReview) -> str:
    lines = [section.name, ""]
    lines += [f"- `prompts check` says: {fault}" for fault in section.faults]
    for mark, places in section.marks.items():
        more = f" and {len(places) - PLACES_SHOWN} more" if len(places) > PLACES_SHOWN else ""
        lines += [
            f"- {', '.join(f'`{place}`' for place in places[:PLACES_SHOWN])}{more}: {'; '.join(mark.reasons)}",
            f"  - English: {_line(mark.source)}",
            f"  - refused, English kept: {_line(mark.reply)[:REPLY_SHOWN] or '(nothing)'}"
            if mark.refused
            else f"  - used: {_line(mark.reply)}",
        ]
    return "\n".join(lines if len(lines) > 2 else [*lines, "Nothing was doubtful."])


def _line(text: str) -> str:
    return " ".join(text.split())


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
    questions: Mapping[str, CustomQuestion] | None = None,
) -> dict[Key, TracedPrompt]:
    """The prompts of the configured language; with `prompts.adapt`, packs that are missing are made first.

    Args:
        owners, english, questions: see `PackSet`.
        judge: loaded only if packs are to be made.

    Raises `PromptError` naming every pack that is missing, or the first that does not fit its prompt.
    """
    packs = PackSet(owners, config.language, config.prompts_dir, english, questions or {})
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
    language = packs.spoken
    records = Records(packs.folder / WORKSHOP / f"{language.name}.jsonl", ("question",), check=_check_reply)
    try:
        originals = {key: prompt for key, prompt in packs.originals.items() if key in chosen}

        async def drafts_of() -> tuple[list[Draft], int]:
            translator = Translator(await judge.load(), language, records, judge.signature or "")
            return await _drafts(originals, translator, instruction, progress), translator.asked

        drafts, asked = run(drafts_of())
    finally:
        records.close()
    written = [packs.path_of(draft.key) for draft in drafts]
    for path, draft in zip(written, drafts, strict=True):
        check_examples(draft.pack, originals[draft.key], path.name)
    sections = [
        _review(path.name, draft, originals[draft.key], language, instruction)
        for path, draft in zip(written, drafts, strict=True)
    ]
    review = write_review(packs.folder, language.name, sections)  # before the packs: none is ever there without it
    for path, draft in zip(written, drafts, strict=True):
        write_pack(path, draft.pack)
    records.path.unlink(missing_ok=True)
    return AdaptedPacks(written, kept, review, sum(len(section.marks) for section in sections), asked)


@dataclass(frozen=True)
class Draft:
    """A pack to be written, with the doubtful texts at each place."""

    key: Key
    pack: Pack
    marks: Mapping[str, Sequence[DoubtfulSegment]]


async def _drafts(
    originals: "Mapping[Key, BasePrompt[Any, Any]]", translator: Translator, instruction: bool, progress: Progress
) -> list[Draft]:
    """All packs at once, so that the judge's batches are full."""
    done, total = 0, 0

    async def translate(text: str, labels: frozenset[str], known: frozenset[str]) -> TranslatedText:
        nonlocal done, total
        total += 1
        translated = await translator.translate(text, labels, known)
        done += 1
        progress(done, total)
        return translated

    async def draft(key: Key, english: Pack, labels: frozenset[str]) -> Draft:
        places = {place: text for place, text in leaves(list(english.examples)) if is_prose(place, text)}
        texts = list(dict.fromkeys(places.values()))
        known = frozenset(text for text in texts if text.endswith((".", "!", "?")))
        asked = [translate(text, frozenset(), known) for text in texts]
        if instruction:
            asked.append(translate(english.instruction, labels, frozenset()))
        answers = await asyncio.gather(*asked)
        of = dict(zip(texts, answers, strict=False))
        examples = replaced(list(english.examples), lambda text: of[text].text)
        marks = {place_name(("examples", *place)): of[text].marks for place, text in places.items()}
        new_instruction = answers[-1] if instruction else TranslatedText(english.instruction)
        pack = Pack(translator.language.name, new_instruction.text, examples, english.original_hash)
        return Draft(key, pack, {"instruction": new_instruction.marks, **marks})

    sources = {key: english_pack(prompt) for key, prompt in originals.items()}
    return list(
        await asyncio.gather(
            *(draft(key, source, label_words(originals[key], source.instruction)) for key, source in sources.items())
        )
    )


def _review(
    name: str, draft: Draft, original: "BasePrompt[Any, Any]", language: Language, instruction: bool
) -> PackReview:
    """The report on a pack: its doubtful texts with all their places, and what `prompts check` will find."""
    places: defaultdict[DoubtfulSegment, list[str]] = defaultdict(list)
    for place, marks in draft.marks.items():
        for mark in marks:
            places[mark].append(place)
    faults: list[Fault] = check_pack(draft.pack, english_source(original), language, instruction)
    return PackReview(name, places, [str(fault) for fault in faults])


def _check_reply(record: Mapping[str, Any]) -> None:
    if not isinstance(record["translation"], str) or not isinstance(record["cut"], bool):
        raise TypeError("no reply")
    record["error"]
