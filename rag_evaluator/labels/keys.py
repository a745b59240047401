"""The row of the run that a line of a label table is about: by its number, digest, id or question."""

from collections.abc import Callable, Mapping, Sequence

from rag_evaluator.dataset.columns import accepted_names
from rag_evaluator.dataset.keys import as_key
from rag_evaluator.dataset.readers.record import InputRecord
from rag_evaluator.errors import DatasetError, did_you_mean
from rag_evaluator.results.matching import ID, QUESTION, keys_of
from rag_evaluator.results.saved import SavedScores

ROW, SAMPLE = "row", "sample"
RowOf = Callable[[InputRecord], int | None]  # None for a line without any cell


def key_of(name: str, columns: Sequence[str], run: SavedScores, digests: Sequence[str], on: str | None) -> RowOf:
    """What finds the row of a line. Its errors are `DatasetError` with the line.

    Args:
        name: of the table.
        on: the key column; None takes `row`, `sample`, `id` or the question, the first of these that is there. All of
            them that a line has must be of the same row.
    """
    column = on or _first_key(name, columns)
    if column not in columns:
        raise DatasetError(f"{name}: no column '{column}' (--on).{did_you_mean(column, columns)}")
    keys = {each: _run_keys(run, digests, each) for each in (column, *_keys_in(columns))}
    places: dict[str, list[int]] = {}
    for place, key in enumerate(keys[column]):
        if key is not None:
            places.setdefault(key, []).append(place)

    def row_of(record: InputRecord) -> int | None:
        if not any(as_key(cell) for cell in record.row.values()):
            return None
        place = _place(record, column, places, run)
        _check_digest(record, run, digests, place)
        if as_key(record.row.get(SAMPLE)) is None:
            _check_others(record, column, keys, place)
        return place

    return row_of


def _keys_in(columns: Sequence[str]) -> list[str]:
    """The columns that say which row a line is about, the first one most exactly."""
    return [column for column in (ROW, SAMPLE, ID, *accepted_names(QUESTION)) if column in columns]


def _check_digest(record: InputRecord, run: SavedScores, digests: Sequence[str], place: int) -> None:
    """The digest is of all that a row has: where it is right, a question that was shortened for people is none."""
    if (digest := as_key(record.row.get(SAMPLE))) not in (None, digests[place]):
        raise DatasetError(
            f"{record.where}: row {place} of {run.name} is not the row that was labelled: 'sample' is {digest}, "
            f"its digest is {digests[place]}. Give the results that the labels are about."
        )


def _check_others(record: InputRecord, column: str, keys: Mapping[str, Sequence[str | None]], place: int) -> None:
    """Raises `DatasetError` where another key of the line is not that of the row."""
    for other, known in keys.items():
        cell = as_key(record.row.get(other))
        if cell is None or known[place] is None or _folded(cell) == _folded(known[place] or ""):
            continue
        what = "question" if other in accepted_names(QUESTION) else other
        rows = [str(row) for row, key in enumerate(known) if key is not None and _folded(key) == _folded(cell)]
        belongs = f"the {what} is that of row {', '.join(rows[:5])}" if rows else _of_no_row(what, cell)
        raise DatasetError(
            f"{record.where}: '{column}' is {_shown(record.row.get(column))}, but {belongs}. Rows count from 0, as in "
            f"details.jsonl. Correct the line, or remove the column that is wrong."
        )


def _of_no_row(what: str, cell: str) -> str:
    return f"the {what} {cell!r:.60} is that of no row"


def _shown(cell: object) -> str:
    key = as_key(cell) or ""
    return key if key.isdigit() else f"{key!r:.60}"


def _folded(key: str) -> str:
    """Line breaks and blanks are the first that tables change."""
    return " ".join(key.split())


def _run_keys(run: SavedScores, digests: Sequence[str], column: str) -> Sequence[str | None]:
    if column == ROW:
        return [str(place) for place in range(len(run.samples))]
    if column == SAMPLE:
        return digests
    return keys_of(run.samples, QUESTION if column in accepted_names(QUESTION) else column)


def _first_key(name: str, columns: Sequence[str]) -> str:
    for column in _keys_in(columns):
        return column
    raise DatasetError(
        f"{name}: no column says which row a label is about. Expected 'row' (from 0, as in details.jsonl), 'sample', "
        f"'id' or the question, or --on COLUMN; received {', '.join(map(repr, columns))}."
    )


def _place(record: InputRecord, column: str, places: dict[str, list[int]], run: SavedScores) -> int:
    key = as_key(record.row.get(column))
    if key is None:
        raise DatasetError(f"{record.where}: '{column}' is blank, so that its labels belong to no row.")
    found = places.get(key, [])
    if len(found) == 1:
        return found[0]
    if found:
        rows = ", ".join(map(str, found[:5]))
        raise DatasetError(
            f"{record.where}: {len(found)} rows of {run.name} have the {column} {key!r:.60} (rows {rows}). Give the "
            "number of the row in a column 'row'."
        )
    raise DatasetError(f"{record.where}: no row of {run.name} has the {column} {key!r:.60}.{_hint(column, run)}")


def _hint(column: str, run: SavedScores) -> str:
    if column == ROW:
        return f" Rows count from 0 to {len(run.samples) - 1}, as in details.jsonl."
    return " Choose the key column with --on, or give the number of the row in a column 'row'."
