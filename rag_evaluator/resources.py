"""Files that come with the package: prompt packs, English prompts, the launcher, the sample, a first configuration."""

import os
import shlex
import shutil
import sys
from pathlib import Path

from rag_evaluator.errors import SHELL

PACKAGE = Path(__file__).resolve().parent
__version__ = "0.1.0"
NAME = "rag-evaluator"
SCRIPT = "main.py"  # of a clone: `python main.py config.yaml`


def packaged(name: str, package: Path = PACKAGE) -> Path:
    """Where a file or folder of the repository lies, such as `prompts`: in the package, or beside it in a clone.

    An installed package has them in its folder `data`; what lies beside it belongs to others.
    """
    data = package / "data"
    return (data if data.is_dir() else package.parent) / name


def command(*words: object) -> str:
    """A command of ours for a shell: `command("merge", folder)`."""
    return " ".join([program(), *(shlex.quote(str(word)) for word in words)])


def for_others(command_line: str) -> str:
    """A command as others type it, who start the program by its name: a page goes to them."""
    return command_line.replace(program(), NAME, 1)


def program() -> str:
    """What a command begins with: `rag-evaluator`, its path, `python main.py` or `python -m rag_evaluator`.

    In a program of somebody else, which no command of ours has started, it is the name.
    """
    started = Path(sys.argv[0] or NAME)
    words = [NAME]
    if not SHELL.get():
        return NAME
    if started.name == "__main__.py" and started.parent.name == "rag_evaluator":
        words = [_as_typed("python", Path(sys.executable)), "-m", "rag_evaluator"]
    elif started.name == SCRIPT:
        words = [_as_typed("python", Path(sys.executable)), near(started)]
    elif started.stem == NAME and os.sep in sys.argv[0]:
        words = [_as_typed(NAME, started)]
    return shlex.join(words)


def _as_typed(name: str, path: Path) -> str:
    """The name of an executable where a shell finds this one by it, else its path."""
    found = shutil.which(name)
    return name if found is not None and _whole(Path(found)) == _whole(path) else near(path)


def near(path: Path) -> str:
    """A path from here where it lies below, else the whole path."""
    whole = _whole(path)
    here = Path.cwd()
    return str(whole.relative_to(here) if whole.is_relative_to(here) else whole)


def _whole(path: Path) -> Path:
    """Links are kept: the Python of an environment is one."""
    return Path(os.path.abspath(path))  # noqa: PTH100
