"""The folder in which the commands of the docs are run."""

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def fresh_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """Gives the prepared folder as it was, each time it is called."""
    import prepared

    base = tmp_path_factory.mktemp("docs")
    source = base / "prepared"
    work = base / "work"
    work.mkdir()
    prepared.prepare(work)
    work.rename(source)

    def folder() -> Path:
        prepared.restore(source, work)
        return work

    return folder
