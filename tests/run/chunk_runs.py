"""Runs in chunks, whole and half done."""

from pathlib import Path

from aliases import Rows
from folders import results_of, run_command

from rag_evaluator.results import FILES

PLAIN = ["bleu_score", "exact_match"]


def make_rows(count: int) -> Rows:
    return [
        {"id": number, "response": f"He was born in Tesk on day {number % 7}.", "reference": f"Born {number} in Tesk."}
        for number in range(count)
    ]


def parts_of(config: Path) -> Path:
    return results_of(config) / "journal" / "g1" / "parts"


def half_done(config: Path, done: int = 6) -> None:
    """A run of which only the first chunks are there."""
    run_command(config)
    for path in sorted(parts_of(config).iterdir())[done:]:
        path.unlink()
    for name in FILES:
        (results_of(config) / name).unlink()
    (results_of(config) / "journal" / "g1" / "merged.json").unlink()
