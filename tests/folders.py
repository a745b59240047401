"""Folders of runs that tests begin, and what commands print."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from aliases import Capture, Rows

from rag_evaluator.cli.arguments import all_commands
from rag_evaluator.cli.main import main
from rag_evaluator.config import all_features
from rag_evaluator.results import FILES, TIMES

TIMES_SAID = re.compile(rb'[\d-]{10} [\d:]{5} UTC(</bdi>[^>]*<bdi class="data">[\d,]+ (s|min))?')  # in a report
WHOLE = len(all_features()) >= 9  # else something was deleted: names and texts that only it needed may stay


def write_lines(path: Path, lines: Iterable[Any]) -> None:
    """Write a JSON document a line."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


def lines_of(path: Path) -> Rows:
    """The documents of a file of JSON Lines."""
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def write_config(folder: Path, rows: Sequence[Mapping[str, Any]], text: str) -> Path:
    """Write a configuration with its dataset beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    write_lines(folder / "rows.jsonl", rows)
    (folder / "config.yaml").write_text(f"dataset: rows.jsonl\n{text}\n", "utf-8")
    return folder / "config.yaml"


def results_of(config: Path) -> Path:
    return config.parent / "results" / "run"


def bytes_of(results: Path) -> dict[str, bytes]:
    """The files of a finished run."""
    return {name: (results / name).read_bytes() for name in FILES}


def contents_of(paths: Iterable[Path]) -> dict[Path, bytes]:
    """The content of those that are files, but for when a run was finished and how long it took."""
    return {path: TIMES_SAID.sub(b"", path.read_bytes()) for path in paths if path.is_file() and path.name != TIMES}


def is_there(command: Sequence[str]) -> bool:
    """Whether there is this command: a feature that has it may be deleted. A configuration alone is `evaluate`."""
    return command[0] == "config.yaml" or not all_commands().keys().isdisjoint((command[0], " ".join(command[:2])))


def run_command(*arguments: object) -> None:
    """Run a command, which must exit with 0."""
    assert main(list(map(str, arguments))) == 0


def streams_of(capsys: Capture, code: int, *arguments: object) -> tuple[str, str]:
    """What a command writes to stdout and stderr; it must exit with a code and without a traceback."""
    capsys.readouterr()
    assert main(list(map(str, arguments))) == code
    out, err = capsys.readouterr()
    assert "Traceback" not in out + err
    return out, err


def output_of(capsys: Capture, *arguments: object) -> str:
    """What a command writes to stdout; it must exit with 0."""
    return streams_of(capsys, 0, *arguments)[0]


def error_of(capsys: Capture, *arguments: object) -> str:
    """What a command writes to stderr; it must exit with 2."""
    return streams_of(capsys, 2, *arguments)[1]


def printed(capsys: Capture, code: int, *arguments: object) -> str:
    """What a command prints; it must exit with a code and without a traceback."""
    return "".join(streams_of(capsys, code, *arguments))
