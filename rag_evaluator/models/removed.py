"""What ragas imports and another package has removed: an empty class in its place, where nobody else has it.

ragas 0.4.3 imports `ChatVertexAI`, which langchain-community has not had since 0.4.2, and uses it only to tell which
models it wraps.
"""

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

REMOVED = {"langchain_community.chat_models.vertexai": "ChatVertexAI"}


class RemovedModules(MetaPathFinder, Loader):
    """Finds the modules of `REMOVED`. As the last finder it is asked only where they are not installed."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname in REMOVED else None

    def exec_module(self, module: ModuleType) -> None:
        name = REMOVED[module.__name__]
        setattr(module, name, type(name, (), {}))


def find_removed() -> None:
    """Let imports find them."""
    if not any(isinstance(finder, RemovedModules) for finder in sys.meta_path):
        sys.meta_path.append(RemovedModules())
