"""A Llama folder as a GGUF file for llama.cpp, in float32; and a real llama.cpp server in this process."""

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.torch import load_file

NAMES = {  # of transformers -> of llama.cpp
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}
TOP = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}


def write_gguf(folder: Path, path: Path) -> Path:
    """The model of a folder with a byte-level tokenizer. Its texts are split as GPT-2 does it, so send ids."""
    from gguf import GGUFWriter

    config = json.loads((folder / "config.json").read_text())
    heads = config["num_attention_heads"]
    kv_heads = config["num_key_value_heads"]
    head_dim = config["head_dim"]
    writer = GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_key_length(head_dim)
    writer.add_value_length(head_dim)
    writer.add_rope_dimension_count(head_dim)
    writer.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_vocab_size(config["vocab_size"])
    writer.add_file_type(0)
    _add_tokenizer(writer, folder, config["vocab_size"])
    if "low_freq_factor" in config["rope_parameters"]:
        writer.add_tensor("rope_freqs.weight", rope_divisors(config["rope_parameters"], head_dim))
    for name, weights in load_file(folder / "model.safetensors").items():
        tensor = weights.float().numpy()
        module = name.removesuffix(".weight")
        if module in TOP:
            writer.add_tensor(f"{TOP[module]}.weight", tensor)
            continue
        _, _, layer, part = module.split(".", 3)
        if part.endswith(("q_proj", "k_proj")):
            tensor = _interleaved(tensor, heads if part.endswith("q_proj") else kv_heads)
        writer.add_tensor(f"blk.{layer}.{NAMES[part]}.weight", tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def rope_divisors(rope: Mapping[str, Any], head_dim: int) -> Any:
    """`(head_dim / 2,)` what Llama 3 divides the frequencies of its rope by: slow ones by `factor`, fast ones by 1."""
    frequencies = rope["rope_theta"] ** -(np.arange(0, head_dim, 2) / head_dim)
    turns = rope["original_max_position_embeddings"] * frequencies / (2 * math.pi)
    slow = rope["low_freq_factor"]
    fast = rope["high_freq_factor"]
    factor = rope["factor"]
    between = np.clip((turns - slow) / (fast - slow), 0.0, 1.0)
    return (1 / ((1 - between) / factor + between)).astype(np.float32)


def _interleaved(weights: Any, heads: int) -> Any:
    """Llama.cpp turns neighbouring numbers, transformers the two halves of a head."""
    halves = weights.reshape(heads, 2, weights.shape[0] // heads // 2, -1)
    return np.ascontiguousarray(halves.swapaxes(1, 2).reshape(weights.shape))


def _add_tokenizer(writer: Any, folder: Path, size: int) -> None:
    from gguf import TokenType

    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    vocabulary: dict[str, int] = tokenizer["model"]["vocab"] | {
        token["content"]: token["id"] for token in tokenizer["added_tokens"]
    }
    specials = {token["id"] for token in tokenizer["added_tokens"] if token["special"]}
    texts = {number: text for text, number in vocabulary.items()}
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list([texts.get(number, f"[PAD{number}]") for number in range(size)])
    kinds = [TokenType.CONTROL if number in specials else TokenType.NORMAL for number in range(size)]
    writer.add_token_types([kind if number in texts else TokenType.UNUSED for number, kind in enumerate(kinds)])
    writer.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in tokenizer["model"]["merges"]])
    for name, add in (("bos_token", writer.add_bos_token_id), ("eos_token", writer.add_eos_token_id)):
        if settings.get(name):
            add(vocabulary[settings[name]])
    writer.add_add_bos_token(False)


def write_gguf_adapter(adapter: Path, path: Path) -> Path:
    """A LoRA adapter of a Llama, so that llama.cpp loads it; its numbers are not put in llama.cpp's order."""
    from gguf import GGUFWriter

    writer = GGUFWriter(path, "llama")
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", 8.0)
    for name, tensor in load_file(adapter / "adapter_model.safetensors").items():
        layer, _, part, side, _ = name.split(".layers.")[1].split(".")
        writer.add_tensor(f"blk.{layer}.{NAMES[f'self_attn.{part}']}.weight.{side.lower()}", tensor.float().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@contextmanager
def llama_cpp(path: Path, slots: int = 1, adapter: Path | None = None, fast: int = 0) -> Iterator[str]:
    """The address of a server, as long as the block lasts.

    Args:
        fast: threads of a server with llama.cpp's own attention and cache types; 0: one thread and float32.
    """
    import xllamacpp as llama

    parameters = llama.CommonParams()
    parameters.model.path = str(path)
    parameters.n_parallel = slots
    if adapter is not None:
        parameters.lora_adapters = [llama.CommonAdapterLoraInfo(str(adapter), 1.0)]
    parameters.n_ctx = 4096 * slots
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = fast or 1
    if not fast:
        parameters.cache_type_k = parameters.cache_type_v = llama.ggml_type.GGML_TYPE_F32
        parameters.flash_attn_type = llama.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    parameters.warmup = parameters.fit_params = False
    parameters.endpoint_metrics = True
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    server = llama.Server(parameters)
    try:
        yield f"{server.listening_address}/v1"
    finally:
        del server
