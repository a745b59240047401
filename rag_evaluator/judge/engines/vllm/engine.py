"""The engine that starts a vLLM server of its own, asks it through a UNIX socket, and ends it."""

import asyncio
import functools
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from rag_evaluator.config.offline import NO_NETWORK, NO_TELEMETRY
from rag_evaluator.config.sections import MERGE, JudgeConfig
from rag_evaluator.errors import JudgeLostError, JudgementError, ModelError
from rag_evaluator.files.atomic import short_digest
from rag_evaluator.files.progress import ACTIVITY
from rag_evaluator.judge.engines.folders import SETTINGS, AdapterFolder, adapter_part
from rag_evaluator.judge.engines.server.dialects import open_requests
from rag_evaluator.judge.engines.server.engine import LocalModel, ServerEngine
from rag_evaluator.judge.engines.server.http import UNIX, Address
from rag_evaluator.judge.engines.vllm import watcher
from rag_evaluator.judge.protocol import Capabilities, Reply, Request
from rag_evaluator.models.hub import fingerprint

LAYERS = 2  # watchers: each ends what the other leaves
LONGEST_FOLDER = 64  # characters: the path of a UNIX socket may have 107, and names of vLLM's have 37
GRACE = 5.0  # seconds that a server has to end in order
STOPPED = 20.0  # seconds in which it has surely ended
READY_CHECK = 0.2  # seconds
LINES, LETTERS = 15, 4000  # of the log, in errors


class VllmServer:
    """A server that listens on a UNIX socket in a folder that only this user can read.

    Its temporary files are in that folder, too, and end with it.

    Args:
        command: of the server, given the path of its socket.
        environment: of the server.
        grace: seconds that it has to end in order.

    Attributes:
        socket: path of the socket.

    Raises `ModelError` where processes cannot be watched.
    """

    def __init__(
        self, command: Callable[[Path], Sequence[str]], environment: Mapping[str, str], grace: float = GRACE
    ) -> None:
        if not sys.platform.startswith("linux"):
            raise ModelError("judge.engine: 'vllm' starts a server on Linux only. Take 'server' or 'transformers'.")
        folder = _private_folder()
        lock = watcher.lock(folder)
        self.socket, self._log = folder / "http", folder / "log"
        arguments = [str(os.getpid()), str(LAYERS), str(grace), str(folder), *command(self.socket)]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-I", watcher.__file__, *arguments],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env={**environment, "TMPDIR": str(folder)},
                start_new_session=True,
            )
        self._end = weakref.finalize(self, _end, self._process, folder, lock, os.getpid())  # also at exit

    @property
    def ended(self) -> bool:
        """Whether the server has ended, with all that it had started."""
        return self._process.poll() is not None

    def wait_until_ready(self, seconds: float) -> None:
        """Wait until the server answers. Raises `ModelError` with its last lines if it ends or takes too long."""
        until = time.monotonic() + seconds
        while not _answers(self.socket):
            if self.ended:
                raise ModelError(f"judge.vllm: the server ended before it was ready. {self.last_lines()}")
            if time.monotonic() > until:
                lines = self.last_lines()
                self.stop()
                raise ModelError(
                    f"judge.vllm: the server was not ready after {seconds:g} seconds; raise judge.vllm.start_timeout "
                    f"if it was still loading. {lines}"
                )
            time.sleep(READY_CHECK)

    def last_lines(self) -> str:
        """What the server wrote last, for errors."""
        try:
            text = self._log.read_bytes()[-LETTERS:].decode("utf-8", "replace")
        except OSError:
            text = ""
        lines = [line for line in text.splitlines() if line.strip()][-LINES:]
        return "\n".join(["Its last lines:", *lines]) if lines else "It wrote nothing."

    def stop(self) -> None:
        """End the server and wait until it has ended."""
        self._end()


def _private_folder() -> Path:
    """A new folder of mode 0700, with a path that is short enough for a socket in it."""
    watcher.sweep(Path(tempfile.gettempdir()))
    folder = Path(tempfile.mkdtemp(prefix=watcher.PREFIX))
    if len(os.fsencode(folder)) <= LONGEST_FOLDER:
        return folder
    folder.rmdir()
    watcher.sweep(Path("/tmp"))
    return Path(tempfile.mkdtemp(prefix=watcher.PREFIX, dir="/tmp"))


def _answers(path: Path) -> bool:
    """Whether a server answers on a socket that it is well."""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(2.0)
            connection.connect(str(path))
            connection.sendall(b"GET /health HTTP/1.0\r\nHost: localhost\r\n\r\n")
            return b" 200 " in connection.recv(64)
    except OSError:
        return False


def _end(process: "subprocess.Popen[bytes]", folder: Path, lock: int, owner: int) -> None:
    """Close the pipe, which ends the server; not in a copy of the process that has only inherited it."""
    if os.getpid() != owner:
        return
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(STOPPED)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


MODULE = "vllm.entrypoints.openai.api_server"
NAME = "judge"  # of the model, on the server
CHECK = 1.0  # seconds between two looks at a server that is asked
OURS = (  # arguments that we set; with a parser of thoughts the grammar waits for their end, and has been skipped
    "--uds --host --port --model --served-model-name --dtype --api-key --structured-outputs-config --reasoning-parser "
    "--enable-lora --max-lora-rank --lora-modules"
).split()
QUIET = {"VLLM_NO_USAGE_STATS": "1", "VLLM_DO_NOT_TRACK": "1", "DO_NOT_TRACK": "1", "PYTHONSAFEPATH": "1"}
FOREIGN = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "VLLM_API_KEY")  # of our own environment, or not wanted there
CHOICES = ("VLLM_BATCH_INVARIANT", "VLLM_ATTENTION_BACKEND")  # variables that change numbers
VERSION = """
import importlib.util, pathlib, re
found = importlib.util.find_spec("vllm")
path = pathlib.Path(found.origin).parent / "_version.py"
print(re.search(r"version = ['\\"](.+?)['\\"]", path.read_text())[1])
"""
Answer = TypeVar("Answer")
ADAPTED = "judge-adapter"  # name of base and adapter together, on the server
RANKS = (8, 16, 32, 64, 128, 256, 320, 512)  # that `--max-lora-rank` takes


class VllmEngine(ServerEngine):
    """Asks a vLLM server that it has started; a row of `ENGINES`.

    Attributes:
        life: of the server.
        parts: see `signature_parts`.
    """

    life: VllmServer
    parts: Mapping[str, str]

    @classmethod
    def find(cls, config: JudgeConfig, offline: bool) -> str:
        """Folder of the model, once Python, vLLM and arguments are there. Raises `ModelError`."""
        for argument in config.vllm.args:
            if (name := argument.partition("=")[0].replace("_", "-")) in OURS:
                raise ModelError(f"judge.vllm.args: {name} is not yours to set: the program does, or must do without.")
        version_of(python_of(config))
        adapter = adapter_arguments(config)
        folder = LocalModel.find(config, offline)
        if adapter and not Path(folder).is_dir():
            raise ModelError(
                f"judge.model: {folder} is no folder here, as the base model of judge.adapter must be. Download it, "
                "and give its folder."
            )
        return folder

    @staticmethod
    def capabilities_of(config: JudgeConfig) -> Capabilities:
        return Capabilities(open_requests(config, "vllm"), config.temperature == 0, True, True, True, "same batches")

    @staticmethod
    def signature_parts(config: JudgeConfig, offline: bool = True) -> dict[str, str]:
        """What answers depend on beside the judge's other settings; no paths."""
        settings = {name.lower(): os.environ[name] for name in CHOICES if os.environ.get(name)}
        arguments = " ".join(map(_without_path, config.vllm.args))
        tensor_parallel = config.vllm.option("--tensor-parallel-size", "-tp") or "1"
        parts = {"vllm": version_of(python_of(config)), "tensor_parallel": tensor_parallel, **settings}
        parts |= {"vllm_args": arguments} if arguments else {}
        return parts | adapter_part(config)

    @classmethod
    def load(cls, config: JudgeConfig, offline: bool) -> "VllmEngine":
        """Start the server and wait until it is ready. Raises `ModelError`."""
        folder = cls.find(config, offline)
        local = LocalModel.load(config, offline)
        del local  # a judge that cannot be asked is refused before its weights are read
        life = VllmServer(lambda socket: command(config, folder, socket), environment(offline))
        try:
            with ACTIVITY.phase(f"starting vLLM with {folder}"):
                life.wait_until_ready(config.vllm.start_timeout)
            address = Address("http://localhost/v1", str(life.socket))
            name = ADAPTED if config.adapter else NAME
            served = config.model_copy(update={"served_model": name, "dialect": "vllm", "url": f"{UNIX}{life.socket}"})
            engine = cls.at(served, address, offline)
            engine.life, engine.parts = life, cls.signature_parts(config)
            return engine
        except BaseException:
            life.stop()
            raise

    @property
    def about(self) -> Mapping[str, str]:
        return {**super().about, "path": "vllm", **self.parts}

    async def generate(self, request: Request) -> Reply:
        return await self._while_it_lives(super().generate(request))

    async def next_logprobs(
        self, input_ids: Sequence[int], candidates: Sequence[int], group: str = ""
    ) -> Sequence[float]:
        return await self._while_it_lives(super().next_logprobs(input_ids, candidates, group))

    async def aclose(self) -> None:
        await super().aclose()
        await asyncio.to_thread(self.life.stop)

    async def _while_it_lives(self, asked: Coroutine[Any, Any, Answer]) -> Answer:
        """What the server answers. Raises `JudgeLostError` as soon as it has ended, without any more tries."""
        task = asyncio.ensure_future(asked)
        try:
            while not (await asyncio.wait({task}, timeout=CHECK))[0]:
                if self.life.ended:
                    raise self._lost()
            return task.result()
        except JudgementError as error:
            if self.life.ended:
                raise self._lost() from error
            raise
        finally:
            task.cancel()

    def _lost(self) -> JudgeLostError:
        return JudgeLostError(f"the vLLM server has ended. {self.life.last_lines()}")


def command(config: JudgeConfig, folder: str, socket: Path) -> list[str]:
    """What starts the server."""
    return [
        *(python_of(config), "-m", MODULE),
        *("--model", folder, "--served-model-name", NAME, "--dtype", config.dtype, "--uds", str(socket)),
        *("--structured-outputs-config", '{"backend": "guidance"}', "--generation-config", "vllm"),
        *("--disable-uvicorn-access-log", "--disable-log-stats"),
        *adapter_arguments(config),
        *config.vllm.args,
    ]


def environment(offline: bool) -> dict[str, str]:
    """Of the server: it reports to nobody, uses no proxy, and opens no connection to the outside if `offline`."""
    kept = {
        name: value for name, value in os.environ.items() if name not in FOREIGN and not name.lower().endswith("_proxy")
    }
    local = {"VLLM_HOST_IP": os.environ.get("VLLM_HOST_IP", "127.0.0.1")}  # else it asks which address leads outside
    inside = {"GLOO_SOCKET_IFNAME": "lo", "NCCL_SOCKET_IFNAME": "lo"}  # else processes meet where others can reach them
    compiled = {"TORCHINDUCTOR_CACHE_DIR": f"{tempfile.gettempdir()}/torchinductor_{os.getuid()}"}  # for later starts
    return {**inside, **compiled, **kept, **NO_TELEMETRY, **QUIET, **local, **(NO_NETWORK if offline else {})}


def python_of(config: JudgeConfig) -> str:
    """The Python that runs vLLM. Raises `ModelError` if there is none."""
    python = config.vllm.python or sys.executable
    if shutil.which(python) is None:
        raise ModelError(f"judge.vllm.python: no such program: {python}. Give bin/python of an environment with vLLM.")
    return python


@functools.cache
def version_of(python: str) -> str:
    """The version of vLLM in an environment, read without importing it. Raises `ModelError` if it has none."""
    kept = {name: value for name, value in os.environ.items() if name not in FOREIGN}
    done = subprocess.run([python, "-c", VERSION], capture_output=True, text=True, env={**kept, **QUIET}, cwd="/")
    if done.returncode != 0:
        raise ModelError(
            f"judge.vllm.python: {python} has no vLLM. Install it there, or give bin/python of an environment that "
            "has it."
        )
    return done.stdout.strip()


def _without_path(argument: str) -> str:
    """An argument; of a file or folder what tells it from others, wherever it is."""
    name, equals, value = argument.partition("=") if argument.startswith("-") else ("", "", argument)
    path = Path(value).expanduser()
    if value and path.is_dir():
        value = fingerprint(str(path))
    elif value and path.is_file():
        value = short_digest(path.read_bytes())
    return f"{name}{equals}{value}"


def adapter_arguments(config: JudgeConfig) -> list[str]:
    """What a server is started with for the configured adapter, if any. Raises `ModelError` if vLLM cannot load it."""
    adapter = AdapterFolder.of(config, "vLLM")
    if adapter is None:
        return []
    rank = _rank(adapter)
    most = next(each for each in RANKS if each >= rank)
    module = json.dumps({"name": ADAPTED, "path": str(adapter.folder)})
    return ["--enable-lora", "--max-lora-rank", str(most), "--lora-modules", module]


def _rank(adapter: AdapterFolder) -> int:
    """The highest of its layers."""
    folder, settings = adapter.folder, adapter.settings
    ranks = [settings.get("r"), *(settings.get("rank_pattern") or {}).values()]
    if not all(isinstance(rank, int) and rank > 0 for rank in ranks):
        raise ModelError(f"judge.adapter: {folder / SETTINGS} names no rank: 'r' is {settings.get('r')!r}.")
    highest: int = max(ranks)
    if highest > RANKS[-1]:
        raise ModelError(
            f"judge.adapter: {folder} has rank {highest}, and vLLM loads ranks up to {RANKS[-1]}. {MERGE}."
        )
    return highest
