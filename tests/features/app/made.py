"""Reviews as tests make them."""

from itertools import count
from typing import Any

from rag_evaluator.features.app.store import ReviewRecord

NUMBERS = count()


def review(**values: Any) -> ReviewRecord:
    """A flag of row 0, unless other values are named."""
    known: dict[str, Any] = {
        "id": f"id{next(NUMBERS)}",
        "run": "demo",
        "row": 0,
        "sample": "aa",
        "at": "2026-01-01T00:00:00Z",
        "by": "anna",
        "kind": "flag",
        "field": "too_easy",
        "before": False,
        "after": True,
    }
    return ReviewRecord(**{**known, **values})


def correction(after: Any, before: Any = "old", **values: Any) -> ReviewRecord:
    return review(kind="correct", field="reference", before=before, after=after, **values)
