"""A user's own metric that a Python function computes from the columns of a row."""

import inspect
import json
import math
import textwrap
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from rag_evaluator.errors import ConfigError, NotApplicableError, UndefinedScoreError
from rag_evaluator.files import short_digest
from rag_evaluator.hub import UNNAMED

if TYPE_CHECKING:
    from rag_evaluator.ragas_library import MetricResult

Function = Callable[..., Any]
# Any in this module: arguments and values of users' functions.


class FunctionName(str):
    """`module:name` of a function, or another object, that was given from Python.

    Attributes:
        function: the object; the name alone is what files keep of it.
    """

    function: Function

    def __new__(cls, function: Function) -> "FunctionName":
        module = getattr(function, "__module__", "")
        name = getattr(function, "__qualname__", type(function).__name__)
        made = super().__new__(cls, f"{module}:{name}")
        made.function = function
        return made

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other) and getattr(other, "function", self.function) is self.function

    __hash__ = str.__hash__


def find_object(name: str) -> Any:
    """The object that was given, or that a module has. Raises `ConfigError`, which begins with the name."""
    if isinstance(name, FunctionName):
        return name.function
    module, colon, path = str(name).partition(":")
    if not colon:
        raise ConfigError(f"'{name}': expected module:function, such as 'my_metrics:short'.")
    try:
        found: Any = import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except Exception as error:  # a module of the user may raise anything
        raise ConfigError(
            f"'{name}', which cannot be imported: {type(error).__name__}: {error}. Put the folder of the module on "
            "PYTHONPATH, or give the function from Python: RAGEvaluator({'metrics': [function]})."
        ) from error
    return found


def find_function(name: str) -> Function:
    """The same for a function, without the `@metric` around it."""
    function: Function = find_object(name)
    return getattr(function, "function", function)


def check_arguments(name: str, columns: Sequence[str]) -> None:
    """Raises `ConfigError` if it is no function that takes the columns as arguments; see `find_object`."""
    try:
        inspect.signature(find_function(name)).bind(**dict.fromkeys(columns))
    except TypeError as error:
        raise ConfigError(
            f"'{name}', which cannot be called with the columns {', '.join(columns)} as arguments: {error}. Correct "
            "columns, or the parameters of the function."
        ) from None
    except ValueError:  # built-in functions tell nothing of their parameters
        return


def source_digest(name: str) -> str:
    """Digest of the function's text and defaults, by which scores are found again.

    A function whose text is not there, or that uses variables of a function around it, has no such digest: its scores
    are always made anew.
    """
    function = find_function(name)
    if getattr(function, "__closure__", None):
        return UNNAMED
    return digest_of_source(
        function, [getattr(function, "__defaults__", None), getattr(function, "__kwdefaults__", None)]
    )


def digest_of_source(source: Any, fields: Sequence[Any]) -> str:
    """Digest of the text of a function or class, and of fields; `UNNAMED` where these have no text."""
    try:
        return short_digest(json.dumps([textwrap.dedent(inspect.getsource(source)), fields]))
    except (OSError, TypeError):
        return UNNAMED


def as_result(value: Any, reason: Any, ends: Sequence[float]) -> "MetricResult":
    """A value of users' code as a score. Raises `UndefinedScoreError` where it is no number from `ends`."""
    from rag_evaluator.ragas_library import MetricResult

    value = value.item() if hasattr(value, "item") else value  # numpy and torch
    if value is None or (isinstance(value, float) and math.isnan(value)):
        raise NotApplicableError(reason or "it gave no value")
    if not isinstance(value, int | float):
        raise UndefinedScoreError(f"it gave {value!r:.40}: expected a number, true or false, or None")
    if not ends[0] <= value <= ends[1]:
        raise UndefinedScoreError(f"it gave {value:g}, which is outside its range, {ends[0]:g} to {ends[1]:g}")
    return MetricResult(value=float(value), reason=None if reason is None else str(reason))


class FunctionScore:
    """The value of a function, which may be asynchronous.

    The function gives a number, true or false, or None where it has no score, or a pair of one of these and its reason.

    Args:
        function: takes the columns by their names.
        range: the lowest and the highest value.
    """

    def __init__(self, function: str, range: Sequence[float]) -> None:
        self.function = find_function(function)
        self.range = range

    async def ascore(self, **values: Any) -> "MetricResult":
        """Raises `UndefinedScoreError` where there is no value, and what the function raises."""
        answer = self.function(**values)
        if inspect.isawaitable(answer):
            answer = await answer
        value, reason = answer if isinstance(answer, tuple) and len(answer) == 2 else (answer, None)
        return as_result(value, reason, self.range)
