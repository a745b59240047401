"""`apply_reviews`: the revised dataset that people's flags and corrections of a run make."""

from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rag_evaluator.dataset import open_dataset
from rag_evaluator.errors import ConfigError, DatasetError, ResultsError, did_you_mean
from rag_evaluator.features.app.apply import Change, Dataset, history_path, read_dataset, revise
from rag_evaluator.features.app.record import FLAGS
from rag_evaluator.features.app.revision import next_name, write_revision
from rag_evaluator.features.app.store import NAME, ReviewStore
from rag_evaluator.features.app.written_rows import WRITERS
from rag_evaluator.files.atomic import check_replaceable
from rag_evaluator.resources import command
from rag_evaluator.results.rows import DROPPED
from rag_evaluator.results.run import Run


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
