"""`rows_of_log`: a retrieval log with a line per question and chunk, as rows, one for each question."""

from collections.abc import Iterator, Sequence
from typing import Any

from rag_evaluator.files import short_digest

from .columns import RETRIEVED, ColumnNames, as_key, column_names, descending
from .json_values import EMPTY, Several, as_number, is_blank
from .readers.json_files import InputRecord
from .values import is_number, looks_like_a_list

# Any in this module: the users' values, plain JSON.

ID = "id"
CHUNK = "reference"
RELEVANCE = "relevance"
"""Grades of contexts, which `sort` reads."""


def rows_of_log(records: Sequence[InputRecord], names: ColumnNames) -> Iterator[InputRecord]:
    """The rows of a log by the first line of each question; without a column of scores, the records.

    Lines belong to one question if they have the same `id`, or no `id` and the same text. A record that holds lists
    is a row already. All records are read twice, and those of one question are in memory together.
    """
    lines: dict[str | int, list[int]] = {}
    is_scored = False
    for place, record in enumerate(records):
        is_scored = is_scored or names.name_of("document_score") in record.row
        lines.setdefault(_key(record, names) or place, []).append(place)
    for places in lines.values() if is_scored else ():
        joined = [records[place] for place in places]
        yield _joined(joined, names) if _is_line(joined[0], names) else joined[0]
    if not is_scored:
        yield from records


def _is_line(record: InputRecord, names: ColumnNames) -> bool:
    """Whether it holds one chunk at most, and no list, in cells neither a broken one."""
    values = [record.row.get(name) for name in (CHUNK, names.name_of("document_score"))]
    return not any(isinstance(value, list) or (record.is_cells and looks_like_a_list(value)) for value in values)


def _key(record: InputRecord, names: ColumnNames) -> str | None:
    """What the lines of one question share; None for a row that is no line, or has neither id nor question."""
    if not _is_line(record, names):
        return None
    columns = names.names_of("user_input", record)
    question = as_key(record.row[columns[0]]) if columns else None
    identity = None if ID in names.mapping else as_key(record.row.get(ID))
    if identity is None and question is None:
        return None
    return short_digest(f"question {question}" if identity is None else f"{ID} {identity}")


def _joined(lines: Sequence[InputRecord], names: ColumnNames) -> InputRecord:
    """The lines of one question as a row: lists by descending score, all else once."""
    first = lines[0]
    score = names.name_of("document_score")
    chunks = [line for line in lines if any(line.row.get(name) not in EMPTY for name in (CHUNK, score))]
    scores = [_score(line, score) for line in chunks]
    if all(map(is_number, scores)):
        chunks = [chunks[place] for place in descending(scores)]
    by_chunk = {CHUNK, RELEVANCE, *(names.name_of(name) for name in RETRIEVED[1:])}
    row = {
        name: [_of_chunk(line, name, score) for line in chunks] if name in by_chunk else _once(name, lines, chunks)
        for name in column_names(line.row for line in lines)
    }
    where = first.where if len(lines) == 1 else f"{first.where} and {len(lines) - 1} more"
    return InputRecord(where, row, first.is_cells)


def _of_chunk(line: InputRecord, name: str, score: str) -> Any:
    value = line.row.get(name)
    if name == CHUNK:
        return "" if value is None else value
    return _score(line, name) if name in (score, RELEVANCE) else value


def _score(line: InputRecord, name: str) -> Any:
    value = line.row.get(name)
    return None if is_blank(value) else as_number(value, line.is_cells)


def _once(name: str, lines: Sequence[InputRecord], chunks: Sequence[InputRecord]) -> Any:
    """The value that all lines have which have one; else all values in the order of the chunks."""
    nonblank = [line for line in lines if not is_blank(line.row.get(name))] or lines[:1]
    first = nonblank[0].row.get(name)
    other = next((line for line in nonblank if as_key(line.row.get(name)) != as_key(first)), None)
    if other is None:
        return first
    values = Several(line.row.get(name) for line in chunks)
    values.reason = (
        f"expected the same value in all lines of a question, received {first!r:.60} ({nonblank[0].where}) and "
        f"{other.row[name]!r:.60} ({other.where}). Correct one of them, or give each question its own '{ID}'."
    )
    return values
