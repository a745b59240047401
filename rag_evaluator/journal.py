"""Record of every score the moment it exists, so that a killed run continues where it stopped."""

from pathlib import Path

from rag_evaluator.dataset import Sample
from rag_evaluator.records import Records
from rag_evaluator.scores import Score

KEYS = ("sample", "metric", "signature")  # sample digest, metric, signature


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
        self.records = Records(folder / "journal" / "scores.jsonl", KEYS, fresh, Score.from_json)

    @property
    def path(self) -> Path:
        return self.records.path

    def __len__(self) -> int:
        return len(self.records)

    def find(self, sample: Sample, metric: str, signature: str, judgements: bool = True) -> Score | None:
        """The score made earlier, if any; without its judgements where only the number is wanted."""
        record = self.records.find((sample.digest, metric, signature))
        if record is None:
            return None
        score = Score.from_json(record)
        return score if judgements else score.without_judgements()

    def append(self, sample: Sample, metric: str, signature: str, score: Score) -> bool:
        """Record a score unless it is missing; on disk within a second. Returns whether it was recorded.

        Raises `ResultsError` if it cannot be written (a full disk).
        """
        if not score.missing:
            self.records.append((sample.digest, metric, signature), score.to_json())
        return not score.missing

    def close(self) -> None:
        self.records.close()
