"""What counts as a figure, as words and as gone where two trees are compared; what counts as a token."""

import json
from pathlib import Path
from typing import Any

import pytest

from tools.count import tokens
from tools.golden import Outcome, differences
from tools.golden_cells import cells_of_path


def cells(folder: Path, **content: Any) -> Outcome:
    (folder / "summary.json").write_text(json.dumps(content), "utf-8")
    return Outcome(cells_of_path(folder / "summary.json", "manifest.json", {str(folder): "OUT"}))


@pytest.mark.parametrize(
    ("old", "new", "numbers"),
    [
        ({"a": {"mean": 0.5}}, {"a": {"mean": -0.5}}, (1, 0, 0)),
        ({"a": [1]}, {"a": [1.0]}, (1, 0, 0)),
        ({"a": 1}, {"a": 1, "b": None}, (1, 0, 0)),
        ({"reason": "in 2 rows"}, {"reason": "in two rows"}, (0, 1, 0)),
        ({"a": {"response": {"reason": "x"}}}, {"a": {"response": {"reason": "y"}}}, (1, 0, 0)),
        ({"config": {"a": 1, "weight": None}}, {"config": {"a": 1}}, (0, 0, 1)),
        ({"seconds": 1, "a": "ragas:0.4.3"}, {"seconds": 2, "a": "ragas:0.4.4"}, (0, 0, 0)),
    ],
)
def test_a_difference_is_one_of_figures_of_words_or_gone(
    old: dict[str, Any], new: dict[str, Any], numbers: tuple[int, int, int], tmp_path: Path
) -> None:
    found = differences(cells(tmp_path, **old), cells(tmp_path, **new))
    assert tuple(map(len, found)) == numbers


def test_a_command_that_fails_is_a_difference() -> None:
    failed = Outcome({}, "ended with 2: no such command")
    assert tuple(map(len, differences(Outcome({"output": "x"}), failed))) == (1, 0, 0)


def test_comments_docstrings_and_layout_are_no_tokens(tmp_path: Path) -> None:
    path = tmp_path / "code.py"
    path.write_text('"""Text."""\n\n\ndef f(a):  # why\n    """Text."""\n    return a + "b"\n', "utf-8")
    assert tokens(path) == len("def f ( a ) : return a + 'b'".split())
