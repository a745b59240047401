"""What is measured of a block of code: wall time, time inside the models' forward passes, tokens and peak memory."""

import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psutil
import torch

EVERY = 0.02  # seconds between two looks at the memory


@dataclass
class Measurement:
    """What one way did with the rows.

    Attributes:
        seconds: wall time of scoring, models already loaded.
        cpu: seconds of the process's threads and children in that time; less than `seconds` on a machine that is busy
            otherwise.
        missing: scores that are NaN, of `scores`.
        requests: prompts answered by the model.
        prompt_tokens: of those prompts, all together.
        computed: prompt tokens that went through the model.
        generated: tokens written.
        inside: seconds inside forward passes of the judge and the embeddings.
        peak: bytes of the process at most (on a GPU: of the device), above what it held before.
    """

    way: str
    samples: int
    seconds: float = 0.0
    cpu: float = 0.0
    scores: int = 0
    missing: int = 0
    requests: int = 0
    prompt_tokens: int = 0
    computed: int = 0
    generated: int = 0
    inside: float = 0.0
    peak: int = 0


@contextmanager
def watch(result: Measurement, models: Sequence[torch.nn.Module]) -> Iterator[None]:
    """Clock the block, and the time in it during which at least one forward pass of the models runs, on any thread."""
    running = 0
    since = 0.0
    lock = threading.Lock()

    def before(module: Any, args: Any) -> None:
        nonlocal running, since
        _settle()
        with lock:
            since = time.perf_counter() if running == 0 else since
            running += 1

    def after(module: Any, args: Any, output: Any) -> None:
        nonlocal running
        _settle()
        with lock:
            running -= 1
            result.inside += time.perf_counter() - since if running == 0 else 0.0

    hooks = [hook for model in models for hook in _hooks(model, before, after)]
    with _peak_memory(result):
        begin = time.perf_counter()
        worked = cpu_seconds()
        try:
            yield
        finally:
            result.seconds = time.perf_counter() - begin
            result.cpu = cpu_seconds() - worked
            for hook in hooks:
                hook.remove()


@contextmanager
def count_passes(result: Measurement, model: torch.nn.Module) -> Iterator[None]:
    """Count requests and tokens of a model that answers one prompt at a time with its own `generate`."""

    def before(module: Any, args: Any, kwargs: Any) -> None:
        ids = kwargs["input_ids"] if "input_ids" in kwargs else args[0]
        result.generated += ids.shape[0]
        if ids.shape[-1] > 1:
            result.requests += ids.shape[0]
            result.computed += ids.numel()
            result.prompt_tokens += ids.numel()

    hook = model.register_forward_pre_hook(before, with_kwargs=True)
    try:
        yield
    finally:
        hook.remove()


def _hooks(model: torch.nn.Module, before: Any, after: Any) -> list[Any]:
    return [model.register_forward_pre_hook(before), model.register_forward_hook(after)]


def cpu_seconds() -> float:
    """Of this process, and of its children that have ended."""
    return sum(os.times()[:4])


def _settle() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


@contextmanager
def _peak_memory(result: Measurement) -> Iterator[None]:
    process = psutil.Process()
    over = threading.Event()
    before = most = process.memory_info().rss

    def look() -> None:
        nonlocal most
        while not over.wait(EVERY):
            most = max(most, process.memory_info().rss)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
    try:
        yield
    finally:
        over.set()
        thread.join()
        most = torch.cuda.max_memory_allocated() if torch.cuda.is_available() else most
        result.peak = most - before
