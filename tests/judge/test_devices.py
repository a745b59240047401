"""GPUs without one: fake device lists, patched counts of memory, the meta device."""

import json
import logging
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
import torch
import transformers
from aliases import Capture, ModelFolder, Patch
from folders import output_of, run_command
from test_judge import Note
from test_models import ROW
from tiny_models import Tiny

from rag_evaluator import Judge, ModelError, RAGEvaluator
from rag_evaluator.config import JudgeConfig
from rag_evaluator.judge import PromptText
from rag_evaluator.run import DEVICES, Worker, read_status, share_devices
from rag_evaluator.tasks import results_of

FOUR = {DEVICES: "0,1,2,3"}


@pytest.mark.parametrize(
    ("environment", "count", "numbers", "devices"),
    [
        (FOUR, 4, range(4), ["0", "1", "2", "3"]),
        (FOUR, 2, range(2), ["0,1", "2,3"]),
        (FOUR, 3, range(3), ["0", "1", "2"]),
        (FOUR, 8, range(4, 8), ["0", "1", "2", "3"]),  # the other four are on another host
        (FOUR, 1, range(1), [None]),  # one process alone keeps all
        ({DEVICES: "3"}, 4, range(4), [None] * 4),  # one that was chosen for a worker stays
        ({DEVICES: "GPU-5c1d"}, 4, range(4), [None] * 4),
        ({DEVICES: ""}, 4, range(4), [None] * 4),
        ({DEVICES: "2", "SLURM_STEP_TASKS_PER_NODE": "1"}, 4, range(4), [None] * 4),
    ],
)
def test_workers_started_by_hand_each_get_a_gpu_of_their_own(
    environment: dict[str, str], count: int, numbers: range, devices: list[str | None]
) -> None:
    with patch.dict(os.environ, environment, clear=True):
        assert [share_devices(Worker(number, count)) for number in numbers] == devices


def test_the_command_line_gives_a_worker_its_gpu(tmp_path: Path, monkeypatch: Patch) -> None:
    config = tmp_path / "c.yaml"
    config.write_text("name: x\ndataset: rows.jsonl\nmetrics: [exact_match]\noutput_dir: out\n", "utf-8")
    (tmp_path / "rows.jsonl").write_text('{"response": "a", "reference": "a"}\n', "utf-8")
    monkeypatch.setenv(DEVICES, "0,1")
    run_command(config, "--worker", "1/2")
    assert os.environ[DEVICES] == "1"


GPU = 80 * 10**9


@pytest.fixture
def gpus(monkeypatch: Patch) -> Callable[..., list[Any]]:
    """`gpus(free, ...)`: pretends that there are GPUs with so many bytes free; returns the device maps asked for."""

    def pretend(*free: int) -> list[Any]:
        asked: list[Any] = []

        def from_pretrained(source: str, **arguments: Any) -> Any:
            asked.append(arguments["device_map"])
            raise MemoryError  # far enough

        monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: len(free))
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free[device], GPU))
        monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", from_pretrained)
        return asked

    return pretend


@pytest.mark.parametrize(
    "free, settings, device_map",
    [
        ((GPU, GPU), {}, {"": 0}),
        ((GPU // 2, GPU), {}, {"": 1}),  # somebody else is at work on the first
        ((900_000, 1_000_000), {}, "auto"),
        ((100_000, 1_600_000), {"dtype": "float32"}, {"": 1}),
        ((100_000, 1_400_000), {"dtype": "float32"}, "auto"),  # no room for keys and values
        ((100_000, 800_000), {"dtype": "bfloat16"}, {"": 1}),  # half of the bytes on disk
        ((GPU, GPU), {"device_map": "balanced"}, "balanced"),
        ((GPU, GPU), {"device_map": {"": 1}}, {"": 1}),
        ((GPU,), {}, "auto"),
    ],
)
def test_a_model_that_fits_one_gpu_is_not_spread_over_all(
    model_folder: ModelFolder, gpus: Callable[..., list[Any]], free: tuple[int, ...], settings: Any, device_map: Any
) -> None:
    folder = model_folder("gpt2")  # 1.2 MB in float32
    asked = gpus(*free)
    with pytest.raises(ModelError, match="too little memory"):
        Judge.from_config(JudgeConfig(model=str(folder), **settings))
    assert asked == [device_map]


@pytest.mark.parametrize("place", ["cuda:0", "cuda", "cuda:7", {"": 0}, {"model": "cpu", "lm_head": "cuda:1"}, "gpu"])
def test_a_device_that_is_not_here_is_an_error_before_the_model_is_loaded(
    model_folder: ModelFolder, monkeypatch: Patch, place: Any
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.accelerator, "device_count", lambda: 0)
    with pytest.raises(ModelError, match=r"^judge\.device_map is .*0 GPUs"):
        Judge.from_config(JudgeConfig(model=str(model_folder("gpt2")), device_map=place))


def test_the_rows_to_keep_are_listed_on_the_cpu_since_the_last_layer_may_be_on_another_gpu(tiny: Tiny) -> None:
    judge = tiny("llama-bytelevel", dtype="float32")
    judge.inner.engine.model.to("meta")
    kept: list[torch.Tensor] = []
    hook = lambda module, args, kwargs: kept.append(kwargs["logits_to_keep"])  # noqa: E731
    judge.inner.engine.model.register_forward_pre_hook(hook, with_kwargs=True)
    with pytest.raises(NotImplementedError, match="meta"):  # its logits are nowhere
        judge.inner.engine.handle([judge.inner.request(PromptText("x\nOutput: "), Note)])
    assert {indices.device.type for indices in kept} == {"cpu"}


@pytest.mark.parametrize(
    "message",
    [
        "CUDA out of memory. Tried to allocate 2.00 GiB",
        "CUDA error: out of memory",
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
        "NVML_SUCCESS == r INTERNAL ASSERT FAILED at CUDACachingAllocator.cpp",
        "HIP out of memory. Tried to allocate 2.00 GiB",
        "HIP error: hipErrorOutOfMemory",
        "HIPBLAS_STATUS_ALLOC_FAILED",
        "DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes",
    ],
)
def test_every_form_of_an_out_of_memory_error_is_recognised(
    message: str, model_folder: ModelFolder, monkeypatch: Patch
) -> None:
    def failing(source: str, **arguments: Any) -> Any:
        raise RuntimeError(message)

    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", failing)
    with pytest.raises(ModelError, match="too little memory to load"):
        Judge.from_config(JudgeConfig(model=str(model_folder("gpt2"))))


class PackedWeights(torch.nn.Linear):
    """A linear layer whose weights are kept as bitsandbytes does in 4 bits: two in a byte, in one column."""

    def __init__(self, layer: torch.nn.Linear) -> None:
        super().__init__(layer.in_features, layer.out_features, bias=False)
        self.whole = layer
        count = layer.in_features * layer.out_features // 2
        self.weight = torch.nn.Parameter(torch.zeros(count, 1, dtype=torch.uint8), requires_grad=False)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        return self.whole(states)  # type: ignore[no-any-return]  # torch types calls of modules as Any


def test_a_quantised_output_layer_has_as_many_logits_as_before(tiny: Tiny) -> None:
    judge = tiny("llama-bytelevel", dtype="float32", max_new_tokens=16)
    model = judge.inner.engine.model
    size = model.lm_head.weight.shape[0]
    assert judge.inner.engine.vocabulary.size == size
    request = judge.inner.request(PromptText("x\nOutput: "), Note)
    expected = judge.inner.engine.handle([request])
    model.lm_head = PackedWeights(model.lm_head)
    engine = Judge(SimpleNamespace(model=model, tokenizer=judge.inner.encoder.tokenizer), judge.config).inner.engine
    assert engine.vocabulary.size == size
    assert engine.handle([request]) == expected


@pytest.mark.parametrize(
    "kind, why",
    [
        ("llama-bytelevel", None),
        ("mistral-metaspace-bpe", None),  # it has a window of 4096 tokens
        ("mistral-window", None),
        ("gemma2", None),
        ("gpt-oss", None),
        ("phi3-longrope", "its position encoding depends on the length of the longest row"),
        ("bloom", "its forward pass takes no position_ids"),
        ("rwkv", "its forward pass takes no past_key_values, position_ids"),
    ],
)
def test_the_slow_path_is_taken_with_a_warning_and_its_reason(
    tiny: Tiny, kind: str, why: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        judge = tiny(kind, batch_size=1)
    assert (judge.inner.engine.decoder.path, judge.inner.engine.why) == ("plain" if why else "packed", why)
    told = [record.getMessage() for record in caplog.records if "padded batches" in record.getMessage()]
    slow = "the judge decodes padded batches (about 4 times the CPU time of packed ones)"
    assert [line.split(" is faster")[0] for line in told] == ([f"{slow}: {why}; `engine: vllm`"] if why else [])


def test_an_error_of_the_packed_path_is_not_hidden(
    tiny: Tiny, caplog: pytest.LogCaptureFixture, monkeypatch: Patch
) -> None:
    def broken(*arguments: Any) -> Any:
        raise RuntimeError("indices should be either on cpu or on the same device as the indexed tensor")

    monkeypatch.setattr("rag_evaluator.judge.engines.transformers.packed.PackedModel.run", broken)
    with caplog.at_level(logging.WARNING):
        judge = tiny("llama-bytelevel")
    assert judge.about["path"] == "plain"
    assert "packed rows fail with RuntimeError: indices should be either on cpu" in caplog.text


@pytest.mark.parametrize("kind, way", [("llama-bytelevel", "packed"), ("bloom", "plain")])
def test_status_shows_the_path_that_a_worker_takes_and_why(
    model_folder: ModelFolder, kind: str, way: str, tmp_path: Path, capsys: Capture
) -> None:
    judge = {"model": str(model_folder(kind)), "max_new_tokens": 32}
    RAGEvaluator({"metrics": ["context_relevance"], "judge": judge}).evaluate([ROW], folder=tmp_path / "out")
    (stage,) = read_status(tmp_path / "out")
    assert [worker.note.engine["path"] for worker in stage.workers] == [way]
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_bytes())
    assert [judged["path"] for judged in manifest["judge_paths"]] == [way]
    printed = " ".join(output_of(capsys, "status", tmp_path / "out").split())
    slow = "padded batches (about 4 times the CPU time of packed ones): its forward pass takes no position_ids; `engine"
    assert (slow in printed) == ("engine: vllm" in printed) == (way == "plain")


def test_the_manifest_lists_each_path_once_whoever_took_it(model_folder: ModelFolder, tmp_path: Path) -> None:
    judge = {"model": str(model_folder("bloom")), "max_new_tokens": 32}
    evaluator = RAGEvaluator({"metrics": ["context_relevance"], "judge": judge})
    table = evaluator.run(tmp_path / "out", [ROW])
    (note,) = (table.journal.folder / "workers").glob("*.json")
    note.with_name("killed.json").write_bytes(note.read_bytes())
    note.with_name("damaged.json").write_text("[]", "utf-8")
    assert results_of(table, table.stage).manifest["judge_paths"] == [
        {"path": "plain", "why": "its forward pass takes no position_ids", "batch_size": "16"}
    ]
    (tmp_path / "memory").mkdir()
    evaluator.evaluate([ROW]).write(tmp_path / "memory")
    names = [folder / "manifest.json" for folder in (tmp_path / "out", tmp_path / "memory")]
    assert names[0].read_bytes() == names[1].read_bytes()
