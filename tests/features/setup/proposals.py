"""What `rag-evaluator init` proposes for a file of rows, and what it says."""

from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from rag_evaluator import load_config
from rag_evaluator.cli.main import main


@dataclass(frozen=True)
class Proposed:
    """A configuration that was written.

    Attributes:
        text: of the file.
        said: what the command has printed.
    """

    text: str
    said: str

    def line(self, beginning: str) -> str:
        return next(line.removeprefix(beginning) for line in self.said.splitlines() if line.startswith(beginning))

    @property
    def read(self) -> str:
        """The rows, and what their columns hold."""
        return self.line("read ")

    @property
    def language(self) -> str:
        return self.line("language: ")

    @property
    def metrics(self) -> list[str]:
        return self.line("metrics: ").split(", ")

    @property
    def warnings(self) -> list[str]:
        return [line.removeprefix("note: ") for line in self.said.splitlines() if line.startswith("note: ")]


def init(paths: tuple[Path, ...], wishes: dict[str, Any]) -> tuple[int, str, str]:
    """The exit code of the command, and what it writes to stdout and stderr; the file is `config.yaml`."""
    words = ["init", *map(str, paths), "--out", str(paths[0].parent / "config.yaml"), "--force"]
    for name, wish in wishes.items():
        values = [f"{key}={value}" for key, value in wish.items()] if isinstance(wish, dict) else wish
        words += [f"--{name}", *([values] if isinstance(values, str) else values)]
    out = StringIO()
    err = StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(words)
    return code, out.getvalue(), err.getvalue()


def proposed(*paths: Path, **wishes: Any) -> Proposed:
    """A proposal that was read again by everything that comes before a model."""
    code, said, error = init(paths, wishes)
    assert code == 0, error
    out = paths[0].parent / "config.yaml"
    text = out.read_text("utf-8")
    assert max(map(len, text.splitlines())) <= 140
    assert load_config(out).dataset == paths[0]
    return Proposed(text, said)


def refused(path: Path, **wishes: Any) -> str:
    """Why a file of rows becomes no configuration."""
    code, _, error = init((path,), wishes)
    assert code == 2
    return error
