"""A run of forty rows in chunks of four."""

from pathlib import Path

import pytest
from chunk_runs import PLAIN, make_rows
from folders import write_config


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return write_config(tmp_path, make_rows(40), f"metrics: [{', '.join(PLAIN)}]\nchunk_size: 4")
