"""What is confirmed is kept: kills, torn lines, two processes, an editor, any text."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from app_client import client, kept, sent, write_run
from starlette.testclient import TestClient

FLAG = {"row": 0, "kind": "flag", "field": "too_easy", "before": False, "after": True}
WRITER = """
import sys
from pathlib import Path
from app_client import client, sent
browser, row, last = client(Path(sys.argv[1]), who="anna"), int(sys.argv[2]), sys.argv[4]
for number in range(10_000):
    text = f"{sys.argv[3]}.{number} " + "x" * (number % 7 * 900)
    said = {"row": row, "kind": "correct", "field": "reference", "before": last, "after": text}
    assert sent(browser, "run", said).status_code == 200
    last = text
    print(text.split()[0], flush=True)
"""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run")


@pytest.fixture
def anna(run: Path) -> TestClient:
    return client(run, who="anna")


def writing(run: Path, row: int, name: str, last: str) -> "subprocess.Popen[str]":
    """Another process, which corrects a row again and again, and prints what was confirmed."""
    command = [sys.executable, "-c", WRITER, str(run), str(row), name, last]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def killed_after(process: "subprocess.Popen[str]", lines: int, wait: float) -> list[str]:
    """What a process has confirmed until it is killed."""
    assert process.stdout is not None
    while not process.stdout.readline().startswith("view has ended"):  # as it had no socket
        pass
    confirmed = [process.stdout.readline().strip() for _ in range(lines)]
    time.sleep(wait)
    process.send_signal(signal.SIGKILL)
    confirmed += process.stdout.read().split()
    process.wait()
    return confirmed


@pytest.mark.processes
def test_every_confirmed_review_is_there_though_two_writers_are_killed_again_and_again(
    run: Path, anna: TestClient
) -> None:
    chance = random.Random(3)
    confirmed: list[str] = []
    for round_number in range(3):
        last = [anna.get(f"/api/review/row/run/{row}").json()["texts"]["reference"] for row in (0, 1)]
        writers = [writing(run, row, f"{row}.{round_number}", last[row]) for row in (0, 1)]
        for writer in writers:
            confirmed += killed_after(writer, chance.randrange(5, 40), chance.random() / 50)
    assert sent(anna, "run", {**FLAG, "row": 2}).status_code == 200  # what a kill has torn is dropped
    texts = [str(record["after"]).split()[0] for record in kept(run)]
    assert set(confirmed) <= set(texts)
    assert len(texts) == len(set(texts))
    assert len(confirmed) > 30


def flags(browser: TestClient) -> list[str]:
    """The flags of the first row, as a page shows them."""
    return list(browser.get("/api/review/row/run/0").json()["flags"])


@pytest.mark.parametrize("torn", [b"{", b'{"id": "torn", "run"', b'{"id": "torn"}', "ü".encode()[:1]])
def test_a_torn_last_line_is_ignored_and_never_swallows_the_next_review(
    run: Path, anna: TestClient, torn: bytes
) -> None:
    sent(anna, "run", FLAG)
    with (run / "reviews.jsonl").open("ab") as file:
        file.write(torn)
    assert flags(anna) == flags(client(run, who="bob")) == ["too_easy"]
    sent(anna, "run", {**FLAG, "field": "ambiguous"})
    assert flags(anna) == flags(client(run, who="bob")) == ["too_easy", "ambiguous"]


def test_a_file_whose_last_end_of_line_an_editor_took_away_loses_no_review(run: Path, anna: TestClient) -> None:
    sent(anna, "run", FLAG)
    sent(anna, "run", {**FLAG, "field": "ambiguous"})
    path = run / "reviews.jsonl"
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    assert flags(anna) == ["too_easy", "ambiguous"]
    sent(anna, "run", {**FLAG, "field": "duplicate"})
    assert flags(anna) == [record["field"] for record in kept(run)] == ["too_easy", "ambiguous", "duplicate"]


def test_a_line_that_is_damaged_before_the_last_one_is_an_error_with_its_number(run: Path, anna: TestClient) -> None:
    sent(anna, "run", FLAG)
    [sample] = [record["sample"] for record in kept(run)]
    with (run / "reviews.jsonl").open("ab") as file:
        file.write(b"\0\0\0\n")
    again = {**FLAG, "field": "ambiguous", "sample": sample}
    for answer in (anna.get("/api/review/row/run/0"), sent(anna, "run", again)):
        assert answer.status_code == 500
        assert "reviews.jsonl, line 2: damaged" in answer.json()["error"]


def test_a_review_is_on_disk_before_it_is_confirmed(
    run: Path, anna: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = []
    real = os.fsync

    def fsync(handle: int) -> None:
        synced.append((run / "reviews.jsonl").read_bytes())
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    sent(anna, "run", FLAG)
    assert synced[0] == (run / "reviews.jsonl").read_bytes()


@pytest.mark.parametrize("text", ["\ud800 half", "<script>\u202e</script>", "a\nb\r\n\u2028c", "عربي", "\0"])
def test_any_text_is_kept_on_one_line_and_read_again(run: Path, anna: TestClient, text: str) -> None:
    said = {"row": 0, "kind": "correct", "field": "reference", "before": "Tesk", "after": text}
    assert sent(anna, "run", said).status_code == 200
    sent(anna, "run", FLAG)
    shown = client(run, who="bob").get("/api/review/row/run/0").json()["texts"]["reference"]
    assert shown == kept(run)[0]["after"] == text.replace("\ud800", "\ufffd")
