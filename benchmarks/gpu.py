"""`python -m benchmarks.gpu`: our engine on a GPU; prints tables for benchmarks/gpu.md, or that no GPU is here.

Random weights in the shapes of a 1B Llama and of Qwen3-8B, the 48 questions that the tests compare. In float32 (1B):
answers with the tokens of transformers' `generate`. In bfloat16: tokens a second of our engine, of `generate`, and of
vLLM with --vllm, where it is installed; the memory they take at most; how far packed logits are from
those of float32, and the model's own. Operations a layer are counted on the CPU by torch's profiler, so without a
GPU, too. `--device cpu --quick` runs all of it with tiny shapes, to try the program itself.
"""

import argparse
import asyncio
import itertools
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import torch

from benchmarks.report import machine, table
from rag_evaluator.config import JudgeConfig
from rag_evaluator.demo import DEMO_JUDGE
from rag_evaluator.judge.engines.transformers.attention import TailCache
from rag_evaluator.judge.engines.transformers.engine import TransformersEngine
from rag_evaluator.judge.engines.transformers.packed import PackedModel
from rag_evaluator.judge.engines.transformers.plain import PlainDecoder
from rag_evaluator.judge.protocol import Reply, Request
from tools.requests48 import questions, requests

VOCABULARY = 151_936
SHAPES: dict[str, tuple[str, dict[str, Any]]] = {
    "1B Llama": ("Llama", {"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16}),
    "Qwen3-8B": ("Qwen3", {"hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 36, "head_dim": 128}),
}
TINY = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "head_dim": 8}
HEADS = {"num_attention_heads": 32, "num_key_value_heads": 8, "max_position_embeddings": 8192}
MADE = frozenset(  # operations that only make a view or take memory; those inside of others
    "view reshape transpose permute expand slice select as_strided unsqueeze squeeze unflatten flatten t _unsafe_view "
    "empty empty_strided empty_like new_empty new_zeros zeros alias detach to linear matmul contiguous unbind split "
    "narrow result_type _to_copy clone scaled_dot_product_attention index resolve_conj resolve_neg _index_put_impl_ "
    "pad fill_".split()
)
Row = list[str]


def model_folder(name: str, folder: Path, device: str, quick: bool) -> Path:
    """A model with random weights in bfloat16, and the demo judge's tokenizer."""
    import transformers

    kind, shape = SHAPES[name]
    tokenizer = transformers.AutoTokenizer.from_pretrained(DEMO_JUDGE)
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=len(tokenizer) + 8 if quick else VOCABULARY,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        **HEADS | (TINY if quick else shape),
    )
    torch.manual_seed(0)
    with torch.device(device):
        model = getattr(transformers, f"{kind}ForCausalLM")(config).to(torch.bfloat16)
    path = folder / kind
    tokenizer.save_pretrained(path)
    model.save_pretrained(path)
    return path


def engine_of(folder: Path, dtype: str, device: str) -> TransformersEngine:
    settings: Any = {"dtype": dtype, "device_map": device, "batch_size": 48}
    return TransformersEngine.load(JudgeConfig(model=str(folder), **settings), True)


def by_generate(engine: TransformersEngine) -> PlainDecoder:
    """The same model asked by transformers' `generate`."""
    decoder = PlainDecoder(engine.model, engine.vocabulary, engine.padding, engine.window, 48)
    decoder.together = 0
    return decoder


def answered(decoder: Any, asked: Sequence[Request], device: str) -> tuple[float, list[list[int]], float]:
    """Seconds, tokens of each answer, and GiB at most. Any: a decoder of either kind."""
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    with torch.inference_mode():
        decoder.decode(asked[:2])  # kernels are chosen, caches made
        began = time.perf_counter()
        replies = decoder.decode(asked)
        seconds = time.perf_counter() - began
    peak = torch.cuda.max_memory_allocated() / 2**30 if device == "cuda" else 0.0
    return seconds, [list(reply.token_ids) if isinstance(reply, Reply) else [] for reply in replies], peak


def answered_by_vllm(folder: Path, dtype: str) -> tuple[float, list[list[int]]]:
    """Seconds and tokens of each answer of vLLM."""
    from rag_evaluator.judge.engines.vllm.engine import VllmEngine

    settings: Any = {"engine": "vllm", "dtype": dtype}
    engine = VllmEngine.load(JudgeConfig(model=str(folder), **settings), True)
    asked = requests(engine, questions())

    async def all_of(some: Sequence[Request]) -> list[Reply]:
        return await asyncio.gather(*map(engine.generate, some))

    try:
        asyncio.run(all_of(asked[:2]))
        began = time.perf_counter()
        replies = asyncio.run(all_of(asked))
        return time.perf_counter() - began, [list(reply.token_ids) for reply in replies]
    finally:
        asyncio.run(engine.aclose())


def error_of(half: TransformersEngine, exact: TransformersEngine, asked: Sequence[Request]) -> tuple[float, float]:
    """How far logits in bfloat16 are from those in float32, as a share of them: packed, and the model's own."""
    rows = [tuple(request.input_ids) for request in asked]

    def own(engine: TransformersEngine) -> torch.Tensor:
        inputs = (torch.tensor([row], device=engine.model.device) for row in rows)
        return torch.stack([engine.model(ids, logits_to_keep=1).logits[0, -1] for ids in inputs]).float()

    with torch.inference_mode():
        expected = own(exact)
        found = half.decoder.next_logits(rows).float(), own(half)
    packed, alone = (float((logits - expected).norm() / expected.norm()) for logits in found)
    return packed, alone


def operations() -> list[Row]:
    """Operations of a decoding step of 4 rows, a layer and beside the layers, ours and transformers' own."""
    from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM

    shape = {"hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 8, "num_key_value_heads": 2}

    def counted(layers: int, dtype: torch.dtype, packed: bool) -> int:
        model = LlamaForCausalLM(LlamaConfig(vocab_size=512, num_hidden_layers=layers, **shape)).to(dtype).eval()
        with torch.inference_mode():
            step: Callable[[], Any]
            if packed:
                ours = PackedModel(model)
                cache = TailCache(layers, 4, 64)
                cache.prefixes = [ours.prefix(list(range(20)))] * cache.width
                ours.run(cache, [[1, 2, 3]] * 4, range(4), [0] * 4)
                step = lambda: ours.run(cache, [[5]] * 4, range(4), [3] * 4)  # noqa: E731
            else:
                known = DynamicCache()
                model(torch.ones(4, 23, dtype=torch.long), past_key_values=known, use_cache=True)
                one = torch.ones(4, 1, dtype=torch.long)
                step = lambda: model(one, past_key_values=known, use_cache=True)  # noqa: E731
            with torch.profiler.profile() as profile:
                step()
        names = Counter(event.name.removeprefix("aten::") for event in profile.events())
        return sum(count for name, count in names.items() if name not in MADE)

    rows = []
    for dtype in (torch.float32, torch.bfloat16):
        for packed in (True, False):
            few = counted(3, dtype, packed)
            more = counted(5, dtype, packed)
            layer = (more - few) // 2
            name = "our engine" if packed else "transformers' own"
            rows.append([str(dtype).removeprefix("torch."), name, str(layer), str(few - 3 * layer)])
    return rows


def measured(name: str, options: argparse.Namespace) -> tuple[list[Row], list[str]]:
    """Rows of the table for a model, and what else was found."""
    rows: list[Row] = []
    told: list[str] = []
    device = options.device
    with tempfile.TemporaryDirectory() as temporary:
        folder = model_folder(name, Path(temporary), device, options.quick)
        half = engine_of(folder, "bfloat16", device)
        asked = requests(half, itertools.islice(questions(), 0, None, options.every))
        ways: dict[str, Any] = {"our engine": half.decoder, "generate": by_generate(half)}
        for way, decoder in ways.items():
            seconds, tokens, peak = answered(decoder, asked, device)
            rows.append(_row(name, way, seconds, tokens, f"{peak:.1f}" if peak else "not counted"))
        if name == "1B Llama":
            exact = engine_of(folder, "float32", device)
            _, ours, _ = answered(exact.decoder, asked, device)
            _, theirs, _ = answered(by_generate(exact), asked, device)
            equal = sum(one == other for one, other in zip(ours, theirs, strict=True))
            packed, alone = error_of(half, exact, asked[:8])
            told.append(f"{name}, float32: {equal} of {len(asked)} answers have the tokens of `generate`.")
            told.append(
                f"{name}, bfloat16: logits are off by {packed:.2%} packed, by {alone:.2%} in the model's own way."
            )
            del exact
        del half, ways, decoder
        if device == "cuda":
            torch.cuda.empty_cache()
        if options.vllm:
            seconds, tokens = answered_by_vllm(folder, "bfloat16")
            rows.append(_row(name, "vLLM", seconds, tokens, "not counted"))
    return rows, told


def _row(name: str, way: str, seconds: float, tokens: Sequence[Sequence[int]], peak: str) -> Row:
    count = sum(map(len, tokens))
    return [name, way, str(len(tokens)), str(count), f"{seconds:.1f}", f"{count / seconds:.0f}", peak]


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--quick", action="store_true", help="tiny shapes")
    parser.add_argument("--models", nargs="+", default=list(SHAPES), choices=list(SHAPES))
    parser.add_argument("--every", type=int, default=1, help="ask only every Nth of the 48 questions")
    parser.add_argument("--vllm", action="store_true", help="measure vLLM, too, which must be installed here")
    options = parser.parse_args()
    parts = [f"`python -m benchmarks.gpu`, {date.today().isoformat()}, {machine()}."]
    if options.device == "cuda" and not torch.cuda.is_available():
        parts.append("There is no GPU on this machine: nothing was measured on one.")
    else:
        name = torch.cuda.get_device_name() if options.device == "cuda" else "the CPU"
        rows = []
        told = []
        for model in options.models:
            more, found = measured(model, options)
            rows += more
            told += found
        columns = ("model", "way", "answers", "tokens", "seconds", "tokens a second", "GiB at most")
        parts += [f"Measured on {name}, random weights, bfloat16.", table(columns, rows), *told]
    parts += ["## Operations of a decoding step", "Counted on the CPU by torch's profiler; views are none."]
    parts.append(table(("type", "way", "a layer", "beside the layers"), operations()))
    print("\n\n".join(parts))


if __name__ == "__main__":
    main()
