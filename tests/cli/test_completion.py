"""What the Tab key offers: commands, flags, metrics, languages, keys of the configuration."""

import io
import os
from pathlib import Path
from typing import NoReturn

import pytest
from argcomplete.finders import CompletionFinder

from rag_evaluator.cli import ASKED, all_commands, complete, parser_of_commands

ROOT = Path(__file__).parents[2]
CASES = {  # what is typed -> some of what is offered
    "rag-evaluator st": {"status"},
    "rag-evaluator prompts ": {"check", "adapt", "export"},
    "rag-evaluator status results/demo --": {"--json", "--help"},
    "rag-evaluator gate results/demo --min faith": {"faithfulness="},
    "rag-evaluator prompts check --metrics context_re": {"context_recall", "context_relevance"},
    "rag-evaluator prompts adapt --language cata": {"catalan"},
    "rag-evaluator evaluate config.yaml --set judge.mo": {"judge.model="},
    "rag-evaluator config.yaml --set output": {"output_dir="},
    "rag-evaluator config.yaml --fr": {"--fresh"},
    "rag-evaluator list me": {"metrics"},
}


def no_more(code: int = 0) -> NoReturn:
    raise SystemExit(code)


def offered(typed: str, started: int, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The words that the shell shows after the Tab key.

    Args:
        started: number of the words that start the program.
    """
    for name, value in {ASKED: started, "COMP_LINE": typed, "COMP_POINT": len(typed), "COMP_TYPE": 9}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.setenv("_ARGCOMPLETE_IFS", "\n")
    monkeypatch.setenv("_ARGCOMPLETE_SHELL", "bash")
    monkeypatch.setattr(CompletionFinder, "_init_debug_stream", lambda self: None)  # it takes pytest's descriptor 9
    words = io.StringIO()
    with pytest.raises(SystemExit):
        complete(parser_of_commands(), all_commands(), exit_method=no_more, output_stream=words)
    return {word.strip() for word in words.getvalue().split("\n")}


@pytest.mark.parametrize(("typed", "started"), [*((typed, 1) for typed in CASES), ("python main.py sta", 2)])
def test_the_tab_key_offers_what_may_follow(typed: str, started: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found = offered(typed, started, monkeypatch)
    assert CASES.get(typed, {"status"}) <= found
    assert all(word.startswith(typed.rpartition(" ")[2]) for word in found if word)


@pytest.mark.parametrize("typed", ["rag-evaluator config.yaml --limit ", "rag-evaluator submit config.yaml --sample "])
def test_no_key_of_the_configuration_is_offered_where_a_number_belongs(
    typed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "judge.model=" not in offered(typed, 1, monkeypatch)


def test_the_scripts_say_that_they_can_be_completed() -> None:
    for name in ("main.py", "rag_evaluator/__main__.py", "rag_evaluator/cli/main.py"):
        assert "PYTHON_ARGCOMPLETE_OK" in (ROOT / name).read_text(encoding="utf-8")[:1024]
    assert ASKED not in os.environ
