"""Folders of runs that tests begin, and what commands print."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from rag_evaluator.cli.main import main


def write_config(folder: Path, rows: Sequence[Mapping[str, Any]], text: str) -> Path:
    """Write a configuration with its dataset beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (folder / "config.yaml").write_text(f"dataset: rows.jsonl\n{text}\n", encoding="utf-8")
    return folder / "config.yaml"


def results_of(config: Path) -> Path:
    return config.parent / "results" / "run"


def run_command(*arguments: object) -> None:
    """Run a command, which must exit with 0."""
    assert main(list(map(str, arguments))) == 0


def printed(capsys: pytest.CaptureFixture[str], code: int, *arguments: object) -> str:
    """What a command prints; it must exit with a code and without a traceback."""
    capsys.readouterr()
    assert main(list(map(str, arguments))) == code
    both = "".join(capsys.readouterr())
    assert "Traceback" not in both
    return both
