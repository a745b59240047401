"""What is confirmed is kept: kills, torn lines, two processes, the same review twice, changes at the same time."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from made import correction, review

from rag_evaluator import ResultsError
from rag_evaluator.features.app.store import ConflictError, ReviewError, ReviewStore

WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from made import correction
from rag_evaluator.features.app.store import ReviewStore
store, name, last = ReviewStore(Path(sys.argv[1])), sys.argv[2], "old"
for number in range(10_000):
    text = f"{name}{number}" + "x" * (number % 7 * 900)
    kept = store.add(correction(text, last, id=f"{name}.{number}", sample=name))
    last = kept.after
    print(kept.id, flush=True)
"""


def writing(folder: Path, name: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", WRITER, str(folder), name, str(Path(__file__).parent)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def killed_after(process: "subprocess.Popen[str]", lines: int, wait: float) -> list[str]:
    """What a process has confirmed until it is killed."""
    assert process.stdout is not None
    confirmed = [process.stdout.readline().strip() for _ in range(lines)]
    time.sleep(wait)
    process.send_signal(signal.SIGKILL)
    confirmed += process.stdout.read().split()
    process.wait()
    return confirmed


@pytest.mark.processes
def test_every_confirmed_review_is_there_though_two_writers_are_killed_again_and_again(tmp_path: Path) -> None:
    chance = random.Random(3)
    confirmed = []
    for round_number in range(3):
        writers = [writing(tmp_path, f"{name}{round_number}") for name in "ab"]
        for writer in writers:
            confirmed += killed_after(writer, chance.randrange(5, 40), chance.random() / 50)
    ids = [record.id for record in ReviewStore(tmp_path).records()]
    assert set(confirmed) <= set(ids)
    assert len(ids) == len(set(ids))
    assert len(confirmed) > 30


@pytest.mark.parametrize("torn", [b"{", b'{"id": "torn", "run"', b'{"id": "torn"}', "ü".encode()[:1]])
def test_a_torn_last_line_is_ignored_and_never_swallows_the_next_review(tmp_path: Path, torn: bytes) -> None:
    store = ReviewStore(tmp_path)
    first = store.add(review())
    with store.path.open("ab") as file:
        file.write(torn)
    assert ReviewStore(tmp_path).records() == [first]
    second = store.add(review(field="ambiguous"))
    assert store.records() == ReviewStore(tmp_path).records() == [first, second]


def test_a_file_whose_last_end_of_line_an_editor_took_away_loses_no_review(tmp_path: Path) -> None:
    store = ReviewStore(tmp_path)
    first = store.add(review())
    second = store.add(review(field="ambiguous"))
    store.path.write_bytes(store.path.read_bytes().rstrip(b"\n"))
    edited = ReviewStore(tmp_path)
    assert edited.records() == [first, second]
    third = edited.add(review(field="duplicate"))
    assert edited.records() == ReviewStore(tmp_path).records() == [first, second, third]
    assert len(store.path.read_bytes().splitlines()) == 3


def test_a_line_that_is_damaged_before_the_last_one_is_an_error_with_its_number(tmp_path: Path) -> None:
    store = ReviewStore(tmp_path)
    store.add(review())
    with store.path.open("ab") as file:
        file.write(b"\0\0\0\n")
    with pytest.raises(ResultsError, match=r"reviews\.jsonl, line 2: damaged"):
        ReviewStore(tmp_path).records()
    with pytest.raises(ResultsError, match="line 2"):
        store.add(review(field="ambiguous"))


def test_a_review_is_on_disk_before_it_is_confirmed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = []
    real = os.fsync

    def fsync(handle: int) -> None:
        synced.append((tmp_path / "reviews.jsonl").read_bytes())
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    kept = ReviewStore(tmp_path).add(review())
    assert json.loads(synced[0]) == kept.to_json()


def test_a_change_of_what_somebody_has_changed_meanwhile_is_a_conflict_that_shows_it(tmp_path: Path) -> None:
    store = ReviewStore(tmp_path)
    first = store.add(correction("by anna"))
    with pytest.raises(ConflictError) as error:
        store.add(correction("by bob", by="bob"))
    assert error.value.other == first
    store.add(correction("by bob", "by anna", by="bob"))
    assert [record.after for record in store.row(0, "aa")] == ["by anna", "by bob"]


@pytest.mark.parametrize(
    ("before", "after"),
    [("by anna", "by bob"), ("old", "by anna")],
    ids=["the person saw this value, whoever wrote it", "both want the same"],
)
def test_no_conflict_where_nothing_would_be_lost(tmp_path: Path, before: str, after: str) -> None:
    store = ReviewStore(tmp_path)
    store.add(correction("by anna"))
    assert store.add(correction(after, before, by="bob")).after == after


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"id": ""}, "'id'"),
        ({"by": " "}, "'by'"),
        ({"row": -1}, "'row'"),
        ({"sample": None}, "'sample'"),
        ({"kind": "delete"}, "'kind'"),
        ({"field": "response"}, "'field'"),
        ({"after": "yes"}, "'after'"),
        ({"kind": "correct", "field": "reference_contexts", "before": [], "after": "x"}, "'after'"),
        ({"kind": "label", "field": "m", "after": float("nan")}, "'after'"),
        ({"before": "x"}, "'before'"),
        ({"kind": "close", "field": "", "row": None, "sample": None, "draw": "d"}, "'after'"),
        ({"kind": "close", "field": "", "row": None, "sample": None}, "'draw'"),
    ],
    ids=str,
)
def test_a_review_that_cannot_be_kept_is_refused_with_its_field(tmp_path: Path, wrong: dict, said: str) -> None:
    store = ReviewStore(tmp_path)
    with pytest.raises(ReviewError, match=said):
        store.add(review(**wrong))
    assert not store.path.exists()


@pytest.mark.parametrize("text", ["\ud800 half", "<script>\u202e</script>", "a\nb\r\n\u2028c", "عربي", "\0"])
def test_any_text_is_kept_on_one_line_and_read_again(tmp_path: Path, text: str) -> None:
    kept = ReviewStore(tmp_path).add(correction(text))
    ReviewStore(tmp_path).add(review())
    assert ReviewStore(tmp_path).records()[0] == kept
    assert kept.after == text.replace("\ud800", "\ufffd")
