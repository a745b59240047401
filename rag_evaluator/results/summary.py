"""What a run comes to: mean, coverage and reasons of each metric, and `summary.json`, where they are kept."""

import json
import math
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rag_evaluator.errors import ResultsError
from rag_evaluator.files.json_text import json_text
from rag_evaluator.results.rows import Add, Heading, Scored, dropped_contexts
from rag_evaluator.trust.reruns import rerun_noise


class Summary:
    """Mean, coverage, reasons and left out contexts of each metric, from rows that come one by one."""

    def __init__(self, metrics: Iterable[str]) -> None:
        self._values = {name: array("d") for name in metrics}
        self._reasons: dict[str, Counter[str]] = {name: Counter() for name in self._values}
        self._dropped: Counter[str] = Counter()  # rows of which contexts were left out
        self._repeats: dict[str, list[tuple[float, ...]]] = {name: [] for name in self._values}

    def add(self, scored: Scored) -> None:
        self._dropped.update(dropped_contexts(scored).keys())
        for name, values in self._values.items():
            score = scored.scores[name]
            self._repeats[name].extend([score.repeats] if score.repeats else [])
            if score.missing:
                self._reasons[name][score.reason or "unknown"] += 1
            else:
                values.append(score.value)

    def to_json(self) -> dict[str, dict[str, Any]]:
        return {
            name: {
                **self._of(values, self._reasons[name]),
                "dropped": self._dropped[name],
                **_noise(self._repeats[name]),
            }
            for name, values in self._values.items()
        }

    @staticmethod
    def _of(values: "array[float]", reasons: Counter[str]) -> dict[str, Any]:
        count = len(values) + reasons.total()
        return {
            "mean": math.fsum(values) / len(values) if values else None,
            "coverage": len(values) / count if count else 0.0,
            "scored": len(values),
            "count": count,
            "reasons": dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0]))),
        }


def _noise(repeats: Sequence[Sequence[float]]) -> dict[str, Any]:
    """What is said of scores that were made several times: how often, and the fields of `RerunNoise`."""
    return {"repeats": len(repeats[0]), **asdict(rerun_noise(repeats))} if repeats else {}


@contextmanager
def summary_json(path: Path, heading: Heading) -> Iterator[Add]:
    summary = Summary(heading.metrics)
    yield summary.add
    path.write_text(json_text(summary.to_json()), encoding="utf-8")


def read_summary(folder: Path) -> dict[str, dict[str, Any]]:
    """What `summary.json` says. Raises `ResultsError` if it cannot be read, or is not what is written there."""
    path = folder / "summary.json"
    try:
        summary: dict[str, dict[str, Any]] = json.loads(path.read_bytes())
        whole = bool(summary) and all(map(_is_summary, summary.values()))
    except (OSError, ValueError, AttributeError) as error:
        raise ResultsError(f"{path}: cannot be read: {error}.") from error
    if not whole:
        raise ResultsError(f"{path}: damaged. 'rag-evaluator merge' writes it again.")
    return summary


def _is_summary(row: Any) -> bool:
    """Whether it says of a metric what is shown of it. Any: JSON."""
    return (
        isinstance(row, dict)
        and isinstance(row.get("mean", ""), int | float | None)
        and all(type(row.get(name)) is int for name in ("scored", "count"))
        and isinstance(row.get("reasons"), dict)
    )
