import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from rag_evaluator import ResultsError
from rag_evaluator.files import write_json, write_lines, write_text, write_whole, write_wide_json

VALUE = {"é": [1, 2], "none": []}
NARROW = '{\n  "é": [\n    1,\n    2\n  ],\n  "none": []\n}\n'
WIDE = '{\n    "é": [1, 2],\n    "none": []\n}\n'
WRITERS: Sequence[tuple[Callable[[Path, Any], None], Any, str]] = [
    (write_text, "é\n", "é\n"),
    (write_json, VALUE, NARROW),
    (write_wide_json, VALUE, WIDE),
    (write_lines, [VALUE, 1], '{"é": [1, 2], "none": []}\n1\n'),
]


@pytest.mark.parametrize(("write", "value", "text"), WRITERS)
def test_a_file_is_written_in_its_layout_and_nothing_is_left_beside_it(
    write: Callable[[Path, Any], None], value: Any, text: str, tmp_path: Path
) -> None:
    path = tmp_path / "new" / "file"
    for _ in range(2):
        write(path, value)
        assert path.read_text("utf-8") == text
        assert [*path.parent.iterdir()] == [path]


def fail(path: Path) -> None:
    path.write_text("a part", "utf-8")
    raise OSError("No space left on device")


def test_a_file_that_cannot_be_written_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_text(path, "old")
    with pytest.raises(ResultsError, match=r"file: cannot be written: No space left .* choose another folder"):
        write_whole(path, fail)
    assert path.read_text("utf-8") == "old"
    assert [*tmp_path.iterdir()] == [path]


def test_writers_of_two_machines_with_the_same_process_number_do_not_disturb_each_other(tmp_path: Path) -> None:
    """Containers often give all their processes the same number, and share a folder."""
    path = tmp_path / "file"
    both = threading.Barrier(2, timeout=20)
    errors: list[ResultsError] = []

    def write(to: Path, text: str) -> None:
        to.write_text(text, "utf-8")
        both.wait()

    def run(text: str) -> None:
        try:
            write_whole(path, lambda to: write(to, text))
        except ResultsError as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(text,)) for text in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert path.read_text("utf-8") in ("one", "two")
    assert [*tmp_path.iterdir()] == [path]
