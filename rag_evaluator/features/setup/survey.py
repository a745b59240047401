"""`survey`: what the first rows of a file hold: columns under names of their own, contexts, whether it is a log."""

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from rag_evaluator.dataset import (
    CONVERSATION,
    ID,
    LISTS,
    MOST,
    READ,
    TEXTS,
    ColumnNames,
    InputRecord,
    Samples,
    accepted_names,
    as_key,
    column_names,
    read_records,
    samples_of,
    texts_in,
)

COLUMN_NAMES: Mapping[str, Sequence[str]] = json.loads(
    Path(__file__).with_name("column_names.json").read_text(encoding="utf-8")
)
"""Canonical column -> what people call it, compared without case, accents, blanks and signs."""

IDS = frozenset({"id", "ids", "qid", "questionid", "rowid", "exampleid", "sampleid", "caseid", "testid"})
"""What people call the column with a name for each row, compared in the same way."""

NUMBER = re.compile(r"\d+$")
MARKS = ("|||", "||", "<sep>", "<SEP>", "[SEP]", "###", "@@", ";;", "\n---\n", "\n***\n", "¶", " | ", " // ")
"""What people put between the contexts of a cell; the longer ones first."""
ENOUGH = 0.5  # of the cells


def key_of(name: str) -> str:
    """A name as it is compared with others: `¿Pregunta?` and `PREGUNTA` are the same."""
    letters = unicodedata.normalize("NFKD", name.casefold())
    return "".join(letter for letter in letters if letter.isalnum())


BY_KEY = {key_of(name): canonical for canonical, names in COLUMN_NAMES.items() for name in names}


def recognised(names: Iterable[str]) -> dict[str, str]:
    """The `columns` of a configuration for the names of a file, without those that are read as they are.

    Where several names may be the same column, the one that is read anyway counts, else the first; of contexts in
    numbered columns (`chunk_1`, `chunk_2`) all count, in the order of their numbers. Else the order is the file's.
    """
    keys = {name: key_of(name) for name in names}
    mapping: dict[str, str] = {}
    for canonical in COLUMN_NAMES:
        read = [name for name in accepted_names(canonical) if name in keys]
        similar = [name for name, key in keys.items() if BY_KEY.get(key) == canonical]
        numbers = {
            name: int(match[0])
            for name, key in keys.items()
            if (match := NUMBER.search(key)) and BY_KEY.get(key[: match.start()]) == canonical
        }
        numbered = sorted(numbers, key=lambda name: numbers[name])
        if canonical in read or (len(read) == 1 and not numbered):
            continue
        if chosen := numbered if canonical in LISTS and not similar else [*read, *similar][:1]:
            mapping |= dict.fromkeys(chosen, canonical)
    first = list(dict.fromkeys(mapping[name] for name in keys if name in mapping))
    return dict(sorted(mapping.items(), key=lambda item: first.index(item[1])))


def _ids(rows: Sequence[InputRecord], names: Iterable[str]) -> dict[str, str]:
    """The first column that is called so and names each row as no other."""
    for name in names:
        keys = [as_key(row.row.get(name)) for row in rows]
        if key_of(name) in IDS and None not in keys and len(set(keys)) == len(keys):
            return {name: ID}
    return {}


@dataclass(frozen=True)
class Survey:
    """What the first rows of a file hold.

    Attributes:
        columns: of the configuration, without names that are read as they are.
        names: canonical column -> the user's columns that it is read from.
        unused: the user's other columns, without `id`, by which `compare` finds rows, and `conversation`.
        present: canonical columns that some row has something in.
        samples: the rows, at most `MOST`.
        is_all: whether the file has no more.
        is_log: whether they are a retrieval log, whose `reference` is what was retrieved.
    """

    columns: Mapping[str, str]
    names: Mapping[str, Sequence[str]]
    unused: Sequence[str]
    present: Sequence[str]
    samples: Samples
    is_all: bool
    is_log: bool

    @property
    def compares_texts(self) -> bool:
        """Whether a log says which contexts are right, but not the answer, by which the judge would decide it."""
        return self.is_log and "reference_contexts" in self.present and "reference" not in self.present


def survey(path: Path, columns: Mapping[str, str]) -> Survey:
    """Look at the first rows of a file.

    Args:
        columns: those that the user has named, of this file or another; they win.

    Raises `DatasetError` if it cannot be read, or a text or context in it cannot be read without guessing.
    """
    name, records = read_records(path)
    first = list(islice(records, MOST + 1))
    rows = first[:MOST]
    names_in_file = column_names(record.row for record in rows)
    user_columns = {name: to for name, to in columns.items() if name in names_in_file}
    free = [name for name in names_in_file if name not in user_columns]
    taken = {to.partition("[")[0] for to in user_columns.values()}
    guessed = {name: to for name, to in recognised(free).items() if to not in taken}
    if ID not in (*names_in_file, *taken):
        guessed |= _ids(rows, free)
    mapping = _with_marks({**user_columns, **guessed}, rows, names_in_file)
    names = ColumnNames(mapping)
    samples = samples_of(name, rows, names)
    samples.check_readable(TEXTS)
    is_log = names.is_log(names_in_file)
    names = names.of_log() if is_log else names
    present = {column for sample in samples for column in sample.columns}
    read = {column: names.read_from(column, names_in_file) for column in READ if column in present}
    used = {name for columns in read.values() for name in columns}
    return Survey(
        columns=mapping,
        names=read,
        unused=[
            name for name in names_in_file if name not in used and not {ID, CONVERSATION} & {name, mapping.get(name)}
        ],
        present=list(read),
        samples=samples,
        is_all=len(first) <= MOST,
        is_log=is_log,
    )


def _with_marks(mapping: Mapping[str, str], rows: Sequence[InputRecord], present: Sequence[str]) -> dict[str, str]:
    """The mapping with what most cells of a column of contexts that are texts, not lists, have between their parts."""
    marked = dict(mapping)
    for canonical in LISTS:
        for name in ColumnNames(mapping).read_from(canonical, present):
            texts = texts_in(name, [record.row for record in rows])
            mark = next((mark for mark in MARKS if sum(mark in text for text in texts) > ENOUGH * len(texts)), None)
            if mark and "[" not in marked.get(name, ""):
                marked[name] = f"{canonical}[{mark.strip(' ')}]"
    return marked
