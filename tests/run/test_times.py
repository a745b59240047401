"""When a run was finished, and how long it took: from its journal, in a file of its own."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from rag_evaluator.results import TIMES, Run, Times
from rag_evaluator.run import times_of


def test_workers_at_a_time_count_once_and_pauses_do_not_count() -> None:
    footers = {
        0: {"began": 100.0, "ended": 110.0, "tokens": 5},
        1: {"began": 105.0, "ended": 112.0, "tokens": 7},
        2: {"began": 500.0, "ended": 503.0},
    }
    journal: Any = SimpleNamespace(published=lambda: set(footers), read_footer=footers.get)  # what is read of one
    assert times_of(journal) == Times(503.0, 15.0, 12)


def test_times_are_said_as_far_as_they_are_known(tmp_path: Path) -> None:
    assert Times(0.0, 754.2, 51234).words() == ["1970-01-01 00:00 UTC", "13 min", "51,234 tokens"]
    assert Times(0.0, 45.9, 0).words() == ["1970-01-01 00:00 UTC", "46 s"]
    (tmp_path / TIMES).write_text("{")
    assert Run(tmp_path).times.words() == []
