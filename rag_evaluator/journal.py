"""Append-only record of every score the moment it exists, so that a killed run continues where it stopped."""

import json
import os
import time
from pathlib import Path

from rag_evaluator.dataset import Sample
from rag_evaluator.errors import ResultsError
from rag_evaluator.scores import Score

SYNC_SECONDS = 1.0
KEYS = ("sample", "metric", "signature")
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
        self._places: dict[Key, int] = {}  # where each record begins, bytes
        self._synced = time.monotonic()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if fresh:
                self.path.unlink(missing_ok=True)
            self._file = self.path.open("a+b")
            self._end = self._read()
            self._file.truncate(self._end)  # drops a line torn by a kill
        except OSError as error:
            raise ResultsError(f"{folder}: cannot be written: {error}. Choose another output_dir.") from error

    def __len__(self) -> int:
        return len(self._places)

    def find(self, sample: Sample, metric: str, signature: str, judgements: bool = True) -> Score | None:
        """The score made earlier, if any; without its judgements where only the number is wanted."""
        place = self._places.get((sample.digest, metric, signature))
        if place is None:
            return None
        self._file.seek(place)
        score = Score.from_json(json.loads(self._file.readline()))
        return score if judgements else score.without_judgements()

    def append(self, sample: Sample, metric: str, signature: str, score: Score) -> bool:
        """Record a score unless it is missing; on disk within a second. Returns whether it was recorded.

        Raises `ResultsError` if it cannot be written (a full disk).
        """
        if score.missing:
            return False
        key = (sample.digest, metric, signature)
        record = {**dict(zip(KEYS, key, strict=True)), **score.to_json()}
        line = (json.dumps(record, ensure_ascii=False) + "\n").encode("utf-8")
        try:
            self._file.write(line)
            self._file.flush()
            if time.monotonic() - self._synced > SYNC_SECONDS:
                os.fsync(self._file.fileno())
                self._synced = time.monotonic()
        except OSError as error:
            raise ResultsError(f"{self.path}: cannot be written: {error}. What was recorded is kept.") from error
        self._places[key] = self._end
        self._end += len(line)
        return True

    def close(self) -> None:
        self._file.close()

    def _read(self) -> int:
        """Find the records; returns the length in bytes of the part that is whole."""
        whole, torn = 0, None
        self._file.seek(0)
        for number, line in enumerate(self._file, start=1):
            if torn is not None:
                raise ResultsError(f"{self.path}, {torn}. Remove the line, or start over with --fresh.") from None
            try:
                record = json.loads(line)
                if not line.endswith(b"\n"):
                    raise ValueError("no end of line")
                Score.from_json(record)
                self._places[tuple(record[key] for key in KEYS)] = whole
                whole += len(line)
            except (ValueError, KeyError, TypeError) as error:
                torn = f"line {number}: damaged ({error})"
        return whole
