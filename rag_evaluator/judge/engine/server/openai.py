"""All other servers: a chat with a JSON schema. There are no token ids, so nothing is counted or weighed."""

import json
import math
from array import array
from collections.abc import Mapping, Sequence
from typing import Any

from rag_evaluator.config_sections import JudgeConfig
from rag_evaluator.errors import JudgeLostError, JudgementError, ModelError
from rag_evaluator.judge.engine.protocol import Form
from rag_evaluator.judge.engine.server.dialects import Server
from rag_evaluator.judge.engine.server.http import Transport
from rag_evaluator.judge.engine.server.schema import faults, plain, settle
from rag_evaluator.judge.protocol import Capabilities
from rag_evaluator.judge.requests import Reply, Request

LIMITS = ("max_tokens", "max_completion_tokens")  # how servers call the budget, the newer name last
QUESTION = "Which colour has the sky on a clear day? Answer with one word."
CONSTANT = {"zq": "brimfold-40716"}  # no model would say it
PROBE = {"type": "object", "properties": {"zq": {"const": CONSTANT["zq"]}}}
LETTERS = 3  # of a token, roughly
THOUGHT = 8192  # tokens: the budget of a server counts its own thought, of which it need not tell the length


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


class OpenAI:
    """A server that takes chats with `response_format`.

    Args:
        limit: how it calls the budget of an answer.
    """

    name = "openai"

    def __init__(self, transport: Transport, server: Server, limit: str = LIMITS[0]) -> None:
        self.transport, self.server, self.limit = transport, server, limit

    @staticmethod
    async def recognise(transport: Transport, models: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
        return {}

    @staticmethod
    def describe(model: Mapping[str, Any], known: Mapping[str, Any]) -> Server:
        return Server(OpenAI.name, "", str(model["id"]))

    @classmethod
    async def tried(cls, transport: Transport, server: Server) -> str:
        """How the server calls the budget, once it has written what a schema dictates. Raises `ModelError`."""
        for limit in LIMITS:
            try:
                answer, _, _ = await cls(transport, server, limit).chat(QUESTION, PROBE, 100, JudgeConfig())
            except JudgeLostError as error:
                raise ModelError(f"judge.url: the server fails at a first question. {error}") from error
            except JudgementError as error:
                if limit == LIMITS[0] and LIMITS[1] in str(error):
                    continue
                raise ModelError(f"judge.url: the server fails at a first question. {error}") from error
            if _json(answer) != CONSTANT:
                break
            return limit
        raise ModelError(
            f"judge.url: the server was asked for {json.dumps(CONSTANT)} by a JSON schema and wrote {answer[:60]!r}: "
            "it ignores response_format, so its answers could not be used. Take a server or a model that obeys schemas."
        )

    async def chat(
        self, prompt: str, schema: Mapping[str, Any], most: int, config: JudgeConfig
    ) -> tuple[str, bool, str]:
        """The answer to a prompt, whether it ended by itself, and the thought before it, if the server tells one.

        Raises `JudgementError`, `JudgeLostError`.
        """
        form = {"name": "answer", "strict": True, "schema": plain(dict(schema))}
        body = {
            "model": self.server.model,
            "messages": [{"role": "user", "content": prompt}],
            "response_format": {"type": "json_schema", "json_schema": form},
            "temperature": config.temperature,
            "seed": config.seed,
            self.limit: most,
        }
        answer = await self.transport.post("/chat/completions", body)
        try:
            choice = answer["choices"][0]
            message = choice["message"]
            thought = message.get("reasoning_content") or message.get("reasoning") or ""
            return str(message["content"] or ""), choice.get("finish_reason") != "length", str(thought)
        except (KeyError, IndexError, TypeError) as error:
            raise JudgeLostError(f"judge.url: the server's answer is no chat completion: {error!r}") from error


class OpenAIEngine:
    """An `Engine` of a server that has the tokenizer for itself.

    Args:
        limit: how the server calls the budget of an answer.
    """

    accepts: frozenset[Form] = frozenset({"json_schema"})
    encoder = Characters()

    def __init__(self, config: JudgeConfig, transport: Transport, limit: str, server: Server) -> None:
        default = JudgeConfig()
        if (config.thinking_tokens, config.thinking_markers) != (default.thinking_tokens, default.thinking_markers):
            raise ModelError(
                "judge.thinking_tokens and judge.thinking_markers need a server that takes token ids; this one thinks "
                "by itself, and its own settings say how long."
            )
        self.config, self.transport, self.server = config, transport, server
        self.dialect = OpenAI(transport, server, limit)
        self.model_id = f"served:{server.model}"  # never a folder

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            in_flight=self.config.batch_size,
            greedy=None,
            probabilities=False,
            confidence=False,
            counts_tokens=False,
            same_bytes="no",
        )

    @property
    def about(self) -> Mapping[str, str]:
        return {"path": "server", "dialect": OpenAI.name, "served_model": self.server.model, "same_bytes": "no"}

    async def generate(self, request: Request) -> Reply:
        """The answer, checked against the schema, since servers obey parts of it only."""
        prompt = "".join(map(chr, request.input_ids))
        config = self.config.model_copy(update={"seed": request.seed % 2**31})
        thinks = self.config.thinking == "on"
        most = request.budget.max_length + (THOUGHT if thinks else 0)
        text, ended, thought = await self.dialect.chat(prompt, request.schema, most, config)
        value = _json(text)
        if not ended or value is None:
            return Reply(text, array("I"), complete=False)
        value = settle(dict(request.schema), value)
        for fault in faults(dict(request.schema), value):
            raise JudgementError(f"the server did not obey the schema: {fault}")
        answer = json.dumps(value, ensure_ascii=False, indent=4)
        return Reply(answer, array("I"), complete=True, thinking=thought if thinks else None)

    async def next_logprobs(
        self, input_ids: Sequence[int], candidates: Sequence[int], group: str = ""
    ) -> Sequence[float]:
        raise NotImplementedError("this server gives no probabilities: see capabilities.probabilities")

    async def aclose(self) -> None:
        await self.transport.aclose()


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
