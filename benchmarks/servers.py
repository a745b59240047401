"""`python -m benchmarks.servers --vllm-python PYTHON`: our engine against a raw client, both asking one vLLM server.

The questions are those of an evaluation of generated rows by six metrics. The raw client sends each of them at once,
whole, with its grammar and its limit of tokens, and reads the answer: no log probabilities, no check of what comes
back. CPU seconds are those of client and server together; the ways take turns, with a cache salt of their own each.
Writes servers.md.
"""

import argparse
import asyncio
import os
import tempfile
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAGAS_DO_NOT_TRACK"] = "true"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import httpx
import torch

from benchmarks.engine_ways import SALTS, Setting, vllm_server
from benchmarks.models import SHAPES, model_folder
from benchmarks.processes import cpu_seconds
from benchmarks.report import machine, table
from benchmarks.rows import make_rows
from benchmarks.ways import METRICS
from rag_evaluator import Judge, RAGEvaluator
from rag_evaluator.config.sections import EmbeddingsConfig
from rag_evaluator.judge.engines.server.dialects import VLLM_NEUTRAL
from rag_evaluator.judge.engines.transformers.engine import TransformersEngine
from rag_evaluator.judge.grammar.tree import as_lark, parse
from rag_evaluator.judge.protocol import Reply, Request
from rag_evaluator.models.embeddings import LocalEmbeddings

PAGE = Path("benchmarks/servers.md")
COLUMNS = "model | questions | way | CPU s, median | times the raw client | requests | computed | generated".split(
    " | "
)
Counts = tuple[int, int, int]
"""Requests, prompt tokens computed, tokens generated."""


def questions(setting: Setting) -> list[Request]:
    """What an evaluation asks, each question once, in order."""
    engine = TransformersEngine.load(setting.judge(dtype="float32"), True)
    asked: dict[Any, Request] = {}
    generate = engine.generate

    async def recorded(request: Request) -> Reply:
        asked.setdefault(request.input_ids, request)
        return await generate(request)

    engine.generate = recorded  # type: ignore[method-assign]
    judge = Judge(engine, setting.judge(max_new_tokens=setting.max_new_tokens))
    embeddings = LocalEmbeddings.from_config(EmbeddingsConfig())
    RAGEvaluator({"metrics": list(METRICS)}, judge=judge, embeddings=embeddings).evaluate(make_rows(setting.rows or 0))
    return list(asked.values())


def ours(engine: Any, asked: Sequence[Request]) -> Counts:
    """Our engine, which is asked everything at once."""
    used: list[Any] = []
    post, salt = engine.transport.post, str(next(SALTS))

    async def counted(path: str, body: Any) -> Any:
        answer = await post(path, {**body, "cache_salt": salt})
        used.append(answer["usage"])
        return answer

    async def replies() -> None:
        await asyncio.gather(*map(engine.generate, asked))

    engine.transport.post = counted
    try:
        asyncio.run(replies())
    finally:
        engine.transport.post = post
    return _counts(used)


def raw(engine: Any, asked: Sequence[Request]) -> Counts:
    """A client that only sends and reads."""
    salt = str(next(SALTS))
    transport = httpx.AsyncHTTPTransport(uds=str(engine.life.socket), limits=httpx.Limits(max_connections=None))

    async def replies() -> list[Any]:
        async with httpx.AsyncClient(transport=transport, timeout=600) as client:

            async def one(request: Request) -> Any:
                assert request.grammar is not None
                budget = request.budget
                body = {
                    "model": engine.server.model,
                    "prompt": list(request.input_ids),
                    "structured_outputs": {"grammar": as_lark(parse(request.grammar), budget.string_tokens)},
                    "max_tokens": budget.max_length,
                    "temperature": 0.0,
                    "cache_salt": salt,
                    **VLLM_NEUTRAL,
                }
                return (await client.post("http://localhost/v1/completions", json=body)).json()["usage"]

            return await asyncio.gather(*map(one, asked))

    return _counts(asyncio.run(replies()))


def _counts(used: Sequence[Any]) -> Counts:
    cached = [(usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0 for usage in used]
    read = sum(usage["prompt_tokens"] for usage in used) - sum(cached)
    return len(used), read, sum(usage["completion_tokens"] for usage in used)


def measure(setting: Setting, rounds: int) -> tuple[int, dict[str, list[float]], dict[str, Counts]]:
    """Questions, CPU seconds of each way in each round, and what it did last."""
    asked = questions(setting)
    engine = vllm_server(setting)
    engine.transport.most = 256  # what `batch_size: auto` gives
    ways: dict[str, Callable[[Any, Sequence[Request]], Counts]] = {"raw client": raw, "our engine": ours}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    counts: dict[str, Counts] = {}
    for way in ways.values():
        way(engine, asked[:4])  # what is done once is no work
    for _ in range(rounds):
        for name, way in ways.items():
            before = cpu_seconds(os.getpid())
            counts[name] = way(engine, asked)
            seconds[name].append(cpu_seconds(os.getpid()) - before)
            print(name, f"{seconds[name][-1]:.2f}", counts[name], flush=True)
    engine.life.stop()
    vllm_server.cache_clear()
    return len(asked), seconds, counts


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.servers", description=__doc__)
    parser.add_argument("--vllm-python", required=True, help="bin/python of an environment with vLLM")
    parser.add_argument("--models", nargs="+", default=["demo", "random-100m"], choices=["demo", *SHAPES])
    parser.add_argument("--rows", type=int, nargs="+", default=[8, 1], help="for each model")
    parser.add_argument("--max-new-tokens", type=int, nargs="+", default=[512, 64], help="for each model")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    lines = []
    for model, rows, limit in zip(options.models, options.rows, options.max_new_tokens, strict=True):
        with tempfile.TemporaryDirectory() as temporary:
            folder = model_folder(model, Path(temporary))
            setting = Setting(folder, folder, 1, limit, rows, options.vllm_python)
            count, seconds, counts = measure(setting, options.rounds)
        pairs = [own / other for own, other in zip(seconds["our engine"], seconds["raw client"], strict=True)]
        for name, spent in seconds.items():
            ratio = f"{median(pairs):.2f} ({min(pairs):.2f} to {max(pairs):.2f})" if name == "our engine" else ""
            lines.append([model, str(count), name, f"{median(spent):.1f}", ratio, *map(str, counts[name])])
    command = f"python -m benchmarks.servers --vllm-python PYTHON --rounds {options.rounds}"
    about = f"Written by `{command}`, {date.today().isoformat()}, {machine()}. vLLM's edition for the CPU, in float32."
    about += " As many requests are open as `batch_size: auto` gives: with 16 its steps are smaller, and cost more."
    PAGE.write_text(f"# A vLLM server asked by us and by a raw client\n\n{about}\n\n{table(COLUMNS, lines)}\n", "utf-8")
    print(PAGE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
