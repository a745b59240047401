"""The models that are measured: the demo judge, and Llama shapes with random weights and the demo judge's tokenizer."""

from pathlib import Path
from typing import Any

from rag_evaluator.demo import DEMO_JUDGE

SHAPES: dict[str, dict[str, Any]] = {
    "random-100m": {"hidden_size": 768, "intermediate_size": 2048, "num_hidden_layers": 13, "num_attention_heads": 12},
    "random-1b": {"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16, "num_attention_heads": 32},
    "random-8b": {"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32},
}


def model_folder(name: str, folder: Path, tokenizer: Any = None) -> Path:
    """The folder of a model by name; random ones are made in `folder`, bfloat16, with 8192 positions.

    Args:
        tokenizer: of transformers, for a random model; None: the demo judge's.
    """
    if name == "demo":
        return DEMO_JUDGE
    import torch
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

    path = folder / name
    tokenizer = tokenizer or AutoTokenizer.from_pretrained(DEMO_JUDGE)
    tokenizer.save_pretrained(path)
    torch.manual_seed(0)
    shape = SHAPES[name]
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        max_position_embeddings=8192,
        num_key_value_heads=shape["num_attention_heads"] // 4,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        **shape,
    )
    LlamaForCausalLM(config).to(torch.bfloat16).save_pretrained(path)
    return path
