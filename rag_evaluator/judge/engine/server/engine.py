"""The engine that asks a server: vLLM, llama.cpp, or any other with an OpenAI-compatible interface."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rag_evaluator.config_sections import JudgeConfig
from rag_evaluator.judge.engine.protocol import Engine, Form
from rag_evaluator.judge.engine.server.address import Address
from rag_evaluator.judge.engine.server.dialects import Server, find_dialect, meet
from rag_evaluator.judge.engine.server.http import Transport
from rag_evaluator.judge.engine.server.local import LocalModel
from rag_evaluator.judge.engine.server.probe import probe
from rag_evaluator.judge.engine.server.writing import write
from rag_evaluator.judge.protocol import Capabilities
from rag_evaluator.judge.requests import Reply, Request
from rag_evaluator.models.event_loop import run

FIRST_TRIES = 2  # before a run a server that is not there is an error, and not waited for


class ServerEngine:
    """A model that a server runs, asked with token ids and grammars.

    Args:
        local: tokenizer and window of the model.
        server: what the server said of itself.
    """

    accepts: frozenset[Form] = frozenset({"ids", "lark", "lark in parts"})

    def __init__(self, config: JudgeConfig, transport: Transport, local: LocalModel, server: Server) -> None:
        self.config, self.transport, self.local, self.server = config, transport, local, server
        self.dialect = find_dialect(server.dialect)(transport, server)
        self.encoder = local.encoder
        self.model_id = local.folder

    @classmethod
    def find(cls, config: JudgeConfig, offline: bool) -> str:
        """The local folder, after the server was met and has passed the probe. Raises `ModelError`."""
        cls._ready(config, offline)
        return LocalModel.find(config, offline)

    @staticmethod
    def capabilities_of(config: JudgeConfig) -> Capabilities:
        return Capabilities(config.batch_size, config.temperature == 0, True, True, True, "no")

    @staticmethod
    def signature_parts(config: JudgeConfig) -> dict[str, str]:
        return {}

    @classmethod
    def load(cls, config: JudgeConfig, offline: bool) -> Engine:
        return cls._ready(config, offline)

    @classmethod
    def _ready(cls, config: JudgeConfig, offline: bool) -> "ServerEngine":
        """The engine, once the server has passed the probe. Raises `ModelError`."""
        return cls.at(config, Address.of(config), offline)

    @classmethod
    def at(cls, config: JudgeConfig, address: Address, offline: bool) -> "ServerEngine":
        """The engine of a server at an address. Raises `ModelError`."""
        local = LocalModel.load(config, offline)

        async def first() -> Server:
            transport = Transport(address, offline, tries=FIRST_TRIES)
            try:
                server = await meet(transport, config.served_model, config.dialect)
                dialect = find_dialect(server.dialect)(transport, server)
                await probe(dialect, local.encoder, local.vocabulary)
            finally:
                await transport.aclose()
            return server

        server: Server = run(first())
        return cls(config, Transport(address, offline, config.batch_size), local, server)

    @property
    def capabilities(self) -> Capabilities:
        window = min(self.local.window, self.server.window or self.local.window)
        return replace(self.capabilities_of(self.config), same_bytes=self.dialect.same_bytes, window=window)

    @property
    def about(self) -> Mapping[str, str]:
        server = self.server
        known = {
            "path": "server",
            "dialect": server.dialect,
            "version": server.version,
            "served_model": server.model,
            "precision": server.precision,
            "same_bytes": self.dialect.same_bytes,
        }
        return {key: value for key, value in known.items() if value}

    async def generate(self, request: Request) -> Reply:
        return await write(self.dialect, self.local.vocabulary, request)

    async def next_logprobs(
        self, input_ids: Sequence[int], candidates: Sequence[int], group: str = ""
    ) -> Sequence[float]:
        logprobs: Sequence[float] = await self.dialect.next_logprobs(input_ids, candidates)
        return logprobs

    async def aclose(self) -> None:
        await self.transport.aclose()
