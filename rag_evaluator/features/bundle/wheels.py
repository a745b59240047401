"""The wheels of a bundle: the program, the tested versions of its dependencies, torch for CPU or GPU; by pip."""

import platform
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from rag_evaluator.errors import ConfigError, ResultsError
from rag_evaluator.resources import PACKAGE, packaged

FILE = "ragas_offline-*.whl"
GLIBC = 31  # minor version of the oldest glibc 2 for which all tested versions have wheels
PLATFORMS = ("linux", "manylinux2014", *(f"manylinux_2_{minor}" for minor in range(5, GLIBC + 1)))
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
SOURCE_ONLY = {"strings": "rouge-score"}  # extra -> its package that has no wheel on PyPI, and is built


def program_source(wheel: Path | None) -> Path:
    """What the program's wheel is made of: a wheel that is given, or the clone. Raises `ConfigError` without either."""
    if sys.platform != "linux":
        raise ConfigError("bundle: make it on Linux: pip reads markers of requirements for the machine it runs on.")
    if wheel is not None and not (wheel.is_file() and wheel.match(FILE)):
        raise ConfigError(f"--wheel {wheel}: expected the file of a wheel of this program, {FILE}.")
    if wheel is None and (PACKAGE / "data").is_dir():
        raise ConfigError(
            f"the program was installed here: give its wheel, --wheel {FILE}; `pip wheel --no-deps .` in a clone "
            "makes it."
        )
    return wheel or PACKAGE.parent


def download(folder: Path, source: Path, extras: Sequence[str], torch: str) -> str:
    """Fill an empty folder with wheels that pip can install without an index; returns the version of torch.

    Args:
        source: see `program_source`.
        torch: `cpu`, `cuda`, or the index or folder to take it from. It comes alone, so that nothing else comes from
            there.

    Raises `ResultsError` where pip gets not all.
    """
    constraints = ["--constraint", str(packaged("constraints.txt"))]
    build = ["wheel", "--no-deps", "--wheel-dir", str(folder), *constraints]
    platforms = [f"--platform={name}_{platform.machine()}" for name in PLATFORMS]
    get = ["download", "--dest", str(folder), *constraints, "--only-binary=:all:", "--implementation=cp", *platforms]
    _pip(*build, str(source))
    [program] = folder.glob(FILE)
    for name in (SOURCE_ONLY[extra] for extra in extras if extra in SOURCE_ONLY):
        _pip(*build, name)
    index = ["--no-index", "--find-links", torch] if Path(torch).is_dir() else ["--extra-index-url", torch]
    places: dict[str, list[str]] = {"cuda": [], "cpu": ["--extra-index-url", CPU_INDEX]}
    _pip(*get, "--no-deps", *places.get(torch, index), "torch")
    version = next(folder.glob("torch-*.whl")).name.split("-")[1]
    named = f"{program}[{','.join(extras)}]" if extras else str(program)
    _pip(*get, "--find-links", str(folder), named, f"torch=={version}")
    return version


def _pip(*arguments: str) -> None:
    """Run pip, which writes to standard error what it does. Raises `ResultsError`."""
    command = [sys.executable, "-m", "pip", *arguments, "--disable-pip-version-check", "--no-input"]
    if subprocess.run(command, stdout=2, check=False).returncode:
        raise ResultsError(
            f"pip {arguments[0]} failed, see above. A package may have no wheel for Linux on {platform.machine()} with "
            f"glibc 2.{GLIBC}: build it on the node with `pip wheel`, and let pip find it here: PIP_FIND_LINKS=FOLDER."
        )
