"""The reference of Python: the page on which mkdocstrings puts the docstring of each public name."""

import inspect

import rag_evaluator

HEAD = """# Python

The names that `from rag_evaluator import ...` gives. Their texts are the docstrings of the source.
"""
GROUPS = {
    "Classes": lambda value: inspect.isclass(value) and not issubclass(value, Exception),
    "Functions": inspect.isroutine,
    "Errors": inspect.isclass,
    "Values": lambda value: True,
}


def page() -> str:
    """The page in Markdown; each name is in the first group that takes it."""
    left = {name: getattr(rag_evaluator, name) for name in rag_evaluator.__all__}
    lines = [HEAD]
    for title, belongs in GROUPS.items():
        names = [name for name, value in left.items() if belongs(value)]
        lines += [f"## {title}", "", *(f"::: rag_evaluator.{name}\n" for name in names)]
        left = {name: value for name, value in left.items() if name not in names}
    return "\n".join(lines)
