"""How far a run is while it is made: each stage of each task with its workers, read from the journal."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_evaluator.errors import ResultsError
from rag_evaluator.progress import duration
from rag_evaluator.results.panel_names import FOLDER, is_panel
from rag_evaluator.run.finished import is_complete
from rag_evaluator.run.journal import journals_in
from rag_evaluator.run.status import Status, WorkerStatus, read_status
from rag_evaluator.tasks.panel import read_config


@dataclass(frozen=True)
class RunPart:
    """One stage of a run, or of the run of a panel's judge.

    Attributes:
        judge: name of the judge in a panel; empty otherwise.
    """

    judge: str
    status: Status

    @property
    def title(self) -> str:
        """`evaluate`, or `sort: order` of a task with other stages, with the judge."""
        name = self.status.task if self.status.task == "evaluate" else f"{self.status.task}: {self.status.stage}"
        return f"{name}, {self.judge}" if self.judge else name

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
            "judge": self.judge,
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
    """All stages that have begun in a results folder, those of a panel's judges first; empty for a run without journal.

    Raises `ResultsError` for a journal that cannot be read.
    """
    return [
        RunPart(judge, status)
        for judge, place in _places(folder)
        for status in (read_status(place) if _began(place) else ())
    ]


def is_whole(folder: Path) -> bool:
    """Whether nothing is left to be made or written, without counting what is there."""
    places = [place for _, place in _places(folder)]
    return all(_began(place) and all(map(is_complete, journals_in(place))) for place in places) or (
        not any(map(_began, places)) and not is_panel(folder)
    )


def state_of(parts: Sequence[RunPart]) -> str:
    """The state of a run with some parts: whether anything is in the making, else whether anything is left."""
    states = {part.state for part in parts}
    return next((state for state in ("running", "stopped") if state in states), "finished")


def _places(folder: Path) -> list[tuple[str, Path]]:
    """The folders in which a run keeps journals, with the names of judges."""
    if not is_panel(folder):
        return [("", folder)]
    own = [("", folder)] if _began(folder) else []
    names = [judge.name or "" for judge in read_config(folder).judges]
    return [*((name, folder / FOLDER / name) for name in names), *own]


def about_of(folder: Path) -> Mapping[str, Any]:
    """What the manifest will say of a run that is not finished; empty where nobody knows. Any: JSON."""
    return next((journals_in(place)[0].about for _, place in _places(folder) if _began(place)), {})


def _began(folder: Path) -> bool:
    try:
        return bool(journals_in(folder))
    except ResultsError:
        if any((folder / "journal").glob("**/manifest.json")):  # it is there, and damaged
            raise
        return False
