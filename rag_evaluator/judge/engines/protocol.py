"""What an inference engine is to the judge: token ids and a grammar in, tokens and log probabilities out."""

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Protocol, runtime_checkable

from rag_evaluator.config import AUTO, JudgeConfig
from rag_evaluator.errors import ConfigError, did_you_mean
from rag_evaluator.files import loading_libraries
from rag_evaluator.judge.protocol import Capabilities, JudgeProtocol, Reply, Request, ThoughtFormat

ENGINES: dict[str, str] = {
    "transformers": "rag_evaluator.judge.engines.transformers.engine:TransformersEngine",
    "server": "rag_evaluator.judge.engines.server.engine:ServerJudge",
    "vllm": "rag_evaluator.judge.engines.vllm.engine:VllmEngine",
}
PATHS = {
    "packed": "packed batches (fast)",
    "plain": "padded batches (about 4 times the CPU time of packed ones)",
    "server": "a server that is asked",
    "vllm": "vLLM in this process",
}
FASTER = "`engine: vllm` is faster with most such models (docs/engines.md)"


class Encoder(Protocol):
    """Text to token ids, as the model was taught to read them.

    Attributes:
        answer_prefix: text that every answer begins with.
        thoughts: how thoughts end, where prompts open one; None where the answer follows the prompt.
    """

    @property
    def answer_prefix(self) -> str: ...

    @property
    def thoughts(self) -> ThoughtFormat | None: ...

    def encode(self, prompt: str) -> list[int]:
        """Ids of a prompt, with the chat template around it."""

    def decode(self, token_ids: Sequence[int]) -> str:
        """The text of token ids, special tokens included."""

    def continuation(self, answer: str) -> list[int]:
        """Ids of an answer as it follows a prompt."""

    def count(self, text: str) -> int:
        """Tokens of a text on its own."""


@runtime_checkable
class Engine(Protocol):
    """Runs a model. All that it needs to know of judging is in its requests."""

    @property
    def capabilities(self) -> Capabilities:
        """`window` must be known."""

    @property
    def about(self) -> Mapping[str, str]:
        """How the model is run, for people."""

    @property
    def model_id(self) -> str:
        """Where the model was loaded from; empty if that is not known."""

    @property
    def encoder(self) -> Encoder: ...

    async def generate(self, request: Request) -> Reply:
        """An answer under the request's grammar, or free text up to its stop where it has none.

        Raises `JudgementError`, `JudgeLostError`.
        """

    async def next_logprobs(
        self, input_ids: Sequence[int], candidates: Sequence[int], group: str = ""
    ) -> Sequence[float]:
        """Log probability of each candidate as the token after the input; NaN where the model gives no number.

        Args:
            group: inputs of the same group are likely to begin with the same tokens.
        """

    async def aclose(self) -> None: ...


class EngineRow(Protocol):
    """What a row of `ENGINES` names."""

    def find(self, config: JudgeConfig, offline: bool) -> str:
        """Folder or name of the model, after all checks that need not load it. Raises `ModelError`."""

    def signature_parts(self, config: JudgeConfig, offline: bool) -> Mapping[str, str]:
        """What answers depend on beside model and settings, by name, for the signature. Raises `ModelError`."""

    def load(self, config: JudgeConfig, offline: bool) -> Engine | JudgeProtocol:
        """Load the model; a judge where an engine takes no token ids. Raises `ModelError`."""


def find_engine(name: str) -> EngineRow:
    """The engine of a name, imported when it is asked for. Raises `ConfigError` for an unknown one."""
    if name not in ENGINES:
        raise ConfigError(f"judge.engine is '{name}', which is not an engine.{did_you_mean(name, [*ENGINES, AUTO])}")
    module, attribute = ENGINES[name].split(":")
    with loading_libraries():
        row: EngineRow = getattr(import_module(module), attribute)
    return row


def slow_reasons(about: Mapping[str, str]) -> Iterator[str]:
    """What makes a judge slower than it could be, and what to do about it."""
    if "why" in about:
        yield f"the judge decodes {PATHS['plain']}: {about['why']}; {FASTER}"
    if "alone" in about:
        yield f"the judge is asked one row at a time (slow): {about['alone']}; {FASTER}"
