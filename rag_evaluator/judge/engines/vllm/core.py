"""vLLM's own engine in this process: requests are added while others are decoded, each answer is handed on at once.

One thread owns the model: it adds requests and makes a step in turn, and between two steps what else waits for it.
"""

import asyncio
import gc
import itertools
import os
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from rag_evaluator.config.offline import NO_NETWORK, NO_TELEMETRY
from rag_evaluator.config.sections import JudgeConfig
from rag_evaluator.errors import JudgeLostError, JudgementError, ModelError
from rag_evaluator.judge.engines.folders import SETTINGS, AdapterFolder
from rag_evaluator.models.event_loop import MODELS

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


class Core:
    """A loaded model; its answers are vLLM's `CompletionOutput`.

    Args:
        llm: vLLM's `LLMEngine`. Any: vLLM need not be installed where types are checked.
        adapter: its `LoRARequest`, if there is an adapter.
    """

    def __init__(self, llm: Any, adapter: Any = None) -> None:
        self.llm, self.adapter = llm, adapter
        self._numbers = itertools.count()
        self._waiting: dict[str, Future[Any]] = {}

    @classmethod
    def load(cls, config: JudgeConfig, folder: str, in_flight: int, offline: bool) -> "Core":
        """Load the model. Raises `ModelError`."""
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
        return cls(llm, None if adapter is None else LoRARequest("judge", 1, str(adapter.folder)))

    def take_masks(self, masks: Any) -> None:
        """Let vLLM ask these, in place of its own back end, what an answer may have next. Raises `ModelError`."""
        try:
            self.llm.engine_core.engine_core.structured_output_manager.backend = masks
        except AttributeError as error:
            raise ModelError(
                f"judge.engine: this vLLM is not built like the tested one ({error}). Take the versions of "
                "containers/constraints-vllm.txt."
            ) from error

    async def ask(self, input_ids: Sequence[int], params: Any) -> Any:
        """What the model writes after a prompt.

        Args:
            params: vLLM's `SamplingParams`.

        Raises `JudgementError`, and `JudgeLostError` if the engine has failed.
        """
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()  # who is cancelled stops waiting; the answer is written to its end
        MODELS.submit(self._add, list(input_ids), params, future)
        return await asyncio.wrap_future(future)

    async def aclose(self) -> None:
        """Free the memory; nothing may be asked afterwards."""
        await asyncio.wrap_future(MODELS.submit(self._close))

    def _add(self, input_ids: list[int], params: Any, future: "Future[Any]") -> None:
        number = str(next(self._numbers))
        try:
            if self.llm is None:
                raise JudgeLostError("the judge has been closed, or vLLM has failed")
            from vllm.inputs.engine import tokens_input

            self.llm.add_request(number, tokens_input(input_ids), params, lora_request=self.adapter)
        except JudgeLostError as error:
            future.set_exception(error)
        except Exception as error:  # vLLM's checks raise errors of many kinds
            future.set_exception(JudgementError(f"vLLM refuses the request: {error}"))
        else:
            self._waiting[number] = future
            if len(self._waiting) == 1:
                MODELS.submit(self._step)

    def _step(self) -> None:
        """One token of each answer that is being written."""
        if self.llm is None:
            return
        try:
            finished = [output for output in self.llm.step() if output.finished]
        except Exception as error:  # of any kind: the engine's state is not known any more
            self._lose(f"vLLM has failed: {error}")
            return
        for output in finished:
            self._waiting.pop(output.request_id).set_result(output.outputs[0])
        if self._waiting:
            MODELS.submit(self._step)

    def _close(self) -> None:
        if self.llm is None:
            return
        from vllm.distributed import cleanup_dist_env_and_memory

        self.llm.engine_core.shutdown()
        self._lose("the judge has been closed")
        gc.collect()
        cleanup_dist_env_and_memory()

    def _lose(self, why: str) -> None:
        lost, self._waiting, self.llm = self._waiting, {}, None
        for future in lost.values():
            future.set_exception(JudgeLostError(why))


def check_arguments(config: JudgeConfig) -> None:
    """Raises `ModelError` for an argument that is the program's to set."""
    for argument in config.vllm.args:
        if (name := argument.partition("=")[0].replace("_", "-")) in OURS:
            raise ModelError(f"judge.vllm.args: {name} is not yours to set: the program does, or must do without.")


def rank_of(adapter: AdapterFolder) -> int:
    """The least rank that vLLM takes and that is enough for all layers of an adapter. Raises `ModelError`."""
    place = Path(adapter.folder) / SETTINGS
    ranks = [adapter.settings.get("r"), *(adapter.settings.get("rank_pattern") or {}).values()]
    if not all(isinstance(rank, int) and 0 < rank <= RANKS[-1] for rank in ranks):
        raise ModelError(f"judge.adapter: {place} has the ranks {ranks}, and vLLM loads ranks from 1 to {RANKS[-1]}.")
    return next(each for each in RANKS if each >= max(ranks))
