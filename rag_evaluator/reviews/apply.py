"""Reviews applied to a dataset: a new file in which corrected rows are changed, and its history beside it."""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rag_evaluator.dataset import Sample, open_dataset, row_names
from rag_evaluator.dataset.columns import ColumnNames, accepted_names
from rag_evaluator.dataset.json_values import EMPTY
from rag_evaluator.dataset.readers.record import InputRecord
from rag_evaluator.errors import DatasetError, RagEvaluatorError, ResultsError
from rag_evaluator.files.atomic import write_lines, write_whole
from rag_evaluator.reviews.record import ReviewRecord
from rag_evaluator.reviews.store import ReviewStore, RowReview, review_of
from rag_evaluator.reviews.written_rows import CELLS, LINES, WRITERS, RowToWrite, Source

# Any in this module: JSON.

REVISED = ".reviewed"


@dataclass(frozen=True)
class Dataset:
    """The dataset that the reviews are about.

    Attributes:
        name: for messages.
        path: None where its rows came from Python; they are those that the run has kept.
        samples: its rows.
        mapping: the user's names of columns, `columns` of the configuration.
    """

    name: str
    path: Path | None
    samples: Sequence[Sample]
    mapping: Mapping[str, str]

    @property
    def is_cells(self) -> bool:
        return self.path is not None and _is_cells(self.path)

    @property
    def is_log(self) -> bool:
        return ColumnNames(self.mapping).is_log(row_names(self.samples))

    def column_of(self, canonical: str, sample: Sample) -> list[str]:
        """The user's columns that hold a canonical one in a row; where there is none yet, the one to write."""
        mapping = {**self.mapping, "reference": "retrieved_contexts"} if self.is_log else self.mapping
        filled = ColumnNames(mapping).names_of(canonical, InputRecord(sample.where, sample.row, self.is_cells))
        mapped = [name for name, target in mapping.items() if target == canonical]
        free = [name for name in accepted_names(canonical) if name not in mapping]
        there = [name for name in free if name in row_names(self.samples)]
        return filled or (mapped or there or free)[:1]


def read_dataset(path: Path, mapping: Mapping[str, str]) -> Dataset:
    """The dataset in a file. Raises `DatasetError`."""
    return Dataset(path.name, path, open_dataset(path, mapping), mapping)


@dataclass(frozen=True)
class Change:
    """One change of the new dataset, for people to read.

    Attributes:
        place: of the row in the dataset that was reviewed, from 0.
        field: the canonical column, or `row` for one that is left out.
        before, after: None: nothing.
        by: who made it last.
    """

    place: int
    field: str
    before: Any
    after: Any
    by: str


@dataclass(frozen=True)
class Revision:
    """What reviews make of a dataset.

    Attributes:
        dataset: that was reviewed.
        reviews: place of a row -> what people said of it.
        dropped: places of rows that are left out.
        already: reviews that an earlier revision has applied.
        edited: reviews of rows that are no longer in the dataset as they were reviewed.
    """

    dataset: Dataset
    reviews: Mapping[int, Sequence[ReviewRecord]]
    dropped: Collection[int]
    already: int
    edited: Sequence[ReviewRecord]

    def changes(self) -> Iterator[Change]:
        """Row by row, those that are left out at their place."""
        for place in sorted(self.reviews):
            sample, state = self.dataset.samples[place], review_of(self.reviews[place])
            if place in self.dropped:
                flag = next(iter(state.flags.values()))
                yield Change(place, "row", sample.columns.get("user_input"), None, flag.by)
                continue
            for field, records in corrections(sample, state).items():
                yield Change(place, field, sample.columns.get(field), records[-1].after, records[-1].by)


def corrections(sample: Sample, state: RowReview) -> dict[str, Sequence[ReviewRecord]]:
    """The columns of a row that are not as they were."""
    return {
        field: records
        for field, records in state.fields.items()
        if _or_nothing(records[-1].after) != _or_nothing(sample.columns.get(field))
    }


def revise(store: ReviewStore, dataset: Dataset, drop: Collection[str]) -> Revision:
    """What the reviews of a run make of its dataset; rows are found by their digests.

    Args:
        drop: flags whose rows are left out.

    Raises `DatasetError` where several rows have the digest of a review and none of them is in its place.
    """
    applied, places = _applied(dataset), dict[str, list[int]]()
    for sample in dataset.samples:
        places.setdefault(sample.digest, []).append(sample.index)
    reviews: dict[int, list[ReviewRecord]] = {}
    already, edited = 0, []
    for record in store.records():
        if record.kind not in ("flag", "correct"):
            continue
        place = _place(record, places.get(record.sample or "", []), dataset, store)
        if place is not None:
            reviews.setdefault(place, []).append(record)
        elif record.id in applied:
            already += 1
        else:
            edited.append(record)
    dropped = {place for place, records in reviews.items() if set(drop) & set(review_of(records).flags)}
    return Revision(dataset, reviews, dropped, already, edited)


def write_revision(revision: Revision, out: Path) -> Path:
    """Write the new dataset and its history; returns the path of the history.

    The file is read again before it gets its name: a row that would be read otherwise than it was reviewed, as a
    format cannot hold it, is an error, and nothing is written.
    """
    dataset, history = revision.dataset, history_path(out)
    source = Source(dataset.path, _columns(revision), _has_lines(dataset))

    def write(path: Path) -> None:
        try:
            WRITERS[out.suffix.lower()](path, _rows(revision, dataset.is_cells and not _is_cells(out)), source)
        except RagEvaluatorError:
            raise
        except Exception as error:  # a library's, for a value that its format cannot hold
            raise _unwritable(out, f"{type(error).__name__}: {error}") from error
        _check(path, out, revision)

    digests = _digests(revision)
    write_whole(out, write)
    write_lines(history, [*_old_history(dataset), *_history(revision, digests)])
    return history


def history_path(dataset: Path) -> Path:
    """Where the history of a revised dataset is: `<name>.history.jsonl`."""
    return dataset.with_name(f"{dataset.stem}.history.jsonl")


def next_name(path: Path) -> Path:
    """The name of a revision: `data.reviewed.jsonl`, then `data.reviewed2.jsonl`; a `datasets` folder becomes JSONL."""
    suffix = path.suffix if path.suffix.lower() in WRITERS else ".jsonl"
    found = re.fullmatch(rf"(.*){re.escape(REVISED)}(\d*)", path.stem)
    stem = f"{path.stem}{REVISED}" if found is None else f"{found[1]}{REVISED}{int(found[2] or 1) + 1}"
    return path.with_name(f"{stem}{suffix}")


def _is_cells(path: Path) -> bool:
    return path.suffix.lower() in CELLS


def _rows(revision: Revision, unpacked: bool) -> Iterator[RowToWrite]:
    """The rows of the new dataset; `unpacked`: lists are no longer JSON text in a cell."""
    for sample in revision.dataset.samples:
        if sample.index not in revision.dropped:
            values = _revised(_unpacked(sample, revision.dataset) if unpacked else sample, revision)
            yield RowToWrite(sample.index, values, values is not sample.row)


def _unpacked(sample: Sample, dataset: Dataset) -> Sample:
    held = {name: value for field, value in sample.columns.items() for name in dataset.column_of(field, sample)}
    return replace(sample, row={**sample.row, **held})


def _revised(sample: Sample, revision: Revision) -> Mapping[str, Any]:
    """A row with its corrections, in the user's own columns."""
    found = corrections(sample, review_of(revision.reviews.get(sample.index, ())))
    values = dict(sample.row)
    for field, records in found.items():
        for column in revision.dataset.column_of(field, sample):
            values[column] = _in_shape(records[-1].after, values.get(column))
    return values if found else sample.row


def _in_shape(after: Any, before: Any) -> Any:
    """A text in a list where the column has a list with the answer, as `ground_truths`."""
    return [after] if isinstance(before, list) and isinstance(after, str) else after


def _columns(revision: Revision) -> list[str]:
    """The columns of the new dataset: those of the old one, and those that corrections need."""
    names = dict.fromkeys(row_names(revision.dataset.samples))
    for place in sorted(revision.reviews):
        names |= dict.fromkeys(_revised(revision.dataset.samples[place], revision))
    return list(names)


def _digests(revision: Revision) -> list[str]:
    """The digests that the rows of the new dataset must have, by what was reviewed and not by what was written."""
    digests = []
    for sample in revision.dataset.samples:
        if sample.index not in revision.dropped:
            found = corrections(sample, review_of(revision.reviews.get(sample.index, ())))
            after = {field: records[-1].after for field, records in found.items()}
            columns = {name: value for name, value in {**sample.columns, **after}.items() if _kept(name, value, after)}
            digests.append(replace(sample, columns=columns).digest if after else sample.digest)
    return digests


def _kept(name: str, value: Any, after: Mapping[str, Any]) -> bool:
    return name not in after or value not in EMPTY


def _check(path: Path, out: Path, revision: Revision) -> None:
    try:
        written = [sample.digest for sample in open_dataset(path, revision.dataset.mapping)]
    except DatasetError as error:
        raise _unwritable(out, str(error)) from error
    expected = _digests(revision)
    if written != expected:
        place = next((i for i, pair in enumerate(zip(written, expected, strict=False)) if pair[0] != pair[1]), -1)
        shown = f"row {place} would be read differently" if place >= 0 else "rows would be missing"
        raise _unwritable(out, shown)


def _unwritable(out: Path, why: str) -> ResultsError:
    return ResultsError(f"{out}: {out.suffix} cannot hold the revised dataset: {why}. Give --out FILE.jsonl")


def _place(record: ReviewRecord, places: Sequence[int], dataset: Dataset, store: ReviewStore) -> int | None:
    if len(places) == 1:
        return places[0]
    if not places or record.row in places:
        return record.row if places else None
    raise DatasetError(
        f"{store.path}, line {store.line_of(record.id)}: row {record.row} was reviewed; {len(places)} rows of "
        f"{dataset.name} are the same as it was ({', '.join(map(str, places[:5]))}), at other places. Apply the "
        "reviews to the dataset of the run, or remove the line."
    )


def _applied(dataset: Dataset) -> set[str]:
    return {line["id"] for line in _old_history(dataset)}


def _old_history(dataset: Dataset) -> list[dict[str, Any]]:
    """The history that a dataset has as it is a revision itself. Raises `DatasetError` if it cannot be read."""
    if dataset.path is None or not (path := history_path(dataset.path)).is_file():
        return []
    lines: list[dict[str, Any]] = []
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        try:
            lines.append({"id": None, **json.loads(line)})
        except (ValueError, TypeError) as error:
            raise DatasetError(f"{path}, line {number}: no line of a history ({error}). Remove it.") from error
    return lines


def _history(revision: Revision, digests: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Who changed what and when: `row` is the place in the new dataset, null for a row that was left out."""
    place = 0
    for sample in revision.dataset.samples:
        is_left_out = sample.index in revision.dropped
        for record in revision.reviews.get(sample.index, ()):
            column = revision.dataset.column_of(record.field, sample) if record.kind == "correct" else None
            yield {
                "id": record.id,
                "row": None if is_left_out else place,
                "was": sample.index,
                "at": record.at,
                "by": record.by,
                "kind": record.kind,
                "field": record.field,
                "column": ", ".join(column) if column else None,
                "before": record.before,
                "after": record.after,
                "run": record.run,
                "sample": sample.digest,
                "revised": None if is_left_out else digests[place],
            }
        place += not is_left_out


def _has_lines(dataset: Dataset) -> bool:
    return dataset.path is not None and dataset.path.suffix.lower() in LINES and not dataset.is_log


def _or_nothing(value: Any) -> Any:
    return None if value in EMPTY else value
