"""What kinds of servers there are, one row each, and how a server is recognised."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, Literal, Protocol

from rag_evaluator.config.sections import JudgeConfig
from rag_evaluator.errors import JudgeLostError, JudgementError, ModelError, did_you_mean
from rag_evaluator.judge.engines.server.http import Transport
from rag_evaluator.judge.grammar.tree import Node
from rag_evaluator.judge.requests import TextEnd


@dataclass(frozen=True)
class Server:
    """What a server says of itself.

    Attributes:
        dialect: a row of `DIALECTS`.
        version: of the server's program; empty where it does not say.
        model: the name under which it serves the model.
        window: tokens of prompt and answer together; None: not known.
        slots: answers that it writes at a time; None: not known.
        path: of the model's files on the server's machine.
        precision: dtype or quantisation, as far as it says.
        adapter: what was added to the model's weights; empty: nothing, as far as it says.
        aliases: further names of the model, with which it may answer.
    """

    dialect: str
    version: str
    model: str
    window: int | None = None
    slots: int | None = None
    path: str | None = None
    precision: str = ""
    adapter: str = ""
    aliases: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Continuation:
    """An answer that is to be continued.

    Attributes:
        input_ids: the prompt and what was written so far.
        grammar: of what follows; None: free text.
        string_tokens: a string longer than this is cut by us, so the server need not write more.
        max_tokens: that the answer may still have.
        banned: tokens that the first one must not be, because the budget ends.
        stop: where a free text ends; what is written beyond it is not used.
    """

    input_ids: Sequence[int] = field(repr=False)
    grammar: Node | None = field(repr=False)
    string_tokens: int
    max_tokens: int
    temperature: float = 0.0
    seed: int = 0
    banned: frozenset[int] = frozenset()
    stop: TextEnd | None = None


@dataclass(frozen=True)
class WrittenToken:
    """A token that the server wrote, and the log probabilities of some that could have been in its place."""

    token: int
    logprobs: Mapping[int, float]


class Dialect(Protocol):
    """A kind of server that takes token ids and a grammar."""

    same_bytes: Literal["always", "same batches", "no"]
    masked: bool
    """Whether log probabilities are those after the grammar's mask."""

    def write(self, continuation: Continuation) -> AsyncGenerator[WrittenToken, None]:
        """The tokens of an answer, in order; the caller may stop reading."""

    async def next_logprobs(self, input_ids: Sequence[int], candidates: Sequence[int]) -> Sequence[float]:
        """See `Engine.next_logprobs`."""

    async def text_of(self, token_ids: Sequence[int]) -> str:
        """What the server's own tokenizer makes of tokens."""


class DialectRow(Protocol):
    """What a row of `DIALECTS` names."""

    async def recognise(self, transport: Transport, models: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
        """What `describe` needs to know where the server speaks this dialect, else None."""

    def describe(self, model: Mapping[str, Any], known: Mapping[str, Any]) -> Server:
        """The server, by its entry of `/v1/models` and what `recognise` returned."""


DIALECTS: dict[str, str] = {  # asked in this order
    "vllm": "rag_evaluator.judge.engines.server.vllm:Vllm",
    "llama.cpp": "rag_evaluator.judge.engines.server.llamacpp:LlamaCpp",
    "openai": "rag_evaluator.judge.engines.server.openai:OpenAI",
}


USUAL_OPEN = 32  # requests, where `batch_size` is auto and nothing else is known
OPEN: Mapping[str, int] = {"vllm": 256}  # what its scheduler takes by default


def open_requests(config: JudgeConfig, dialect: str, slots: int | None = None) -> int:
    """`batch_size` of a server as a number.

    Args:
        slots: answers that the server writes at a time, if it says.
    """
    return slots or OPEN.get(dialect, USUAL_OPEN) if config.batch_size == "auto" else config.batch_size


def find_dialect(name: str) -> Any:
    """The class of a dialect. Any: those that take token ids and `openai` have not all methods in common."""
    module, attribute = DIALECTS[name].split(":")
    return getattr(import_module(module), attribute)


async def identify_server(transport: Transport, served_model: str | None = None, dialect: str = "auto") -> Server:
    """Ask a server what it is.

    Args:
        served_model: the model that shall judge; None: the only one that is served.
        dialect: a row of `DIALECTS`, or `auto`.

    Raises `ModelError` if there is no server, or no such model.
    """
    try:
        answer = await transport.get("/models")
        models = [entry for entry in answer["data"] if isinstance(entry["id"], str)]
        for name in DIALECTS if dialect == "auto" else [dialect]:
            row: DialectRow = find_dialect(name)
            known = await row.recognise(transport, models)
            if known is not None:
                model = _chosen(models, served_model)
                return replace(row.describe(model, known), aliases=_aliases(models, model))
    except (JudgeLostError, JudgementError) as error:
        raise ModelError(f"judge.url: no server can be used there. {error}") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise ModelError(
            "judge.url: its /v1/models is no list of models, or what it says of itself is not like that of a server "
            "that is known; it is no OpenAI-compatible server."
        ) from error
    raise ModelError(f"judge.dialect is '{dialect}', but the server does not speak it. Leave judge.dialect out.")


def _aliases(models: Sequence[Mapping[str, Any]], chosen: Mapping[str, Any]) -> frozenset[str]:
    """Names of the same model: of vLLM all that have its folder, of llama.cpp those that it tells."""
    same = [model["id"] for model in models if model.get("root") and model.get("root") == chosen.get("root")]
    aliases = chosen.get("aliases")
    named = [name for name in aliases if isinstance(name, str)] if isinstance(aliases, list) else []
    return frozenset([*same, *named])


def _chosen(models: Sequence[Mapping[str, Any]], served_model: str | None) -> Mapping[str, Any]:
    names = [str(model["id"]) for model in models]
    if served_model is not None:
        for model in models:
            if model["id"] == served_model:
                return model
        raise ModelError(f"judge.served_model: the server has no '{served_model}'.{did_you_mean(served_model, names)}")
    if len(models) != 1:
        raise ModelError(
            f"judge.served_model is missing, and the server has {len(models)} models: {', '.join(names)[:300]}."
        )
    return models[0]
