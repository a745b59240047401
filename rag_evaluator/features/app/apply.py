"""`apply_reviews`: the dataset as people have corrected it, written as a new file with its history beside it."""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from rag_evaluator.dataset import (
    EMPTY,
    ColumnNames,
    InputRecord,
    Sample,
    Samples,
    accepted_names,
    is_cells,
    open_dataset,
)
from rag_evaluator.errors import ConfigError, DatasetError, ResultsError, did_you_mean
from rag_evaluator.files import JsonDict, check_replaceable, json_line, write_lines, write_whole
from rag_evaluator.resources import command
from rag_evaluator.results import ADDED, Run, row_name

from .store import FLAGS, NAME, ReviewRecord, ReviewStore, corrections_of, flags_of

# Any in this module: JSON.

REVISED = ".reviewed"
LINES = (".jsonl", ".ndjson")
MARK = b"\xef\xbb\xbf"  # of UTF-8, at the beginning of a file


@dataclass(frozen=True)
class Dataset:
    """The dataset that the reviews are about.

    Attributes:
        name: for messages.
        path: None where its rows came from Python; they are those that the run has kept.
        samples: its rows.
        mapping: the user's names of columns, `columns` of the configuration.
        responses: of the configuration.
    """

    name: str
    path: Path | None
    samples: Samples
    mapping: Mapping[str, str]
    responses: str | None = None

    @cached_property
    def names(self) -> list[str]:
        """Every column of any row."""
        return list(self.samples.names)

    @cached_property
    def is_log(self) -> bool:
        return ColumnNames(self.mapping).is_log(self.names)

    @cached_property
    def in_cells(self) -> bool:
        return self.path is not None and is_cells(self.path)

    def column_of(self, canonical: str, sample: Sample) -> list[str]:
        """Return the user's columns that hold a canonical one in a row; where there is none yet, the one to write."""
        mapping = {**self.mapping, "reference": "retrieved_contexts"} if self.is_log else self.mapping
        filled = ColumnNames(mapping).names_of(canonical, InputRecord(sample.where, sample.row, self.in_cells))
        mapped = [name for name, target in mapping.items() if target == canonical]
        free = [name for name in accepted_names(canonical) if name not in mapping]
        return filled or (mapped or [name for name in free if name in self.names] or free)[:1]

    def lines(self) -> Mapping[int, bytes]:
        """Return the bytes of each row of a file with a row on each line; of others nothing."""
        if self.path is None or self.path.suffix.lower() not in LINES or self.is_log:
            return {}
        lines = self.path.read_bytes().removeprefix(MARK).split(b"\n")
        return dict(enumerate(line + b"\n" for line in lines if line.strip()))


@dataclass(frozen=True)
class Change:
    """One change of the new dataset, for people to read.

    Attributes:
        place: of the row in the dataset that was reviewed, from 0.
        name: what sentences call the row, see `row_name`.
        field: the canonical column, or `row` for one that is left out.
        before, after: None: nothing.
        by: who made it last.
    """

    place: int
    name: str
    field: str
    before: Any
    after: Any
    by: str


@dataclass(frozen=True)
class Applied:
    """What `apply_reviews` made.

    Attributes:
        path: of the new dataset.
        history: who changed what, when, before and after.
        rows: of the new dataset.
        changes: in the order of rows.
        already: reviews that the dataset has from an earlier revision.
    """

    path: Path
    history: Path
    rows: int
    changes: list[Change]
    already: int

    def to_json(self) -> JsonDict:
        """Return JSON; places of rows count from 0, as in the history."""
        return {**asdict(self), "path": str(self.path), "history": str(self.history)}


def apply_reviews(
    results: str | Path,
    out: str | Path | None = None,
    *,
    drop: Collection[str] = (),
    dataset: str | Path | None = None,
    force: bool = False,
) -> Applied:
    """Write the dataset of a run as people have corrected it, as a new file, with its history beside it.

    Columns keep the user's own names. Rows are found by their digests, so that it does not matter where they are now.

    Args:
        results: results folder with `reviews.jsonl`.
        out: the new file, JSONL. None: `<dataset>.reviewed.jsonl` beside the dataset.
        drop: flags whose rows are left out: `too_easy`, `ambiguous`, `not_answerable`, `duplicate`.
        dataset: where the dataset is now; None: where the run found it.
        force: replace a file that is there. The dataset that was reviewed is never replaced.

    Raises `RagEvaluatorError`; then nothing is written.
    """
    folder = Path(results).expanduser()
    for flag in drop:
        if flag not in FLAGS:
            raise ConfigError(f"--drop {flag}: expected one of {', '.join(FLAGS)}.{did_you_mean(flag, FLAGS)}")
    if not (folder / NAME).is_file():
        view = command("view", folder, "--review")
        raise ResultsError(f"{folder / NAME}: not there: nobody has reviewed this run. To begin: {view}")
    reviewed = _dataset(Run(folder), dataset)
    store = ReviewStore(folder)
    path = next_name(reviewed.path or Path(f"{folder.name}.jsonl")) if out is None else Path(out).expanduser()
    if path.suffix.lower() not in LINES:
        raise ConfigError(f"--out {path}: the new dataset is written as {' or '.join(LINES)}.")
    rows, already = revise(store, reviewed, drop)
    changes = [change for row in rows for change in row.changes()]
    history = history_path(path)
    if not changes:
        why = f"its {already} reviews are in this dataset already" if already else "no correction changes the dataset"
        flags = "" if drop or already else " Rows with a flag are kept unless you name it: --drop too_easy"
        raise ResultsError(f"{store.path}: {why}.{flags}")
    for file in (path, history):
        check_replaceable(file, None, force, [reviewed.path, folder])
    write_revision(rows, reviewed, path)
    return Applied(path, history, sum(not row.is_dropped for row in rows), changes, already)


def _dataset(run: Run, user_data: str | Path | None) -> Dataset:
    """The dataset that a run has judged; where its rows came from Python, as the run has kept them."""
    mapping = run.config.get("columns") or {}
    responses = run.config.get("responses")
    configured = user_data or run.config.get("dataset")
    if configured is None:
        added = {*run.metrics, *ADDED}
        rows = [{name: value for name, value in row.items() if name not in added} for row in run.rows()]
        return Dataset(
            f"{run.folder / 'scores.jsonl'}", None, open_dataset(rows, mapping, responses), mapping, responses
        )
    path = Path(configured).expanduser()
    if not path.exists():
        raise DatasetError(f"{path}: the dataset of this run is not there any more. Say where it is: --dataset FILE")
    return Dataset(path.name, path, open_dataset(path, mapping, responses), mapping, responses)


@dataclass(frozen=True)
class RevisedRow:
    """A row with what people said of it.

    Attributes:
        sample: the row as it was reviewed.
        records: what people said, in order.
        is_dropped: whether it is left out.
    """

    sample: Sample
    records: Sequence[ReviewRecord]
    is_dropped: bool

    @cached_property
    def corrections(self) -> dict[str, ReviewRecord]:
        """The last correction of each column that is not as it was."""
        was = self.sample.columns
        return {
            column: record
            for column, record in corrections_of(self.records).items()
            if _or_nothing(record.after) != _or_nothing(was.get(column))
        }

    @cached_property
    def digest(self) -> str:
        """The digest that the new row must have, by what was reviewed and not by what was written."""
        corrected = {column: record.after for column, record in self.corrections.items()}
        columns = {name: value for name, value in self.sample.columns.items() if name not in corrected}
        columns |= {name: value for name, value in corrected.items() if value not in EMPTY}
        return replace(self.sample, columns=columns).digest if corrected else self.sample.digest

    def changes(self) -> Iterator[Change]:
        """What is different in the new dataset, for people to read."""
        place = self.sample.index
        was = self.sample.columns
        name = row_name(place, self.sample.row)
        if self.is_dropped:
            flag = next(iter(flags_of(self.records).values()))
            yield Change(place, name, "row", was.get("user_input"), None, flag.by)
            return
        for column, record in self.corrections.items():
            yield Change(place, name, column, was.get(column), record.after, record.by)

    def values(self, dataset: Dataset) -> JsonDict:
        """The row with its corrections, in the user's own columns."""
        values = dict(self.sample.row)
        if dataset.in_cells:  # lists are no longer JSON text in a cell
            held = dict(self.sample.columns)
            if self.sample.response:  # it stays as it was written, with what is around what is said
                held.pop("response", None)
            values |= {name: value for column, value in held.items() for name in dataset.column_of(column, self.sample)}
        for column, record in self.corrections.items():
            for name in dataset.column_of(column, self.sample):
                is_listed = isinstance(values.get(name), list) and isinstance(record.after, str)  # `ground_truths`
                values[name] = [record.after] if is_listed else record.after
        return values


def _or_nothing(value: Any) -> Any:
    return None if value in EMPTY else value


def revise(store: ReviewStore, dataset: Dataset, drop: Collection[str]) -> tuple[list[RevisedRow], int]:
    """Return every row with what was said of it, and how many reviews an earlier revision has applied.

    Args:
        drop: flags whose rows are left out.

    Raises `DatasetError` for a review of a row that is not in the dataset as it was, or several times and never in its
    place.
    """
    applied = {line["id"] for line in old_history(dataset)}
    places = dict[str, list[int]]()
    for sample in dataset.samples:
        places.setdefault(sample.digest, []).append(sample.index)
    reviews = dict[int, list[ReviewRecord]]()
    already = 0
    for record in store.records():
        if record.kind not in ("flag", "correct"):
            continue
        equal = places.get(record.sample or "", [])
        place = next((place for place in equal if place == record.row or len(equal) == 1), None)
        if place is not None:
            reviews.setdefault(place, []).append(record)
        elif not equal and record.id in applied:
            already += 1
        else:
            raise _not_there(store, record, dataset, equal)
    rows = [
        RevisedRow(sample, said := reviews.get(sample.index, []), bool(set(drop) & set(flags_of(said))))
        for sample in dataset.samples
    ]
    return rows, already


def _not_there(store: ReviewStore, record: ReviewRecord, dataset: Dataset, equal: Sequence[int]) -> DatasetError:
    why = f"is there {len(equal)} times, at other places" if equal else "has been edited or removed since"
    return DatasetError(
        f"{store.path}: {record.by} reviewed row {record.row} (from 0) of the run ({record.at}), which in "
        f"{dataset.name} {why}. Give the dataset that was judged with --dataset FILE, or remove the line of this "
        f"review: its id is {record.id}."
    )


def history_path(dataset: Path) -> Path:
    """Where the history of a revised dataset is: `<name>.history.jsonl`."""
    return dataset.with_name(f"{dataset.stem}.history.jsonl")


def old_history(dataset: Dataset) -> list[JsonDict]:
    """The history that a dataset has as it is a revision itself. Raises `DatasetError` if it cannot be read."""
    if dataset.path is None or not (path := history_path(dataset.path)).is_file():
        return []
    try:
        return [{"id": None, **json.loads(line)} for line in path.read_bytes().splitlines()]
    except (ValueError, TypeError, RecursionError) as error:
        raise DatasetError(f"{path}: cannot be read: {error}. Correct its line, or remove the file.") from error


def next_name(path: Path) -> Path:
    """Return the name of a revision: `data.reviewed.jsonl`, then `data.reviewed2.jsonl`."""
    match = re.fullmatch(rf"(.*){re.escape(REVISED)}(\d*)", path.stem)
    stem = f"{path.stem}{REVISED}" if match is None else f"{match[1]}{REVISED}{int(match[2] or 1) + 1}"
    return path.with_name(f"{stem}.jsonl")


def write_revision(rows: Sequence[RevisedRow], dataset: Dataset, out: Path) -> None:
    """Write the new dataset and its history; rows that nobody has corrected stay the same bytes, if they were JSONL.

    The file is read again before it gets its name: a row that would be read otherwise than it was reviewed is an
    error, and nothing is written.
    """
    kept = [row for row in rows if not row.is_dropped]
    old = dataset.lines()

    def write(path: Path) -> None:
        with path.open("wb") as file:
            for row in kept:
                line = None if row.corrections else old.get(row.sample.index)
                file.write(line or json_line(row.values(dataset)))
        written = open_dataset(path, dataset.mapping, dataset.responses)
        if [sample.digest for sample in written] != [row.digest for row in kept]:
            raise DatasetError(f"{out}: JSON lines cannot hold this dataset as it was reviewed. Correct it by hand.")
        # before the dataset gets its name: whenever this is killed, no dataset lacks its history
        write_lines(history_path(out), [*old_history(dataset), *_history(rows, dataset)])

    write_whole(out, write)


def _history(rows: Sequence[RevisedRow], dataset: Dataset) -> Iterator[JsonDict]:
    """Who changed what and when: `row` is the place in the new dataset, null for a row that was left out."""
    place = 0
    for row in rows:
        for record in row.records:
            column = dataset.column_of(record.field, row.sample) if record.kind == "correct" else []
            yield {
                "id": record.id,
                "row": None if row.is_dropped else place,
                "was": row.sample.index,
                "at": record.at,
                "by": record.by,
                "kind": record.kind,
                "field": record.field,
                "column": ", ".join(column) or None,
                "before": record.before,
                "after": record.after,
                "run": record.run,
                "sample": row.sample.digest,
                "revised": None if row.is_dropped else row.digest,
            }
        place += not row.is_dropped
