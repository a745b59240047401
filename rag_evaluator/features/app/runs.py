"""The list of runs: what their files and journals say of each, and how far one is while it is made."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeGuard

from rag_evaluator.errors import RagEvaluatorError, ResultsError
from rag_evaluator.features.app.state import REPORT, AppState, NotThere
from rag_evaluator.files.atomic import short_digest
from rag_evaluator.files.progress import duration
from rag_evaluator.results.manifest import config_of, judge_of
from rag_evaluator.results.overview import by_stage
from rag_evaluator.results.run import Run
from rag_evaluator.run.journal import journals_in
from rag_evaluator.run.status import Status, WorkerStatus, is_complete, read_status


@dataclass(frozen=True)
class RunPart:
    """One stage of a run."""

    status: Status

    @property
    def title(self) -> str:
        """`evaluate`, or `sort: order` of a task with other stages."""
        return self.status.task if self.status.task == "evaluate" else f"{self.status.task}: {self.status.stage}"

    @property
    def share(self) -> float:
        done, cells = self.status.cells
        return done / cells if cells else 1.0

    def seen(self, worker: WorkerStatus) -> str:
        """When a worker last wrote something, in the time of this machine."""
        return time.strftime("%m-%d %H:%M:%S", time.localtime(worker.seen))

    @property
    def left(self) -> str:
        """The time left; empty where nobody works."""
        seconds = self.status.seconds_left
        return "" if seconds is None else duration(seconds)

    @property
    def state(self) -> str:
        """`finished`, `running`, or `stopped`: nobody works on it, as far as can be known."""
        if self.status.merged:
            return "finished"
        working = any(worker.works(self.status.at) for worker in self.status.workers)
        return "running" if working else "stopped"

    def to_json(self) -> Mapping[str, Any]:
        status = self.status
        return {
            "title": self.title,
            "task": status.task,
            "stage": status.stage,
            "noun": status.noun,
            "done": status.cells[0],
            "all": status.cells[1],
            "state": self.state,
            "rate": status.rate,
            "seconds_left": status.seconds_left,
            "workers": [
                {
                    "worker": worker.note.worker,
                    "made": worker.made,
                    "rate": worker.rate,
                    "state": worker.state(status.at),
                }
                for worker in status.workers
            ],
        }


def parts_of(folder: Path) -> Sequence[RunPart]:
    """All stages that have begun in a results folder; empty for a run without journal.

    Raises `ResultsError` for a journal that cannot be read.
    """
    return [RunPart(status) for status in (read_status(folder) if _began(folder) else ())]


def is_whole(folder: Path) -> bool:
    """Whether nothing is left to be made or written, without counting what is there."""
    return not _began(folder) or all(map(is_complete, journals_in(folder)))


def state_of(parts: Sequence[RunPart]) -> str:
    """The state of a run with some parts: whether anything is in the making, else whether anything is left."""
    states = {part.state for part in parts}
    return next((state for state in ("running", "stopped") if state in states), "finished")


def about_of(folder: Path) -> Mapping[str, Any]:
    """What the manifest will say of a run that is not finished; empty where nobody knows. Any: JSON."""
    return journals_in(folder)[0].about if _began(folder) else {}


def _began(folder: Path) -> bool:
    try:
        return bool(journals_in(folder))
    except ResultsError:
        if any((folder / "journal").glob("**/manifest.json")):  # it is there, and damaged
            raise
        return False


Figures = Mapping[str, Any]  # those of a metric, as in `summary.json`


@dataclass(frozen=True)
class RunEntry:
    """A run in the list.

    Attributes:
        path: below the root; its address.
        state: `finished`, `running`, `stopped` or `damaged`.
        metrics: those of its rows; empty while there are no rows, or where they cannot be shown.
        when: when its files were written, or its journal; seconds since the epoch.
        figures: of each metric; empty while there are none.
        ranges: of each metric, as far as they are known.
        parts: how far it is, if it is not finished.
        report: whether its `report.html` is there.
        error: what cannot be read; empty where nothing is wrong. With `figures` it is the journal only.
    """

    path: str
    state: str
    when: float = 0.0
    name: str = ""
    judge: str = ""
    dataset: str = ""
    language: str = ""
    rows: int | None = None
    metrics: Sequence[str] = ()
    figures: Mapping[str, Figures] = field(default_factory=dict)
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    parts: Sequence[RunPart] = ()
    report: bool = False
    error: str = ""

    @property
    def date(self) -> str:
        """When it was written, in the time of this machine; empty where nobody knows."""
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(self.when)) if self.when else ""


def entries(state: AppState) -> list[RunEntry]:
    """All runs, the newest first."""
    runs = []
    for path in state.folders.paths():
        try:
            runs.append(entry_of(state, path))
        except NotThere:  # removed meanwhile, or a part of it is a link that leads elsewhere
            continue
    return sorted(runs, key=lambda entry: (-entry.when, entry.path))


def entry_of(state: AppState, path: str) -> RunEntry:
    """What the list says of a run. Raises `NotThere`."""
    run = state.run(path)
    when, name = _changed(run.folder), run.folder.name
    try:
        parts, unread = _parts(run.folder)
        if not (run.folder / "scores.jsonl").is_file():
            if unread is not None:
                raise unread
            return RunEntry(path, state_of(parts), when, name, **_about(about_of(run.folder)), parts=parts)
        about, metrics = _about(run.manifest), run.metrics
        figures, damage = _figures(run)
        return RunEntry(
            path,
            "damaged" if damage else state_of(parts),
            when,
            run.title,
            **about,
            metrics=metrics,
            figures=figures,
            ranges=_ranges(run.manifest),
            parts=parts,
            report=(run.folder / REPORT).is_file(),
            error=damage or str(unread or ""),
        )
    except RagEvaluatorError as error:
        return RunEntry(path, "damaged", when, name, error=str(error))


def _figures(run: Run) -> tuple[Mapping[str, Figures], str]:
    """The figures of a run; or none, and what is wrong with them: its rows can be shown without."""
    try:
        return run.summary, ""
    except RagEvaluatorError as error:
        return {}, str(error)


def _parts(folder: Path) -> tuple[Sequence[RunPart], RagEvaluatorError | None]:
    """How far a run is, if it is not finished; and why nobody knows, which does not matter where results are there."""
    try:
        return (() if is_whole(folder) else parts_of(folder)), None
    except RagEvaluatorError as error:
        return (), error


def list_columns(listed: Iterable[RunEntry]) -> list[tuple[str, list[str]]]:
    """The metrics of all runs under their stage, in the order in which they appear."""
    every: dict[str, Figures] = {}
    for entry in listed:
        every = {**entry.figures, **every}
    return [(stage, list(part)) for stage, part in by_stage(every)]


def seen(listed: Iterable[RunEntry]) -> str:
    """What changes when a run begins, ends or is written anew."""
    return short_digest(repr([(entry.path, entry.state, entry.when) for entry in listed]).encode("utf-8", "replace"))


def _about(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """What a manifest says of a run. Any: JSON."""
    config = config_of(manifest)
    rows = manifest.get("rows")
    return {
        "judge": _judge(judge_of(manifest)),
        "dataset": _short(config.get("dataset")),
        "language": str(config.get("language") or ""),
        "rows": rows if isinstance(rows, int) else None,
    }


def _judge(model: Mapping[str, Any] | str | None) -> str:
    """Any: JSON."""
    return _short(model.get("model")) if isinstance(model, Mapping) else model or ""


def _ranges(manifest: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """The scale of each metric. Any: JSON."""
    metrics = manifest.get("metrics")
    rows = metrics.items() if isinstance(metrics, Mapping) else ()
    ranges = {name: row.get("range") for name, row in rows if isinstance(row, Mapping)}
    return {name: (ends[0], ends[1]) for name, ends in ranges.items() if _are_ends(ends)}


def _are_ends(value: Any) -> TypeGuard[list[float]]:
    """Any: JSON."""
    return isinstance(value, list) and len(value) == 2 and all(isinstance(end, int | float) for end in value)


def _short(path: Any) -> str:
    """The last part of a path or model name. Any: JSON."""
    return str(path or "").rstrip("/").rpartition("/")[2]


def _changed(folder: Path) -> float:
    """When the newest file that says something of the run was written."""
    names = ("scores.jsonl", "summary.json", "journal/manifest.json")
    return max((place.stat().st_mtime for name in names if (place := folder / name).is_file()), default=0.0)
