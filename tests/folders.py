"""Folders of runs that tests begin, and what commands print."""

import json
from collections.abc import Iterable, Mapping, Sequence
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


def contents_of(paths: Iterable[Path]) -> dict[Path, bytes]:
    """The content of those that are files."""
    return {path: path.read_bytes() for path in paths if path.is_file()}


def run_command(*arguments: object) -> None:
    """Run a command, which must exit with 0."""
    assert main(list(map(str, arguments))) == 0


def output_of(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """What a command writes to stdout; it must exit with 0."""
    capsys.readouterr()
    run_command(*arguments)
    return capsys.readouterr().out


def error_of(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """What a command writes to stderr; it must exit with 2."""
    capsys.readouterr()
    assert main(list(map(str, arguments))) == 2
    return capsys.readouterr().err


def printed(capsys: pytest.CaptureFixture[str], code: int, *arguments: object) -> str:
    """What a command prints; it must exit with a code and without a traceback."""
    capsys.readouterr()
    assert main(list(map(str, arguments))) == code
    both = "".join(capsys.readouterr())
    assert "Traceback" not in both
    return both
