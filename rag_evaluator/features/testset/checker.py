"""The filters that candidates pass, and `Checker`, which applies them."""

import asyncio
import random
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, Field

from rag_evaluator.config import find_language
from rag_evaluator.dataset import is_blank
from rag_evaluator.errors import JudgementError
from rag_evaluator.files import JsonDict
from rag_evaluator.judge import LONGEST_REASON, RESERVE, AnswerRow, JudgeProtocol, Window, probability
from rag_evaluator.prompts import (
    AnswerInput,
    Key,
    ModelPair,
    ReferenceOutput,
    SupportInput,
    SupportOutput,
    Verdict,
    foreign,
)
from rag_evaluator.run import Record
from rag_evaluator.tasks import TaskJudge

from .corpus import DocumentChunk
from .prepare import PARTNERS, Candidate, Neighbours, Slot, is_useful
from .section import SHARES, TestsetConfig

OWNERS = ("testset", "generate")  # of the prompts that are asked
ANSWER_TOKENS = LONGEST_REASON + RESERVE  # room for an answer with its JSON
ITEM_TOKENS = 8  # indentation and comma of a list item, on top of its own tokens
SUPPORTS = SupportOutput(verdict=1)
SUPPORTS_NOT = SupportOutput(verdict=0)
Answer = TypeVar("Answer", bound=BaseModel)
LIKELY = 0.5  # a probability above it is a yes
NOT_FOUND = "the judge finds no answer in its contexts"
NOT_CHECKED = "could not be checked"  # how the reason of a verdict begins that is none
WORD = re.compile(r"\w+")
FilterVerdict = JsonDict  # `keep`, the `reason` if not, and what the filter saw: answers, probabilities. JSON
Check = Callable[[Candidate, "Checker"], Awaitable[FilterVerdict]]
Embed = Callable[[str], Awaitable[list[float]]]
DUPLICATE = "not_duplicate"
"""The filter that compares candidates with each other, when the test set is chosen."""
AMONG_OTHERS = "names_document"
MEASURED = ("not_known", AMONG_OTHERS)  # filters that say how hard a question is
DECIMALS = 4  # of a kept vector
NO_PARTNER = {"same document": "its document has no other chunk", "other document": "there is no other document"}
NOTHING_WRITTEN = "the judge wrote no question, or no answer"


class MadeInput(BaseModel):
    """What a question is made from."""

    contexts: list[str] = Field(description="The contexts to ask about")


class MadeOutput(BaseModel):
    """A question and its answer."""

    question: str = Field(description="The question")
    answer: str = Field(description="The answer to the question, from the contexts")


class KnownInput(BaseModel):
    """A question alone."""

    user_input: str = Field(description="The question")


class KnownOutput(BaseModel):
    """An answer from memory, if there is one."""

    answer_row: ClassVar = AnswerRow(empty_where_zero=("known", "answer"))
    known: Verdict = Field(description="1 if you know the answer, else 0")
    answer: str = Field(description="The answer; empty if you do not know it")


class AgreeInput(BaseModel):
    """A question and two answers to it."""

    user_input: str = Field(description="The question")
    reference: str = Field(description="The right answer")
    answer: str = Field(description="The answer to compare with it")


class AgreeOutput(BaseModel):
    """Whether two answers say the same."""

    verdict: Verdict = Field(description="1 if the answer says the same as the right answer, else 0")


PROMPTS: Mapping[Key, ModelPair] = {
    **{("testset", f"{kind}_prompt"): (MadeInput, MadeOutput) for kind in SHARES},
    ("testset", "known_prompt"): (KnownInput, KnownOutput),
    ("testset", "agree_prompt"): (AgreeInput, AgreeOutput),
}
"""As `OWN_PROMPTS`."""


AGREES = AgreeOutput(verdict=1)
DIFFERS = AgreeOutput(verdict=0)


def _verdict(keep: bool, reason: str | None, **seen: Any) -> FilterVerdict:
    return {"keep": keep, "reason": None if keep else reason, **seen}


async def _language(candidate: Candidate, checker: "Checker") -> FilterVerdict:
    """Question and answer are in the configured language."""
    reason = foreign(f"{candidate.question} {candidate.answer}", checker.language)
    return _verdict(reason is None, reason)


async def _not_copied(candidate: Candidate, checker: "Checker") -> FilterVerdict:
    """Every word of the answer is in the question. A choice between things that it names is no copy."""
    answer, question = (
        {word.lower() for word in WORD.findall(text)} for text in (candidate.answer, candidate.question)
    )
    is_copy = candidate.kind != "comparison" and answer <= question
    return _verdict(not is_copy, "every word of the answer is in the question")


async def _answerable(candidate: Candidate, checker: "Checker") -> FilterVerdict:
    """Asked again with the contexts that it was made from."""
    answer = await checker.answer(candidate.question, candidate.contexts)
    if not candidate.is_answerable:
        return _verdict(answer is None, "its contexts hold an answer", answer=answer)
    if answer is None:
        return _verdict(False, NOT_FOUND)
    agreement = await checker.agreement(candidate, answer)
    return _verdict(agreement > LIKELY, "another answer from its contexts", answer=answer, agreement=agreement)


async def _not_known(candidate: Candidate, checker: "Checker") -> FilterVerdict:
    """Asked without contexts: what the judge knows by heart measures no retrieval."""
    if not candidate.is_answerable:
        return _verdict(True, None)
    answer = await checker.known(candidate.question)
    if answer is None:
        return _verdict(True, None, answer=None)
    agreement = await checker.agreement(candidate, answer)
    reason = "the judge answers it without contexts"
    return _verdict(agreement <= LIKELY, reason, answer=answer, agreement=agreement)


async def _names_document(candidate: Candidate, checker: "Checker") -> FilterVerdict:
    """Asked with its contexts among the nearest ones of other documents."""
    shown = [*candidate.contexts, *candidate.distractors]
    answer = await checker.answer(candidate.question, shown, seed=candidate.question)
    seen = {"distractors": len(candidate.distractors), "answer": answer}
    if not candidate.is_answerable:
        return _verdict(answer is None, "chunks of other documents hold an answer", **seen)
    if answer is None:
        return _verdict(False, "no answer among similar chunks of other documents", **seen)
    agreement = await checker.agreement(candidate, answer)
    reason = "another answer among similar chunks of other documents"
    return _verdict(agreement > LIKELY, reason, **seen, agreement=agreement)


FILTERS: Mapping[str, Check] = {
    "language": _language,
    "not_copied": _not_copied,
    "answerable": _answerable,
    "not_known": _not_known,
    "names_document": _names_document,
}
"""In the order in which they are applied: those that ask nothing first."""


class Checker:
    """Asks a judge what test sets need, and applies the filters.

    What it asks raises `JudgementError`; `verdicts` does not.
    """

    def __init__(self, asking: TaskJudge, judge: JudgeProtocol) -> None:
        self.judge = judge
        self.prompts = asking.prompts
        self.window = Window(judge)
        self.language = find_language(asking.config.language)
        self.settings = asking.config.section(TestsetConfig)

    async def verdicts(self, candidate: Candidate) -> tuple[bool, JsonDict]:
        """Whether a candidate stays, and what each filter says, until one leaves it out."""
        verdicts: JsonDict = {}
        for name in [name for name in FILTERS if name in self.settings.filters]:
            try:
                verdict = await FILTERS[name](candidate, self)
            except JudgementError as error:  # what could not be checked is not trusted
                verdict = _verdict(False, f"{NOT_CHECKED}: {error}")
            verdicts[name] = verdict
            if not verdict["keep"] and not (self.settings.keep_hard and name == AMONG_OTHERS):
                return False, verdicts
        return True, verdicts

    async def made(self, kind: str, contexts: Sequence[str]) -> MadeOutput:
        """A question of a kind and its answer, from contexts."""
        return await self._ask("testset", f"{kind}_prompt", MadeInput(contexts=list(contexts)), MadeOutput)

    async def answer(self, question: str, contexts: Sequence[str], seed: str = "") -> str | None:
        """The answer from contexts, None if they do not hold it.

        Args:
            contexts: the ones that matter first: the last ones are left out if they do not fit into the window.
            seed: of the order in which they are shown; empty: as given.
        """
        shown = self._fitting(question, contexts)
        if seed:
            shown = random.Random(seed).sample(shown, len(shown))
        asked = AnswerInput(user_input=question, contexts=list(shown))
        answer = await self._ask("generate", "answer_prompt", asked, ReferenceOutput)
        return answer.answer.strip() if answer.answerable and not is_blank(answer.answer) else None

    async def known(self, question: str) -> str | None:
        """The answer from memory, None if the judge does not know it."""
        asked = KnownInput(user_input=question)
        answer = await self._ask("testset", "known_prompt", asked, KnownOutput)
        return answer.answer.strip() if answer.known and not is_blank(answer.answer) else None

    async def agreement(self, candidate: Candidate, answer: str) -> float:
        """The probability that an answer says the same as that of a candidate, [0, 1]."""
        shown = AgreeInput(user_input=candidate.question, reference=candidate.answer, answer=answer)
        prompt = self.prompts["testset", "agree_prompt"].to_string(shown)
        return await probability(self.judge, prompt, AGREES, DIFFERS)

    async def support(self, candidate: Candidate, context: str) -> float:
        """The probability that a context supports the answer, [0, 1]."""
        shown = SupportInput(user_input=candidate.question, answer=candidate.answer, context=context)
        prompt = self.prompts["generate", "support_prompt"].to_string(shown)
        return await probability(self.judge, prompt, SUPPORTS, SUPPORTS_NOT)

    async def _ask(self, owner: str, prompt: str, shown: BaseModel, kind: type[Answer]) -> Answer:
        answer = (await self.judge.opinion(self.prompts[owner, prompt].to_string(shown), kind)).answer
        assert isinstance(answer, kind)
        return answer

    def _fitting(self, question: str, contexts: Sequence[str]) -> list[str]:
        """The first contexts that fit into the window, at least one."""
        prompt = self.prompts["generate", "answer_prompt"].to_string(AnswerInput(user_input=question, contexts=[]))
        free = self.window.room(prompt)
        room = free - min(ANSWER_TOKENS, free // 2)
        fitting: list[str] = []
        for context in contexts:
            room -= self.window.tokens(context) + ITEM_TOKENS
            if fitting and room < 0:
                break
            fitting.append(context)
        return fitting


@dataclass(frozen=True)
class CandidateMaker:
    """Makes candidates.

    Attributes:
        neighbours: of the corpus.
        embed: the vector of a text.
        checker: what its candidates pass through.
    """

    corpus: Sequence[DocumentChunk]
    neighbours: Neighbours
    embed: Embed
    checker: Checker

    async def make(self, slot: Slot) -> Record:
        """The candidate with its verdicts, or the reason why there is none."""
        partner = self._partner(slot)
        if partner is None and slot.kind in PARTNERS:
            return Record(None, NO_PARTNER[PARTNERS[slot.kind]])
        chunks = (slot.chunk,) if partner is None else (slot.chunk, partner)
        contexts = [self.corpus[place].text for place in chunks]
        try:
            made = await self.checker.made(slot.kind, contexts)
        except JudgementError as error:
            return Record(None, str(error), retry=True)
        question = made.question.strip()
        answer = made.answer.strip()
        if is_blank(question) or is_blank(answer):
            return Record(None, NOTHING_WRITTEN)
        vector = await self.embed(question)
        documents_of_answer = {self.corpus[place].document for place in chunks}
        others = self.neighbours.nearest(vector, self.checker.settings.neighbours, chunks, documents_of_answer)
        candidate = Candidate(slot.kind, question, answer, contexts, [self.corpus[place].text for place in others])
        is_kept, verdicts = await self.checker.verdicts(candidate)
        return Record(
            {
                "kind": slot.kind,
                "question": question,
                "answer": answer,
                "chunks": chunks,
                "keep": is_kept,
                "verdicts": verdicts,
                "difficulty": difficulty(verdicts),
                "correct": await self._correct(candidate, chunks, vector) if is_kept else None,
                "vector": [round(number, DECIMALS) for number in vector],
            }
        )

    async def _correct(self, candidate: Candidate, chunks: Sequence[int], vector: Sequence[float]) -> JsonDict:
        """Of its own chunks and those near the question the ones that support the answer; its own if none does."""
        if not candidate.is_answerable:
            return {"pool": 0, "chunks": [], "support": {}}
        pool = [*chunks, *self.neighbours.nearest(vector, self.checker.settings.neighbours, chunks)]

        async def support(place: int) -> float | None:
            try:
                return await self.checker.support(candidate, self.corpus[place].text)
            except JudgementError:
                return None  # the chunk does not fit into the window: not known

        shares = dict(zip(pool, await asyncio.gather(*map(support, pool)), strict=True))
        supporting = {place for place, share in shares.items() if share is not None and share > LIKELY}
        return {
            "pool": len(pool),
            "chunks": sorted(supporting or chunks),
            "support": {str(place): share for place, share in shares.items()},
        }

    def _partner(self, slot: Slot) -> int | None:
        """The second chunk of a question that needs one: the nearest useful one where the kind looks for it."""
        if slot.kind not in PARTNERS:
            return None
        document = self.corpus[slot.chunk].document
        left_out = {document} if PARTNERS[slot.kind] == "other document" else {*self.neighbours.documents} - {document}
        vector = self.neighbours.vectors[slot.chunk].tolist()
        near = self.neighbours.nearest(vector, len(self.corpus), {slot.chunk}, left_out)
        return next((place for place in near if is_useful(self.corpus[place])), None)


def difficulty(verdicts: JsonDict) -> str | None:
    """`easy`: the model knows the answer by heart; `hard`: not even among similar chunks; None: not measured."""
    measured = [verdicts[name] for name in MEASURED if name in verdicts]
    if any(str(verdict["reason"]).startswith(NOT_CHECKED) for verdict in measured):
        return None
    if "not_known" in verdicts and not verdicts["not_known"]["keep"]:
        return "easy"
    if AMONG_OTHERS not in verdicts:
        return None
    return "medium" if verdicts[AMONG_OTHERS]["keep"] else "hard"
