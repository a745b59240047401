"""Models that cannot be loaded are refused before they are, each with what to do."""

import json
import shutil
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoModelForCausalLM

from rag_evaluator import ModelError, check
from rag_evaluator.config import JudgeConfig
from rag_evaluator.judge import LazyJudge, refuse_offloaded, with_quantisation

ModelFolder = Callable[..., Path]
Change = Callable[[Path], Any]


@pytest.fixture
def folder(model_folder: ModelFolder, tmp_path: Path) -> Path:
    """A copy of a good model folder, to be spoilt."""
    return Path(shutil.copytree(model_folder("llama"), tmp_path / "model"))


def edit(folder: Path, **changes: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes), encoding="utf-8")


def saved_with(**method: Any) -> Change:
    return lambda folder: edit(folder, quantization_config=method)


def nothing(folder: Path) -> None: ...


INSTALL = "Install what is missing, or take the model's unquantised weights"
WITHOUT = r"Install what is missing, or leave that out: judge\.dtype: bfloat16"
SAVED = r"judge\.model: .*model has weights quantised with {} \(quantization_config in its config\.json\), .*{}.* {}"
REFUSED: dict[str, tuple[Change, dict[str, Any], str]] = {
    "load_in_4bit": (
        nothing,
        {"model_kwargs": {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}},
        rf"judge\.model_kwargs: weights cannot be quantised with bitsandbytes here: .*bitsandbytes.* {WITHOUT}",
    ),
    "load_in_8bit": (
        nothing,
        {"model_kwargs": {"load_in_8bit": True}},
        rf"judge\.model_kwargs: weights cannot be quantised with bitsandbytes here: .*bitsandbytes.* {WITHOUT}",
    ),
    "a quantization_config": (
        nothing,
        {"model_kwargs": {"quantization_config": {"quant_method": "quanto"}}},
        rf"judge\.model_kwargs: weights cannot be quantised with quanto here: .*optimum-quanto.* {WITHOUT}",
    ),
    "a quantization_config of no method": (
        nothing,
        {"model_kwargs": {"quantization_config": {"bits": 4}}},
        rf"judge\.model_kwargs: weights cannot be quantised .*quant_method.* {WITHOUT}",
    ),
    "saved with bitsandbytes": (
        saved_with(quant_method="bitsandbytes", load_in_4bit=True),
        {},
        SAVED.format("bitsandbytes", "bitsandbytes", INSTALL),
    ),
    "saved with GPTQ": (saved_with(quant_method="gptq", bits=4), {}, SAVED.format("gptq", "optimum", INSTALL)),
    "saved with AWQ": (saved_with(quant_method="awq", bits=4), {}, SAVED.format("awq", "gptqmodel", INSTALL)),
    "saved with compressed-tensors": (
        saved_with(quant_method="compressed-tensors", config_groups={}),
        {},
        SAVED.format("compressed-tensors", "compressed-tensors", INSTALL),
    ),
    "saved with an unknown method": (saved_with(quant_method="q5"), {}, SAVED.format("q5", "Unknown", INSTALL)),
    "the text model saved with GPTQ": (
        lambda folder: edit(folder, text_config={"quantization_config": {"quant_method": "gptq", "bits": 4}}),
        {},
        SAVED.format("gptq", "optimum", INSTALL),
    ),
    "a vision-text model that encodes and decodes": (
        lambda folder: edit(folder, model_type="florence2", text_config={"is_encoder_decoder": True}),
        {},
        r"encoder-decoder model \(florence2\); the judge needs a decoder-only",
    ),
}


@pytest.mark.parametrize(("change", "settings", "told"), REFUSED.values(), ids=REFUSED)
def test_a_model_that_cannot_judge_is_refused_before_it_is_loaded(
    change: Change, settings: dict[str, Any], told: str, folder: Path
) -> None:
    change(folder)
    with pytest.raises(ModelError, match=told):
        LazyJudge(None, JudgeConfig(model=str(folder), **settings)).check()


def test_check_tells_the_refusal_without_loading_anything(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "model.safetensors").unlink()
    monkeypatch.setattr("rag_evaluator.judge.engines.transformers.loading.load_pipeline", None)
    rows = [{"user_input": "Who?", "retrieved_contexts": ["She."]}]
    found = check({"metrics": ["context_relevance"], "judge": {"model": str(folder)}}, data=rows)
    assert any(entry.state == "failed" and "no weights at all" in entry.text for entry in found.checks)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (
            {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4", "revision": "main"},
            {
                "quantization_config": {
                    "quant_method": "bitsandbytes",
                    "load_in_4bit": True,
                    "bnb_4bit_quant_type": "nf4",
                },
                "revision": "main",
            },
        ),
        ({"load_in_4bit": False, "dtype": "auto"}, {"dtype": "auto"}),
        ({"attn_implementation": "sdpa"}, {"attn_implementation": "sdpa"}),
        (
            {"load_in_4bit": True, "quantization_config": {"quant_method": "hqq"}},
            {"quantization_config": {"quant_method": "hqq"}},
        ),
    ],
)
def test_what_transformers_4_took_is_given_as_transformers_5_takes_it(
    given: dict[str, Any], meant: dict[str, Any]
) -> None:
    assert with_quantisation(given) == meant


@pytest.mark.models
def test_a_model_of_which_parts_stay_on_disk_is_refused(folder: Path, tmp_path: Path) -> None:
    parts: dict[str, int | str] = {"model.embed_tokens": "cpu", "model.layers": "disk"}
    places = {**parts, "model.norm": "cpu", "model.rotary_emb": "cpu", "lm_head": "cpu"}
    model = AutoModelForCausalLM.from_pretrained(folder, device_map=places, offload_folder=tmp_path / "offloaded")
    with pytest.raises(ModelError, match=r"does not fit its device: 1 of its 5 parts \(model\.layers, for instance\)"):
        refuse_offloaded(str(folder), model.hf_device_map)


@pytest.mark.parametrize(
    ("places", "refused"),
    [
        ({"": "cpu"}, False),
        ({}, False),
        ({"": 0}, False),
        ({"a": 0, "b": 1}, False),
        ({"a": "cuda:0", "b": "cpu"}, True),
        ({"a": 0, "b": "disk"}, True),
    ],
)
def test_only_weights_that_are_copied_at_every_step_are_refused(places: dict[str, Any], refused: bool) -> None:
    with pytest.raises(ModelError, match="1 of its 2 parts") if refused else nullcontext():
        refuse_offloaded("m", places)
