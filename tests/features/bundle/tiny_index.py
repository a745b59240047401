"""A folder of tiny wheels that pip takes for its index: the program, torch, and what they need."""

import zipfile
from collections.abc import Sequence
from pathlib import Path

from rag_evaluator import __version__

MAIN = f'def main() -> None:\n    print("rag-evaluator {__version__}, tiny")\n'


def wheel(folder: Path, name: str, version: str, requires: Sequence[str] = (), code: str = "") -> Path:
    """A package of one module; one with code has the command `rag-evaluator`."""
    path = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    extras = sorted({line.rpartition("==")[2].strip(" \"'") for line in requires if "extra ==" in line})
    metadata = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", "Requires-Python: >=3.9"]
    metadata += [f"Provides-Extra: {extra}" for extra in extras] + [f"Requires-Dist: {line}" for line in requires]
    files = {
        f"{name}.py": code,
        f"{info}/METADATA": "\n".join(metadata) + "\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    if code:
        files[f"{info}/entry_points.txt"] = f"[console_scripts]\nrag-evaluator = {name}:main\n"
    files[f"{info}/RECORD"] = "".join(f"{file},,\n" for file in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(path, "w") as file:
        for place, text in files.items():
            file.writestr(place, text)
    return path


def index(folder: Path) -> Path:
    """Fill a folder; returns the wheel of the program, which lies beside it, as if it had been given to somebody."""
    links = folder / "links"
    links.mkdir()
    wheel(links, "torch", "2.13.0+cpu")
    wheel(links, "grain", "1.2")
    wheel(links, "spice", "1.0")
    needs = [
        "torch>=2.6",
        "grain",
        'spice; extra == "demo"',
        'gone; extra == "gone"',
    ]
    return wheel(folder, "ragas_offline", __version__, needs, MAIN)
