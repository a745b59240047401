"""The engine that asks a server: vLLM, llama.cpp, or any other with an OpenAI-compatible interface."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from rag_evaluator.config.judges import MERGE
from rag_evaluator.config.sections import DEMO, JudgeConfig
from rag_evaluator.embeddings.event_loop import run
from rag_evaluator.embeddings.fingerprint import file_fingerprint, fingerprint
from rag_evaluator.errors import ModelError
from rag_evaluator.files.progress import ACTIVITY
from rag_evaluator.judge.engines.protocol import Engine, Form
from rag_evaluator.judge.engines.server.dialects import Server, find_dialect, identify_server, open_requests
from rag_evaluator.judge.engines.server.http import Address, Transport
from rag_evaluator.judge.engines.server.long_prompts import LocalModel, probe
from rag_evaluator.judge.engines.server.openai import Abilities, OpenAI, OpenAIEngine
from rag_evaluator.judge.engines.server.writing import write
from rag_evaluator.judge.protocol import Capabilities
from rag_evaluator.judge.requests import Reply, Request

FIRST_TRIES = 2  # before a run a server that is not there is an error, and not waited for
NOT_VERIFIED = "not verified"
T = TypeVar("T")


class ServerEngine:
    """A model that a server runs, asked with token ids and grammars; a row of `ENGINES`.

    Args:
        local: tokenizer and window of the model.
        server: what the server reports about itself.
    """

    accepts: frozenset[Form] = frozenset({"ids", "lark", "lark in parts"})

    def __init__(self, config: JudgeConfig, transport: Transport, local: LocalModel, server: Server) -> None:
        self.config, self.transport, self.local, self.server = config, transport, local, server
        self.dialect = find_dialect(server.dialect)(transport, server)
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
    def at(cls, config: JudgeConfig, address: Address, offline: bool, server: Server | None = None) -> "ServerEngine":
        """The engine of a server that takes token ids, once it has passed the probe. Raises `ModelError`.

        Args:
            server: if it is known already.
        """
        server = server or _identified(address, config, offline)
        local = LocalModel.load(config, offline)
        row = find_dialect(server.dialect)
        _first(address, offline, lambda first: probe(row(first, server), local.encoder, local.vocabulary))
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
        return about(self.server, self.dialect.same_bytes)

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
    return _first(address, offline, lambda first: OpenAI.reading(first, server, abilities, config, count))


def _first(address: Address, offline: bool, ask: Callable[[Transport], Awaitable[T]]) -> T:
    """What a server says to a question before the run."""

    async def asked() -> T:
        transport = Transport(address, offline, tries=FIRST_TRIES)
        try:
            return await ask(transport)
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


def about(server: Server, same_bytes: str) -> dict[str, str]:
    """How a model is run, for people."""
    known = {
        "path": "server",
        "dialect": server.dialect,
        "version": server.version,
        "served_model": _name(server),
        "precision": server.precision,
        "same_bytes": same_bytes,
    }
    return {key: value for key, value in known.items() if value}
