"""Every command of README and docs, and every example of every --help, does what it should."""

import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from docs_commands import ROOT, Block, Command, help_blocks, page_blocks
from how_commands_run import NAMES_ONLY, ONCE, reason_not_to_run, stand_in, way_of
from prepared import fill_in

from rag_evaluator.cli.main import main
from tools.docs.commands import parsers

pytestmark = pytest.mark.docs
Capture = pytest.CaptureFixture[str]
PIPE = re.compile(r" (?=[|>] )")
OVERWRITES_NOT: Mapping[str, str] = {"certify sheet": "", "review apply": "data.reviewed.jsonl", "init": "config.yaml"}
"""Command -> the file that it writes without --out, and never over one that is there."""
MAKES_RUN = re.compile(r"^rag-evaluator (?:check )?config\.yaml(?!.*--update)(?:.* name=(?P<name>[\w-]+))?")
NUMBER = re.compile(r"\d+(?:\.\d+)?")


def without_repetitions(blocks: Iterable[Block]) -> Iterator[Block]:
    """Each block with what is not sure to end as it did before; none that equals another, as those of translations."""
    seen: set[object] = {()}
    for block in blocks:
        whole = _lines(block.commands)
        known = [ONCE.match(command.line) and not command.output and command in seen for command in block.commands]
        commands = tuple(command for command, is_known in zip(block.commands, known, strict=True) if not is_known)
        lines = _lines(commands)
        if seen.isdisjoint({whole, lines}):
            yield replace(block, commands=commands)
        seen |= {whole, lines, *commands}


def _lines(commands: Iterable[Command]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple((stand_in(command.line), command.output) for command in commands)


BLOCKS = list(without_repetitions([*help_blocks(), *page_blocks()]))


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: f"{block.place}: {block.commands[0].line}")
def test_a_command_of_the_docs_works(
    block: Block, fresh_folder: Callable[[], Path], monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    lines = [stand_in(command.line) for command in block.commands]
    first = next((line for line in lines if reason_not_to_run(line) is None), "")
    if first:
        monkeypatch.chdir(fresh_folder())
    for command, line in zip(block.commands, lines, strict=True):
        if line == first and (made := MAKES_RUN.search(line)):  # by somebody who has not run it before
            shutil.rmtree(Path("results", made["name"] or "demo"), ignore_errors=True)
        _run(line, capsys)
        if command.output:
            assert _match(command.output, capsys.readouterr().out), command


@pytest.mark.xdist_group("sample")
@pytest.mark.parametrize("page", ["README.md", "docs/tutorial/1-first-run.md"])
def test_what_a_page_shows_is_what_the_sample_gives(page: str, sample_output: str) -> None:
    [shown] = re.findall(
        r"^```\n(\d+ of \d+ responses refuse .*?)```", (ROOT / page).read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    found = _match(tuple(shown.splitlines()), sample_output)
    assert found is not None, sample_output
    for here, there in zip(NUMBER.findall(shown), found.groups(), strict=True):
        assert float(here) == pytest.approx(float(there), abs=0.02)


@pytest.fixture(scope="module")
def sample_output(fresh_folder: Callable[[], Path]) -> str:
    """What `make run` prints."""
    folder = fresh_folder()
    shutil.rmtree(folder / "results" / "demo")
    command = [sys.executable, "-m", "rag_evaluator", "config.yaml"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _run(line: str, capsys: Capture) -> None:
    if reason_not_to_run(line) is not None:
        _look_up(line)
    elif NAMES_ONLY.match(line):
        assert line.removesuffix(" --review") in dict(parsers())
    elif not line.startswith("rag-evaluator "):
        words = [sys.executable, *shlex.split(line)[1:]]
        assert subprocess.run(words, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False).returncode == 0
    else:
        program, *pipe = PIPE.split(line, maxsplit=1)
        _run_program(program, capsys)
        if pipe:
            _pipe(pipe[0], capsys.readouterr().out)


def _pipe(rest: str, output: str) -> None:
    """What a shell does with the output of a command, which is JSON wherever the docs pass it on."""
    json.loads(output)
    if shutil.which("jq") or not rest.startswith("| jq"):
        done = subprocess.run(["sh", "-c", f"cat {rest}"], input=output, text=True, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "seconds_left" in rest or "null" not in done.stdout  # what jq says of a name that is not there


def _run_program(line: str, capsys: Capture) -> None:
    way = way_of(line)
    line = line.replace(*way.instead) if way.instead[0] else line
    words = shlex.split(line)[1:]
    cut = words.index("--") if "--" in words else len(words)
    words[cut:cut] = shlex.split(way.more)
    written = next((file for name, file in OVERWRITES_NOT.items() if line.startswith(f"rag-evaluator {name} ")), None)
    if written is not None:
        written = words[words.index("--out") + 1] if "--out" in words else written
        Path(written).unlink(missing_ok=True)
    try:
        code = main(words)
    except SystemExit as error:  # of --help
        code = int(error.code or 0)
    assert code in way.codes, f"{shlex.join(words)}: exit code {code}\n{''.join(capsys.readouterr())}"
    if written is not None and words[:2] == ["certify", "sheet"]:
        fill_in(Path(written))


def _look_up(line: str) -> None:
    """What can be said of a command that is not run."""
    words = shlex.split(line)
    if words[0] == "make":
        assert subprocess.run(["make", "-n", *words[1:]], cwd=ROOT, capture_output=True, check=False).returncode == 0
    if words[1:3] and words[1] == "-m" and words[2].startswith("benchmarks"):
        assert importlib.util.find_spec(words[2]) is not None
    _, program = next(parsers())
    if words[0] == "rag-evaluator":
        program.parse_args(words[1:])
    script = next((place for place, word in enumerate(words) if word in {"launcher.sh", "main.py"}), None)
    if script is not None:
        first, *others = words[script + 1 :]
        is_command = f"rag-evaluator {first}" in dict(parsers())
        program.parse_args([first, *others] if is_command else ["evaluate", first, *others])


def _match(expected: tuple[str, ...], shown: str) -> re.Match[str] | None:
    """Where a page shows what is printed: `...` stands for anything, and every number for any number, a group."""
    text = "\n".join(line.rstrip() for line in expected).strip("\n")
    pattern = "".join(_pattern(part) for part in re.split(r"(\.\.\.|\d+(?:\.\d+)?)", text))
    return re.search(pattern, "\n".join(line.rstrip() for line in shown.splitlines()), re.DOTALL)


def _pattern(part: str) -> str:
    return ".*?" if part == "..." else rf"({NUMBER.pattern})" if NUMBER.fullmatch(part) else re.escape(part)
