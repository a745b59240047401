"""Files that only grow."""

from pathlib import Path
from typing import Any

import pytest

from rag_evaluator.files import Appender, read_lines

BLOCK = 1 << 16

LONG = b"x" * (2 * BLOCK + 7)


@pytest.mark.parametrize(
    "before, kept",
    [
        (b"", b""),
        (b"one\ntwo\n", b"one\ntwo\n"),
        (b"one\ntw", b"one\n"),
        (b"torn", b""),
        (LONG + b"\n" + LONG, LONG + b"\n"),
        (b"y" * (BLOCK - 1) + b"\n" + b"z" * BLOCK, b"y" * (BLOCK - 1) + b"\n"),
    ],
)
def test_a_line_torn_by_a_kill_is_dropped_before_the_next_one_is_appended(
    tmp_path: Path, before: bytes, kept: bytes
) -> None:
    path = tmp_path / "lines"
    path.write_bytes(before)
    appender = Appender(path)
    appender.append(b"next\n")
    appender.close()
    assert path.read_bytes() == kept + b"next\n"
    assert [line for _, line in read_lines(path, bytes)][-1] == b"next\n"


class Fleeting(type(Path())):  # type: ignore[misc]
    """A file that another process removes as soon as it has been opened."""

    def open(self, *args: Any, **kwargs: Any) -> Any:
        file = super().open(*args, **kwargs)
        self.unlink()
        return file


def test_a_file_that_another_worker_removes_while_it_is_opened_can_be_written(tmp_path: Path) -> None:
    appender = Appender(Fleeting(tmp_path / "lines"))
    appender.append(b"next\n")
    appender.close()
