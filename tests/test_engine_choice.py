"""`judge.engine: auto`: vLLM where a GPU and vLLM are, else transformers, and why."""

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest
from aliases import Patch

from rag_evaluator import ScriptedJudge
from rag_evaluator.config import JudgeConfig, make_config, with_engine
from rag_evaluator.judge import LazyJudge

NO_GPU = "no NVIDIA GPU that this process may use was found"
GPU = "GPU 0: NVIDIA H100 (UUID: GPU-1)"


forget_gpus = resolve_name("rag_evaluator.config.engine_choice:has_gpu").cache_clear


def choice(**settings: Any) -> tuple[str, str]:
    chosen = with_engine(JudgeConfig(engine="auto", **settings))
    return chosen.engine, chosen.because


def parts_of(config: JudgeConfig) -> Any:
    return LazyJudge(ScriptedJudge(), config).parts


@pytest.fixture
def node(tmp_path: Path, monkeypatch: Patch) -> Iterator[Path]:
    """A folder for programs that is all of PATH, without a GPU's driver."""
    programs = tmp_path / "programs"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    forget_gpus()
    yield programs
    forget_gpus()


def driver(node: Path, says: str, status: int = 0) -> None:
    """Gives the node a driver's program, as `nvidia-smi -L` lists GPUs."""
    program = node / "nvidia-smi"
    program.write_text(f"#!/bin/sh\necho '{says}'\nexit {status}\n")
    program.chmod(0o755)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: Patch) -> None:
    """A package of the name vllm can be found; it is not imported."""
    (tmp_path / "library/vllm").mkdir(parents=True)
    (tmp_path / "library/vllm/__init__.py").write_text("raise AssertionError\n")
    monkeypatch.syspath_prepend(str(tmp_path / "library"))


def test_vllm_is_chosen_where_a_gpu_and_vllm_are(node: Path, installed: None) -> None:
    driver(node, GPU)
    assert choice(model="/models/m") == ("vllm", "a GPU and vLLM are here")


@pytest.mark.parametrize("says", ["No devices found.", ""])
def test_without_a_gpu_it_is_transformers(node: Path, installed: None, says: str) -> None:
    if says:
        driver(node, says)
    assert choice(model="/models/m") == ("transformers", NO_GPU)


@pytest.mark.parametrize("hidden", ["", "-1", "NoDevFiles"])
def test_gpus_that_this_process_may_not_use_do_not_count(
    node: Path, installed: None, monkeypatch: Patch, hidden: str
) -> None:
    driver(node, GPU)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", hidden)
    assert choice(model="/models/m") == ("transformers", NO_GPU)


@pytest.mark.skipif(find_spec("vllm") is not None, reason="vLLM is installed here")
def test_without_vllm_it_is_transformers_and_the_environment_is_named(node: Path) -> None:
    driver(node, GPU)
    assert choice(model="/models/m") == ("transformers", f"{sys.executable} has no vLLM")


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"model": "demo"}, "the demo judge is a toy"),
        (
            {"model": "/m", "model_kwargs": {"load_in_4bit": True}},
            "judge.model_kwargs is set, which vLLM does not take",
        ),
        ({"model": "/m", "device_map": "cuda:1"}, "judge.device_map is set, which vLLM does not take"),
    ],
)
def test_vllm_is_not_chosen_where_it_would_not_read_a_key(
    node: Path, installed: None, settings: dict[str, Any], why: str
) -> None:
    driver(node, GPU)
    assert choice(**settings) == ("transformers", why)


def test_a_configuration_has_the_engine_that_was_chosen_and_its_signature(node: Path) -> None:
    chosen = make_config({"metrics": ["faithfulness"], "judge": {"engine": "auto"}}).judge
    assert chosen.engine == "transformers" and chosen.because == "the demo judge is a toy"
    assert parts_of(chosen) == parts_of(JudgeConfig())
    assert with_engine(JudgeConfig()).because == ""


ANSWERS_DEPEND = {  # a value that gives other answers, and what it is beside
    "engine": ("vllm", {}),
    "dtype": ("bfloat16", {}),
    "model_kwargs": ({"attn_implementation": "eager"}, {}),
    "chat_template": ("none", {}),
    "max_new_tokens": (64, {}),
    "temperature": (0.5, {}),
    "seed": (1, {"temperature": 0.5}),
    "thinking": ("on", {}),
    "thinking_tokens": (8, {"thinking": "on"}),
    "thinking_markers": (("<a>", "</a>"), {"thinking": "on"}),
    "reasons": ("none", {}),
    "examples": ("none", {}),
}
BY_OTHERS = {"model", "adapter", "served_model", "vllm", "history"}  # the model's identity, parts of engine and rows
SAME_ANSWERS = {"device_map", "keep_unpacked", "batch_size", "url", "api_key_env"}


@pytest.mark.parametrize("key", ANSWERS_DEPEND)
def test_what_answers_depend_on_is_in_the_signature(key: str) -> None:
    value, beside = ANSWERS_DEPEND[key]
    changed = JudgeConfig.model_validate({**beside, key: value})
    assert parts_of(changed) != parts_of(JudgeConfig.model_validate(beside))


def test_of_each_key_of_the_judge_it_is_known_whether_answers_depend_on_it() -> None:
    assert {*ANSWERS_DEPEND, *BY_OTHERS, *SAME_ANSWERS} == set(JudgeConfig.model_fields)


@pytest.mark.parametrize(
    ("args", "value"),
    [([], None), (["-tp=2"], "2"), (["--tensor_parallel_size", "2", "-tp", "4"], "4"), (["-tp"], None)],
)
def test_of_an_option_of_vllm_given_twice_the_last_counts(args: list[str], value: str | None) -> None:
    assert JudgeConfig(vllm={"args": args}).vllm.option("--tensor-parallel-size", "-tp") == value
