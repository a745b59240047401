"""What every reader keeps to: each kind of file gives the rows that were written, and a damaged one is an error."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from rag_evaluator import DatasetError, load_dataset
from rag_evaluator.dataset import READERS
from tests.dataset.data_files import FILES, TRICKY, Row, write_text

Write = Callable[[Path, Sequence[Row]], Path]
each_file = pytest.mark.parametrize(("name", "write"), FILES, ids=[name for name, _ in FILES])


def test_a_file_of_every_suffix_is_written_here() -> None:
    assert {Path(name).suffix for name, _ in FILES} - {""} == set(READERS)


@each_file
def test_rows_have_the_same_columns_digests_and_order_from_every_file(tmp_path: Path, name: str, write: Write) -> None:
    samples = load_dataset(write(tmp_path / name, TRICKY))
    expected = [{key: value for key, value in row.items() if key != "note"} for row in TRICKY]
    assert [sample.columns for sample in samples] == expected
    assert [sample.digest for sample in samples] == [sample.digest for sample in load_dataset(TRICKY)]
    assert [sample.index for sample in samples] == [0, 1, 2, 3]
    assert samples[3].row["note"] == "kept"


@each_file
def test_a_row_is_named_by_its_file_and_its_number(tmp_path: Path, name: str, write: Write) -> None:
    where = [sample.where for sample in load_dataset(write(tmp_path / name, TRICKY))]
    assert all(place.startswith((f"{name}, row ", f"{name}, line ")) for place in where)
    numbers = [int(place.rpartition(" ")[2]) for place in where]
    assert numbers == list(range(numbers[0], numbers[0] + 4))


@pytest.mark.parametrize("suffix", READERS)
def test_a_file_that_is_empty_has_no_row_or_random_bytes_is_an_error_with_its_name(tmp_path: Path, suffix: str) -> None:
    path = write_text(tmp_path / f"data{suffix}", "")
    with pytest.raises(DatasetError, match=rf"^data{suffix}: expected rows, received an empty file \(0 bytes\)\."):
        load_dataset(path)
    [write, *_] = [write for name, write in FILES if Path(name).suffix == suffix]
    with pytest.raises(DatasetError, match=rf"^data{suffix}: expected "):
        load_dataset(write(path, []))
    path.write_bytes(bytes(range(256)) * 4)
    with pytest.raises(DatasetError, match=rf"^data{suffix}[:,]"):
        load_dataset(path)
