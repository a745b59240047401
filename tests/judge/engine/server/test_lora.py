"""An adapter beside its base model: how a vLLM server of ours gets it, what names it, and who refuses it."""

import asyncio
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

import pytest
import torch
from fake_server import Fake, obedient, serve
from pydantic import BaseModel
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from rag_evaluator import ConfigError, Judge, ModelError, RAGEvaluator
from rag_evaluator.config import JudgeConfig, make_config
from rag_evaluator.judge import ServerEngine, VllmEngine
from rag_evaluator.judge.engines.vllm import engine as vllm_engine
from rag_evaluator.models import fingerprint
from rag_evaluator.tasks import run_digest_of
from tools.gguf_model import llama_cpp, write_gguf, write_gguf_adapter

PYTHON = os.environ.get("VLLM_PYTHON", "")
FAKE = Path(__file__).parents[1] / "vllm" / "fake"
SHAPE = {"hidden_size": 128, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 64}
ModelFolder = Callable[..., Path]


class Verdict(BaseModel):
    note: str
    verdict: Literal[0, 1]


@pytest.fixture
def python(tmp_path: Path) -> str:
    """The Python of an environment that has the fake."""
    path = tmp_path / "python"
    path.write_text(f'#!/bin/sh\nPYTHONPATH={FAKE} exec {sys.executable} "$@"\n')
    path.chmod(0o755)
    return str(path)


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


def settings_of(base: Path, adapter: Path | None, python: str, *args: str) -> dict[str, Any]:
    given = None if adapter is None else str(adapter)
    return {"engine": "vllm", "model": str(base), "adapter": given, "vllm": {"python": python, "args": list(args)}}


class Started:
    """In place of a server's life: a small server in this process, which knows what it would be started with."""

    def __init__(self, folder: Path, base: Path, adapter: Path, window: int) -> None:
        self.socket, self.stack = folder / "s", ExitStack()
        self.command: list[str] = []
        write = obedient(AutoTokenizer.from_pretrained(base), 700, 1)
        models = [
            {"id": "judge", "owned_by": "vllm", "max_model_len": window, "root": str(base), "parent": None},
            {"id": "judge-adapter", "owned_by": "vllm", "max_model_len": None, "root": str(adapter), "parent": "judge"},
        ]
        self.fake: Fake = self.stack.enter_context(serve(path=self.socket, write=write, models=models))

    def __call__(self, command: Callable[[Path], list[str]], environment: Mapping[str, str]) -> "Started":
        self.command = command(self.socket)
        return self

    def wait_until_ready(self, seconds: float) -> None: ...

    def stop(self) -> None: ...

    ended = False


@pytest.fixture
def started(tmp_path: Path, base: Path, adapter: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Started]:
    life = Started(tmp_path, base, adapter, window=900)
    monkeypatch.setattr(vllm_engine, "VllmServer", life)
    with life.stack:
        yield life


def value_of(command: list[str], option: str) -> str:
    return command[command.index(option) + 1]


def test_an_adapter_is_loaded_beside_its_base_and_every_request_names_it(
    started: Started, base: Path, adapter: Path, python: str
) -> None:
    judge = Judge.from_config(JudgeConfig(**settings_of(base, adapter, python), max_new_tokens=64))
    command = started.command
    assert value_of(command, "--model") == str(base) and "--enable-lora" in command
    assert json.loads(value_of(command, "--lora-modules")) == {"name": "judge-adapter", "path": str(adapter)}
    assert value_of(command, "--max-lora-rank") == "8"
    assert judge.window == 900  # of the base: a server says no window of an adapter
    assert isinstance(judge.generate("Good?", Verdict), Verdict)
    assert {body["model"] for _, body, _ in started.fake.asked if body} == {"judge-adapter"}


def test_without_an_adapter_nothing_is_said_of_one(base: Path, python: str) -> None:
    line = vllm_engine.command(JudgeConfig(**settings_of(base, None, python)), str(base), Path("/run/s"))
    assert not [argument for argument in line if "lora" in argument]


@pytest.mark.parametrize(
    ("rank", "pattern", "expected"),
    [(1, {}, "8"), (8, {}, "8"), (9, {}, "16"), (16, {"q_proj": 48}, "64"), (300, {}, "320"), (512, {}, "512")],
)
def test_the_highest_rank_is_the_next_one_that_vllm_takes(
    rank: int, pattern: dict[str, int], expected: str, adapter: Path, base: Path, python: str
) -> None:
    edit(adapter, r=rank, rank_pattern=pattern)
    line = vllm_engine.command(JudgeConfig(**settings_of(base, adapter, python)), str(base), Path("/run/s"))
    assert value_of(line, "--max-lora-rank") == expected


def edit(adapter: Path, **settings: Any) -> None:
    path = adapter / "adapter_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **settings}))


def test_the_signature_has_the_fingerprints_of_base_and_adapter_and_no_path(
    base: Path, adapter: Path, python: str, tmp_path: Path
) -> None:
    def line(adapter: Path | None) -> str:
        judge = settings_of(base, adapter, python)
        return RAGEvaluator({"metrics": ["context_relevance"], "judge": judge}).signatures()["context_relevance"]

    said = line(adapter)
    assert f"|judge:{fingerprint(base)}|" in said and f"|adapter:{fingerprint(adapter)}" in said
    assert str(tmp_path) not in said and "adapter" not in line(None)
    assert line(adapter.rename(tmp_path / "moved")) == said
    assert line(adapter_of(base, tmp_path / "other", seed=1)) != said


def test_a_finished_run_with_another_adapter_in_the_same_folder_is_another_run(
    base: Path, adapter: Path, python: str, tmp_path: Path
) -> None:
    (tmp_path / "rows.jsonl").write_text('{"user_input": "Who?", "retrieved_contexts": ["She."]}\n')
    settings = {"metrics": ["context_relevance"], "judge": settings_of(base, adapter, python)}
    config = make_config({**settings, "dataset": str(tmp_path / "rows.jsonl")})
    before = run_digest_of(config)
    edit(adapter, lora_alpha=99)
    assert before is not None and run_digest_of(config) != before


def without(name: str) -> Callable[[Path], Any]:
    return lambda adapter: (adapter / name).unlink()


WRONG: dict[str, tuple[Callable[[Path], Any], str]] = {
    "no folder": (lambda adapter: adapter.rename(adapter.with_name("moved")), r"judge\.adapter: no such folder"),
    "no settings": (without("adapter_config.json"), r"has no adapter_config\.json.*It holds: adapter_model"),
    "settings that are no JSON": (
        lambda adapter: (adapter / "adapter_config.json").write_text("{"),
        r"adapter_config\.json cannot be read as JSON",
    ),
    "no weights": (without("adapter_model.safetensors"), r"has no adapter_model\.safetensors"),
    "another method": (lambda adapter: edit(adapter, peft_type="IA3"), r"is a 'IA3' adapter.*merge_and_unload"),
    "no rank": (lambda adapter: edit(adapter, r=None), r"names no rank"),
    "a rank above all": (lambda adapter: edit(adapter, r=600), r"rank 600.*512.*merge_and_unload"),
}


@pytest.mark.parametrize(("change", "told"), WRONG.values(), ids=WRONG)
def test_an_adapter_that_cannot_be_used_is_refused_before_anything_is_loaded(
    change: Callable[[Path], Any], told: str, base: Path, adapter: Path, python: str
) -> None:
    change(adapter)
    with pytest.raises(ModelError, match=told):
        VllmEngine.find(JudgeConfig(**settings_of(base, adapter, python)), True)


def test_an_adapter_in_place_of_the_model_is_told_how_to_be_given(adapter: Path, base: Path, python: str) -> None:
    with pytest.raises(ModelError, match=rf"judge\.adapter: {adapter}, and judge\.model: {base}"):
        VllmEngine.find(JudgeConfig(**settings_of(adapter, None, python)), True)


def test_a_base_model_that_is_no_folder_is_refused(adapter: Path, python: str) -> None:
    settings = settings_of(adapter, adapter, python) | {"model": "org/base"}
    with pytest.raises(ModelError, match=r"judge\.model: .*'?org/base"):
        VllmEngine.find(JudgeConfig(**settings), True)
    with pytest.raises(ModelError, match=r"judge\.model: org/base is no folder.*adapter"):
        VllmEngine.find(JudgeConfig(**settings), False)


@pytest.mark.parametrize("option", ["--enable-lora", "--lora-modules=a=b", "--max_lora_rank"])
def test_arguments_of_adapters_are_not_the_users_to_set(option: str, base: Path, python: str) -> None:
    with pytest.raises(ModelError, match=r"is not yours to set"):
        VllmEngine.find(JudgeConfig(**settings_of(base, None, python, option)), True)


def test_a_server_of_the_users_refuses_an_adapter_and_says_what_to_do(tmp_path: Path) -> None:
    told = r"to the engine 'server'.* Merge it.*serve the result.*'transformers' or 'vllm'"
    judge: dict[str, Any] = {"engine": "server", "url": "http://127.0.0.1:1/v1", "adapter": str(tmp_path)}
    with pytest.raises(ConfigError, match=told):
        make_config({"metrics": ["faithfulness"], "judge": judge})
    with pytest.raises(ConfigError, match=told):
        Judge.from_config(JudgeConfig(**judge))


def test_the_folder_of_an_adapter_is_read_from_the_configurations_place(tmp_path: Path, adapter: Path) -> None:
    from rag_evaluator import load_config

    (tmp_path / "c.yaml").write_text("metrics: [faithfulness]\njudge: {engine: vllm, adapter: adapter}\n")
    assert load_config(tmp_path / "c.yaml").judge.adapter == str(adapter)


@pytest.mark.allow_hosts(["127.0.0.1"])
def test_an_adapter_on_a_server_of_the_users_is_refused(base: Path, adapter: Path, tmp_path: Path) -> None:
    with (
        Started(tmp_path, base, adapter, 900).stack as _,
        pytest.raises(ModelError, match="'judge-adapter' is an adapt"),
    ):
        ServerEngine.find(
            JudgeConfig(engine="server", model=str(base), url=f"unix:{tmp_path / 's'}", served_model="judge-adapter"),
            True,
        )


@pytest.mark.allow_hosts(["127.0.0.1"])
def test_an_adapter_that_llama_cpp_has_added_is_refused(base: Path, adapter: Path, tmp_path: Path) -> None:
    added = write_gguf_adapter(adapter, tmp_path / "adapter.gguf")
    with llama_cpp(write_gguf(base, tmp_path / "m.gguf"), adapter=added) as url:
        config = JudgeConfig(engine="server", model=str(base), url=url)
        with pytest.raises(ModelError, match=r"'adapter\.gguf' is an adapter.*merge_and_unload"):
            ServerEngine.find(config, True)


def merged(base: Path, adapter: Path, folder: Path) -> Path:
    """The base model with the adapter's weights added, as peft merges them: W + alpha / r * B A."""
    from safetensors.torch import load_file

    settings = json.loads((adapter / "adapter_config.json").read_text())
    model, weights = AutoModelForCausalLM.from_pretrained(base), load_file(adapter / "adapter_model.safetensors")
    for name, parameter in model.named_parameters():
        stem = f"base_model.model.{name.removesuffix('.weight')}"
        if f"{stem}.lora_A.weight" in weights:
            added = weights[f"{stem}.lora_B.weight"] @ weights[f"{stem}.lora_A.weight"]
            parameter.data += settings["lora_alpha"] / settings["r"] * added
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(base).save_pretrained(folder)
    return folder


@pytest.mark.vllm
@pytest.mark.skipif(not PYTHON, reason="VLLM_PYTHON names no Python with vLLM")
def test_a_real_vllm_judges_with_an_adapter_as_we_do_with_the_merged_model(
    base: Path, adapter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind"}.items():
        monkeypatch.setenv(name, value)
    settings: dict[str, Any] = {"dtype": "float32", "max_new_tokens": 64}
    server = settings_of(base, adapter, PYTHON, "--enforce-eager", "--max-model-len", "1024")
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
