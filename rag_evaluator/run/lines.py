"""The lines of a journal: one record each under its key, with a checksum.

The key of a record is (task, stage, digest of what the column reads of the unit, column, signature, repeat): where a
unit stands, and what else it holds, does not matter.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from rag_evaluator.files.jsonl import checked_line, need_text, read_checked
from rag_evaluator.run.task import Record


class Key(NamedTuple):
    """What tells a record from all others of its stage."""

    unit: str
    column: str
    signature: str | None
    repeat: int = 0


@dataclass(frozen=True)
class Line:
    """A record as it was read: the place of its unit when it was made, its key, and what it holds."""

    index: int
    key: Key
    record: Record


def encode(task: str, stage: str, index: int, key: Key, record: Record) -> bytes:
    """The line of a record."""
    return checked_line(
        {
            "task": task,
            "stage": stage,
            "index": index,
            **key._asdict(),
            "value": record.value,
            "reason": record.reason,
            "retry": record.retry,
            "details": dict(record.details),
        }
    )


def decode(line: bytes, task: str, stage: str) -> Line | None:
    """The record of a line; None for the footer of a chunk.

    Raises `ValueError`, `KeyError` or `TypeError` where the line is damaged or belongs to another stage.
    """
    data = read_checked(line)
    if "chunk" in data:
        return None
    if (data["task"], data["stage"]) != (task, stage):
        raise ValueError(f"it belongs to {data['task']}.{data['stage']}")
    signature = data["signature"]
    key = Key(
        need_text(data["unit"]),
        need_text(data["column"]),
        None if signature is None else need_text(signature),
        int(data["repeat"]),
    )
    return Line(int(data["index"]), key, _record(data))


def _record(data: Mapping[str, Any]) -> Record:
    return Record(data["value"], data["reason"], bool(data["retry"]), data["details"])
