"""Append-only record of every score the moment it exists, so that a killed run continues where it stopped."""

import json
import os
import time
from pathlib import Path
from typing import Any

from rag_evaluator.dataset import Sample
from rag_evaluator.errors import ResultsError
from rag_evaluator.scores import Score

SYNC_SECONDS = 1.0
Key = tuple[str, str, str]  # sample digest, metric, signature


class Journal:
    """Scores of a results folder, one JSON line each in `journal/scores.jsonl`.

    A score is found again by sample, metric and signature: a changed model, prompt or setting never meets old scores.
    Missing scores are not kept: the next run tries them again.

    Args:
        folder: results folder; made if it is not there.
        fresh: forget what was recorded before.

    Raises `ResultsError` when the folder cannot be written or the record is damaged before its last line.
    """

    def __init__(self, folder: Path, fresh: bool = False) -> None:
        self.path = folder / "journal" / "scores.jsonl"
        self._known: dict[Key, dict[str, Any]] = {}
        self._synced = time.monotonic()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if fresh:
                self.path.unlink(missing_ok=True)
            end = self._read() if self.path.is_file() else 0
            self._file = self.path.open("ab")
            self._file.truncate(end)  # drops a line torn by a kill
        except OSError as error:
            raise ResultsError(f"{folder}: cannot be written: {error}. Choose another output_dir.") from error

    def __len__(self) -> int:
        return len(self._known)

    def find(self, sample: Sample, metric: str, signature: str) -> Score | None:
        """The score made earlier, if any."""
        record = self._known.get((sample.digest, metric, signature))
        return None if record is None else Score.from_json(record)

    def append(self, sample: Sample, metric: str, signature: str, score: Score) -> None:
        """Record a score; on disk within a second. Raises `ResultsError` if that fails (a full disk)."""
        if score.missing:
            return
        record = {"sample": sample.digest, "metric": metric, "signature": signature, **score.to_json()}
        try:
            self._file.write((json.dumps(record, ensure_ascii=False) + "\n").encode("utf-8"))
            self._file.flush()
            if time.monotonic() - self._synced > SYNC_SECONDS:
                os.fsync(self._file.fileno())
                self._synced = time.monotonic()
        except OSError as error:
            raise ResultsError(f"{self.path}: cannot be written: {error}. What was recorded is kept.") from error
        self._known[(sample.digest, metric, signature)] = record

    def close(self) -> None:
        self._file.close()

    def _read(self) -> int:
        """Load the records; returns the length in bytes of the part that is whole."""
        whole = 0
        lines = self.path.read_bytes().splitlines(keepends=True)
        for number, line in enumerate(lines, start=1):
            try:
                record = json.loads(line)
                if not line.endswith(b"\n"):
                    raise ValueError("no end of line")
                Score.from_json(record)
                self._known[(record["sample"], record["metric"], record["signature"])] = record
            except (ValueError, KeyError, TypeError) as error:
                if number == len(lines):
                    break
                raise ResultsError(
                    f"{self.path}, line {number}: damaged ({error}). Remove the line, or start over with --fresh."
                ) from None
            whole += len(line)
        return whole
