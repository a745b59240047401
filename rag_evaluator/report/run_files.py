"""`RunFiles`: what a results folder holds, read piece by piece: a run may have a million rows."""

import json
from array import array
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from rag_evaluator.errors import ResultsError
from rag_evaluator.program import command
from rag_evaluator.results.manifest import config_of, read_manifest
from rag_evaluator.results.row_lines import line_offsets, lines_of_row
from rag_evaluator.results.saved import LINE
from rag_evaluator.results.shapes import check_fit
from rag_evaluator.results.summary import read_summary
from rag_evaluator.results.written import SCORES, refuse_changed

Json = Mapping[str, Any]  # Any in this module: JSON


class RunFiles:
    """A finished run, by its files. Nothing is read before it is asked for.

    Every method raises `ResultsError` for a file that is not there or cannot be read.

    Args:
        folder: results folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def name(self) -> str:
        """What pages call it: its name in the configuration, else that of the folder."""
        return str(self.manifest.get("name") or self.folder.name)

    @cached_property
    def manifest(self) -> Json:
        return read_manifest(self.folder)

    @property
    def config(self) -> Json:
        """The configuration of the run; empty where nobody knows."""
        return config_of(self.manifest)

    @cached_property
    def summary(self) -> Mapping[str, dict[str, Any]]:
        summary = read_summary(self.folder)
        with _readable(self.folder / "summary.json"):
            check_fit(summary, self.manifest)
        return summary

    @property
    def metrics(self) -> list[str]:
        return list(self.manifest.get("metrics") or self.summary)

    @property
    def count(self) -> int:
        """How many rows there are. They are counted where the summary cannot be read."""
        try:
            return int(next(iter(self.summary.values()))["count"])
        except ResultsError:
            return len(self.offsets)

    @cached_property
    def prompts(self) -> Json:
        """Metric -> prompt -> frames, see `rag_evaluator.results.questions`."""
        with _readable(self.folder / "prompts.json") as path:
            return dict(json.loads(path.read_bytes()))

    @cached_property
    def scores(self) -> Path:
        """`scores.jsonl`, which is as it was written: refused, once, if it is not."""
        refuse_changed(self.folder, self.manifest)
        return self.folder / SCORES

    @cached_property
    def offsets(self) -> "array[int]":
        """Where the line of each row begins in `scores.jsonl`."""
        with _readable(self.scores) as path:
            return line_offsets(path)

    def rows(self) -> Iterator[dict[str, Any]]:
        """The scored rows, in order."""
        offsets, place = array("q"), 0
        with _readable(self.scores) as path, path.open("rb") as file:
            for line in file:
                yield dict(json.loads(line))
                offsets.append(place)
                place += len(line)
        self.__dict__.setdefault("offsets", offsets)  # so that the file is not read once more for them

    def row(self, number: int) -> dict[str, Any]:
        """One scored row. Raises `IndexError` if there is none of this number, from 0."""
        if not 0 <= number < len(self.offsets):
            raise IndexError(number)
        with _readable(self.scores) as path, path.open("rb") as file:
            file.seek(self.offsets[number])
            return dict(json.loads(file.readline()))

    def details(self, number: int) -> list[dict[str, Any]]:
        """The lines of `details.jsonl` about a row: one per metric, or per metric and repeat."""
        with _readable(self.folder / "details.jsonl") as path:
            return [json.loads(line) for line in lines_of_row(path, number)]

    def all_details(self, metrics: Collection[str]) -> Iterator[dict[str, Any]]:
        """The lines of `details.jsonl` about some metrics, in order; others are not parsed."""
        with _readable(self.folder / "details.jsonl") as path, path.open("rb") as file:
            for line in file:
                head = LINE.match(line)
                if head is None or json.loads(head[2]) in metrics:
                    yield json.loads(line)


class _readable:
    """Turns what goes wrong while a file is read into `ResultsError` with the way out."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError | ValueError | TypeError | RecursionError) and not isinstance(error, ResultsError):
            raise ResultsError(
                f"{self.path}: cannot be read: {error}. '{command('merge', self.path.parent)}' writes it again."
            ) from error
