"""A GGUF file as judge.model: the model that it was made from, and refused where transformers would read another."""

import os
import shutil
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_models
from aliases import ModelFolder
from gguf import GGUFWriter
from hypothesis import given
from hypothesis import settings as settings_of_hypothesis
from hypothesis import strategies as st

from rag_evaluator import Judge, ModelError, RAGEvaluator, check
from rag_evaluator.config import JudgeConfig, load_config, with_engine
from rag_evaluator.files import gguf_of, read_header
from rag_evaluator.judge import LazyJudge
from tools.gguf_model import write_gguf

LLAMA_3 = {
    **{"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0},
    "original_max_position_embeddings": 64,
}
ONES = np.ones(8, np.float32)
PROMPT = "Is it useful? " * 30
OPTIONS = ['{"verdict": 0}', '{"verdict": 1}', '{"no": 1}']


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    return write_gguf(tiny_models.make("llama", folder / "model"), folder / "whole.gguf")


@pytest.fixture
def gguf(model_folder: ModelFolder, tmp_path: Path) -> Path:
    """In a folder of its own."""
    (tmp_path / "only").mkdir()
    return write_gguf(model_folder("llama"), tmp_path / "only" / "tiny.gguf")


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n"


def text(letters: str) -> bytes:
    return struct.pack("<Q", len(letters)) + letters.encode()


def settings(only: bytes) -> bytes:
    """A file with one setting and no tensor."""
    return b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + only


def header(
    path: Path,
    architecture: str = "llama",
    tensor: str = "output_norm.weight",
    weights: Any = ONES,
    **settings: float,
) -> Path:
    writer = GGUFWriter(path, architecture)
    for name, value in settings.items():
        (writer.add_uint16 if isinstance(value, int) else writer.add_float32)(name.replace("__", "."), value)
    writer.add_tensor(tensor, weights)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.mark.parametrize("shape", [{}, {"rope_parameters": LLAMA_3}], ids=["llama 2", "llama 3"])
def test_it_answers_as_the_model_that_it_was_made_from(
    shape: dict[str, Any], model_folder: ModelFolder, tmp_path: Path
) -> None:
    folder = tiny_models.make("llama", tmp_path / "folder", **shape)
    beside = Path(shutil.copytree(model_folder("qwen2-chat"), tmp_path / "beside"))  # of another model: not read
    judge = Judge.from_config(JudgeConfig(model=str(write_gguf(folder, beside / "tiny.gguf")), dtype="float32"))
    expected = Judge.from_config(JudgeConfig(model=str(folder), dtype="float32")).choose(PROMPT, OPTIONS)
    assert judge.choose(PROMPT, OPTIONS) == pytest.approx(expected, abs=1e-6)
    assert "why" not in judge.about  # packed


def test_file_and_folder_are_one_model_of_bfloat16_whose_signature_is_that_of_the_content(gguf: Path) -> None:
    def line(model: Path) -> str:
        return str(RAGEvaluator({"metrics": ["context_relevance"], "judge": {"model": str(model)}}).signatures())

    before = line(gguf)
    assert before == line(gguf.parent) and str(gguf.parent) not in before
    assert str(Judge.from_config(JudgeConfig(model=str(gguf.parent))).pipeline.pipeline.model.dtype) == "torch.bfloat16"
    gguf.write_bytes(gguf.read_bytes()[:-1] + b"!")
    assert before != line(gguf)


def test_check_says_what_it_needs_once_unpacked(gguf: Path, rows: list[dict[str, Any]]) -> None:
    found = check({"metrics": ["context_relevance"], "judge": {"model": str(gguf), "dtype": "float32"}}, data=rows)
    (memory,) = [entry for entry in found.checks if entry.name == "memory"]
    weights = (gguf.parent / "tiny.gguf").stat().st_size
    assert 0.5 * weights < memory.details["weights"] < weights and "unpacked" in memory.text


def test_its_path_is_relative_to_the_configuration_and_auto_is_the_engine_that_reads_it(gguf: Path) -> None:
    path = gguf.parent / "config.yaml"
    path.write_text("metrics: [faithfulness]\njudge: {model: tiny.gguf, engine: auto}\n", "utf-8")
    assert load_config(path).judge.model == str(gguf)
    assert with_engine(JudgeConfig(model=str(gguf.parent), engine="auto")).because == "the model is a GGUF file"


REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "a scaled rope": (
        lambda path: header(path, "gemma3", gemma3__rope__scaling__factor=8.0),
        r"m\.gguf has gemma3\.rope\.scaling\.factor 8\.0, which transformers does not read.*url",
    ),
    "factors of a rope": (lambda path: header(path, "phi3", "rope_factors_long.weight"), r"m\.gguf has rope_factors_l"),
    "a download that was cut": (lambda path: path.write_bytes(header(path).read_bytes()[:-32]), r"m\.gguf is not comp"),
    "a cut header": (
        lambda path: path.write_bytes(header(path).read_bytes()[:90]),
        r"header of .*m\.gguf cannot be re",
    ),
    "a damaged header": (
        lambda path: path.write_bytes(b"GGUF" + b"\3\0\0\0" + b"\xff" * 400),
        r"header of .*m\.gguf cannot be re",
    ),
    "a text that is longer than the file": (
        lambda path: path.write_bytes(b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1 << 62) + b"abc"),
        r"header of .*m\.gguf cannot be re",
    ),
    "a pointer of Git LFS": (lambda path: path.write_bytes(POINTER), r"m\.gguf is a pointer of Git LFS.*git lfs pull"),
    "another file": (lambda path: path.write_bytes(b"version https"), r"m\.gguf is no GGUF file.*b'vers'"),
    "an alignment of nothing": (
        lambda path: path.write_bytes(settings(text("general.alignment") + struct.pack("<II", 4, 0)) + bytes(64)),
        r"header of .*m\.gguf cannot be read \(ValueError\('general\.alignment 0",
    ),
    "lists of lists": (
        lambda path: path.write_bytes(settings(text("a") + struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * 5000)),
        r"header of .*m\.gguf cannot be re",
    ),
    "an end that is cut": (
        lambda path: path.write_bytes(header(path).read_bytes()[:-16]),
        r"m\.gguf is not complete: the end of output_norm\.weight is missing",
    ),
    "space that was never filled": (
        lambda path: header(path, tensor="output.weight", weights=np.zeros((4, 32), np.float32)),
        r"m\.gguf is not complete: output\.weight has zeros only",
    ),
    "nothing": (lambda path: None, r"no such file: .*m\.gguf"),
}


def assert_refused(model: Path, told: str) -> None:
    """Before it is loaded."""
    with pytest.raises(ModelError, match=rf"^judge\.model: .*{told}"):
        LazyJudge(None, JudgeConfig(model=str(model))).check()


@pytest.mark.parametrize(("write", "told"), REFUSED.values(), ids=REFUSED)
def test_a_file_that_cannot_judge_is_refused_before_it_is_loaded(
    write: Callable[[Path], object], told: str, tmp_path: Path
) -> None:
    write(tmp_path / "m.gguf")
    assert_refused(tmp_path / "m.gguf", told)


DAMAGES = st.tuples(st.integers(0, 20_000), st.binary(max_size=12), st.booleans())


@settings_of_hypothesis(max_examples=150, deadline=None)
@given(damages=st.lists(DAMAGES, min_size=1, max_size=4))
def test_a_damaged_file_is_read_or_refused(damages: list[tuple[int, bytes, bool]], whole: Path) -> None:
    """Bytes are exchanged, or the rest of the file is cut off."""
    data = whole.read_bytes()
    for place, change, cuts in damages:
        data = data[:place] + change + (b"" if cuts else data[place + len(change) :])
    damaged = whole.with_name("damaged.gguf")
    damaged.write_bytes(data)
    with suppress(ModelError):
        LazyJudge(None, JudgeConfig(model=str(damaged))).check()


@pytest.mark.parametrize("count", [2**16, 2**40, 2**64 - 1])
@pytest.mark.parametrize("kind", [1, 8, 9])
def test_a_count_that_is_damaged_takes_neither_time_nor_memory(kind: int, count: int, tmp_path: Path) -> None:
    """In a file of 4 GB that takes no space on the disk: all that follows reads as empty texts."""
    path = tmp_path / "m.gguf"
    path.write_bytes(settings(text("a") + struct.pack("<IIQ", 9, kind, count)))
    os.truncate(path, 1 << 32)
    with suppress(ModelError):
        read_header(path)


def test_upper_case_is_found_as_a_file_and_in_a_folder(gguf: Path) -> None:
    upper = gguf.rename(gguf.with_name("TINY.GGUF"))
    assert gguf_of(upper) == gguf_of(upper.parent) == upper


@pytest.mark.parametrize("damage", [POINTER, b"\xff" * 64, b"\x08\0\0\0\0\0\0\0[[[[[[[[", b"", None])
def test_safetensors_that_hold_no_weights_are_refused_before_they_are_loaded(
    damage: bytes | None, model_folder: ModelFolder, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(model_folder("llama"), tmp_path / "folder"))
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-100] if damage is None else damage)
    assert_refused(folder, r"model\.safetensors is (a pointer of Git LFS|damaged or not complete)")


def test_of_several_files_in_a_folder_one_must_be_named(gguf: Path) -> None:
    shutil.copy(gguf, gguf.with_name("mmproj.gguf"))
    assert_refused(gguf.parent, r"2 GGUF files \(mmproj\.gguf, tiny\.gguf\)\. Give one")


def test_without_its_package_it_is_refused(gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gguf", None)
    assert_refused(gguf, r"tiny\.gguf cannot be unpacked yet: pip install gguf")


def test_the_engine_vllm_needs_the_folder_that_it_was_made_from(gguf: Path) -> None:
    for model in (gguf, gguf.parent):
        with pytest.raises(ModelError, match=r"^judge\.model: .* a model folder"):
            LazyJudge(None, JudgeConfig(engine="vllm", model=str(model))).check()


def answers(model: Path, **keys: Any) -> dict[str, float]:
    config = JudgeConfig(model=str(model), dtype="float32", chat_template="none", **keys)
    return Judge.from_config(config).choose(PROMPT, OPTIONS)


def test_a_file_is_unpacked_once_and_kept_as_a_whole(
    gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HOME", str(tmp_path / "home"))
    expected = answers(gguf, keep_unpacked=False)
    assert not (tmp_path / "home").exists() and caplog.messages == []
    (tmp_path / "home" / "rag_evaluator").mkdir(parents=True)
    assert answers(gguf) == expected
    (folder,) = (path for path in (tmp_path / "home" / "rag_evaluator").iterdir() if path.is_dir())
    assert str(folder) in caplog.messages[-1] and "keep_unpacked" in caplog.messages[-1]
    monkeypatch.setattr("gguf.GGUFReader", None)  # nothing is unpacked a second time
    assert answers(gguf) == expected
    folder.rename(folder.with_name(f"{folder.name}.partial"))  # as if killed before
    monkeypatch.undo()
    monkeypatch.setattr("huggingface_hub.constants.HF_HOME", str(tmp_path / "home"))
    assert answers(gguf) == expected
    assert [path for path in folder.parent.iterdir() if path.is_dir()] == [folder]


def test_a_file_that_cannot_be_kept_is_unpacked_at_each_start(
    gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    expected = answers(gguf, keep_unpacked=False)
    (tmp_path / "file").touch()
    monkeypatch.setattr("huggingface_hub.constants.HF_HOME", str(tmp_path / "file"))
    assert answers(gguf) == expected
    assert "is unpacked at each start: it cannot be kept in" in caplog.messages[-1]
    monkeypatch.setattr("huggingface_hub.constants.HF_HOME", str(tmp_path))
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(9, 9, 9))  # type: ignore[attr-defined]
    assert answers(gguf) == expected
    assert "are free" in caplog.messages[-1]
