"""The turns before a question: what metrics see as the question, and conversations of ragas as rows."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from rag_evaluator.errors import DatasetError
from rag_evaluator.files import Json

from .readers.json_files import InputRecord
from .values import USER, Field, history

HISTORY = "history"
STANDALONE = "standalone_question"
CONVERSATION = "conversation"
TURN = "turn"
APPEND = "append"
REWRITE = "rewrite"
IGNORE = "ignore"

# Any in this module: the users' values, plain JSON.


def lines_of(turns: Any) -> list[str]:
    """The turns, one text each; a history that is a text stays one."""
    return [turns] if isinstance(turns, str) else [f"{turn['role']}: {turn['content']}" for turn in turns]


def in_context(turns: Any, question: str) -> str:
    """The turns and then the question, as `append` asks it."""
    return "\n".join([*lines_of(turns), f"{USER}: {question}"])


def number_of(turns: Any) -> int | None:
    """The number of the turn that follows, from 1; None after a text, which nobody divides."""
    return None if isinstance(turns, str) else 1 + sum(turn["role"] == USER for turn in turns)


def rows_of_conversations(records: Iterable[InputRecord]) -> Iterator[InputRecord]:
    """The records, with a row for each answer in place of a `MultiTurnSample` of ragas.

    What the system says between two messages of the user is one answer. The reference of a conversation is left out:
    it is none of a single answer. Raises `DatasetError` for messages that cannot be read.
    """
    for number, record in enumerate(records, start=1):
        messages = record.row.get("user_input")
        if isinstance(messages, list) and any(isinstance(message, dict) for message in messages):
            yield from _answers(record, number)
        else:
            yield record


def _answers(record: InputRecord, number: int) -> Iterator[InputRecord]:
    turns: Any = history(Field(record, "user_input", "user_input")) or []
    name = record.row.get(CONVERSATION, record.row.get("id", number))
    others = {column: value for column, value in record.row.items() if column not in ("user_input", "reference")}
    before: list[Json] = []
    for is_user, said in groupby(turns, lambda turn: turn["role"] == USER):
        part = list(said)
        if not is_user and before:
            place = number_of(before[:-1])
            row = {
                **others,
                "id": f"{name}.{place}",
                CONVERSATION: name,
                HISTORY: before[:-1],
                "user_input": before[-1]["content"],
                "response": "\n".join(turn["content"] for turn in part),
            }
            yield InputRecord(f"{record.where}, turn {place}", row, record.is_cells)
        before += part
    if not any(turn["role"] != USER for turn in before[1:]):
        raise DatasetError(
            f"{record.where}: column 'user_input': expected a question and an answer to it in the messages."
        )
