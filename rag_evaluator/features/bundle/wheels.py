"""The wheels of a bundle: the program, the tested versions of its dependencies, torch for CPU or GPU; by pip."""

import platform
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from zipfile import ZipFile

from rag_evaluator.errors import ConfigError, RagEvaluatorError
from rag_evaluator.files.progress import ACTIVITY
from rag_evaluator.resources import PACKAGE, packaged

DISTRIBUTION, FILE = "ragas-offline", "ragas_offline-"
PLATFORM = re.compile(r"manylinux_2_(\d+)_(x86_64|aarch64)")
CPU, CUDA = "cpu", "cuda"
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
SOURCE_ONLY = {"strings": "rouge-score"}  # extra -> its package that has no wheel on PyPI, and is built
LINES_SHOWN = 12  # of pip's output, where it fails


class PipError(RagEvaluatorError):
    """pip is missing, or did not get what the bundle needs."""


@dataclass(frozen=True)
class Target:
    """The node for which the wheels are: its Python is that of this program.

    Attributes:
        glibc: minor version of the oldest glibc that will do: 31 of 2.31.
    """

    glibc: int
    python: str = "{}.{}".format(*sys.version_info)
    machine: str = platform.machine()

    @classmethod
    def of(cls, named: str) -> "Target":
        """Raises `ConfigError`, also for another kind of machine: pip reads markers of requirements for its own."""
        match = PLATFORM.fullmatch(named)
        if match is None or sys.platform != "linux" or match[2] != platform.machine():
            raise ConfigError(
                f"--platform {named}: expected a Linux with glibc on a machine like this one, such as "
                f"manylinux_2_31_{platform.machine()}. `ldd --version` and `uname -m` on the node print both parts."
            )
        return cls(int(match[1]))

    def __str__(self) -> str:
        return f"Python {self.python} on Linux {self.machine} with glibc 2.{self.glibc} or newer"

    def arguments(self) -> list[str]:
        """Those of `pip download`; wheels for an older glibc run there, too."""
        kinds = ["linux", "manylinux2014", *(f"manylinux_2_{minor}" for minor in range(5, self.glibc + 1))]
        platforms = [f"--platform={kind}_{self.machine}" for kind in kinds]
        return ["--only-binary=:all:", "--implementation=cp", *platforms]


def check_torch(torch: str) -> None:
    """Raises `ConfigError` for a build that is none."""
    if not (torch in (CPU, CUDA) or "://" in torch or Path(torch).is_dir()):
        raise ConfigError(f"--torch {torch}: expected {CPU}, {CUDA}, the address of an index, or a folder with wheels.")


def program_source(wheel: Path | None) -> Path:
    """What the program's wheel is made of: a wheel that is given, or the clone. Raises `ConfigError` without either."""
    if wheel is not None and not (wheel.is_file() and wheel.name.startswith(FILE)):
        raise ConfigError(f"--wheel {wheel}: expected the file of a wheel of this program, {FILE}*.whl.")
    if wheel is None and (PACKAGE / "data").is_dir():
        raise ConfigError(
            f"the program was installed here: give its wheel, --wheel {FILE}*.whl; `pip wheel --no-deps .` in a clone "
            "makes it."
        )
    return wheel or PACKAGE.parent


def download(folder: Path, source: Path, extras: Sequence[str], target: Target, torch: str) -> None:
    """Fill an empty folder with wheels that pip can install without an index.

    Args:
        source: see `program_source`.
        torch: `cpu`, `cuda`, or the index or folder to take it from.

    Raises `PipError`.
    """
    constraints = ["--constraint", str(packaged("constraints.txt"))]
    build = ["wheel", "--no-deps", "--wheel-dir", str(folder), *constraints]
    get = ["download", "--dest", str(folder), *constraints, *target.arguments()]
    with ACTIVITY.phase("building the wheel of the program"):
        _pip(target, *build, str(source))
    [wheel] = folder.glob("*.whl")
    known = _read(wheel).get_all("Provides-Extra") or []
    if unknown := set(extras).difference(known):
        raise ConfigError(f"--extras: none of {', '.join(known)}: {', '.join(sorted(unknown))}.")
    for name in (SOURCE_ONLY[extra] for extra in extras if extra in SOURCE_ONLY):
        with ACTIVITY.phase(f"building {name}, which has no wheel"):
            _pip(target, *build, name)
    with ACTIVITY.phase("downloading torch"):
        _pip(target, *get, "--no-deps", *_place(torch), "torch")
    version = torch_version(folder)
    if torch in (CPU, CUDA) and (torch == CPU) != version.endswith("+cpu"):
        raise PipError(
            f"--torch {torch}: pip found torch {version} instead, as far as it reached its indexes and {CPU_INDEX}. "
            "Give an index or a folder that has it: --torch FOLDER."
        )
    named = f"{wheel}[{','.join(extras)}]" if extras else str(wheel)
    with ACTIVITY.phase("downloading the other wheels, which takes minutes"):
        _pip(target, *get, "--find-links", str(folder), named, f"torch=={version}")


def torch_version(folder: Path) -> str:
    [wheel] = folder.glob("torch-*.whl")
    return str(_read(wheel)["Version"])


def _read(wheel: Path) -> Message:
    """Metadata of a wheel."""
    with ZipFile(wheel) as file:
        [name] = [name for name in file.namelist() if name.endswith(".dist-info/METADATA")]
        return message_from_bytes(file.read(name))


def _place(torch: str) -> list[str]:
    """Arguments of pip for where torch comes from."""
    if torch == CUDA:
        return []
    if Path(torch).is_dir():
        return ["--no-index", "--find-links", torch]
    return ["--extra-index-url", CPU_INDEX if torch == CPU else torch]


def _pip(target: Target, *arguments: str) -> None:
    """Raises `PipError` with the last lines that pip wrote."""
    command = [sys.executable, "-m", "pip", *arguments, "--disable-pip-version-check", "--no-input"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return
    lines = (done.stdout + done.stderr).splitlines()
    raise PipError(
        "\n".join([f"pip {arguments[0]} failed:", *lines[-LINES_SHOWN:]])
        + f"\nA package may have no wheel for {target}. If the node is newer, give its --platform. Else build the "
        "wheel there with `pip wheel`, and let pip find it here: PIP_FIND_LINKS=FOLDER."
    )
