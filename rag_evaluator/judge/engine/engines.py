"""The engines, one row each, `module:Name` of an `EngineRow`: a new engine is a module and a row."""

from collections.abc import Iterator, Mapping
from importlib import import_module

from rag_evaluator.errors import ConfigError, did_you_mean
from rag_evaluator.judge.engine.protocol import EngineRow

ENGINES: dict[str, str] = {
    "transformers": "rag_evaluator.judge.engine.transformers.engine:TransformersEngine",
    "server": "rag_evaluator.judge.engine.server.engine:ServerEngine",
    "vllm": "rag_evaluator.judge.engine.vllm.engine:VllmEngine",
}
PATHS = {
    "packed": "packed batches (fast)",
    "plain": "padded batches (about 4 times the CPU time of packed ones)",
    "server": "a server that is asked",
    "vllm": "a vLLM server that is started and ended",
}
FASTER = "`engine: vllm` is faster with most such models (docs/engines.md)"


def find_engine(name: str) -> EngineRow:
    """The engine of a name, imported when it is asked for. Raises `ConfigError` for an unknown one."""
    if name not in ENGINES:
        raise ConfigError(f"judge.engine is '{name}', which is not an engine.{did_you_mean(name, ENGINES)}")
    module, attribute = ENGINES[name].split(":")
    row: EngineRow = getattr(import_module(module), attribute)
    return row


def slow_reasons(about: Mapping[str, str]) -> Iterator[str]:
    """What makes a judge slower than it could be, and what to do about it."""
    if "why" in about:
        yield f"the judge decodes {PATHS['plain']}: {about['why']}; {FASTER}"
    if "alone" in about:
        yield f"the judge is asked one row at a time (slow): {about['alone']}; {FASTER}"
