"""Evaluate RAG systems with ragas metrics and local Hugging Face models, offline, in the data's own language.

The public names stand in `__init__.pyi`; each is loaded when it is first used, as torch and ragas take seconds.
"""

import ast

import lazy_loader

from rag_evaluator.config import stop_ragas_telemetry
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


__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submod_attrs=_public_names())


stop_ragas_telemetry()
