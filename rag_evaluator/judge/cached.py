"""A judge that is asked each thing once, with answers kept on disk where there are records; the prompts' window."""

import json
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import BaseModel

from rag_evaluator.errors import PromptTooLongError
from rag_evaluator.files import Json, Records, short_digest

from .engines.event_loop import SingleFlight
from .given import as_judge
from .protocol import ENDLESS, Capabilities, Draw, Opinion, log_ratio, shares_of, sigmoid

Kept = Json  # JSON
Question = tuple[str, Hashable]  # digest of the prompt and the draw; the response model, or the options
Answer = TypeVar("Answer")
RESERVE = 64  # tokens for a short answer, and for tokens that join differently than in the count
USEFUL = 64  # tokens: less room than that is none
BREAKS = ["\n\n", "\n", "。", "！", "？", ". ", "; ", ", ", "，", " ", ""]  # best places to split first


class CachedJudge:
    """Stands before a judge; a `JudgeProtocol`.

    Args:
        judge: a judge, or an LLM that `as_judge` takes.
        signature: what answers depend on beside the question; answers of another signature are not used.
        records: answers of this and earlier runs; without them, or a signature, those of this run are kept in memory.

    Attributes:
        asked: questions that reached the judge; not those that were answered from memory.

    An opinion has its answer only: what it cost is not kept. Options that are an `Option` can be chosen from even if
    the judge gives no probabilities. On disk an answer is found by its prompt, which says what is asked for.
    """

    def __init__(self, judge: Any, signature: str | None = None, records: Records | None = None) -> None:
        self.judge = as_judge(judge)
        self.signature = signature
        self.records = None if signature is None else records
        self.asked = 0
        self._flights = SingleFlight[Question, Kept](None if self.records is None else 0)

    @property
    def capabilities(self) -> Capabilities:
        return replace(self.judge.capabilities, probabilities=True)

    @property
    def about(self) -> Mapping[str, str]:
        return self.judge.about

    async def opinion(self, prompt: str, response_model: type[BaseModel], draw: Draw = (0, 0)) -> Opinion:
        """The judge's answer. Raises `JudgementError`."""

        async def ask() -> Kept:
            opinion = await self.judge.opinion(prompt, response_model, draw)
            return {"answer": opinion.answer.model_dump(mode="json")}

        def read(kept: Kept) -> Opinion:
            return Opinion(response_model.model_validate(kept["answer"]))

        return await self._once(prompt, draw, response_model, ask, read)

    async def choose(self, prompt: str, options: Sequence[str], draw: Draw = (0, 0)) -> Mapping[str, float]:
        """The probability of each option; of two, as they follow from log odds of 6 decimals.

        Raises `JudgementError`.
        """

        async def ask() -> Kept:
            by_option = await shares_of(self.judge, prompt, options, draw)
            shares = [by_option[option] for option in options]
            return {"log_odds": log_ratio(*shares)} if len(shares) == 2 else {"shares": shares}

        def read(kept: Kept) -> Mapping[str, float]:
            two = len(options) == 2
            shares = [sigmoid(kept["log_odds"]), sigmoid(-kept["log_odds"])] if two else kept["shares"]
            return dict(zip(options, shares, strict=True))

        return await self._once(prompt, draw, tuple(options), ask, read)

    def count(self, text: str) -> int:
        return self.judge.count(text)

    def room(self, prompt: str) -> int:
        return self.judge.room(prompt)

    async def aclose(self) -> None:
        self._flights.clear()
        await self.judge.aclose()

    async def _once(
        self,
        prompt: str,
        draw: Draw,
        wanted: Hashable,
        ask: Callable[[], Awaitable[Kept]],
        read: Callable[[Kept], Answer],
    ) -> Answer:
        """What the judge says; whoever asks the same meanwhile waits for the same answer."""
        key = (self.signature or "", short_digest(prompt if draw == (0, 0) else f"{prompt}\0{draw[0]}.{draw[1]}"))
        if self.records is not None and (kept := self.records.find(key)) is not None:
            with suppress(KeyError, ValueError):  # the answer to another question in the same words
                return read(kept)

        async def ask_and_keep() -> Kept:
            self.asked += 1
            answer = await ask()
            if self.records is not None:
                self.records.append(key, answer)
            return answer

        return read(await self._flights.get((key[1], wanted), ask_and_keep))


class Window:
    """The window of a judge, in tokens; without end where the judge counts none (scripts, remote models).

    Args:
        judge: a judge, or an LLM that `as_judge` takes.
    """

    def __init__(self, judge: Any) -> None:
        self._judge = as_judge(judge)
        self._counts = self._judge.capabilities.counts_tokens

    def room(self, prompt: str) -> int:
        """Tokens left for texts in a prompt that holds none yet, beside `RESERVE` for the answer.

        Raises `PromptTooLongError` if that is not enough for any text.
        """
        if not self._counts:
            return ENDLESS
        room = self._judge.room(prompt) - RESERVE
        if room < USEFUL:
            window = self._judge.capabilities.window
            raise PromptTooLongError(f"the prompt without any context fills the model's window of {window} tokens")
        return room

    def tokens(self, text: str) -> int:
        """Tokens of a text as JSON; 0 where there is no tokenizer to count with."""
        return self._judge.count(json.dumps(text, ensure_ascii=False)) if self._counts else 0

    def pieces(self, text: str, tokens: int) -> list[str]:
        """The text in pieces of at most so many tokens, none of it lost but blanks between them."""
        if self.tokens(text) <= tokens:
            return [text]
        from langchain_text_splitters import RecursiveCharacterTextSplitter

        splitter = RecursiveCharacterTextSplitter(
            separators=BREAKS,
            keep_separator="end",
            chunk_size=tokens,
            chunk_overlap=0,
            length_function=self.tokens,
        )
        return splitter.split_text(text)
