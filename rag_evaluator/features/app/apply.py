"""What the reviews of a run make of its dataset: `revise` finds the rows, `Revision` says what changes."""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rag_evaluator.dataset import open_dataset, row_names
from rag_evaluator.dataset.columns import ColumnNames, accepted_names
from rag_evaluator.dataset.json_values import EMPTY
from rag_evaluator.dataset.readers.json_files import InputRecord
from rag_evaluator.dataset.readers.spreadsheets import is_cells
from rag_evaluator.dataset.sample import Sample
from rag_evaluator.errors import ConfigError, DatasetError, RagEvaluatorError, ResultsError, did_you_mean
from rag_evaluator.features.app.formats import LINES, WRITERS, OldDataset, RowToWrite
from rag_evaluator.features.app.store import FLAGS, NAME, ReviewRecord, ReviewStore, RowReview, review_of
from rag_evaluator.files.atomic import check_replaceable, write_lines, write_whole
from rag_evaluator.resources import command
from rag_evaluator.results.rows import DROPPED
from rag_evaluator.results.run import Run

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


# Any in this module: JSON.

REVISED = ".reviewed"


def write_revision(revision: Revision, out: Path) -> Path:
    """Write the new dataset and its history; returns the path of the history.

    The file is read again before it gets its name: a row that would be read otherwise than it was reviewed, as a
    format cannot hold it, is an error, and nothing is written.
    """
    dataset, history = revision.dataset, history_path(out)
    source = OldDataset(dataset.path, _columns(revision), _has_lines(dataset))

    def write(path: Path) -> None:
        try:
            WRITERS[out.suffix.lower()](path, _rows(revision, dataset.is_cells and not is_cells(out)), source)
        except RagEvaluatorError:
            raise
        except Exception as error:  # a library's, for a value that its format cannot hold
            raise _unwritable(out, f"{type(error).__name__}: {error}") from error
        _check(path, out, revision)
        # before the dataset gets its name: whenever this is killed, no dataset lacks its history
        write_lines(history, [*old_history(dataset), *_history(revision, digests)])

    digests = _digests(revision)
    write_whole(out, write)
    return history


def next_name(path: Path) -> Path:
    """The name of a revision: `data.reviewed.jsonl`, then `data.reviewed2.jsonl`; a `datasets` folder becomes JSONL."""
    suffix = path.suffix if path.suffix.lower() in WRITERS else ".jsonl"
    match = re.fullmatch(rf"(.*){re.escape(REVISED)}(\d*)", path.stem)
    stem = f"{path.stem}{REVISED}" if match is None else f"{match[1]}{REVISED}{int(match[2] or 1) + 1}"
    return path.with_name(f"{stem}{suffix}")


def _rows(revision: Revision, unpacked: bool) -> Iterator[RowToWrite]:
    """The rows of the new dataset; `unpacked`: lists are no longer JSON text in a cell."""
    for sample in revision.dataset.samples:
        if sample.index not in revision.dropped:
            values = _revised(_unpacked(sample, revision.dataset) if unpacked else sample, revision)
            changed = [name for name in values if values[name] is not sample.row.get(name)]
            yield RowToWrite(sample.index, values, changed)


def _unpacked(sample: Sample, dataset: Dataset) -> Sample:
    held = {name: value for field, value in sample.columns.items() for name in dataset.column_of(field, sample)}
    return replace(sample, row={**sample.row, **held})


def _revised(sample: Sample, revision: Revision) -> Mapping[str, Any]:
    """A row with its corrections, in the user's own columns."""
    corrected = corrections(sample, review_of(revision.reviews.get(sample.index, ())))
    values = dict(sample.row)
    for field, records in corrected.items():
        for column in revision.dataset.column_of(field, sample):
            values[column] = _in_shape(records[-1].after, values.get(column))
    return values if corrected else sample.row


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
            corrected = corrections(sample, review_of(revision.reviews.get(sample.index, ())))
            after = {field: records[-1].after for field, records in corrected.items()}
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
        out: the new file; its suffix chooses the format. None: `<dataset>.reviewed<suffix>` beside the dataset.
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
    run = Run(folder)
    reviewed = _dataset(run, dataset)
    store = ReviewStore(folder)
    revision = revise(store, reviewed, drop)
    if revision.edited and not skip_edited:
        raise _edited(store, revision.edited, reviewed)
    path = _out(folder, reviewed, out)
    changes = list(revision.changes())
    if not changes:
        raise ResultsError(_nothing(store, revision.already, drop))
    if not dry_run:
        _refuse_to_replace(path, folder, reviewed, force)
        write_revision(revision, path)
    return Applied(
        path,
        history_path(path),
        len(reviewed.samples) - len(revision.dropped),
        changes,
        revision.already,
        len(revision.edited),
    )


def _dataset(run: Run, user_data: str | Path | None) -> Dataset:
    """The dataset that a run has judged; where its rows came from Python, as the run has kept them."""
    mapping, configured = run.config.get("columns") or {}, user_data or run.config.get("dataset")
    if configured is None:
        return Dataset(f"{run.folder / 'scores.jsonl'}", None, open_dataset(list(_kept_rows(run)), mapping), mapping)
    path = Path(configured).expanduser()
    if not path.exists():
        raise DatasetError(f"{path}: the dataset of this run is not there any more. Say where it is: --dataset FILE")
    return read_dataset(path, mapping)


def _kept_rows(run: Run) -> Iterator[dict[str, Any]]:
    """The rows as they were given: without scores. Any: JSON."""
    added = {*run.metrics, DROPPED}
    for row in run.rows():
        yield {name: value for name, value in row.items() if name not in added}


def _out(folder: Path, dataset: Dataset, out: str | Path | None) -> Path:
    path = next_name(dataset.path or Path(f"{folder.name}.jsonl")) if out is None else Path(out).expanduser()
    if path.suffix.lower() not in WRITERS:
        raise ConfigError(f"--out {path}: expected one of {', '.join(WRITERS)}.")
    return path


def _refuse_to_replace(path: Path, folder: Path, dataset: Dataset, force: bool) -> None:
    for file in (path, history_path(path)):
        check_replaceable(file, None, force, [dataset.path, folder])


def _edited(store: ReviewStore, records: Any, dataset: Dataset) -> DatasetError:
    """Any: records of reviews."""
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
