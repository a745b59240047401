"""The engine that starts a vLLM server of its own, asks it through a UNIX socket, and ends it."""

import asyncio
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from rag_evaluator.config.judges import MERGE
from rag_evaluator.config.offline import NO_NETWORK, NO_TELEMETRY
from rag_evaluator.config.sections import JudgeConfig
from rag_evaluator.embeddings.fingerprint import fingerprint
from rag_evaluator.errors import JudgeLostError, JudgementError, ModelError
from rag_evaluator.files.digest import short_digest
from rag_evaluator.files.progress import ACTIVITY
from rag_evaluator.judge.engines.folders import SETTINGS, AdapterFolder, adapter_part
from rag_evaluator.judge.engines.protocol import Encoder, Form
from rag_evaluator.judge.engines.server.dialects import open_requests
from rag_evaluator.judge.engines.server.engine import ServerEngine
from rag_evaluator.judge.engines.server.http import UNIX, Address
from rag_evaluator.judge.engines.server.long_prompts import LocalModel
from rag_evaluator.judge.engines.vllm.server import VllmServer
from rag_evaluator.judge.protocol import Capabilities
from rag_evaluator.judge.requests import Reply, Request

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


class VllmEngine:
    """A vLLM server with its life; an `Engine`.

    Args:
        inner: asks the server.
        life: of the server.
        parts: see `signature_parts`.
    """

    def __init__(self, inner: ServerEngine, life: VllmServer, parts: Mapping[str, str]) -> None:
        self.inner, self.life, self.parts = inner, life, parts

    @classmethod
    def find(cls, config: JudgeConfig, offline: bool) -> str:
        """Folder of the model, once Python, vLLM and arguments are there. Raises `ModelError`."""
        for argument in config.vllm.args:
            if (name := argument.partition("=")[0].replace("_", "-")) in OURS:
                raise ModelError(f"judge.vllm.args: {name} is not yours to set: the program does, or must do without.")
        version_of(python_of(config))
        adapter = Adapter.of(config)
        folder = LocalModel.find(config, offline)
        if adapter is not None and not Path(folder).is_dir():
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
            address = Address("http://localhost", "http://localhost/v1", str(life.socket))
            name = ADAPTED if config.adapter else NAME
            served = config.model_copy(update={"served_model": name, "dialect": "vllm", "url": f"{UNIX}{life.socket}"})
            return cls(ServerEngine.at(served, address, offline), life, cls.signature_parts(config))
        except BaseException:
            life.stop()
            raise

    @property
    def accepts(self) -> frozenset[Form]:
        return self.inner.accepts

    @property
    def capabilities(self) -> Capabilities:
        return self.inner.capabilities

    @property
    def about(self) -> Mapping[str, str]:
        return {**self.inner.about, "path": "vllm", **self.parts}

    @property
    def model_id(self) -> str:
        return self.inner.model_id

    @property
    def encoder(self) -> Encoder:
        return self.inner.encoder

    async def generate(self, request: Request) -> Reply:
        return await self._while_it_lives(self.inner.generate(request))

    async def next_logprobs(
        self, input_ids: Sequence[int], candidates: Sequence[int], group: str = ""
    ) -> Sequence[float]:
        return await self._while_it_lives(self.inner.next_logprobs(input_ids, candidates, group))

    async def aclose(self) -> None:
        await self.inner.aclose()
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
    adapter = Adapter.of(config)
    return [
        *(python_of(config), "-m", MODULE),
        *("--model", folder, "--served-model-name", NAME, "--dtype", config.dtype, "--uds", str(socket)),
        *("--structured-outputs-config", '{"backend": "guidance"}', "--generation-config", "vllm"),
        *("--disable-uvicorn-access-log", "--disable-log-stats"),
        *(adapter.arguments if adapter is not None else ()),
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


@dataclass(frozen=True)
class Adapter:
    """A LoRA adapter in a folder.

    Attributes:
        rank: highest of its layers.
    """

    folder: Path
    rank: int

    @classmethod
    def of(cls, config: JudgeConfig) -> "Adapter | None":
        """The configured adapter, None if there is none. Raises `ModelError` for one that vLLM cannot load."""
        adapter = AdapterFolder.of(config, "vLLM")
        return None if adapter is None else cls(adapter.folder, _rank(adapter))

    @property
    def arguments(self) -> list[str]:
        """What a server is started with."""
        most = next(rank for rank in RANKS if rank >= self.rank)
        module = json.dumps({"name": ADAPTED, "path": str(self.folder)})
        return ["--enable-lora", "--max-lora-rank", str(most), "--lora-modules", module]


def _rank(adapter: AdapterFolder) -> int:
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
