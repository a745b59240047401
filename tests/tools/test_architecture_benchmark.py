"""`python -m benchmarks.architectures`: what it finds, and the page that it writes."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import transformers

from benchmarks import engine_report
from benchmarks.architecture_checks import check
from benchmarks.architecture_report import render
from rag_evaluator.judge import PackedDecoder
from tools.architectures import ARCHITECTURES
from tools.random_models import save_model

FOLDER = Path(__file__).parent.parent.parent / "benchmarks"


@pytest.mark.parametrize(("name", "page"), [("architectures", render), ("engines", engine_report.render)])
def test_the_page_is_what_the_figures_give(name: str, page: Callable[[Any], str]) -> None:
    known = json.loads((FOLDER / f"{name}.json").read_bytes())
    assert (FOLDER / f"{name}.md").read_text("utf-8") == page(known)


def test_the_figures_are_those_of_the_table_and_as_it_expects_them() -> None:
    rows = json.loads((FOLDER / "architectures.json").read_bytes())["rows"]
    assert {name: found["way"] for name, found in rows.items()} == {
        name: expected.way for name, expected in sorted(ARCHITECTURES.items())
    }
    wrong = {name for name, found in rows.items() if not found["right"] and found["way"] != "refused"}
    assert wrong <= {"nemotron-h"}, "of which transformers' own cache changes log probabilities by 0.02"


def test_every_model_class_of_the_table_is_one_of_transformers() -> None:
    missing = [expected.name for expected in ARCHITECTURES.values() if not hasattr(transformers, expected.model_class)]
    assert missing == []


def test_answers_that_another_request_should_have_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decode = PackedDecoder.decode

    def swapped(decoder: PackedDecoder, requests: Sequence[Any]) -> Any:
        first, second, *others = decode(decoder, requests)
        return [second, first, *others] if decoder.batch_size.most > 1 else [first, second, *others]

    monkeypatch.setattr(PackedDecoder, "decode", swapped)
    found = check(save_model(ARCHITECTURES["llama"], tmp_path), (1, 34, 12), 16)
    assert (found.unequal, found.batch_unequal, found.right) == ([0, 1], [0, 1], False)
