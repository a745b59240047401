"""The list of runs: what their files and journals say of each, and how far one is while it is made."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import NamedTuple

from rag_evaluator.errors import RagEvaluatorError
from rag_evaluator.files import Json, JsonDict, duration
from rag_evaluator.report import MetricLine
from rag_evaluator.results import SCORES, by_stage, config_of, judge_of, scales_of
from rag_evaluator.run import Status, is_complete, journals_in, read_status

from .state import AppState, NotThere, has_begun


class RunPart(NamedTuple):
    """How far one stage of a run is: the share that is made, in [0, 1], and the same in words.

    Its state is `finished`, `running`, or `stopped`: nobody works on it, as far as can be known.
    """

    title: str
    state: str
    share: float
    says: str


def part_of(status: Status) -> RunPart:
    working = any(worker.works(status.at) for worker in status.workers)
    state = "finished" if status.merged else "running" if working else "stopped"
    (done, cells) = status.cells
    left = status.seconds_left
    says = f"{done:,} of {cells:,} {status.noun} · "
    says += f"{status.rate:.1f} {status.noun}/s" if state == "running" else state
    says += f" · about {duration(left)} left" if left is not None and state == "running" else ""
    title = status.task if status.task == "evaluate" else f"{status.task}: {status.stage}"
    return RunPart(title, state, done / cells if cells else 1.0, says)


@dataclass(frozen=True)
class RunEntry:
    """A run in the list.

    Attributes:
        path: below the root; its address.
        state: `finished`, `running`, `stopped` or `damaged`.
        when: when it was finished, else when its files were written, or its journal; seconds since the epoch.
        took: how long it took, its tokens, as far as known.
        about: what its manifest says of it, else its journal.
        metrics: those of its rows; empty while there are no rows, or where they cannot be shown.
        lines: the figures of each metric; empty while there are none.
        parts: how far it is, if it is not finished.
        error: what cannot be read; empty where nothing is wrong. With `lines` it is the journal only.
    """

    path: str
    name: str
    state: str
    when: float
    about: Json
    metrics: Sequence[str]
    lines: Mapping[str, MetricLine]
    parts: Sequence[RunPart]
    error: str
    took: str = ""

    @property
    def date(self) -> str:
        """When it was written, in the time of this machine; empty where nobody knows."""
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(self.when)) if self.when else ""

    @property
    def judge(self) -> str:
        model = judge_of(self.about)
        return PurePosixPath(str(model.get("model") or "")).name if isinstance(model, Mapping) else model or ""

    @property
    def dataset(self) -> str:
        return PurePosixPath(str(config_of(self.about).get("dataset") or "")).name

    @property
    def language(self) -> str:
        return str(config_of(self.about).get("language") or "")


def entries(state: AppState) -> list[RunEntry]:
    """Return all runs, the newest first."""
    runs = []
    for path in state.folders.paths():
        try:
            runs.append(entry_of(state, path))
        except NotThere:  # removed meanwhile, or a part of it is a link that leads elsewhere
            continue
    return sorted(runs, key=lambda entry: (-entry.when, entry.path))


def entry_of(state: AppState, path: str) -> RunEntry:
    """Return what the list says of a run. Raises `NotThere`."""
    run = state.run(path)
    about = JsonDict()
    errors = list[str]()
    parts = list[RunPart]()
    metrics = list[str]()
    lines = dict[str, MetricLine]()
    try:
        journals = journals_in(run.folder) if has_begun(run.folder) else []
        about = dict(journals[0].about) if journals else {}
        parts = [] if all(map(is_complete, journals)) else list(map(part_of, read_status(run.folder)))
    except RagEvaluatorError as error:
        errors.append(str(error))
    if (run.folder / SCORES).is_file():
        try:
            about = dict(run.manifest)
            metrics = run.metrics
            scales = scales_of(run.manifest, run.summary)
            lines = {metric: MetricLine(metric, row, scales[metric]) for metric, row in run.summary.items()}
        except RagEvaluatorError as error:  # its rows can be shown without figures
            errors.insert(0, str(error))
    name = run.folder.name if not metrics else run.title
    states = ["damaged" if errors and not lines else "", *(part.state for part in parts)]
    shown = next((word for word in ("damaged", "running", "stopped") if word in states), "finished")
    files = (run.folder / name for name in (SCORES, "summary.json", "journal/manifest.json"))
    when = max((file.stat().st_mtime for file in files if file.is_file()), default=0.0)
    when = run.times.finished or when
    took = " · ".join(run.times.words()[1:])
    return RunEntry(path, name, shown, when, about, metrics, lines, parts, " ".join(errors), took)


def list_columns(listed: Iterable[RunEntry]) -> list[tuple[str, list[str]]]:
    """Return the metrics of all runs under their stage, in the order in which they appear."""
    rows = {metric: known.row for entry in reversed(list(listed)) for metric, known in entry.lines.items()}
    return [(stage, list(part)) for stage, part in by_stage(rows)]
