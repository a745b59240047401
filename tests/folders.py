"""Folders of runs that tests begin, and what commands print."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from rag_evaluator.cli.arguments import all_commands
from rag_evaluator.cli.main import main
from rag_evaluator.config import all_features

WHOLE = len(all_features()) >= 8  # else something was deleted: names and texts that only it needed may stay


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


def is_there(command: Sequence[str]) -> bool:
    """Whether there is this command: a feature that has it may be deleted. A configuration alone is `evaluate`."""
    return command[0] == "config.yaml" or not all_commands().keys().isdisjoint((command[0], " ".join(command[:2])))


def run_command(*arguments: object) -> None:
    """Run a command, which must exit with 0."""
    assert main(list(map(str, arguments))) == 0


def streams_of(capsys: pytest.CaptureFixture[str], code: int, *arguments: object) -> tuple[str, str]:
    """What a command writes to stdout and stderr; it must exit with a code and without a traceback."""
    capsys.readouterr()
    assert main(list(map(str, arguments))) == code
    out, err = capsys.readouterr()
    assert "Traceback" not in out + err
    return out, err


def output_of(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """What a command writes to stdout; it must exit with 0."""
    return streams_of(capsys, 0, *arguments)[0]


def error_of(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """What a command writes to stderr; it must exit with 2."""
    return streams_of(capsys, 2, *arguments)[1]


def printed(capsys: pytest.CaptureFixture[str], code: int, *arguments: object) -> str:
    """What a command prints; it must exit with a code and without a traceback."""
    return "".join(streams_of(capsys, code, *arguments))
