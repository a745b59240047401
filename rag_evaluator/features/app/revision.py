"""`write_revision`: the revised dataset as a file, read again before it gets its name, with its history beside it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rag_evaluator.dataset import open_dataset, row_names
from rag_evaluator.dataset.json_values import EMPTY
from rag_evaluator.dataset.readers.spreadsheets import is_cells
from rag_evaluator.dataset.sample import Sample
from rag_evaluator.errors import DatasetError, RagEvaluatorError, ResultsError
from rag_evaluator.features.app.apply import Dataset, Revision, corrections, history_path, old_history
from rag_evaluator.features.app.store import review_of
from rag_evaluator.features.app.written_rows import LINES, WRITERS, OldDataset, RowToWrite
from rag_evaluator.files.atomic import write_lines, write_whole

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
