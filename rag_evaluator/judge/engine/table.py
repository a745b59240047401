"""The engines: one row each, `module:Name` of an `EngineRow`. A new engine is a module and a row."""

from importlib import import_module

from rag_evaluator.errors import ConfigError, did_you_mean
from rag_evaluator.judge.engine.protocol import EngineRow

ENGINES: dict[str, str] = {
    "transformers": "rag_evaluator.judge.engine.transformers.engine:TransformersEngine",
    "server": "rag_evaluator.judge.engine.server.engine:ServerEngine",
    "vllm": "rag_evaluator.judge.engine.vllm.engine:VllmEngine",
}


def find_engine(name: str) -> EngineRow:
    """The engine of a name, imported when it is asked for. Raises `ConfigError` for an unknown one."""
    if name not in ENGINES:
        raise ConfigError(f"judge.engine is '{name}', which is not an engine.{did_you_mean(name, ENGINES)}")
    module, attribute = ENGINES[name].split(":")
    row: EngineRow = getattr(import_module(module), attribute)
    return row
