"""`doubts`: what rows look like that were read, and is probably meant otherwise."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from rag_evaluator.files import Json

from .columns import LISTS, NOT_A_NUMBER, ColumnNames, column_names
from .contents import Samples
from .sample import Sample
from .values import READ, json_or_text

MOST = 1000  # rows that are looked at
SEPARATORS = {"|": "'|'", "\n\n": "a blank line"}  # what contexts in a cell may be divided by
NULLS = ("None", "null", "NULL", "N/A", *NOT_A_NUMBER)


def doubts_of(rows: Samples, columns: Mapping[str, str]) -> Iterator[str]:
    """Sentences, without a full stop, about the first `MOST` rows; `columns` as in the configuration."""
    names = ColumnNames(columns)
    first = list(islice(rows, MOST))
    cells = [row.row for row in first]
    for name, mark in names.marks.items():
        texts = texts_in(name, cells)
        if texts and not any(mark in text for text in texts):
            yield f"no cell of {name!r} has the mark {mark!r}: each is read as a single text"
    yield from _joined(names, cells)
    yield from _damaged(names, first)
    if _has_lines_of_log(first) and not names.is_log(rows.names):
        contexts = names.read_from("retrieved_contexts", rows.names)[0]
        yield (
            "each line counts as a row, though several have the same question. If it is a retrieval log, rename "
            f"{contexts!r} to reference, the scores to document_score, and the right answer to correct_answer"
        )


def _has_lines_of_log(rows: Sequence[Sample]) -> bool:
    """Whether rows look like lines of a retrieval log that were read as rows: a question is in several of them, and
    each has one context, and one score or no answer."""
    is_scored = any(row.has("document_score") for row in rows)
    if not rows or (any(row.has("response") for row in rows) and not is_scored):
        return False
    lists = ("retrieved_contexts", "document_score") if is_scored else ("retrieved_contexts",)
    questions = {row.columns.get("user_input") for row in rows}
    return len(questions) < len(rows) and all(len(row.columns.get(column, ())) == 1 for row in rows for column in lists)


def texts_in(name: str, cells: Iterable[Json]) -> list[str]:
    """What rows have in a column, where it is a text that shows something, and no list."""
    values = (json_or_text(row.get(name), True) for row in cells)
    return [text for value in values if isinstance(value, str) and (text := value.strip())]


def _damaged(names: ColumnNames, rows: Sequence[Sample]) -> Iterator[str]:
    """Rows with a null among their contexts, and with a letter that could not be read."""
    lists = [name for canonical in LISTS for name in names.read_from(canonical, column_names(row.row for row in rows))]

    def has_null(row: Sample) -> bool:
        lists_of = (json_or_text(row.row.get(name), True) for name in lists)
        return any(isinstance(items, list) and None in items for items in lists_of)

    def has_copies(row: Sample) -> bool:
        contexts = [text.strip() for text in row.columns.get("retrieved_contexts", ())]
        return len(set(contexts)) < len(contexts)

    def cells(row: Sample, signs: Sequence[str], is_read: bool) -> bool:
        read = {name: canonical for canonical in READ for name in names.read_from(canonical, row.row)}
        return any(row.row.get(own) in signs and (to in row.columns) == is_read for own, to in read.items())

    def is_unread(row: Sample) -> bool:
        return "\ufffd" in json.dumps(row.columns, ensure_ascii=False)

    seen = {
        "have a null among their contexts, which is left out": has_null,
        "have a cell with nan, NaN or <NA>, which counts as missing": lambda row: cells(row, NOT_A_NUMBER, False),
        "have None, null, NaN or N/A as a text, which counts as one; leave the value out if it is missing": (
            lambda row: cells(row, NULLS, True)
        ),
        "have the same context twice. Measures of precision count each copy, relevant or not": has_copies,
        "hold U+FFFD, which stands for a letter that cannot be read; the source may be damaged": is_unread,
    }
    for what, is_so in seen.items():
        if places := [row.where for row in rows if is_so(row)]:
            yield f"{len(places)} of the first {len(rows):,} rows {what}: {', '.join(places[:3])}"


def _joined(names: ColumnNames, cells: Sequence[Json]) -> Iterator[str]:
    """Columns of contexts where most cells are a text with '|' or a blank line in it, and no mark is set.

    A table begins with '|'.
    """
    for canonical in LISTS:
        for name in names.read_from(canonical, column_names(cells)):
            texts = texts_in(name, cells)
            for mark, what in SEPARATORS.items() if name not in names.marks else ():
                count = sum(mark in text and not text.startswith(mark) for text in texts)
                if count > len(texts) / 2:
                    key = json.dumps({name: f"{canonical}[{mark}]"}, ensure_ascii=False)
                    yield (
                        f"cells of {name!r} hold {what} ({count} of {len(texts)}), and each is read as one context. If "
                        f"{what} separates contexts, write columns: {key}"
                    )
