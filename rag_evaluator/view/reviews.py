"""`Reviews`: what the pages for reviewers share: stores, queues and digests of the runs."""

import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from rag_evaluator.errors import RagEvaluatorError, ResultsError
from rag_evaluator.files.jsonl import read_lines
from rag_evaluator.labels.draw import DrawRecord, read_draw
from rag_evaluator.report.run_files import RunFiles
from rag_evaluator.results.certificate import data_of, digests_in
from rag_evaluator.results.kept_labels import FOLDER, NAME
from rag_evaluator.results.panel_names import judges_of
from rag_evaluator.reviews.labelling import given_labels
from rag_evaluator.reviews.queues import (
    FINDINGS,
    About,
    Found,
    Queue,
    detail_queues,
    findings_queue,
    row_queues,
    too_easy,
)
from rag_evaluator.reviews.store import ReviewStore
from rag_evaluator.trust.scale import Scale
from rag_evaluator.view.folders import NotThere
from rag_evaluator.view.kept import Kept
from rag_evaluator.view.state import FILES, AppState, stamp_of

logger = logging.getLogger(__name__)
OTHERS = 8  # runs in which a row must be best, too, to be too easy
ORDER = (
    "contradict",
    "lowest_confidence",
    "judges_disagree",
    "repeats_differ",
    "too_easy",
    "testset_findings",
    "missing",
)


@dataclass(frozen=True)
class Reviews:
    """The reviews of all runs below the root."""

    state: AppState
    _stores: dict[Path, ReviewStore] = field(default_factory=dict)
    _queues: Kept[list[Queue]] = field(default_factory=lambda: Kept(16))
    _digests: Kept[list[str]] = field(default_factory=lambda: Kept(4))

    def run(self, path: str) -> RunFiles:
        """A finished run. Raises `NotThere`."""
        run = self.state.run(path)
        if not (run.folder / "scores.jsonl").is_file():
            raise NotThere(path)
        return run

    def store(self, run: RunFiles) -> ReviewStore:
        return self._stores.setdefault(run.folder, ReviewStore(run.folder))

    def digests(self, run: RunFiles) -> list[str]:
        """The digest of each row."""
        return self._digests.of(run.folder, stamp_of(run.folder), lambda: digests_in(run.folder))

    def sample(self, run: RunFiles, row: int) -> str:
        """The digest of a row. Raises `NotThere`."""
        details = run.details(row)
        if not details:
            raise NotThere(str(row))
        return str(details[0]["sample"])

    def queues(self, run: RunFiles, path: str) -> list[Queue]:
        """The rows that are worth a look; found anew when the files of the run have changed."""
        stamp = stamp_of(run.folder, (*FILES, FINDINGS))
        return self._queues.of(run.folder, stamp, lambda: list(self._find(run)))

    def reviewed(self, run: RunFiles) -> Queue:
        """The rows of which people have said something, the last ones first."""
        rows: dict[int, Found] = {}
        for place, record in enumerate(self.store(run).records()):
            if record.row is not None and record.kind != "label":
                rows.pop(record.row, None)
                rows[record.row] = Found(float(place), record.row, ())
        return Queue("reviewed", list(reversed(rows.values())), len(rows))

    def draws(self, run: RunFiles) -> dict[str, DrawRecord]:
        """The draws of the rows as they are now, by name."""
        found, folder = dict[str, DrawRecord](), run.folder / FOLDER
        names = [path.stem for path in sorted(folder.glob("*.json")) if path.name != NAME]
        data = data_of(self.digests(run)) if names else ""
        for name in names:
            try:
                found[name] = read_draw(run.folder, name, data)
            except ResultsError:  # of other rows, as these were changed and judged again
                continue
        return found

    def blind(self, run: RunFiles, by: str) -> set[int]:
        """The rows whose scores a person must not see yet: those of draws that they have begun and not closed."""
        store = self.store(run)
        return {
            row
            for name, draw in self.draws(run).items()
            if not store.is_closed(name, by) and given_labels(store, name, by, self.digests(run))
            for row in draw.rows
        }

    def _find(self, run: RunFiles) -> Iterator[Queue]:
        about = about_of(run)
        found = {queue.name: queue for queue in row_queues(run.rows(), about)}
        others = list(islice(self._others(run), OTHERS))
        found["too_easy"] = too_easy([run.rows(), *map(_readable_rows, others)], about)
        found |= {queue.name: queue for queue in detail_queues(run.all_details(run.metrics))}
        found["testset_findings"] = self._testset_findings(run)
        yield from (found[name] for name in ORDER if found[name].total)

    def _testset_findings(self, run: RunFiles) -> Queue:
        """What `testset check` says of these rows; nothing where it has not been run, or its file cannot be read."""
        try:
            findings = [finding for _, finding in read_lines(run.folder / FINDINGS, json.loads)]
            return findings_queue(findings, self.digests(run))
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RagEvaluatorError):
            return findings_queue([], [])

    def _others(self, run: RunFiles) -> Iterator[RunFiles]:
        """Other runs over the same questions, as far as their first rows tell."""
        first = next(iter(run.rows()), {})
        for other in self.state.folders.paths():
            try:
                files = self.state.run(other)
                row = next(iter(files.rows()), {}) if files.folder != run.folder else {}
            except RagEvaluatorError:  # not finished, or damaged
                continue
            if row and all(row.get(name) == first.get(name) for name in ("id", "question", "user_input")):
                yield files


def _readable_rows(other: RunFiles) -> Iterator[dict[str, Any]]:
    """The rows of another run, up to one that cannot be read: it is no reason not to review this run."""
    try:
        yield from other.rows()
    except ResultsError as error:
        logger.warning("rows that are too easy: the rest of another run is left out. %s", error)


def about_of(run: RunFiles) -> About:
    """The scales of a run's metrics, and its judges."""
    described = run.manifest.get("metrics") or {}
    return About({name: _scale(described.get(name) or {}) for name in run.metrics}, judges_of(run.manifest))


def _scale(about: Mapping[str, Any]) -> Scale:  # Any: JSON
    low, high = about.get("range") or (0.0, 1.0)
    return Scale(float(low), float(high), about.get("kind") or "judged", about.get("better") or "higher")
