"""An adapter beside its base model: what the engine `vllm` takes and refuses, and a real vLLM with one."""

import asyncio
import importlib.util
import json
from pathlib import Path
from typing import Any, Literal

import pytest
import torch
from aliases import Json, ModelFolder
from pydantic import BaseModel
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from rag_evaluator import ConfigError, Judge, ModelError
from rag_evaluator.config import JudgeConfig, make_config
from rag_evaluator.judge import LazyJudge

HAS_VLLM = importlib.util.find_spec("vllm") is not None
SHAPE = {"hidden_size": 128, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 64}


class Verdict(BaseModel):
    note: str
    verdict: Literal[0, 1]


@pytest.fixture
def base(model_folder: ModelFolder) -> Path:
    return model_folder("llama", **SHAPE)


def adapter_of(base: Path, folder: Path, rank: int = 4, seed: int = 0, **settings: Any) -> Path:
    """A LoRA adapter of a Llama with random weights, as peft saves it."""
    folder.mkdir()
    given = {"peft_type": "LORA", "base_model_name_or_path": str(base), "r": rank, "lora_alpha": 2 * rank}
    given |= {"target_modules": ["q_proj", "v_proj"], "task_type": "CAUSAL_LM", "bias": "none", **settings}
    (folder / "adapter_config.json").write_text(json.dumps(given))
    torch.manual_seed(seed)
    weights = {}
    for name, tensor in AutoModelForCausalLM.from_pretrained(base).state_dict().items():
        if name.endswith(("q_proj.weight", "v_proj.weight")):
            stem = f"base_model.model.{name.removesuffix('.weight')}"
            weights[f"{stem}.lora_A.weight"] = torch.randn(rank, tensor.shape[1]) * 0.2
            weights[f"{stem}.lora_B.weight"] = torch.randn(tensor.shape[0], rank) * 0.2
    save_file(weights, folder / "adapter_model.safetensors")
    return folder


@pytest.fixture
def adapter(base: Path, tmp_path: Path) -> Path:
    return adapter_of(base, tmp_path / "adapter")


def settings_of(base: Path, adapter: Path | None, *args: str) -> Json:
    given = None if adapter is None else str(adapter)
    return {"engine": "vllm", "model": str(base), "adapter": given, "vllm": {"args": list(args)}}


def test_an_adapter_in_place_of_the_model_is_refused_with_the_remedy(adapter: Path, base: Path) -> None:
    with pytest.raises(ModelError, match=rf"judge\.adapter to this folder, and judge\.model to {base}"):
        LazyJudge(None, JudgeConfig(**settings_of(adapter, None))).check()


def test_a_server_of_the_users_refuses_an_adapter_and_says_what_to_do(tmp_path: Path) -> None:
    told = r"to the engine 'server'.* Merge it.*serve the result.*'transformers' or 'vllm'"
    judge: Json = {"engine": "server", "url": "http://127.0.0.1:1/v1", "adapter": str(tmp_path)}
    with pytest.raises(ConfigError, match=told):
        make_config({"metrics": ["faithfulness"], "judge": judge})
    with pytest.raises(ConfigError, match=told):
        Judge.from_config(JudgeConfig(**judge))


def test_the_folder_of_an_adapter_is_read_from_the_configurations_place(tmp_path: Path, adapter: Path) -> None:
    from rag_evaluator import load_config

    (tmp_path / "c.yaml").write_text("metrics: [faithfulness]\njudge: {engine: vllm, adapter: adapter}\n")
    assert load_config(tmp_path / "c.yaml").judge.adapter == str(adapter)


def merged(base: Path, adapter: Path, folder: Path) -> Path:
    """The base model with the adapter's weights added, as peft merges them: W + alpha / r * B A."""
    from safetensors.torch import load_file

    settings = json.loads((adapter / "adapter_config.json").read_bytes())
    model = AutoModelForCausalLM.from_pretrained(base)
    weights = load_file(adapter / "adapter_model.safetensors")
    for name, parameter in model.named_parameters():
        stem = f"base_model.model.{name.removesuffix('.weight')}"
        if f"{stem}.lora_A.weight" in weights:
            added = weights[f"{stem}.lora_B.weight"] @ weights[f"{stem}.lora_A.weight"]
            parameter.data += settings["lora_alpha"] / settings["r"] * added
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(base).save_pretrained(folder)
    return folder


@pytest.mark.vllm
@pytest.mark.skipif(not HAS_VLLM, reason="vLLM is not installed here")
def test_a_real_vllm_judges_with_an_adapter_as_we_do_with_the_merged_model(
    base: Path, adapter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind"}.items():
        monkeypatch.setenv(name, value)
    settings: Json = {"dtype": "float32", "max_new_tokens": 64}
    server = settings_of(base, adapter, "--enforce-eager", "--max-model-len", "1024")
    theirs = asked(Judge.from_config(JudgeConfig(**settings, **server)))
    ours = asked(Judge.from_config(JudgeConfig(**settings, model=str(merged(base, adapter, tmp_path / "merged")))))
    alone = asked(Judge.from_config(JudgeConfig(**settings, model=str(base))))
    assert [opinion.answer for opinion in theirs] == [opinion.answer for opinion in ours]
    for one, other in zip(theirs, ours, strict=True):
        assert one.confidence == pytest.approx(other.confidence, abs=1e-4)
    assert [opinion.answer for opinion in alone] != [opinion.answer for opinion in ours], "the adapter changes nothing"


def asked(judge: Judge) -> list[Any]:
    async def answers() -> list[Any]:
        prompts = [f"Is {number} a lucky number, and why?" for number in range(6)]
        try:
            return list(await asyncio.gather(*(judge.inner.opinion(prompt, Verdict) for prompt in prompts)))
        finally:
            await judge.inner.aclose()

    return asyncio.run(answers())
