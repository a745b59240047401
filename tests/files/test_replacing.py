"""No command replaces a file that it did not write, without `--force`; what it reads it never replaces."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from aliases import Capture
from folders import error_of, is_there, run_command
from labelled_runs import exact_run

COMMANDS: dict[str, tuple[list[str], str]] = {
    "certify --out": (["certify", "a", "--labels", "labels.csv"], "--out"),
    "compare --csv": (["compare", "a", "b"], "--csv"),
    "gate --junit": (
        ["gate", "a", "--min", "mean:exact_match=0.1", "--not-worse-than", "b", "--margin", "1"],
        "--junit",
    ),
    "report --out": (["report", "a", "b"], "--out"),
}
COMMANDS = {name: row for name, row in COMMANDS.items() if is_there(row[0])}
PYTEST = (
    b'<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests"><testsuite name="pytest"/></testsuites>'
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("a", "b"):
        exact_run(tmp_path / name)
    lines = ["row,exact_match", *(f"{row},{row % 2}" for row in range(40))]
    (tmp_path / "labels.csv").write_text("\n".join(lines), "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("command", "option"), COMMANDS.values(), ids=COMMANDS)
def test_a_file_of_somebody_else_needs_force_and_an_own_one_is_replaced(
    folder: Path, capsys: Capture, command: Sequence[str], option: str
) -> None:
    out = folder / "out.file"
    arguments = [*command, option, "out.file"]
    for content in (b"my own notes\n", PYTEST, (folder / "a" / "scores.jsonl").read_bytes()):
        out.write_bytes(content)
        error = error_of(capsys, *arguments)
        assert "out.file exists already, and this command did not write it. Choose another name, or --force" in error
        assert out.read_bytes() == content
    run_command(*arguments, "--force")
    written = out.read_bytes()
    assert written not in (b"my own notes\n", PYTEST)
    run_command(*arguments)
    assert out.read_bytes() == written
    out.write_bytes(b"")
    run_command(*arguments)
    assert out.read_bytes() == written


INPUTS = {
    "the labels": (["certify", "a", "--labels", "labels.csv", "--out"], "labels.csv"),
    "a baseline": (
        ["gate", "a", "--not-worse-than", "table.csv", "--margin", "1", "--junit"],
        "table.csv",
    ),
    "scores by a link": (["certify", "a", "--labels", "labels.csv", "--out"], "link.json"),
    "rows of a report": (["report", "a", "--out"], "a/details.jsonl"),
    "a sheet over scores": (["certify", "sheet", "a", "--size", "20", "--out"], "a/scores.xlsx"),
}
INPUTS = {name: row for name, row in INPUTS.items() if is_there(row[0])}


@pytest.mark.parametrize(("command", "target"), INPUTS.values(), ids=INPUTS)
def test_what_a_command_reads_is_not_replaced_even_with_force(
    folder: Path, capsys: Capture, command: Sequence[str], target: str
) -> None:
    (folder / "table.csv").write_bytes((folder / "b" / "scores.csv").read_bytes())
    (folder / "link.json").symlink_to(folder / "a" / "scores.jsonl")
    before = (folder / target).read_bytes()
    assert f"{target}: is read by this command, and is not replaced" in error_of(capsys, *command, target, "--force")
    assert (folder / target).read_bytes() == before


def test_a_report_of_several_runs_in_this_folder_is_not_put_over_another_page(folder: Path, capsys: Capture) -> None:
    (folder / "report.html").write_text("<!doctype html><title>mine</title>", "utf-8")
    assert "report.html exists already" in error_of(capsys, "report", "a", "b")
