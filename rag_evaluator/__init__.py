"""Evaluate RAG systems with ragas metrics and local Hugging Face models, offline, in the data's own language.

The public names stand in `__init__.pyi`; each is loaded when it is first used, as torch and ragas take seconds.
"""

import ast
from typing import Any

import lazy_loader

from rag_evaluator.config.gone import NAMES
from rag_evaluator.config.offline import stop_ragas_telemetry
from rag_evaluator.resources import PACKAGE
from rag_evaluator.resources import __version__ as __version__


def _public_names() -> dict[str, list[str]]:
    """Module -> names that `__init__.pyi` imports from it; a feature that was deleted has none."""
    names: dict[str, list[str]] = {}
    for node in ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module and _is_there(node.module):
            names.setdefault(node.module, []).extend(name.name for name in node.names)
    return names


def _is_there(module: str) -> bool:
    path = PACKAGE.joinpath(*module.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


_public, __dir__, __all__ = lazy_loader.attach(__name__, submod_attrs=_public_names())


def __getattr__(name: str) -> Any:  # Any: whatever has the name
    if name in NAMES:
        raise AttributeError(f"rag_evaluator.{name} is not there any more. {NAMES[name]}")
    return _public(name)


stop_ragas_telemetry()
