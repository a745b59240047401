"""Records are found by their key in all files of a folder, and appended to one of them, across kills."""

from pathlib import Path

import pytest

from rag_evaluator import ResultsError
from rag_evaluator.files import Records

LINES = (
    b'{"signature": "sig", "prompt": "1241626eb8ca5429", "log_odds": 0.847298, "sha256": "c9f33a440d47e7ae"}\n'
    b'{"signature": "sig", "prompt": "10fd874b68dad080", "answer": {"answerable": 1, "answer": "Hahn \xc3\xa1"}, '
    b'"sha256": "5c4b215af0c4c4db"}\n'
)
ODDS = ("sig", "1241626eb8ca5429")
ANSWER = ("sig", "10fd874b68dad080")
VALUES = {ODDS: {"log_odds": 0.847298}, ANSWER: {"answer": {"answerable": 1, "answer": "Hahn á"}}}


def records_in(folder: Path, process: str, told: list[str] | None = None) -> Records:
    path = folder / f"{process}.jsonl"
    others = sorted(set(folder.glob("*.jsonl")) - {path})
    first = (lambda: None) if told is None else (lambda: told.append(path.name))
    return Records(path, ("signature", "prompt"), other_files=others, first=first)


def test_the_bytes_of_kept_answers_are_those_of_format_2(tmp_path: Path) -> None:
    told: list[str] = []
    records = records_in(tmp_path, "p", told)
    assert list(tmp_path.iterdir()) == []
    for key, values in VALUES.items():
        records.append(key, values)
    assert (tmp_path / "p.jsonl").read_bytes() == LINES
    assert told == ["p.jsonl"]


@pytest.mark.parametrize("process", ["p", "another"])
def test_what_was_kept_is_found_by_every_process_that_starts_later(tmp_path: Path, process: str) -> None:
    (tmp_path / "p.jsonl").write_bytes(LINES)
    records = records_in(tmp_path, process)
    for key, values in VALUES.items():
        found = records.find(key)
        assert found is not None
        assert {name: value for name, value in found.items() if name in values} == values
    assert records.find(("other", ODDS[1])) is None
    assert (tmp_path / "p.jsonl").read_bytes() == LINES


@pytest.mark.parametrize("lost", [1, 5, 30])
def test_a_process_with_the_name_of_a_killed_one_continues_its_file(tmp_path: Path, lost: int) -> None:
    path = tmp_path / "p.jsonl"
    records = Records(path, ("name",))
    for number, name in enumerate(("one", "two")):
        records.append((name,), {"number": number, "text": "some text that is long"})
    records.close()
    path.write_bytes(path.read_bytes()[:-lost])
    records = Records(path, ("name",))
    assert records.find(("two",)) is None
    records.append(("three",), {"number": 3})
    assert [bool(records.find((name,))) for name in ("one", "two", "three")] == [True, False, True]
    records.close()
    later = Records(path, ("name",))
    assert [bool(later.find((name,))) for name in ("one", "two", "three")] == [True, False, True]


@pytest.mark.parametrize(("at", "mended"), [(20, b"#"), (90, b"#")])
def test_a_damaged_line_that_is_not_the_last_is_named(tmp_path: Path, at: int, mended: bytes) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(LINES[:at] + mended + LINES[at + 1 :])
    with pytest.raises(ResultsError, match=r"p\.jsonl, line 1: damaged"):
        records_in(tmp_path, "another")


def test_a_folder_that_is_gone_is_not_made_again(tmp_path: Path) -> None:
    records = records_in(tmp_path / "gone", "p")
    with pytest.raises(ResultsError, match="cannot be written"):
        records.append(ODDS, VALUES[ODDS])
    assert list(tmp_path.iterdir()) == []
