"""`generate` for one question and many: answers from groups of contexts, joined in a tree, and what supports them."""

import asyncio
import itertools
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from rag_evaluator.config import GenerateConfig, make_config
from rag_evaluator.dataset import ALIASES, REASON, CheckedRows, Sample, is_blank
from rag_evaluator.errors import JudgementError
from rag_evaluator.files import JsonDict, safe_names, write_lines, write_wide_json
from rag_evaluator.judge import LONGEST_REASON, RESERVE, JudgeProtocol, Window, probability
from rag_evaluator.metrics import check_work
from rag_evaluator.prompts import (
    AnswerInput,
    Key,
    ReduceInput,
    ReferenceOutput,
    SupportInput,
    SupportOutput,
    TracedPrompt,
)
from rag_evaluator.results import COPIED, REASONS, as_written
from rag_evaluator.run import Journal, Record, Table

from .question import (
    NO_CONTEXTS,
    NO_QUESTION,
    ContextStage,
    Make,
    Question,
    TaskJudge,
    fields_of,
    samples_of,
    without_question,
)

SUPPORTS = SupportOutput(verdict=1)
SUPPORTS_NOT = SupportOutput(verdict=0)
ANSWER_TOKENS = LONGEST_REASON + RESERVE  # room for an answer with its JSON
ITEM_TOKENS = 8  # indentation and comma of a list item, on top of its own tokens
UNANSWERABLE = "the judge finds the answer in no context"
NOT_JOINED = "the judge found no answer when it joined those of the parts"
TASK = "generate"
COLUMN = "reference"
ROWS = "dataset_with_reference.jsonl"
MANIFEST = "generate_manifest.json"
ANSWERS = "gt"


@dataclass(frozen=True)
class Piece:
    """A context, or a part of one that is too long to be read at once.

    Attributes:
        index: position of the context.
    """

    index: int
    text: str


def shuffled(pieces: Sequence[Piece], seed: int) -> list[Piece]:
    """The same order for the same seed; in the retriever's order the best would be in one group."""
    return random.Random(seed).sample(pieces, len(pieces))


def fitting_groups(pieces: Sequence[Piece], size: int, room: int, tokens: Callable[[str], int]) -> list[list[Piece]]:
    """Consecutive groups of at most `size` pieces and `room` tokens; a longer piece is a group of its own."""
    groups: list[list[Piece]] = []
    used = 0
    for piece in pieces:
        needed = tokens(piece.text)
        if not groups or len(groups[-1]) == size or used + needed > room:
            groups.append([])
            used = 0
        groups[-1].append(piece)
        used += needed
    return groups


def balanced_groups(texts: Sequence[str], size: int, fits: Callable[[Sequence[str]], bool]) -> list[list[str]]:
    """Consecutive groups of nearly equal length, each of at least two texts, as few as fit.

    So the number of groups is at most half the number of texts, and reducing them level by level always ends. Where not
    even two texts fit, the groups are pairs (or three, of an odd number).
    """
    groups: list[list[str]] = []
    most = max(len(texts) // 2, 1)
    for count in range(min(math.ceil(len(texts) / size), most), most + 1):
        groups = _split(texts, count)
        if all(fits(group) for group in groups):
            break
    return groups


def _split(texts: Sequence[str], count: int) -> list[list[str]]:
    bounds = [len(texts) * number // count for number in range(count + 1)]
    return [list(texts[start:end]) for start, end in itertools.pairwise(bounds)]


@dataclass(frozen=True)
class Reference:
    """A reference answer; its fields are those of `gt/GT_<question>.json`.

    Attributes:
        ground_truth: the answer; empty where there is none, then `reason` says why.
        used: positions of the contexts that the answer was made from.
        supporting: those of them that support it; None where that was not asked.
        support: probability that each of `used` supports it, in the same order.
        parts: groups of contexts that were asked, and how many of them gave an answer.
        failed: failures of the judge: message -> number.
        unjoined: answers concatenated because the judge could not read or join them.
    """

    question: str
    contexts: list[str]
    ground_truth: str = ""
    reason: str | None = None
    used: list[int] = field(default_factory=list)
    supporting: list[int] | None = None
    support: list[float] | None = None
    parts: int = 0
    answered: int = 0
    failed: dict[str, int] = field(default_factory=dict)
    unjoined: int = 0


class Generator:
    """Writes the reference answer to a question: groups, the tree that joins their answers, results.

    Args:
        judge: whom to ask.
        prompts: those of `generate`.
        options: how.
        question, contexts: of one row.
    """

    def __init__(
        self,
        judge: JudgeProtocol,
        prompts: Mapping[Key, TracedPrompt],
        options: GenerateConfig,
        question: str,
        contexts: Sequence[str],
    ) -> None:
        self.judge = judge
        self.options = options
        self.window = Window(judge)
        names = ("answer_prompt", "reduce_prompt", "support_prompt")
        self.answer_prompt, self.reduce_prompt, self.support_prompt = (prompts["generate", name] for name in names)
        self.question = question
        self.contexts = list(contexts)
        self.failed: dict[str, int] = {}
        self.parts = self.unjoined = 0

    async def generate(self) -> Reference:
        if is_blank(self.question):
            return self._reference(reason=NO_QUESTION)
        try:
            groups = self._groups()
        except JudgementError as error:  # the question alone is too long
            return self._reference(reason=str(error))
        self.parts = len(groups)
        answers = await asyncio.gather(*(self._answer(group) for group in groups))
        answered = [(answer, group) for answer, group in zip(answers, groups, strict=True) if answer]
        used = sorted({piece.index for _, group in answered for piece in group})
        answer = await self._reduce([answer for answer, _ in answered])
        if answer:
            support = await self._support(answer, used) if self.options.support else None
            good = None if support is None else [i for i, share in zip(used, support, strict=True) if share > 0.5]
            about = {"used": used, "supporting": good, "support": support}
            return self._reference(ground_truth=answer, answered=len(answered), **about)
        reason = NO_CONTEXTS if not groups else NOT_JOINED if answered else UNANSWERABLE
        if groups and sum(self.failed.values()) == len(groups):
            reason = next(iter(self.failed))
        return self._reference(reason=reason, answered=len(answered))

    def _reference(self, **fields: Any) -> Reference:
        counts: JsonDict = {"parts": self.parts, "failed": self.failed, "unjoined": self.unjoined}
        return Reference(self.question, self.contexts, **counts, **fields)

    def _groups(self) -> list[list[Piece]]:
        """The prompts' contexts: 20 together in fast mode, else every one alone; long ones in pieces."""
        room = self._room(self.answer_prompt, AnswerInput(user_input=self.question, contexts=[]))
        pieces = [
            Piece(index, part)
            for index, text in enumerate(self.contexts)
            if not is_blank(text)
            for part in self.window.pieces(text, room - ITEM_TOKENS)
        ]
        if not self.options.fast:
            return [[piece] for piece in pieces]
        return fitting_groups(shuffled(pieces, self.options.seed), self.options.group_size, room, self._item_tokens)

    async def _answer(self, group: Sequence[Piece]) -> str | None:
        """The judge's answer from a group, None if there is none; failures of the judge are counted."""
        shown = AnswerInput(user_input=self.question, contexts=[piece.text for piece in group])
        try:
            return await self._ask(self.answer_prompt.to_string(shown))
        except JudgementError as error:
            self._note(error)
            return None

    async def _reduce(self, answers: list[str]) -> str | None:
        """One answer from many, level by level; a single one stays as it is."""
        while len(answers) > 1:
            groups = balanced_groups(answers, self.options.group_size, self._fits)
            joined = await asyncio.gather(*map(self._join, groups))
            answers = [answer for answer in joined if answer]
        return answers[0] if answers else None

    def _fits(self, answers: Sequence[str]) -> bool:
        try:
            room = self._room(self.reduce_prompt, ReduceInput(user_input=self.question, answers=[]))
        except JudgementError:
            return False
        return sum(map(self._item_tokens, answers)) <= room

    async def _join(self, answers: Sequence[str]) -> str | None:
        """The judge's one answer; the answers one after the other where it cannot read or join them."""
        shown = ReduceInput(user_input=self.question, answers=list(answers))
        if self._fits(answers):
            try:
                return await self._ask(self.reduce_prompt.to_string(shown))
            except JudgementError as error:
                self._note(error)
        self.unjoined += len(answers)
        return "\n".join(answers)

    async def _ask(self, prompt: str) -> str | None:
        """The judge's answer, None if there is none. Raises `JudgementError`."""
        answer = (await self.judge.opinion(prompt, ReferenceOutput)).answer
        assert isinstance(answer, ReferenceOutput)
        if COPIED in check_work([(prompt, answer)], [self.question, self.contexts])[0]:
            raise JudgementError(REASONS[COPIED])
        return answer.answer.strip() if answer.answerable and not is_blank(answer.answer) else None

    def _note(self, error: JudgementError) -> None:
        self.failed[str(error)] = self.failed.get(str(error), 0) + 1

    async def _support(self, answer: str, used: Sequence[int]) -> list[float] | None:
        """Probability that each context supports the answer: the highest of its pieces."""
        prompt = self.support_prompt
        empty = SupportInput(user_input=self.question, answer=answer, context="")

        async def ask(text: str) -> float:
            shown = empty.model_copy(update={"context": text})
            return await probability(self.judge, prompt.to_string(shown), SUPPORTS, SUPPORTS_NOT)

        async def best(index: int) -> float:
            return max(await asyncio.gather(*(ask(part) for part in self.window.pieces(self.contexts[index], room))))

        try:
            room = self.window.room(prompt.to_string(empty))
            return list(await asyncio.gather(*(best(index) for index in used)))
        except JudgementError as error:
            self._note(error)
            return None

    def _room(self, prompt: TracedPrompt, empty: BaseModel) -> int:
        """Tokens for texts beside the answer, which gets at most half of what the prompt leaves."""
        free = self.window.room(prompt.to_string(empty))
        return free - min(ANSWER_TOKENS, free // 2)

    def _item_tokens(self, text: str) -> int:
        return self.window.tokens(text) + ITEM_TOKENS


class Generate(ContextStage):
    """The stage of `generate`.

    Args:
        rows: those of a dataset are written with the references as a column.
        settings: how.
        folder: in whose `gt/` each answer is written.
        asking, journal: see `ContextStage`.
    """

    task = TASK
    stage = "references"
    column = COLUMN

    def __init__(
        self,
        rows: CheckedRows,
        settings: GenerateConfig,
        folder: Path,
        asking: TaskJudge | None = None,
        journal: Journal | None = None,
    ) -> None:
        self.rows = rows
        self.settings = settings
        self.answers = folder / ANSWERS
        signed = settings.model_copy(update={"replace": False})  # it says which rows, not how
        super().__init__(rows, signed, asking, journal)
        self.files = (MANIFEST,) if rows.source is None else (ROWS, MANIFEST)
        self.names = safe_names([unit.question for unit in self.units])

    def chosen(self, samples: Sequence[Sample]) -> Sequence[Sample]:
        """The rows that have no reference, or all with `generate.replace`."""
        return list(filter(self._is_asked, samples))

    def _is_asked(self, sample: Sample) -> bool:
        return self.settings.replace or not sample.has("reference")

    def make(self, judge: JudgeProtocol) -> Make:
        assert self.asking is not None
        generator = partial(Generator, judge, self.asking.prompts, self.settings)

        async def write(unit: Question) -> Record:
            reference = await generator(unit.question, unit.contexts).generate()
            self._save(unit, reference)
            fields = without_question(asdict(reference))
            if reference.ground_truth or not reference.failed:
                return Record(fields)
            return Record(None, reference.reason, retry=True, details=fields)

        return write

    def references(self, table: Table) -> Iterator[Reference]:
        """The references in the order of the questions."""
        for unit, records in table:
            yield Reference(unit.question, list(unit.contexts), **fields_of(records[COLUMN][0]))

    def is_written(self, folder: Path) -> bool:
        return all(self._path(unit).is_file() for unit in self.units)

    def write(self, table: Table, folder: Path) -> Sequence[str]:
        for unit, reference in zip(self.units, self.references(table), strict=True):
            self._save(unit, reference)
        if ROWS in self.files:
            write_lines(folder / ROWS, self._rows(table))
        write_wide_json(folder / MANIFEST, as_written(table.about))
        return self.files

    def _rows(self, table: Table) -> Iterator[JsonDict]:
        """The rows of the dataset, those that were asked about with their reference."""
        references = self.references(table)
        for sample in self.rows:
            yield _with_reference(sample, next(references)) if self._is_asked(sample) else dict(sample.row)

    def _save(self, unit: Question, reference: Reference) -> None:
        write_wide_json(self._path(unit), asdict(reference))

    def _path(self, unit: Question) -> Path:
        return self.answers / f"GT_{self.names[unit.index]}.json"


def of_journal(journal: Journal) -> Generate:
    """The stage of a journal, to write its results. Raises `ResultsError` if its rows are not there any more."""
    config = make_config(journal.about["config"])
    return Generate(samples_of(journal, config, TASK), config.generate, journal.results, journal=journal)


def _with_reference(sample: Sample, reference: Reference) -> JsonDict:
    """The row with its answer; in `ground_truth` where `reference` is a retrieval log's name for contexts.

    So it is under the other names that the row has: an answer that is replaced would differ from it.
    """
    name = "ground_truth" if isinstance(sample.row.get("reference"), list) else "reference"
    names = [name, *(other for other in ALIASES["reference"] if other in sample.row)]
    columns = dict.fromkeys(names, reference.ground_truth or None)
    return {**sample.row, **columns, **({REASON: reference.reason} if reference.reason else {})}
