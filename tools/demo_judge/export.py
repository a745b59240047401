"""Writes the judge in Hugging Face format, file by file, so that a reader never meets half a model."""

from __future__ import annotations

import copy
import json
import tempfile
from pathlib import Path

import torch
from transformers import GenerationConfig, LlamaForCausalLM, PreTrainedTokenizerFast


def export(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, out: Path) -> None:
    """Saves weights (bfloat16, to be small), configuration and tokenizer in `out`; other files there stay."""
    out.mkdir(parents=True, exist_ok=True)
    saved = copy.deepcopy(model).to("cpu", torch.bfloat16)
    saved.generation_config = GenerationConfig(
        do_sample=False,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    with tempfile.TemporaryDirectory(dir=out.parent) as folder:
        saved.save_pretrained(folder)
        _read_as_float32(Path(folder) / "config.json")
        tokenizer.save_pretrained(folder)
        for file in Path(folder).iterdir():
            file.chmod(0o644)
            file.replace(out / file.name)


def _read_as_float32(config: Path) -> None:
    """`dtype: auto` then loads float32: faster than bfloat16 on most CPUs, and batches do not change an answer."""
    content = json.loads(config.read_text(encoding="utf-8"))
    config.write_text(json.dumps(content | {"dtype": "float32"}, indent=2) + "\n", encoding="utf-8")
