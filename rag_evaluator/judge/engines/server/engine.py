"""The engine that asks a server: vLLM, llama.cpp, or any other; the kinds of servers and how one is recognised."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

from rag_evaluator.config.offline import hub
from rag_evaluator.config.sections import DEMO, MERGE, JudgeConfig
from rag_evaluator.errors import JudgeLostError, JudgementError, ModelError, did_you_mean
from rag_evaluator.files.progress import ACTIVITY
from rag_evaluator.judge.encoding.chat import PromptEncoder, check_template, read_tokenizer, window_of
from rag_evaluator.judge.encoding.sequence import Vocabulary
from rag_evaluator.judge.engines.folders import refuse_adapter_files, refuse_gguf
from rag_evaluator.judge.engines.protocol import Engine, Form
from rag_evaluator.judge.engines.server.dialects import Continuation, Dialect, LlamaCpp, Server, Vllm, open_requests
from rag_evaluator.judge.engines.server.http import Address, RequestFailure, Transport
from rag_evaluator.judge.engines.server.openai import QUESTION, SAMPLE, Abilities, OpenAI, OpenAIEngine
from rag_evaluator.judge.engines.server.writing import write
from rag_evaluator.judge.grammar.tree import Text
from rag_evaluator.judge.protocol import Capabilities, Reply, Request
from rag_evaluator.models.event_loop import run
from rag_evaluator.models.hub import file_fingerprint, find_model, fingerprint, load_failure

FIRST_TRIES = 2  # before a run a server that is not there is an error, and not waited for
NOT_VERIFIED = "not verified"
CONSTANT = '{"zq": 40716}'  # no model would say it


MOST = 64  # tokens


T = TypeVar("T")


class DialectRow(Protocol):
    """What a row of `DIALECTS` names."""

    async def recognise(self, transport: Transport, models: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
        """What `describe` needs to know where the server speaks this dialect, else None."""

    def describe(self, model: Mapping[str, Any], known: Mapping[str, Any]) -> Server:
        """The server, by its entry of `/v1/models` and what `recognise` returned."""


DIALECTS: Mapping[str, Any] = {"vllm": Vllm, "llama.cpp": LlamaCpp, "openai": OpenAI}
"""Asked in this order. Any: those that take token ids and `openai` have not all methods in common."""


async def identify_server(transport: Transport, served_model: str | None = None, dialect: str = "auto") -> Server:
    """Ask a server what it is.

    Args:
        served_model: the model that shall judge; None: the only one that is served.
        dialect: a row of `DIALECTS`, or `auto`.

    Raises `ModelError` if there is no server, or no such model.
    """
    try:
        answer = await transport.get("models")
        models = [entry for entry in answer["data"] if isinstance(entry["id"], str)]
        for name in DIALECTS if dialect == "auto" else [dialect]:
            row: DialectRow = DIALECTS[name]
            known = await row.recognise(transport, models)
            if known is not None:
                model = _chosen(models, served_model)
                return replace(row.describe(model, known), aliases=_aliases(models, model))
    except (JudgeLostError, JudgementError) as error:
        failure, why = error.__cause__, _without_key(error).rstrip(".")
        is_down = isinstance(failure, RequestFailure) and not failure.answered
        advice = " Start it, or correct the address." if is_down else ""
        raise ModelError(f"judge.url: no server can be used: {why}.{advice}") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise ModelError(
            "judge.url: its /v1/models is no list of models, or what it says of itself is not like that of a server "
            "that is known; it is no OpenAI-compatible server."
        ) from error
    raise ModelError(f"judge.dialect is '{dialect}', but the server does not speak it. Leave judge.dialect out.")


def _without_key(error: Exception) -> str:
    return str(error).removeprefix("judge.url: ")


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


@dataclass(frozen=True)
class LocalModel:
    """Tokenizer and window of a model.

    Attributes:
        folder: where they were read, or a hub id.
        window: tokens of prompt and answer together.
    """

    folder: str
    encoder: PromptEncoder
    vocabulary: Vocabulary
    window: int

    @staticmethod
    def find(config: JudgeConfig, offline: bool) -> str:
        """The folder, or a hub id. Raises `ModelError`."""
        refuse_adapter_files(Path(config.model))
        refuse_gguf(Path(config.model))
        source = find_model(config.model, offline)
        check_template(config.chat_template, Path(source))
        return source

    @classmethod
    def load(cls, config: JudgeConfig, offline: bool) -> "LocalModel":
        """Raises `ModelError`."""
        source = cls.find(config, offline)
        from transformers import AutoConfig

        try:
            with hub(offline):
                model = AutoConfig.from_pretrained(source, local_files_only=offline, trust_remote_code=False)
                tokenizer = read_tokenizer(source, local_files_only=offline, trust_remote_code=False)
        except ModelError:
            raise
        except Exception as error:  # json and huggingface_hub each raise kinds of their own
            raise ModelError(f"judge.model: {source} cannot be loaded: {load_failure(error)}") from error
        size = max(int(model.get_text_config().vocab_size), len(tokenizer))
        vocabulary = Vocabulary(tokenizer, size)
        return cls(source, PromptEncoder.of(tokenizer, config), vocabulary, window_of(model, tokenizer))


async def probe(dialect: Dialect, encoder: PromptEncoder, vocabulary: Vocabulary) -> None:
    """Raises `ModelError` if a server does not obey grammars, or has another tokenizer than the local folder."""
    continuation = Continuation(encoder.encode(QUESTION), Text(CONSTANT), MOST, MOST)
    text = b""
    async with aclosing(dialect.write(continuation)) as tokens:
        async for written in tokens:
            if written.token < vocabulary.size:
                text += vocabulary.texts[written.token]
    if not text.decode("utf-8", "replace").startswith(CONSTANT):
        raise ModelError(
            f"judge.url: the server was asked for {CONSTANT} by a grammar and wrote {text[:60]!r}: it ignores "
            "grammars, so its answers could not be used, or its tokens are not those of judge.model."
        )

    read = await dialect.text_of(encoder.tokenizer(SAMPLE, add_special_tokens=False)["input_ids"])
    if read.strip() != SAMPLE.strip():
        raise ModelError(
            f"judge.model: its tokenizer is not that of the server's model, which reads {read[:60]!r} where "
            f"{SAMPLE[:60]!r} was meant. Give the folder of the model that is served."
        )


class ServerEngine:
    """A model that a server runs, asked with token ids and grammars; a row of `ENGINES`.

    Args:
        local: tokenizer and window of the model.
        server: what the server reports about itself.
    """

    accepts: frozenset[Form] = frozenset({"ids", "lark"})

    def __init__(self, config: JudgeConfig, transport: Transport, local: LocalModel, server: Server) -> None:
        self.config, self.transport, self.local, self.server = config, transport, local, server
        self.dialect = DIALECTS[server.dialect](transport, server)
        self.encoder = local.encoder
        self.model_id = local.folder

    @classmethod
    def find(cls, config: JudgeConfig, offline: bool) -> str:
        """The local folder, or the served model's name, after the server has passed the probe. Raises `ModelError`."""
        return cls.load(config, offline).model_id

    @classmethod
    def signature_parts(cls, config: JudgeConfig, offline: bool) -> dict[str, str]:
        address = Address.of(config)
        server = _identified(address, config, offline)
        if server.dialect == OpenAI.name:
            return {**_parts(server, ""), "logprobs": str(_abilities(address, offline, server, config).tops)}
        return _parts(server, LocalModel.find(config, offline))

    @staticmethod
    def capabilities_of(config: JudgeConfig) -> Capabilities | None:
        if config.dialect in ("auto", OpenAI.name):
            return None
        most = open_requests(config, config.dialect)
        return Capabilities(most, config.temperature == 0, True, True, True, "no")

    @classmethod
    def load(cls, config: JudgeConfig, offline: bool) -> Engine:
        address = Address.of(config)
        server = _identified(address, config, offline)
        if server.dialect == OpenAI.name:
            abilities = _reading(address, offline, server, config)
            most = open_requests(config, server.dialect)
            return OpenAIEngine(config, Transport(address, offline, most), abilities, server)
        return cls.at(config, address, offline, server)

    @classmethod
    def at(cls, config: JudgeConfig, address: Address, offline: bool, server: Server | None = None) -> Self:
        """The engine of a server that takes token ids, once it has passed the probe. Raises `ModelError`.

        Args:
            server: if it is known already.
        """
        server = server or _identified(address, config, offline)
        local = LocalModel.load(config, offline)
        dialect = DIALECTS[server.dialect]
        _first(address, offline, lambda first: probe(dialect(first, server), local.encoder, local.vocabulary))
        return cls(
            config, Transport(address, offline, open_requests(config, server.dialect, server.slots)), local, server
        )

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            in_flight=self.transport.most,
            greedy=self.config.temperature == 0,
            probabilities=True,
            confidence=True,
            counts_tokens=True,
            same_bytes=self.dialect.same_bytes,
            window=min(self.local.window, self.server.window or self.local.window),
        )

    @property
    def about(self) -> Mapping[str, str]:
        known = {
            "path": "server",
            "dialect": self.server.dialect,
            "version": self.server.version,
            "served_model": _name(self.server),
            "precision": self.server.precision,
            "same_bytes": self.dialect.same_bytes,
        }
        return {key: value for key, value in known.items() if value}

    async def generate(self, request: Request) -> Reply:
        reply = await write(self.dialect, self.local.vocabulary, request)
        ACTIVITY.tokens += len(reply.token_ids)
        return reply

    async def next_logprobs(
        self, input_ids: Sequence[int], candidates: Sequence[int], group: str = ""
    ) -> Sequence[float]:
        logprobs: Sequence[float] = await self.dialect.next_logprobs(input_ids, candidates)
        return logprobs

    async def aclose(self) -> None:
        await self.transport.aclose()


def _identified(address: Address, config: JudgeConfig, offline: bool) -> Server:
    """What the server says of itself. Raises `ModelError`, also for one with an adapter that is not the program's."""
    server = _first(address, offline, lambda first: identify_server(first, config.served_model, config.dialect))
    if server.adapter and config.adapter is None:
        raise ModelError(
            f"judge.url: the server's '{server.adapter}' is an adapter, of whose content nothing would be known. "
            f"{MERGE} and serve the result, or set judge.engine: vllm and judge.adapter."
        )
    return server


def _abilities(address: Address, offline: bool, server: Server, config: JudgeConfig) -> Abilities:
    return _first(address, offline, lambda first: OpenAI.tried(first, server, config))


def _reading(address: Address, offline: bool, server: Server, config: JudgeConfig) -> Abilities:
    """The abilities, with the way to find out whether prompts are cut: counted where the tokenizer is known."""
    count = None if config.model == DEMO else LocalModel.load(config, offline).encoder.count
    abilities = _abilities(address, offline, server, config)
    return _first(address, offline, lambda first: OpenAI(first, server, abilities, config).reading(count))


def _first(address: Address, offline: bool, ask: Callable[[Transport], Awaitable[T]]) -> T:
    """What a server says to a question before the run. Raises `ModelError`."""

    async def asked() -> T:
        transport = Transport(address, offline, tries=FIRST_TRIES)
        try:
            return await ask(transport)
        except (JudgementError, JudgeLostError) as error:
            raise ModelError(f"judge.url: the server fails at a first question: {_without_key(error)}") from error
        finally:
            await transport.aclose()

    answer: T = run(asked())
    return answer


def _parts(server: Server, folder: str) -> dict[str, str]:
    """What answers depend on, as far as the server tells: no path, no address."""
    known = {
        "dialect": server.dialect,
        "version": server.version,
        "served": _name(server),
        "precision": server.precision,
        "window": str(server.window or ""),
        "weights": _weights(server, folder),
    }
    return {key: value.replace("|", "/") for key, value in known.items() if value}


def _weights(server: Server, folder: str) -> str:
    """The fingerprint of the served files, if they are on this machine; `verified` if they are the folder's."""
    path = Path(server.path or "")
    if not path.is_absolute() or not path.exists():
        return NOT_VERIFIED
    if path.is_file():
        return file_fingerprint(path)
    return "verified" if fingerprint(path) == fingerprint(folder) else fingerprint(path)


def _name(server: Server) -> str:
    """The served model's name; llama.cpp's is the path of its file unless it was given an alias."""
    return Path(server.model).name if server.model.startswith("/") else server.model
