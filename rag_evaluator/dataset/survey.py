"""`survey`: what the first rows of a file hold: its columns, how contexts are kept, the samples."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from rag_evaluator.dataset import load_records
from rag_evaluator.dataset.cells import json_or_text
from rag_evaluator.dataset.column_words import recognised
from rag_evaluator.dataset.columns import LISTS, TEXTS, ColumnNames, accepted_names, column_names
from rag_evaluator.dataset.readers.record import InputRecord
from rag_evaluator.dataset.readers.table import iterate_records
from rag_evaluator.dataset.sample import Sample

MOST = 1000  # rows that are looked at
MARKS = ("|||", "||", "<sep>", "<SEP>", "[SEP]", "###", "@@", ";;", "\n---\n", "\n***\n", "¶", " | ", " // ")
"""What people put between the contexts of a cell; the longer ones first."""
PARAGRAPHS = "\n\n"  # between contexts, or between the paragraphs of one
ENOUGH = 0.5  # of the cells


@dataclass(frozen=True)
class Survey:
    """What the first rows of a file hold.

    Attributes:
        columns: of the configuration, without names that are read as they are.
        names: canonical column -> the user's columns that it is read from.
        unused: the user's other columns.
        present: canonical columns that some row has something in.
        samples: the rows, at most `MOST`.
        is_all: whether the file has no more.
        paragraphs: columns of contexts whose cells hold one text with blank lines in it.
    """

    columns: Mapping[str, str]
    names: Mapping[str, Sequence[str]]
    unused: Sequence[str]
    present: Sequence[str]
    samples: Sequence[Sample]
    is_all: bool
    paragraphs: Sequence[str]


def survey(path: Path, columns: Mapping[str, str] | None = None) -> Survey:
    """Look at the first rows of a file.

    Args:
        columns: those that the user has named; they win.

    Raises `DatasetError` if it cannot be read, or a text or context in it cannot be read without guessing.
    """
    name, records = iterate_records(path)
    first = list(islice(records, MOST + 1))
    rows, own = first[:MOST], columns or {}
    there = column_names(record.row for record in rows)
    taken = {to.partition("[")[0] for to in own.values()}
    guessed = {name: to for name, to in recognised(there).items() if name not in own and to not in taken}
    mapping = _with_marks({**own, **guessed}, rows, there)
    names = ColumnNames(mapping)
    if names.is_log(there):
        names = ColumnNames({**names.mapping, "reference": "retrieved_contexts"})
    samples = load_records(name, rows, mapping, TEXTS)
    present = [column for column in ALL if any(column in sample.columns for sample in samples)]
    read = {column: _read_from(column, names, there) for column in present}
    used = {name for columns in read.values() for name in columns}
    return Survey(
        columns=mapping,
        names=read,
        unused=[name for name in there if name not in used],
        present=present,
        samples=samples,
        is_all=len(first) <= MOST,
        paragraphs=[name for name in there if name in used and _is_text_with(PARAGRAPHS, name, read, rows)],
    )


ALL = (*TEXTS, "retrieved_context_ids", "reference_context_ids", "document_score", "answerable", "rubrics")


def _read_from(canonical: str, names: ColumnNames, there: Sequence[str]) -> list[str]:
    """The user's columns that may be read as a canonical one."""
    mapped = [name for name, to in names.mapping.items() if to == canonical]
    return mapped or [name for name in accepted_names(canonical) if name in there and name not in names.mapping]


def _with_marks(mapping: Mapping[str, str], rows: Sequence[InputRecord], there: Sequence[str]) -> dict[str, str]:
    """The mapping with the mark between the contexts of a cell, where there is one."""
    found = dict(mapping)
    for canonical in LISTS:
        for name in _read_from(canonical, ColumnNames(mapping), there):
            mark = _mark(_texts(name, rows)) if "[" not in found.get(name, "") else None
            if mark:
                found[name] = f"{canonical}[{mark.strip(' ')}]"
    return found


def _texts(name: str, rows: Iterable[InputRecord]) -> list[str]:
    """The cells of a column that are texts, not lists."""
    values = (json_or_text(record.row.get(name), True) for record in rows)
    return [value for value in values if isinstance(value, str) and value.strip()]


def _mark(texts: Sequence[str]) -> str | None:
    return next((mark for mark in MARKS if sum(mark in text for text in texts) > ENOUGH * len(texts)), None)


def _is_text_with(mark: str, name: str, read: Mapping[str, Sequence[str]], rows: Iterable[InputRecord]) -> bool:
    if not any(name in read.get(canonical, ()) for canonical in LISTS):
        return False
    texts = _texts(name, rows)
    return sum(mark in text.strip() for text in texts) > ENOUGH * len(texts)
