"""The wheels of a bundle: the program, the tested versions of its dependencies, torch for CPU or GPU.

pip chooses and downloads. It reads markers such as `python_version >= "3.12"` for the Python and the machine that it
runs on, not for those of the node; so the requirements of all wheels are read again here, for the node's. And it takes
`--python-version 3.11` for 3.11.0, which some packages do not allow; it is asked for the latest 3.11 instead.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, PathDistribution, distribution
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname
from zipfile import BadZipFile
from zipfile import Path as ZipPath

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rag_evaluator.errors import ConfigError, RagEvaluatorError, did_you_mean
from rag_evaluator.files.progress import ACTIVITY
from rag_evaluator.resources import PACKAGE, packaged

DISTRIBUTION, FILE = "ragas-offline", "ragas_offline-"
PYTHON = re.compile(r"3\.(1[1-9]|[2-9]\d)")
PLATFORM = re.compile(r"manylinux_2_(\d+)_(x86_64|aarch64)")
CPU, CUDA = "cpu", "cuda"
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
SOURCE_ONLY = {"rouge-score"}  # has no wheel on PyPI; the wheel that is made of it runs on every platform
LINES_SHOWN = 12  # of pip's output, where it fails
MOST_PASSES = 5
LATEST_PATCH = 99  # no Python has as many


class PipError(RagEvaluatorError):
    """pip is missing, or did not get what the bundle needs."""


@dataclass(frozen=True)
class Target:
    """The node for which the wheels are.

    Attributes:
        python: as in `3.11`.
        glibc: minor version of the oldest glibc that will do: 31 of 2.31.
        machine: as `uname -m` has it.
    """

    python: str
    glibc: int
    machine: str

    @classmethod
    def of(cls, python: str, platform: str) -> "Target":
        """Raises `ConfigError`."""
        if not PYTHON.fullmatch(python):
            raise ConfigError(f"--python {python}: expected a version of two numbers, 3.11 or newer, such as 3.12.")
        match = PLATFORM.fullmatch(platform)
        if match is None:
            raise ConfigError(
                f"--platform {platform}: expected a Linux with glibc, such as manylinux_2_31_x86_64 or "
                "manylinux_2_34_aarch64. `ldd --version` and `uname -m` on the node print both parts."
            )
        return cls(python, int(match[1]), match[2])

    def __str__(self) -> str:
        return f"Python {self.python} on Linux {self.machine} with glibc 2.{self.glibc} or newer"

    def arguments(self) -> list[str]:
        """Those of `pip download`; wheels for an older glibc run there, too."""
        kinds = ["linux", "manylinux2014", *(f"manylinux_2_{minor}" for minor in range(5, self.glibc + 1))]
        platforms = [f"--platform={kind}_{self.machine}" for kind in kinds]
        return [
            "--only-binary=:all:",
            f"--python-version={self.python}.{LATEST_PATCH}",
            "--implementation=cp",
            *platforms,
        ]

    def markers(self, patch: int) -> dict[str, str]:
        """What markers of requirements ask for, with a patch version of Python: 4 of 3.11.4."""
        return {
            **{name: str(value) for name, value in default_environment().items()},
            "python_version": self.python,
            "python_full_version": f"{self.python}.{patch}",
            "os_name": "posix",
            "sys_platform": "linux",
            "platform_system": "Linux",
            "platform_machine": self.machine,
        }


def check_torch(torch: str) -> None:
    """Raises `ConfigError` for a build that is none."""
    if not (torch in (CPU, CUDA) or "://" in torch or Path(torch).is_dir()):
        raise ConfigError(f"--torch {torch}: expected {CPU}, {CUDA}, the address of an index, or a folder with wheels.")


def _check_extras(extras: Sequence[str], known: Sequence[str]) -> None:
    for name in extras:
        if name not in known:
            raise ConfigError(f"--extras: '{name}' is none of {', '.join(known)}.{did_you_mean(name, known)}")


def program_source(wheel: Path | None) -> Path:
    """What the program's wheel is made of: a wheel that is given, the clone, or what pip installed (PEP 610).

    Raises `ConfigError` where none is there.
    """
    if wheel is not None and not (wheel.is_file() and wheel.name.startswith(FILE)):
        raise ConfigError(f"--wheel {wheel}: expected the file of a wheel of this program, {FILE}*.whl.")
    is_clone = not (PACKAGE / "data").is_dir()
    source = wheel or (PACKAGE.parent if is_clone else _installed_from())
    if source is None or not source.exists():
        raise ConfigError(
            "the program was installed here, and what it was installed from is gone. Give its wheel: --wheel "
            f"{FILE}*.whl; `pip wheel --no-deps .` in a clone makes it."
        )
    return source


def _installed_from() -> Path | None:
    try:
        record = distribution(DISTRIBUTION).read_text("direct_url.json")
    except PackageNotFoundError:
        return None
    url = urlsplit(json.loads(record)["url"] if record else "")
    return Path(url2pathname(url.path)) if url.scheme == "file" else None


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
    _check_extras(extras, _read(wheel).metadata.get_all("Provides-Extra") or [])
    named = f"[{','.join(extras)}]" if extras else ""
    needed = {canonicalize_name(Requirement(need).name) for need in unmet(folder, f"{DISTRIBUTION}{named}", target)}
    for name in sorted(SOURCE_ONLY & needed):
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
    wanted = [f"{wheel}{named}", f"torch=={version}"]
    for _ in range(MOST_PASSES):
        with ACTIVITY.phase("downloading the other wheels, which takes minutes"):
            _pip(target, *get, "--find-links", str(folder), *wanted)
        missing = unmet(folder, f"{DISTRIBUTION}{named}", target)
        if not missing:
            return
        wanted += missing
    raise PipError(f"pip did not download {', '.join(missing)} for {target}.")


def unmet(folder: Path, program: str, target: Target) -> list[str]:
    """Requirements of a program, and of what it needs on the node, that no wheel of a folder meets."""
    wheels = {canonicalize_name(path.name.partition("-")[0]): path for path in sorted(folder.glob("*.whl"))}
    waiting, seen, missing = [Requirement(program)], set[str](), list[str]()
    while waiting:
        need = waiting.pop()
        if str(need) in seen:
            continue
        seen.add(str(need))
        path = wheels.get(canonicalize_name(need.name))
        if path is None or not need.specifier.contains(_read(path).version, prereleases=True):
            missing.append(str(need))
        else:
            waiting += _needs(path, need.extras, target)
    return missing


def torch_version(folder: Path) -> str:
    [wheel] = folder.glob("torch-*.whl")
    return _read(wheel).version


def _read(wheel: Path) -> Distribution:
    """Metadata of a wheel."""
    try:
        [info] = [path for path in ZipPath(str(wheel)).iterdir() if path.name.endswith(".dist-info")]
    except (BadZipFile, ValueError) as error:
        raise PipError(f"{wheel}: is no wheel: {error}.") from error
    return PathDistribution(info)


def _needs(wheel: Path, extras: Iterable[str], target: Target) -> list[Requirement]:
    """What a wheel with some extras needs on the node; without markers, which have been read."""
    environments = [{**target.markers(patch), "extra": extra} for patch in (0, LATEST_PATCH) for extra in ("", *extras)]
    needs = []
    for need in map(Requirement, _read(wheel).requires or ()):
        if need.marker is None or any(map(need.marker.evaluate, environments)):
            need.marker = None
            needs.append(need)
    return needs


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
