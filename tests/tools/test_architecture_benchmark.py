"""`python -m benchmarks.architectures`: what it finds, and the page that it writes."""

import json
import logging
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import transformers

from benchmarks import architectures
from benchmarks.architecture_checks import Finding, check
from benchmarks.architecture_report import render, totals
from rag_evaluator.judge import Request, TransformersEngine
from tools.architectures import ARCHITECTURES
from tools.random_models import Architecture, save_model

FIGURES = Path(__file__).parent.parent.parent / "benchmarks" / "architectures.json"


@pytest.fixture(autouse=True)
def level() -> Iterator[None]:
    """The benchmark is silent but for its own lines; other tests read warnings."""
    logger = logging.getLogger("rag_evaluator")
    before = logger.level
    yield
    logger.setLevel(before)


def row(**changed: Any) -> dict[str, Any]:
    return Finding("llama", "packed", asked=4, complete=4, **changed).to_json()


def test_the_page_is_what_the_figures_give() -> None:
    known = json.loads(FIGURES.read_text(encoding="utf-8"))
    assert FIGURES.with_suffix(".md").read_text(encoding="utf-8") == render(known)


def test_the_figures_are_those_of_the_table_and_as_it_expects_them() -> None:
    rows = json.loads(FIGURES.read_text(encoding="utf-8"))["rows"]
    assert {name: found["way"] for name, found in rows.items()} == {
        name: expected.way for name, expected in sorted(ARCHITECTURES.items())
    }
    wrong = {name for name, found in rows.items() if not found["right"] and found["way"] != "refused"}
    assert wrong <= {"nemotron-h"}, "of which transformers' own cache changes log probabilities by 0.02"


def test_every_model_class_of_the_table_is_one_of_transformers() -> None:
    missing = [expected.name for expected in ARCHITECTURES.values() if not hasattr(transformers, expected.model_class)]
    assert missing == []


def test_a_model_that_cannot_be_made_is_a_finding_and_not_a_crash() -> None:
    found = architectures.measure(Architecture("NoSuch"))
    assert found.error is not None and "NoSuch" in found.error
    assert not found.right


def test_answers_that_another_request_should_have_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    handle = TransformersEngine.handle

    def swapped(engine: TransformersEngine, requests: Sequence[Request]) -> Any:
        first, second, *others = handle(engine, requests)
        return [second, first, *others] if engine.config.batch_size > 1 else [first, second, *others]

    monkeypatch.setattr(TransformersEngine, "handle", swapped)
    found = check(save_model(ARCHITECTURES["llama"], tmp_path), (1, 34, 12), 16)
    assert (found.unequal, found.batch_unequal, found.right) == ([0, 1], [0, 1], False)


def test_an_error_while_answering_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(engine: TransformersEngine, requests: Sequence[Request]) -> Any:
        raise RuntimeError("size of tensor a")

    monkeypatch.setattr(TransformersEngine, "handle", fails)
    found = check(save_model(ARCHITECTURES["llama"], tmp_path), (1, 34), 16)
    assert (found.way, found.error, found.right) == ("packed", "RuntimeError: size of tensor a", False)


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({"unequal": [3]}, "- Unequal tokens: 1 (other)."),
        ({"batch_unequal": [0]}, "- Unequal tokens: 1 (other)."),
        ({"difference": 0.5}, "- Unequal tokens: 1 (other)."),
        ({"error": "RuntimeError: no"}, "- Errors after loading: 1 (other)."),
        ({"rows_alone": "it reads padding"}, "- Each row decoded alone: 1 (other)."),
        ({}, "- Unequal tokens: 0."),
    ],
)
def test_totals_name_what_is_wrong(changed: dict[str, Any], line: str) -> None:
    text = totals({"llama": row(), "other": row(**changed)})
    assert line in text.splitlines()
    assert text.startswith("**2 architectures: 2 packed, 0 plain, 0 not loading.**")


def test_what_is_measured_again_replaces_its_row_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figures = tmp_path / "architectures.json"
    monkeypatch.setattr(architectures, "FIGURES", figures)
    architectures.keep({"gemma": row(), "llama": row()}, "busy")
    monkeypatch.setattr(architectures, "measure", lambda architecture: Finding("llama", why="no config.json"))
    monkeypatch.setattr(sys, "argv", ["architectures", "--only", "llama"])
    architectures.main()
    rows = json.loads(figures.read_text(encoding="utf-8"))["rows"]
    assert {name: found["way"] for name, found in rows.items()} == {"gemma": "packed", "llama": "refused"}
    assert "1 packed, 0 plain, 1 not loading" in figures.with_suffix(".md").read_text(encoding="utf-8")
