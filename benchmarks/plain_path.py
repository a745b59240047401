"""`python -m benchmarks.plain_path`: hybrids in their own cache against transformers' `generate`.

The same questions and grammars, in one process, one thread. Forward passes are exact; CPU time is a ratio of one run.
"""

import argparse
import itertools
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import transformers

from rag_evaluator.config.sections import JudgeConfig
from rag_evaluator.demo import DEMO_JUDGE
from rag_evaluator.judge.engines.transformers.engine import TransformersEngine
from rag_evaluator.judge.engines.transformers.plain import PlainDecoder
from rag_evaluator.judge.protocol import Request
from tools.requests48 import questions, requests

SHAPE: dict[str, Any] = {
    "hidden_size": 256,
    "intermediate_size": 704,
    "num_hidden_layers": 8,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "max_position_embeddings": 8192,
}
KINDS = ["full_attention" if layer % 4 == 3 else "linear_attention" for layer in range(8)]
HYBRIDS: dict[str, dict[str, Any]] = {  # about 6 million parameters each
    "Qwen3Next": {
        "head_dim": 32,
        "layer_types": KINDS,
        "linear_num_value_heads": 8,
        "linear_num_key_heads": 4,
        "linear_key_head_dim": 32,
        "linear_value_head_dim": 32,
        "num_experts": 4,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 128,
        "shared_expert_intermediate_size": 128,
    },
    "Lfm2": {"layer_types": [kind.replace("linear_attention", "conv") for kind in KINDS]},
    "Bamba": {
        "attn_layer_indices": [3, 7],
        "mamba_n_heads": 8,
        "mamba_d_head": 64,
        "mamba_d_state": 32,
        "mamba_n_groups": 1,
        "mamba_chunk_size": 64,
    },
}


def model_folder(name: str, folder: Path) -> Path:
    """The demo judge, or a hybrid with random weights and the demo judge's tokenizer, made in `folder`."""
    if name == "demo":
        return DEMO_JUDGE
    tokenizer = transformers.AutoTokenizer.from_pretrained(DEMO_JUDGE)
    tokenizer.save_pretrained(folder / name)
    torch.manual_seed(0)
    ids = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id, "pad_token_id": 0}
    config = getattr(transformers, f"{name}Config")(vocab_size=len(tokenizer), **ids, **SHAPE, **HYBRIDS[name])
    getattr(transformers, f"{name}ForCausalLM")(config).save_pretrained(folder / name)
    return folder / name


def measured(decoder: PlainDecoder, asked: Sequence[Request]) -> tuple[int, float, list[list[int]]]:
    """Forward passes, CPU seconds, and the tokens of each answer."""
    passes = 0

    def count(*_: Any) -> None:
        nonlocal passes
        passes += 1

    hook = decoder.model.register_forward_pre_hook(count)
    began = time.process_time()
    with torch.inference_mode():
        replies = decoder.decode(asked)
    seconds = time.process_time() - began
    hook.remove()
    return passes, seconds, [[] if isinstance(reply, Exception) else reply.token_ids.tolist() for reply in replies]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=["demo", *HYBRIDS])
    parser.add_argument("--every", type=int, default=2, help="each how manieth of the 48 questions is asked")
    parser.add_argument("--batch-sizes", type=int, nargs="+", default=[16])
    options = parser.parse_args()
    torch.set_num_threads(1)
    print("| model | batch size | passes of generate | passes | CPU s of generate | CPU s | same tokens |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in options.models:
            config = JudgeConfig(model=str(model_folder(name, Path(folder))), dtype="float32")
            engine = TransformersEngine.load(config, True)
            asked = requests(engine, itertools.islice(questions(), 0, None, options.every))
            for size in options.batch_sizes:
                decoder = PlainDecoder(engine.model, engine.vocabulary, engine.padding, engine.window, size)
                passes, seconds, tokens = measured(decoder, asked)
                decoder.together = 0
                before, slow, expected = measured(decoder, asked)
                same = sum(one == other for one, other in zip(tokens, expected, strict=True))
                cells = [name, size, before, passes, f"{slow:.1f}", f"{seconds:.1f}", f"{same} of {len(asked)}"]
                print(f"| {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    main()
