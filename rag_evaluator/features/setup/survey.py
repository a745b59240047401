"""`survey`: what the first rows of a file hold: columns under names of their own, contexts, whether it is a log."""

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
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
    as_number,
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
LEAST_ROWS = 3  # in fewer rows the values of any column may differ
SHORT = 40  # characters of an id, or of a group's value
ROW_NAME = re.compile(rf"(?=\S*\d)\S{{1,{SHORT}}}")
MOST_GROUPS = 12


def key_of(name: str) -> str:
    """A name as it is compared with others: `¿Pregunta?` and `PREGUNTA` are the same."""
    letters = unicodedata.normalize("NFKD", name.casefold())
    return "".join(letter for letter in letters if letter.isalnum())


BY_KEY: Mapping[str, str] = {key_of(name): canonical for canonical, names in COLUMN_NAMES.items() for name in names}


def likely(name: str) -> str | None:
    """What a column may be, by the longest name of a canonical one that is a part of its own: `Passages found`."""
    parts = [key for key in BY_KEY if key in key_of(name)]
    return BY_KEY[max(parts, key=len)] if parts else None


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
    """The first column that is called so, else that looks so, and names each row as no other."""
    unique = {}
    for name in names:
        keys = [key for row in rows if (key := as_key(row.row.get(name))) is not None]
        if len(set(keys)) == len(rows):
            unique[name] = keys
    called = [name for name in unique if key_of(name) in IDS]
    similar = [name for name, keys in unique.items() if len(rows) >= LEAST_ROWS and _look_like_ids(keys)]
    return dict.fromkeys([*called, *similar][:1], ID)


def _look_like_ids(keys: Sequence[str]) -> bool:
    """Whether values are short words with a digit, such as `q-12`, or whole numbers that grow from row to row."""
    if all(key.isdecimal() for key in keys):
        numbers = list(map(int, keys))
        return numbers == sorted(numbers)
    return all(ROW_NAME.fullmatch(key) and isinstance(as_number(key, True), str) for key in keys)


def _groups(rows: Sequence[InputRecord], names: Iterable[str]) -> list[str]:
    """The columns of few short values, each of them in two rows or more on average."""
    values = {name: {as_key(row.row.get(name)) or "" for row in rows} - {""} for name in names}
    most = min(MOST_GROUPS, len(rows) // 2)
    return [name for name, keys in values.items() if 2 <= len(keys) <= most and max(map(len, keys)) <= SHORT]


@dataclass(frozen=True)
class Survey:
    """What the first rows of a file hold.

    Attributes:
        columns: of the configuration, without names that are read as they are.
        names: canonical column -> the user's columns that it is read from.
        unused: the user's other columns, without `id`, by which `compare` finds rows, and `conversation`.
        groups: those of them that have few values.
        present: canonical columns that some row has something in.
        samples: the rows, at most `MOST`.
        is_all: whether the file has no more.
        is_log: whether they are a retrieval log, whose `reference` is what was retrieved.
    """

    columns: Mapping[str, str]
    names: Mapping[str, Sequence[str]]
    unused: Sequence[str]
    groups: Sequence[str]
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
        known = {*guessed, *chain.from_iterable(map(accepted_names, READ))}
        guessed |= _ids(rows, [name for name in free if name not in known])
    mapping = _with_marks({**user_columns, **guessed}, rows, names_in_file)
    names = ColumnNames(mapping)
    samples = samples_of(name, rows, names)
    samples.check_readable(TEXTS)
    is_log = names.is_log(names_in_file)
    names = names.of_log() if is_log else names
    present = {column for sample in samples for column in sample.columns}
    read = {column: names.read_from(column, names_in_file) for column in READ if column in present}
    used = {name for columns in read.values() for name in columns}
    kept = {ID, CONVERSATION}
    unused = [name for name in names_in_file if name not in used and not kept & {name, mapping.get(name)}]
    return Survey(
        columns=mapping,
        names=read,
        unused=unused,
        groups=_groups(rows, unused),
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
