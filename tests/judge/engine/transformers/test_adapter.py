"""A LoRA adapter that is merged into its base model when both are loaded."""

import importlib.util
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
import tiny_models
import torch
from aliases import ModelFolder
from peft import LoraConfig, get_peft_model
from pydantic import BaseModel
from transformers import AutoModelForCausalLM, AutoTokenizer

from rag_evaluator import Judge, ModelError
from rag_evaluator.config import JudgeConfig
from rag_evaluator.hub import fingerprint
from rag_evaluator.judge import LazyJudge, find_judge

STEEP = {"initializer_range": 0.5}


class Verdict(BaseModel):
    reason: str
    verdict: Literal[0, 1]


def adapter_of(base: Path, folder: Path, seed: int = 0, **settings: Any) -> Path:
    """An adapter with random weights, made and saved by peft."""
    torch.manual_seed(seed)
    given = {"target_modules": ["q_proj", "v_proj"], "r": 4, "lora_alpha": 8, "task_type": "CAUSAL_LM", **settings}
    model = get_peft_model(AutoModelForCausalLM.from_pretrained(base), LoraConfig(**given))
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            parameter.data = torch.randn_like(parameter) * 0.5
    model.save_pretrained(folder)
    return folder


@pytest.fixture
def base(model_folder: ModelFolder) -> Path:
    return model_folder("llama")


@pytest.fixture
def adapter(base: Path, tmp_path: Path) -> Path:
    return adapter_of(base, tmp_path / "adapter")


def config_of(base: Path, adapter: Path | None, **settings: Any) -> JudgeConfig:
    given = {"max_new_tokens": 48, **settings}
    return JudgeConfig(model=str(base), adapter=None if adapter is None else str(adapter), **given)


def answers(config: JudgeConfig) -> list[tuple[str, tuple[float, ...]]]:
    judge = Judge.from_config(config)
    engine = judge.inner.engine  # type: ignore[attr-defined]
    replies = engine.handle([judge.inner.request(f"Is {count} right?", Verdict) for count in range(4)])
    return [(reply.text, reply.confidence) for reply in replies]


@pytest.mark.parametrize("kind", ["llama", "gemma-metaspace-unigram"])
def test_answers_differ_from_the_bases_and_are_those_of_the_model_that_peft_merges(
    model_folder: ModelFolder, tmp_path: Path, kind: str
) -> None:
    from peft import PeftModel

    base = model_folder(kind)
    adapter = adapter_of(base, tmp_path / "adapter")
    by_hand = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(base), adapter).merge_and_unload()
    by_hand.save_pretrained(tmp_path / "merged")
    AutoTokenizer.from_pretrained(base).save_pretrained(tmp_path / "merged")
    adapted = answers(config_of(base, adapter))
    assert adapted == answers(config_of(tmp_path / "merged", None))
    assert adapted != answers(config_of(base, None))


def edit(folder: Path, name: str = "adapter_config.json", **changes: Any) -> None:
    path = folder / name
    path.write_text(json.dumps(json.loads(path.read_bytes()) | changes))


def test_the_signature_has_the_fingerprints_of_base_and_adapter_and_no_path(
    base: Path, adapter: Path, tmp_path: Path
) -> None:
    signature = LazyJudge(None, config_of(base, adapter)).signature
    assert signature is not None
    assert f"judge:{fingerprint(base)}" in signature
    assert f"adapter:{fingerprint(adapter)}" in signature
    assert str(tmp_path) not in signature
    copy = Path(shutil.copytree(adapter, tmp_path / "copy"))
    assert LazyJudge(None, config_of(base, copy)).signature == signature
    edit(copy, lora_alpha=99)
    assert LazyJudge(None, config_of(base, copy)).signature != signature
    assert LazyJudge(None, config_of(base, None)).signature != signature


def without(name: str) -> Callable[[Path, Path], Any]:
    return lambda adapter, base: (adapter / name).unlink()


AWAY = "pip install peft"
WRONG: dict[str, tuple[Callable[[Path, Path], Any], dict[str, Any], str]] = {
    "no folder": (lambda adapter, base: shutil.rmtree(adapter), {}, "no such folder.* Give the folder of a LoRA"),
    "no settings": (without("adapter_config.json"), {}, r"has no adapter_config\.json.* It holds: .*adapter_model"),
    "no weights": (without("adapter_model.safetensors"), {}, r"has no adapter_model\.safetensors, as peft saves"),
    "no JSON": (
        lambda adapter, base: (adapter / "adapter_config.json").write_text("{"),
        {},
        r"adapter_config\.json cannot be read as JSON",
    ),
    "another method": (
        lambda adapter, base: edit(adapter, peft_type="IA3"),
        {},
        "is a 'IA3' adapter, and the engine transformers loads 'LORA' only. Merge it",
    ),
    "quantised weights": (
        lambda adapter, base: edit(base, "config.json", quantization_config={"quant_method": "gptq", "bits": 4}),
        {},
        "are or will be quantised.* Take the base model without quantisation .* or judge with engine: vllm",
    ),
    "quantised when it is loaded": (
        lambda adapter, base: None,
        {"model_kwargs": {"quantization_config": {"load_in_4bit": True}}},
        "are or will be quantised.* Take the base model without quantisation .* or judge with engine: vllm",
    ),
}


@pytest.mark.parametrize(("change", "settings", "told"), WRONG.values(), ids=WRONG)
def test_an_adapter_that_cannot_be_merged_is_refused_before_anything_is_loaded(
    change: Callable[[Path, Path], Any],
    settings: dict[str, Any],
    told: str,
    base: Path,
    adapter: Path,
    tmp_path: Path,
) -> None:
    copy = Path(shutil.copytree(base, tmp_path / "base"))
    change(adapter, copy)
    with pytest.raises(ModelError, match=rf"judge\.adapter: .*{told}"):
        LazyJudge(None, config_of(copy, adapter, **settings)).check()


@pytest.mark.parametrize(
    ("kind", "shape", "fault"),
    [
        ("llama", {"num_hidden_layers": 1}, r"the model has no layer for 4 weights \(.*layers\.1\."),
        ("llama", {"num_hidden_layers": 3}, r"the adapter lacks 4 weights \(.*layers\.2\."),
        ("llama", {"hidden_size": 64}, r"q_proj"),
        ("llama", {"num_attention_heads": 8}, r"q_proj"),
        ("gpt2", {}, r"q_proj"),
    ],
)
def test_an_adapter_of_another_model_is_refused(
    kind: str, shape: dict[str, int], fault: str, adapter: Path, tmp_path: Path
) -> None:
    base = tiny_models.make(kind, tmp_path / "base", **shape)
    with pytest.raises(ModelError, match=rf"judge\.adapter: .* does not fit judge\.model: .*{fault}"):
        Judge.from_config(config_of(base, adapter))


def test_an_adapter_whose_weights_are_damaged_is_refused(base: Path, adapter: Path) -> None:
    (adapter / "adapter_model.safetensors").write_bytes(b"\x05\0\0\0\0\0\0\0abc")
    with pytest.raises(ModelError, match=r"judge\.adapter: .* does not fit judge\.model"):
        Judge.from_config(config_of(base, adapter))


def test_without_peft_the_extra_is_named(base: Path, adapter: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(
        "rag_evaluator.judge.engines.transformers.loading.find_spec",
        lambda name: None if name == "peft" else real(name),
    )
    with pytest.raises(ModelError, match=rf"^judge\.adapter: .*{AWAY}.* Or merge it elsewhere"):
        find_judge(config_of(base, adapter))
    assert find_judge(config_of(base, None)).source == str(base)
