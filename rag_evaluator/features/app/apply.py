"""What the reviews of a run make of its dataset: `revise` finds the rows, `Revision` says what changes."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_evaluator.dataset import open_dataset, row_names
from rag_evaluator.dataset.columns import ColumnNames, accepted_names
from rag_evaluator.dataset.json_values import EMPTY
from rag_evaluator.dataset.readers.json_files import InputRecord
from rag_evaluator.dataset.readers.spreadsheets import is_cells
from rag_evaluator.dataset.sample import Sample
from rag_evaluator.errors import DatasetError
from rag_evaluator.features.app.record import ReviewRecord
from rag_evaluator.features.app.store import ReviewStore, RowReview, review_of

# Any in this module: JSON.


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
        return self.path is not None and is_cells(self.path)

    @property
    def is_log(self) -> bool:
        return ColumnNames(self.mapping).is_log(row_names(self.samples))

    def column_of(self, canonical: str, sample: Sample) -> list[str]:
        """The user's columns that hold a canonical one in a row; where there is none yet, the one to write."""
        mapping = {**self.mapping, "reference": "retrieved_contexts"} if self.is_log else self.mapping
        filled = ColumnNames(mapping).names_of(canonical, InputRecord(sample.where, sample.row, self.is_cells))
        mapped = [name for name, target in mapping.items() if target == canonical]
        free = [name for name in accepted_names(canonical) if name not in mapping]
        present = [name for name in free if name in row_names(self.samples)]
        return filled or (mapped or present or free)[:1]


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


def history_path(dataset: Path) -> Path:
    """Where the history of a revised dataset is: `<name>.history.jsonl`."""
    return dataset.with_name(f"{dataset.stem}.history.jsonl")


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
    return {line["id"] for line in old_history(dataset)}


def old_history(dataset: Dataset) -> list[dict[str, Any]]:
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


def _or_nothing(value: Any) -> Any:
    return None if value in EMPTY else value
