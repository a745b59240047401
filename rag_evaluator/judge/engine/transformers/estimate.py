"""Whether the weights of a model fit the free memory, told before they are loaded."""

from dataclasses import dataclass
from pathlib import Path

import psutil
import torch

from rag_evaluator.config_sections import JudgeConfig
from rag_evaluator.judge.engine.transformers.weights import weight_bytes
from rag_evaluator.models.hub import find_model


@dataclass(frozen=True)
class Memory:
    """Bytes.

    Attributes:
        weights: once they are loaded; 0 where they are not known.
        gpus: free on all GPUs together; 0 without one.
        main: free main memory.
    """

    weights: int
    gpus: int
    main: int


def memory_of(config: JudgeConfig, offline: bool) -> Memory:
    """Raises `ModelError` if the model is not there."""
    source = Path(find_model(config.model, offline))
    weights = weight_bytes(source, config.dtype) if source.is_dir() else 0
    devices = range(torch.cuda.device_count() if torch.cuda.is_available() else 0)
    gpus = sum(int(torch.cuda.mem_get_info(device)[0]) for device in devices)
    return Memory(weights, gpus, int(psutil.virtual_memory().available))
