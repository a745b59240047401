"""`apply_reviews`: the dataset as people have corrected it, written as a new file with its history beside it."""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from rag_evaluator.dataset import open_dataset, row_names
from rag_evaluator.dataset.columns import ColumnNames, accepted_names
from rag_evaluator.dataset.json_values import EMPTY
from rag_evaluator.dataset.readers.json_files import InputRecord
from rag_evaluator.dataset.readers.spreadsheets import is_cells
from rag_evaluator.dataset.sample import Sample
from rag_evaluator.errors import ConfigError, DatasetError, ResultsError, did_you_mean
from rag_evaluator.features.app.store import FLAGS, NAME, ReviewRecord, ReviewStore, review_of
from rag_evaluator.files.atomic import check_replaceable, write_lines, write_whole
from rag_evaluator.files.jsonl import json_line
from rag_evaluator.resources import command
from rag_evaluator.results.rows import DROPPED
from rag_evaluator.results.run import Run

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
    """

    name: str
    path: Path | None
    samples: Sequence[Sample]
    mapping: Mapping[str, str]

    @cached_property
    def names(self) -> list[str]:
        """Every column of any row."""
        return list(row_names(self.samples))

    @cached_property
    def is_log(self) -> bool:
        return ColumnNames(self.mapping).is_log(self.names)

    def column_of(self, canonical: str, sample: Sample) -> list[str]:
        """Return the user's columns that hold a canonical one in a row; where there is none yet, the one to write."""
        mapping = {**self.mapping, "reference": "retrieved_contexts"} if self.is_log else self.mapping
        in_cells = self.path is not None and is_cells(self.path)
        filled = ColumnNames(mapping).names_of(canonical, InputRecord(sample.where, sample.row, in_cells))
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
class Applied:
    """What `apply_reviews` made.

    Attributes:
        path: of the new dataset; of a dry run the one that it would have.
        history: who changed what, when, before and after.
        rows: of the new dataset.
        changes: in the order of rows.
        already: reviews that the dataset has from an earlier revision.
        skipped: reviews of rows that were edited since.
    """

    path: Path
    history: Path
    rows: int
    changes: list[Change]
    already: int
    skipped: int

    def to_json(self) -> dict[str, Any]:
        """JSON; places of rows count from 0, as in the history."""
        return {**asdict(self), "path": str(self.path), "history": str(self.history)}


def apply_reviews(
    results: str | Path,
    out: str | Path | None = None,
    *,
    drop: Collection[str] = (),
    dataset: str | Path | None = None,
    skip_edited: bool = False,
    force: bool = False,
    dry_run: bool = False,
) -> Applied:
    """Write the dataset of a run as people have corrected it, as a new file, with its history beside it.

    Columns keep the user's own names. Rows are found by their digests, so that it does not matter where they are now.

    Args:
        results: results folder with `reviews.jsonl`.
        out: the new file, JSONL. None: `<dataset>.reviewed.jsonl` beside the dataset.
        drop: flags whose rows are left out: `too_easy`, `ambiguous`, `not_answerable`, `duplicate`.
        dataset: where the dataset is now; None: where the run found it.
        skip_edited: leave out reviews of rows that somebody has edited since; else they are an error.
        force: replace a file that is there. The dataset that was reviewed is never replaced.
        dry_run: say what would change, and write nothing.

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
    revision = revise(store, reviewed, drop)
    if revision.edited and not skip_edited:
        raise _edited(store, revision.edited, reviewed)
    path = next_name(reviewed.path or Path(f"{folder.name}.jsonl")) if out is None else Path(out).expanduser()
    if path.suffix.lower() not in LINES:
        raise ConfigError(f"--out {path}: the new dataset is written as {' or '.join(LINES)}.")
    changes, history = list(revision.changes()), history_path(path)
    if not changes:
        raise ResultsError(_nothing(store, revision.already, drop))
    if not dry_run:
        for file in (path, history):
            check_replaceable(file, None, force, [reviewed.path, folder])
        write_revision(revision, path)
    rows = len(reviewed.samples) - len(revision.dropped)
    return Applied(path, history, rows, changes, revision.already, len(revision.edited))


def _dataset(run: Run, user_data: str | Path | None) -> Dataset:
    """The dataset that a run has judged; where its rows came from Python, as the run has kept them."""
    mapping, configured = run.config.get("columns") or {}, user_data or run.config.get("dataset")
    if configured is None:
        added = {*run.metrics, DROPPED}
        rows = [{name: value for name, value in row.items() if name not in added} for row in run.rows()]
        return Dataset(f"{run.folder / 'scores.jsonl'}", None, open_dataset(rows, mapping), mapping)
    path = Path(configured).expanduser()
    if not path.exists():
        raise DatasetError(f"{path}: the dataset of this run is not there any more. Say where it is: --dataset FILE")
    return Dataset(path.name, path, open_dataset(path, mapping), mapping)


def _edited(store: ReviewStore, records: Sequence[ReviewRecord], dataset: Dataset) -> DatasetError:
    first = records[0]
    return DatasetError(
        f"{store.path}, line {store.line_of(first.id)}: {first.by} reviewed row {first.row}, which is not in "
        f"{dataset.name} as it was: it has been edited or removed since ({len(records)} reviews of such rows). Give "
        "the dataset that was judged with --dataset FILE, or leave these reviews out with --skip-edited."
    )


def _nothing(store: ReviewStore, already: int, drop: Collection[str]) -> str:
    if already:
        return f"{store.path}: its {already} reviews are in this dataset already."
    flags = "" if drop else " Rows with a flag are kept unless you name it: --drop too_easy"
    return f"{store.path}: no correction changes the dataset.{flags}"


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

    @property
    def kept(self) -> list[Sample]:
        """The rows that are not left out, as they were."""
        return [sample for sample in self.dataset.samples if sample.index not in self.dropped]

    def changes(self) -> Iterator[Change]:
        """Row by row, those that are left out at their place."""
        for place in sorted(self.reviews):
            sample = self.dataset.samples[place]
            if place in self.dropped:
                flag = next(iter(review_of(self.reviews[place]).flags.values()))
                yield Change(place, "row", sample.columns.get("user_input"), None, flag.by)
                continue
            for field, record in self.corrections(sample).items():
                yield Change(place, field, sample.columns.get(field), record.after, record.by)

    def corrections(self, sample: Sample) -> dict[str, ReviewRecord]:
        """The last correction of each column of a row that is not as it was."""
        fields = review_of(self.reviews.get(sample.index, ())).fields
        return {
            field: records[-1]
            for field, records in fields.items()
            if _or_nothing(records[-1].after) != _or_nothing(sample.columns.get(field))
        }

    def revised(self, sample: Sample) -> Mapping[str, Any]:
        """A row with its corrections, in the user's own columns."""
        corrections = self.corrections(sample)
        values = dict(sample.row)
        if self.dataset.path is not None and is_cells(self.dataset.path):  # lists are no longer JSON text in a cell
            held = sample.columns.items()
            values |= {name: value for field, value in held for name in self.dataset.column_of(field, sample)}
        for field, record in corrections.items():
            for column in self.dataset.column_of(field, sample):
                is_listed = isinstance(values.get(column), list) and isinstance(record.after, str)  # `ground_truths`
                values[column] = [record.after] if is_listed else record.after
        return values

    def digests(self) -> list[str]:
        """Those that the rows of the new dataset must have, by what was reviewed and not by what was written."""
        return [self._digest(sample) for sample in self.kept]

    def _digest(self, sample: Sample) -> str:
        columns = dict(sample.columns)
        corrections = self.corrections(sample)
        for field, record in corrections.items():
            columns.pop(field, None)
            if record.after not in EMPTY:
                columns[field] = record.after
        return replace(sample, columns=columns).digest if corrections else sample.digest


def _or_nothing(value: Any) -> Any:
    return None if value in EMPTY else value


def revise(store: ReviewStore, dataset: Dataset, drop: Collection[str]) -> Revision:
    """What the reviews of a run make of its dataset; rows are found by their digests.

    Args:
        drop: flags whose rows are left out.

    Raises `DatasetError` where several rows have the digest of a review and none of them is in its place.
    """
    applied, places = {line["id"] for line in old_history(dataset)}, dict[str, list[int]]()
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


def history_path(dataset: Path) -> Path:
    """Where the history of a revised dataset is: `<name>.history.jsonl`."""
    return dataset.with_name(f"{dataset.stem}.history.jsonl")


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


def next_name(path: Path) -> Path:
    """Return the name of a revision: `data.reviewed.jsonl`, then `data.reviewed2.jsonl`."""
    match = re.fullmatch(rf"(.*){re.escape(REVISED)}(\d*)", path.stem)
    stem = f"{path.stem}{REVISED}" if match is None else f"{match[1]}{REVISED}{int(match[2] or 1) + 1}"
    return path.with_name(f"{stem}.jsonl")


def write_revision(revision: Revision, out: Path) -> None:
    """Write the new dataset and its history; rows that nobody has corrected stay the same bytes, if they were JSONL.

    The file is read again before it gets its name: a row that would be read otherwise than it was reviewed is an
    error, and nothing is written.
    """
    dataset, digests = revision.dataset, revision.digests()

    def write(path: Path) -> None:
        old = dataset.lines()
        with path.open("wb") as file:
            for sample in revision.kept:
                values = revision.revised(sample)
                file.write(
                    json_line(values) if revision.corrections(sample) else old.get(sample.index, json_line(values))
                )
        _check(path, out, dataset, digests)
        # before the dataset gets its name: whenever this is killed, no dataset lacks its history
        write_lines(history_path(out), [*old_history(dataset), *_history(revision, digests)])

    write_whole(out, write)


def _check(path: Path, out: Path, dataset: Dataset, expected: Sequence[str]) -> None:
    try:
        written = [sample.digest for sample in open_dataset(path, dataset.mapping)]
    except DatasetError as error:
        raise _unwritable(out, str(error)) from error
    if written != expected:
        place = next((i for i, pair in enumerate(zip(written, expected, strict=False)) if pair[0] != pair[1]), -1)
        shown = f"row {place} would be read differently" if place >= 0 else "rows would be missing"
        raise _unwritable(out, shown)


def _unwritable(out: Path, why: str) -> ResultsError:
    return ResultsError(f"{out}: JSON lines cannot hold the revised dataset: {why}. Correct its rows by hand.")


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
