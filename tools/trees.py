"""The working tree, and a temporary worktree of another commit beside it."""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parent.parent


@contextmanager
def worktree(revision: str) -> Iterator[Path]:
    """Give the folder of a commit, which goes when the context ends."""
    with tempfile.TemporaryDirectory(prefix="worktree-") as name:
        folder = Path(name).resolve() / "tree"
        _git("worktree", "add", "--quiet", "--detach", str(folder), revision)
        try:
            yield folder
        finally:
            _git("worktree", "remove", "--force", str(folder))


def files(tree: Path) -> list[Path]:
    """Return the files that git has, and new ones that it does not ignore; relative to the tree, sorted."""
    names = _git("ls-files", "-z", "--cached", "--others", "--exclude-standard", tree=tree).split("\0")
    return [Path(name) for name in sorted(set(names)) if name and (tree / name).is_file()]


def _git(*arguments: str, tree: Path = ROOT) -> str:
    return subprocess.run(["git", *arguments], cwd=tree, check=True, stdout=subprocess.PIPE, text=True).stdout
