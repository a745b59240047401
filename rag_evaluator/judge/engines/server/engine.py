"""The engine that asks a server: chats with a JSON schema, whose answers are checked against it."""

import json
import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from rag_evaluator.config.offline import hub
from rag_evaluator.config.sections import DEMO, JudgeConfig
from rag_evaluator.errors import JudgeLostError, JudgementError, ModelError, did_you_mean
from rag_evaluator.judge.encoding.chat import read_tokenizer
from rag_evaluator.judge.engines.server.chat import MOST, Chat, value_of
from rag_evaluator.judge.engines.server.client import Address, Client
from rag_evaluator.judge.engines.server.logprobs import confidences
from rag_evaluator.judge.grammar.schema import Schema, faults, fits, settle
from rag_evaluator.judge.protocol import Capabilities, Reply, Request, Shares
from rag_evaluator.models.event_loop import run
from rag_evaluator.models.hub import find_model

FIRST_RETRIES = 1  # before a run a server that is not there is an error, and not waited for
USUAL_OPEN = 32  # requests, where `batch_size` is auto
LETTERS = 3  # of a token, roughly


class Characters:
    """Stands for the tokenizer, which only the server has: the ids of a text are its characters."""

    answer_prefix = ""
    thoughts = None  # a server that thinks does it by itself

    def encode(self, prompt: str) -> list[int]:
        return list(map(ord, prompt))

    def continuation(self, answer: str) -> list[int]:
        return list(map(ord, answer))

    def decode(self, token_ids: Sequence[int]) -> str:
        return "".join(map(chr, token_ids))

    def count(self, text: str) -> int:
        return math.ceil(len(text) / LETTERS)


class ServerEngine:
    """A model that a server runs; a row of `ENGINES`.

    Args:
        chat: knows what the server can do.
    """

    encoder = Characters()

    def __init__(self, chat: Chat) -> None:
        self.chat = chat
        self.model_id = f"served:{chat.model}"  # never a folder

    @classmethod
    def find(cls, config: JudgeConfig, offline: bool) -> str:
        """Return the served model's name, after the server has obeyed a schema. Raises `ModelError`."""
        return cls.load(config, offline).model_id

    @classmethod
    def signature_parts(cls, config: JudgeConfig, offline: bool) -> dict[str, str]:
        """Return what answers depend on, as far as the server tells: no path, no address."""
        chat = cls.load(config, offline).chat
        name = chat.model
        served = Path(name).name if name.startswith("/") else name  # llama.cpp's is the path of its file
        return {
            "route": "chat",
            "served": served.replace("|", "/"),
            "weights": "not verified",
            "logprobs": str(chat.tops),
        }

    @classmethod
    def load(cls, config: JudgeConfig, offline: bool) -> "ServerEngine":
        """Ask the server what it can do. Raises `ModelError`."""
        engine: ServerEngine = run(cls._load(config, offline))
        return engine

    @classmethod
    async def _load(cls, config: JudgeConfig, offline: bool) -> "ServerEngine":
        count = None if config.model == DEMO else _counter(config, offline)
        client = Client(Address.of(config, offline), retries=FIRST_RETRIES)
        try:
            chat = Chat(client, _chosen(await client.ask(None), config.served_model), config)
            await chat.try_out()
            await chat.find_reading(count)
        except (JudgementError, JudgeLostError) as error:
            why = str(error).removeprefix("judge.url: ").rstrip(".")
            raise ModelError(f"judge.url: no server can be used: {why}. Start one, or correct the address.") from error
        finally:
            await client.aclose()
        chat.client = Client(client.address, USUAL_OPEN if config.batch_size == "auto" else config.batch_size)
        return cls(chat)

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(self.chat.client.most, greedy=None, probabilities=self.chat.tops > 0)

    @property
    def about(self) -> Mapping[str, str]:
        return {"path": "server", "served_model": self.chat.model, **self.chat.about, "same_bytes": "no"}

    async def generate(self, request: Request) -> Reply:
        """Return the answer, checked against the schema, since servers obey parts of it only."""
        prompt = self.encoder.decode(request.input_ids)
        schema = dict(request.schema)
        weighed = self.chat.tops > 0 and '"enum"' in json.dumps(schema)  # there may be a verdict or rating
        await self._check_whole(prompt)
        most = request.budget.max_length
        written = await self.chat.ask(prompt, schema, most, request.temperature, request.seed, weighed)
        thought = written.thought if self.chat.thought else None
        if not written.ended:
            return Reply(_part(written.text, schema), array("I"), complete=False, thinking=thought)
        value = settle(schema, value_of(written.text))
        for fault in faults(schema, value):
            raise JudgementError(f"the server did not obey the schema: {fault}")
        answer = json.dumps(value, ensure_ascii=False, indent=4)
        confidence = confidences(written.choice, written.text, schema, value) if weighed else ()
        return Reply(answer, array("I"), True, confidence, thinking=thought)

    async def weigh(self, prompt: str, options: Sequence[str]) -> Shares:
        """See `TextEngine`."""
        if not self.chat.tops:
            raise NotImplementedError("this server gives no probabilities: see capabilities.probabilities")
        if len(options) == 1:
            return Shares({options[0]: 1.0})
        await self._check_whole(prompt)
        weights, thought = await self.chat.weigh(prompt, options, MOST + sum(map(len, options)))
        shares = Shares(zip(options, weights, strict=True))
        shares.thinking = thought if self.chat.thought else None
        return shares

    async def try_prompt(self, prompt: str) -> bool:
        """See `TextEngine`."""
        if self.chat.tokens is None and self.chat.word is None:
            return False
        await self._check_whole(prompt)
        await self.chat.finds(prompt)
        return True

    async def _check_whole(self, prompt: str) -> None:
        """Raise `CutPromptError` for a prompt that the server would cut, if that is known before it is sent."""
        if self.chat.word is not None:
            await self.chat.word.check(prompt)

    async def next_logprobs(
        self, input_ids: Sequence[int], candidates: Sequence[int], group: str = ""
    ) -> Sequence[float]:
        raise NotImplementedError("a server takes no token ids: see `weigh`")

    async def aclose(self) -> None:
        await self.chat.client.aclose()


def _part(text: str, schema: Schema) -> str:
    """Return an answer that its budget has cut, empty where its beginning does not obey the schema."""
    try:
        part = from_json(text.strip(), allow_partial=True)
    except ValueError:
        return ""
    return text if fits(schema, part) else ""


def _counter(config: JudgeConfig, offline: bool) -> Callable[[str], int]:
    """Return what counts the tokens of a text with the tokenizer of a folder. Raises `ModelError`."""
    source = find_model(config.model, offline)
    with hub(offline):
        tokenizer = read_tokenizer(source, local_files_only=offline, trust_remote_code=False)
    return lambda text: len(tokenizer(text, add_special_tokens=False)["input_ids"])


def _chosen(answer: Mapping[str, Any], served_model: str | None) -> str:
    """Return the name of the model that shall judge, of those that a server lists. Raises `ModelError`. Any: JSON.

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
