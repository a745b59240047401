"""From two workbooks of somebody's systems to the page that is sent on: three commands, and what the page shows."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from aliases import Capture
from test_report_answer import SCREEN, opened

from rag_evaluator.cli.main import main

HEADINGS = {
    "A.xlsx": ["Question ID", "Question", "Answer from bot", "Fragmentos recuperados", "expected"],
    "B.xlsx": ["id", "user question", "Bot answer", "Retrieved passages", "Ground truth"],
}
FLAGS = ["--language", "en", "--metrics", "exact_match", "string_presence"]


def workbook(path: Path, wrong: int) -> None:
    """Forty answers, of which each `wrong`th is wrong; those of B in another order."""
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    sheet.append(HEADINGS[path.name])
    for number in sorted(range(40), key=lambda number: number * (7 if path.name == "B.xlsx" else 1) % 40):
        right = f"The bridge of the town {number} was built in {1900 + number}."
        said = right if number % wrong else "Nobody knows when it was built."
        sheet.append([f"Q{number:03d}", f"When was the bridge of the town {number} built?", said, right, right])
    book.save(path)


def page_of(folder: Path, capsys: Capture) -> Path:
    """The page that `init` and the commands which it prints lead to."""
    workbook(folder / "A.xlsx", 2)
    workbook(folder / "B.xlsx", 8)
    assert main(["init", *HEADINGS, *FLAGS]) == 0
    commands = [shlex.split(line)[1:] for line in capsys.readouterr().out.partition("then:\n")[2].splitlines()]
    assert len(commands) == 2, "three commands with init"
    for words in commands:
        assert main(words) == 0
    return folder / "results/B/comparison.html"


@pytest.mark.parametrize("medium", ["screen", "print"])
def test_sentence_decision_picture_and_two_changed_rows_come_first(
    new_context: Callable[..., Any],
    tmp_path: Path,
    medium: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
) -> None:
    monkeypatch.chdir(tmp_path)
    page = opened(new_context, page_of(tmp_path, capsys), viewport=SCREEN)
    page.emulate_media(media=medium)
    height = SCREEN["height"] if medium == "screen" else 297 / 210 * SCREEN["width"]  # of a sheet as wide as this
    sentence = page.locator("#comparison .sentence").first
    decision = page.locator("#comparison .decision").first
    assert sentence.inner_text().startswith("B is better in ")
    assert decision.inner_text().startswith("Decide: B.")
    parts = [sentence, decision, page.locator("#comparison .scroll svg").first]
    parts += page.locator("#comparison .changed li").filter(has_text="Q0").all()[:2]
    assert len(parts) == 5
    for part in parts:
        box = part.bounding_box()
        assert box is not None and box["y"] + box["height"] <= height, part.inner_text()
