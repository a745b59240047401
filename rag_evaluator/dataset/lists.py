"""Questions, contexts and texts in lists of any library, as plain ones."""

from collections.abc import Mapping, Sequence
from typing import Any

from rag_evaluator.dataset import plain
from rag_evaluator.dataset.json_values import Unwritable, as_text
from rag_evaluator.errors import DatasetError


def check_lists(
    question_list: Sequence[str], contexts_list: Sequence[Sequence[str]]
) -> tuple[list[str], list[list[str]]]:
    """The lists as plain ones; contexts may be LangChain documents.

    Raises `DatasetError` naming the list and the position of what is wrong.
    """
    questions = _list("question_list", question_list)
    contexts = _list("contexts_list", contexts_list, len(questions))
    return check_questions("question_list", questions), [
        _contexts(place, texts) for place, texts in enumerate(contexts)
    ]


def check_questions(name: str, questions: Sequence[str]) -> list[str]:
    """The questions as plain texts, at least one. Raises `DatasetError` as `check_lists` does."""
    items = _list(name, questions)
    if not items:
        raise DatasetError(f"{name} is empty: expected at least one question.")
    return [_text(f"{name}[{position}]", question) for position, question in enumerate(items)]


def _list(name: str, values: Any, count: int | None = None, counted: str = "question_list") -> list[Any]:
    """The values of a list of any library, as many as `counted` has. Any: its items are checked later."""
    is_table = hasattr(values, "itertuples")  # a pandas frame: iterating gives the names of its columns
    if isinstance(values, str | Mapping) or not hasattr(values, "__len__") or is_table:
        raise DatasetError(f"{name}: expected a list, received {type(values).__name__}.")
    if count is not None and len(values) != count:
        raise DatasetError(f"{name} has {len(values)} items, {counted} has {count}: expected one each.")
    return list(values)


def optional_texts(name: str, values: Any, count: int, counted: str = "question_list") -> list[str | None]:
    """Texts of which some, or all, may be missing; as many as `counted` has."""
    if values is None:
        return [None] * count
    values = _list(name, values, count, counted)
    return [
        None if _plain(place, value) is None else _text(place, value)
        for place, value in ((f"{name}[{position}]", value) for position, value in enumerate(values))
    ]


def _text(name: str, value: Any) -> str:
    text = as_text(_plain(name, value))
    if text is None:
        raise DatasetError(f"{name}: expected a text, received {value!r:.60}.")
    return text


def _plain(name: str, value: Any) -> Any:
    """The value as JSON has it, None for the missing values of pandas and numpy. Any: it is checked by the caller."""
    plain_value = plain(value)
    if isinstance(plain_value, Unwritable):
        raise DatasetError(f"{name}: {plain_value.reason}.")
    return plain_value


def _contexts(position: int, texts: Any) -> list[str]:
    name = f"contexts_list[{position}]"
    if isinstance(texts, str | Mapping) or not hasattr(texts, "__len__"):
        raise DatasetError(f"{name}: expected a list of texts, received {texts!r:.60}. Put a single one in a list.")
    return [_text(f"{name}[{rank}]", getattr(text, "page_content", text)) for rank, text in enumerate(texts)]
