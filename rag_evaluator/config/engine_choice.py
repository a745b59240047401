"""`judge.engine: auto`: the engine that suits this machine, and why."""

import importlib.util
import os
import shutil
import subprocess
import sys
from functools import cache

from rag_evaluator.files import gguf_of

from .sections import AUTO, DEMO, FAST, OWN_KEYS, USUAL, JudgeConfig

HIDDEN = ("", "-1", "NoDevFiles")  # what CUDA_VISIBLE_DEVICES is where a process may use no GPU
SECONDS = 20.0  # for the driver, which may wake a GPU up


def with_engine(judge: JudgeConfig) -> JudgeConfig:
    """The judge with the name of an engine in place of `auto`, and `because`; any other as it is."""
    if judge.engine != AUTO:
        return judge
    name, because = choose_engine(judge)
    chosen = judge.model_copy(update={"engine": name})
    chosen._because = because
    return chosen


def choose_engine(config: JudgeConfig) -> tuple[str, str]:
    """`vllm` where a GPU and vLLM are here and it reads all keys that are set, else `transformers`; and why."""
    if config.model == DEMO:
        return USUAL, "the demo judge is a toy"
    defaults = JudgeConfig()
    for key in sorted(OWN_KEYS[USUAL] - OWN_KEYS[FAST]):
        if getattr(config, key) != getattr(defaults, key):
            return USUAL, f"judge.{key} is set, which vLLM does not take"
    if gguf_of(config.model) is not None:
        return USUAL, "the model is a GGUF file"
    if not has_gpu():
        return USUAL, "no NVIDIA GPU that this process may use was found"
    if not has_vllm():
        return USUAL, f"{sys.executable} has no vLLM"
    return FAST, "a GPU and vLLM are here"


@cache
def has_gpu() -> bool:
    """Whether the driver lists a GPU and CUDA_VISIBLE_DEVICES does not hide all of them; torch is not imported."""
    tool = shutil.which("nvidia-smi")
    if tool is None or os.environ.get("CUDA_VISIBLE_DEVICES", "0") in HIDDEN:
        return False
    try:
        listed = subprocess.run([tool, "-L"], capture_output=True, text=True, timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return listed.returncode == 0 and "GPU " in listed.stdout


def has_vllm() -> bool:
    """Whether vLLM is installed; it is not imported."""
    return importlib.util.find_spec("vllm") is not None
