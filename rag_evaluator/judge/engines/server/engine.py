"""The engine that asks a server: finds out what it can do, asks it by chats with a JSON schema, checks its answers."""

import json
import logging
from array import array
from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic_core import from_json

from rag_evaluator.config import DEMO, JudgeConfig, hub
from rag_evaluator.errors import JudgeLostError, JudgementError, ModelError, did_you_mean
from rag_evaluator.files import Json, short_digest
from rag_evaluator.hub import find_model
from rag_evaluator.judge.encoding.chat import VARIABLES, read_tokenizer
from rag_evaluator.judge.engines.event_loop import SingleFlight, run
from rag_evaluator.judge.grammar.faults import Schema, faults, fits, plain, settle
from rag_evaluator.judge.grammar.lark import Count, about_tokens, share_out
from rag_evaluator.judge.grammar.schema import tighten
from rag_evaluator.judge.protocol import (
    ENDLESS,
    Capabilities,
    Draw,
    Opinion,
    Reply,
    Shares,
    WithoutTokens,
    seed_of,
    validated,
)

from .chat import NO_ANSWER, ONLY_THOUGHT, ChatAnswer, value_of
from .client import FIRST_RETRIES, USUAL_OPEN, Address, Client, unusable
from .logprobs import NoLogprobsError, Tokens, confidences, question_of
from .long_prompts import (
    UNKNOWN,
    WORD,
    HiddenWord,
    TokenCount,
    Trials,
    TwoHalves,
    hide,
    window_of,
)

OFF: Json = {"chat_template_kwargs": dict.fromkeys(VARIABLES, False)}
ON: Json = {"chat_template_kwargs": dict.fromkeys(VARIABLES, True)}
NO_EFFORT: Json = {"reasoning_effort": "none"}
SWITCHES: Mapping[str, Sequence[Json]] = {
    "off": ({**OFF, **NO_EFFORT}, OFF, NO_EFFORT, {}),
    "on": (ON, {}),
}
"""`judge.thinking` -> what a server is sent with each question, the first that it does not refuse."""
THOUGHT = 8192  # tokens: the budget of a server counts its own thought, of which it need not tell the length
TOPS = (20, 5)  # log probabilities of a token, as many as servers allow
MOST = 100  # tokens of a short answer
QUESTION = "Which colour has the sky on a clear day? Answer with one word."
CONSTANT = {"zq": "brimfold-40716"}  # no model would say it
TRIAL = {"type": "object", "properties": {"zq": {"const": CONSTANT["zq"]}}}
WORD_SCHEMA = {"type": "object", "properties": {"word": {"type": "string"}}}
VERDICT = "Is the sky blue on a clear day? Answer with 1 for yes, with 0 for no."
VERDICTS = ['{"verdict": 0}', '{"verdict": 1}']
logger = logging.getLogger(__name__)


class ServerJudge(WithoutTokens):
    """A judge that a server runs; a row of `ENGINES`. It takes texts, and counts tokens and thinks by itself.

    Attributes:
        model: its name there.
        thought: tokens that an answer may have more because the server thinks.
        switch: what the server is sent to switch thinking on or off.
        tops: log probabilities of each token that it tells; 0: none that can be used.
        why: why none.
        tokens: compares what it reads of a prompt with our count; None: the tokenizer is not known.
        trials: of long prompts; None where we count tokens, or nothing can be found out.
    """

    def __init__(self, client: Client, model: str, config: JudgeConfig) -> None:
        self.client = client
        self.model = model
        self.config = config
        self.model_id = f"served:{model}"  # never a folder
        self.thought = THOUGHT if config.thinking == "on" else 0
        self.switch: Json = {}
        self.tops = 0
        self.why = ""
        self.tokens: TokenCount | None = None
        self.trials: Trials | None = None
        self._answers = SingleFlight[Hashable, Any]()  # replies, probabilities

    @classmethod
    def find(cls, config: JudgeConfig, offline: bool) -> str:
        """Return the served model's name, after the server has obeyed a schema. Raises `ModelError`."""
        return cls._tried(config, offline).model_id

    @classmethod
    def signature_parts(cls, config: JudgeConfig, offline: bool) -> dict[str, str]:
        """Return what answers depend on, as far as the server tells: no path, no address."""
        engine = cls._tried(config, offline)
        name = engine.model
        served = Path(name).name if name.startswith("/") else name  # llama.cpp's is the path of its file
        return {
            "route": "chat",
            "served": served.replace("|", "/"),
            "weights": "not verified",
            "logprobs": str(engine.tops),
        }

    @classmethod
    def load(cls, config: JudgeConfig, offline: bool) -> "ServerJudge":
        """Ask the server what it can do. Raises `ModelError`."""
        engine = cls._tried(config, offline)
        if engine.tokens is None and engine.trials is None:
            logger.warning("long prompts are %s", UNKNOWN)
        return engine

    @classmethod
    def _tried(cls, config: JudgeConfig, offline: bool) -> "ServerJudge":
        return run(cls._load(config, offline))

    @classmethod
    async def _load(cls, config: JudgeConfig, offline: bool) -> "ServerJudge":
        client = Client(Address.of(config, offline), retries=FIRST_RETRIES)
        count = None if config.model == DEMO else _counter(config, offline)
        try:
            models = await client.ask(None)
            engine = cls(client, _chosen(models, config.served_model), config)
            first = await engine._try_out()
            await engine._find_reading(count, first.read is not None, window_of(models, engine.model))
        except (JudgementError, JudgeLostError) as error:
            raise unusable(error, "judge") from error
        finally:
            await client.aclose()
        engine.client = Client(client.address, USUAL_OPEN if config.batch_size == "auto" else config.batch_size)
        return engine

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(self.client.most, greedy=None, probabilities=self.tops > 0)

    @property
    def about(self) -> Mapping[str, str]:
        return {
            "path": "server",
            "served_model": self.model,
            "logprobs": f"top {self.tops}" if self.tops else f"none: {self.why}",
            "long_prompts": TokenCount.about if self.tokens else self.trials.test.about if self.trials else UNKNOWN,
            "same_bytes": "no",
        }

    async def opinion(self, prompt: str, response_model: type[BaseModel], draw: Draw = (0, 0)) -> Opinion:
        schema = tighten(response_model, getattr(prompt, "data", None), self.config.reasons)
        seed = seed_of(self.config, prompt, draw)
        most = self.config.max_new_tokens
        key = short_digest(prompt), short_digest(json.dumps(schema)), seed
        budget = share_out(schema, most, ENDLESS, about_tokens)
        written = partial(self._written, prompt, schema, budget.max_length, seed)
        reply, thought = await self._answers.get(key, written)
        cut = frozenset() if reply.complete else frozenset({"list"})
        answer = validated(reply, response_model, schema, budget.limit)
        return Opinion(answer, reply.confidence, thinking=thought, cut=cut)

    async def _written(self, prompt: str, schema: Schema, most: int, seed: int) -> tuple[Reply, str | None]:
        """Return the answer, checked against the schema, since servers obey parts of it only, and the thought."""
        weighed = self.tops > 0 and '"enum"' in json.dumps(schema)  # there may be a verdict or rating
        if self.trials is not None:
            await self.trials.check(prompt)
        written = await self._ask(prompt, schema, most, self.config.temperature, seed, weighed)
        thought = written.thought if self.thought else None
        if not written.ended:
            if written.thought and not written.text.strip() and not self.thought:
                raise JudgementError(f"{NO_ANSWER}{ONLY_THOUGHT}")
            return Reply(_part(written.text, schema), array("I"), complete=False), thought
        value = settle(schema, value_of(written.text))
        for fault in faults(schema, value):
            raise JudgementError(f"the server did not obey the schema: {fault}")
        answer = json.dumps(value, ensure_ascii=False, indent=4)
        confidence = confidences(written.choice, written.text, schema, value) if weighed else ()
        return Reply(answer, array("I"), True, confidence), thought

    async def choose(self, prompt: str, options: Sequence[str], draw: Draw = (0, 0)) -> Shares:
        key = short_digest(repr((str(prompt), tuple(map(str, options)))))
        shares: Shares = await self._answers.get(key, partial(self._weighed, prompt, options))
        return shares

    async def _weighed(self, prompt: str, options: Sequence[str]) -> Shares:
        """Return the probability of each option, from the log probabilities of the server's answer."""
        if not self.tops:
            raise NotImplementedError("this server gives no probabilities: see capabilities.probabilities")
        if len(options) == 1:
            return Shares({options[0]: 1.0})
        if self.trials is not None:
            await self.trials.check(prompt)
        schema, path, values = question_of(options)
        answer = await self._ask(prompt, schema, MOST + sum(map(len, options)), weighed=True)
        if not answer.ended:
            raise JudgementError("the server's answer did not end within its budget")
        value_of(answer.text)
        shares = Shares(zip(options, Tokens(answer.choice, answer.text).shares(path, values), strict=True))
        shares.thinking = answer.thought if self.thought else None
        return shares

    async def try_prompt(self, prompt: str) -> bool:
        """Return whether it can be found out that a prompt is cut.

        Raises `JudgementError` for one that the server cuts or refuses, `JudgeLostError`.
        """
        if self.tokens is None and self.trials is None:
            return False
        is_known = self.trials is None or await self.trials.check(prompt)
        await self._finds(prompt)
        return is_known

    async def aclose(self) -> None:
        self._answers.clear()
        await self.client.aclose()

    async def _try_out(self) -> ChatAnswer:
        """Find what the server can do, once it has written what a schema dictates: its first answer is returned.

        Raises `ModelError` if it ignores schemas, `JudgementError`, `JudgeLostError`.
        """
        answer = await self._first_answer()
        if not answer.ended:
            raise ModelError(
                f"judge.url: the server's answer to a first question did not end within {MOST + self.thought} tokens. "
                "If its model thinks before it answers, set judge.thinking: on; else take a server that obeys schemas."
            )
        if value_of(answer.text) != CONSTANT:
            raise ModelError(
                f"judge.url: the server was asked for {json.dumps(CONSTANT)} by a JSON schema and wrote "
                f"{answer.text[:60]!r}: it ignores response_format, so its answers could not be used. Take a server or "
                "a model that obeys schemas."
            )
        for tops in TOPS:  # fewer where a server refuses to tell as many as we want
            self.tops = tops
            try:
                await self._weighed(VERDICT, VERDICTS)
                return answer
            except JudgementError as error:
                self.why = self.why or str(error)
                if isinstance(error, NoLogprobsError):
                    break
        self.tops = 0
        return answer

    async def _first_answer(self) -> ChatAnswer:
        """Find how the thinking of the server's model is switched."""
        refusals = []
        for switch in SWITCHES[self.config.thinking]:
            self.switch = switch
            try:
                return await self._ask(QUESTION, TRIAL, MOST)
            except JudgementError as error:
                refusals.append(error)
        raise refusals[0]

    async def _find_reading(self, count: Count | None, tells: bool, window: int) -> None:
        """Find how it can be found out whether prompts are read whole.

        Args:
            count: tokens of a text; None: the model's tokenizer is not known.
            tells: whether the server says how many tokens it has read.
            window: as it names it; 0: it names none.

        Raises `ModelError` if that tokenizer is another one, `JudgementError`, `JudgeLostError`.
        """

        async def read(text: str) -> int | None:
            return (await self._ask(text, TRIAL, 1 - self.thought)).read  # nothing else is read of it

        async def told(text: str) -> int:
            if (tokens := await read(text)) is None:
                raise JudgementError("the server does not say how many tokens it has read")
            return tokens

        self.tokens = None if count is None else await TokenCount.of(count, read)
        if self.tokens is None:
            halves = await TwoHalves.of(told, window) if tells else None
            if halves is not None or await self._finds(hide(QUESTION)):
                self.trials = Trials(halves or HiddenWord(self._finds))

    async def _finds(self, prompt: str) -> bool:
        """Return whether the model answers with the word that a prompt of `hide` has at its beginning.

        Raises `JudgementError`, `JudgeLostError`.
        """
        return WORD in (await self._ask(prompt, WORD_SCHEMA, MOST)).text.casefold()

    async def _ask(
        self,
        prompt: str,
        schema: Schema,
        most: int,
        temperature: float = 0.0,
        seed: int = 0,
        weighed: bool = False,
    ) -> ChatAnswer:
        """Return the answer to a prompt.

        Args:
            most: tokens that it may have, beside those of a thought.
            weighed: whether to ask for log probabilities.

        Raises `JudgementError`, `JudgeLostError`.
        """
        form = {"name": "answer", "strict": True, "schema": plain(schema)}
        body = {
            "model": self.model,
            "messages": [{"role": "user", "content": prompt}],
            "response_format": {"type": "json_schema", "json_schema": form},
            "temperature": temperature,
            "seed": seed % 2**31,
            "max_tokens": most + self.thought,
            **self.switch,
            **({"logprobs": True, "top_logprobs": self.tops} if weighed else {}),
        }
        answer = ChatAnswer.of(await self.client.ask(body), self.model)
        if self.tokens is not None:
            self.tokens.check(prompt, answer.read)
        return answer


def _part(text: str, schema: Schema) -> str:
    """Return an answer that its budget has cut, empty where its beginning does not obey the schema."""
    try:
        part = from_json(text.strip(), allow_partial=True)
    except ValueError:
        return ""
    return text if fits(schema, part) else ""


def _counter(config: JudgeConfig, offline: bool) -> Count:
    """Return what counts the tokens of a text with the tokenizer of a folder. Raises `ModelError`."""
    source = find_model(config.model, offline)
    with hub(offline):
        tokenizer = read_tokenizer(source, local_files_only=offline, trust_remote_code=False)
    return lambda text: len(tokenizer(text, add_special_tokens=False)["input_ids"])


def _chosen(answer: Json, served_model: str | None) -> str:
    """Return the name of the model that shall judge, of those that a server lists. Raises `ModelError`.

    Args:
        served_model: its name; None: the only one that is served.
    """
    try:
        models = [str(entry["id"]) for entry in answer["data"]]
    except (KeyError, TypeError) as error:
        raise ModelError(
            "judge.url: its /v1/models is no list of models; it is no OpenAI-compatible server."
        ) from error
    if served_model is None and len(models) != 1:
        raise ModelError(
            f"judge.served_model is missing, and the server has {len(models)} models: {', '.join(models)[:300]}."
        )
    name = served_model or models[0]
    if name not in models:
        raise ModelError(f"judge.served_model: the server has no '{name}'.{did_you_mean(name, models)}")
    return name
