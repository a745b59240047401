"""Commands that need no model start quickly: they load neither ragas nor a model library."""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from folders import is_there

from rag_evaluator import RAGEvaluator

ROOT = Path(__file__).parents[2]
CONFIG = str(ROOT / "config.yaml")
NOTHING = str(ROOT / "nothing")
MODELS = ("torch", "transformers", "ragas", "langchain_core", "datasets")
STATISTICS = ["pandas", "scipy", "statsmodels"]
SLOW = (*MODELS, *STATISTICS, "vl_convert", "starlette", "uvicorn")
PROGRAM = """
import contextlib, io, json, sys
from rag_evaluator.cli.main import main
seen = set()
for arguments in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            code = main(arguments)
        except SystemExit as error:
            code = error.code
    slow = [name for name in json.loads(sys.argv[2]) if name in sys.modules and name not in seen]
    seen.update(slow)
    print(json.dumps([code, slow]), flush=True)
"""
# stand for paths
RUN = "the run"
OTHER = "the other run"
OUT = "a new file"
NOWHERE = ["--set", "judge.model=/no/such/folder"]
VERIFIER_NOWHERE = ["--set", "metrics=[groundedness]", "--set", "verifier.model=/no/such/folder"]
FINE: Sequence[list[str]] = [
    ["--help"],
    ["prompts", "--help"],
    ["list", "metrics"],
    ["status", RUN],
    ["view", "--help"],
    ["report", "--help"],
    ["testset", "make", "--help"],
    ["compare", "--help"],
]
REFUSED: Sequence[list[str]] = [
    ["init", str(ROOT / "examples" / "preguntas.csv"), "--out", str(ROOT / "README.md" / "config.yaml")],
    ["prompts", "check", "--metrics", "sort", "faithfullness"],
    [CONFIG, "--set", "metrics=[faithfullness]"],
    [CONFIG, *NOWHERE],
    [CONFIG, "--set", "dataset=/no/such/rows.jsonl"],
    [CONFIG, "--set", "embeddings.model=/no/such/folder"],
    [CONFIG, *VERIFIER_NOWHERE],
    ["probe", CONFIG, *NOWHERE],
    ["testset", "make", CONFIG, *NOWHERE],
    ["submit", CONFIG, "--workers", "2", "--dry-run", "--set", "metrics=[faithfullness]"],
    ["status", str(ROOT / "docs")],
    ["view", NOTHING],
    ["testset", "make", CONFIG, "--set", "testset.kinds={none: 1}"],
    ["testset", "check", "rows.jsonl", "--config", CONFIG, "--set", "testset.filters=[no]"],
    ["report", NOTHING],
    ["compare", RUN, NOTHING],
    ["review", "apply", RUN],
]
LIGHT: Sequence[tuple[list[str], int, list[str]]] = [
    *((words, 0, []) for words in FINE if words[0][0] == "-" or is_there(words)),
    *((words, 2, []) for words in REFUSED),
    (["report", RUN, "--out", OUT], 0, ["vl_convert"]),
    (["gate", RUN, "--min", "exact_match=0.8"], 1, STATISTICS),
    (["compare", RUN, OTHER], 0, STATISTICS),
    (["sort", CONFIG, *NOWHERE], 2, [name for name in SLOW if name not in ("torch", "transformers")]),
]
"""Commands, their exit codes, what they may load. One process runs them in turn, those that may load more last."""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], list[Any]]:
    """Exit code and newly loaded slow modules of each command, all in one process of their own."""
    folder = tmp_path_factory.mktemp("runs")
    paths = {RUN: str(folder / "run"), OTHER: str(folder / "other"), OUT: str(folder / "report.html")}
    for run, response in ((RUN, "Brak"), (OTHER, "Nolu")):
        rows = [
            {"user_input": "Tesk?", "response": "Tesk", "reference": "Tesk"},
            {"user_input": "Nolu?", "response": response, "reference": "Brak"},
        ]
        RAGEvaluator({"metrics": ["exact_match"]}).evaluate(rows, folder=paths[run])
    commands = json.dumps([[paths.get(word, word) for word in arguments] for arguments, *_ in LIGHT])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, commands, json.dumps(SLOW)], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return lambda number: found[number]


@pytest.mark.parametrize(
    "number", range(len(LIGHT)), ids=[" ".join(Path(w).name for w in words) for words, *_ in LIGHT]
)
def test_a_command_without_models_loads_no_library_that_takes_seconds(
    number: int, loaded: Callable[[int], list[Any]]
) -> None:
    code, slow = loaded(number)
    _, expected, allowed = LIGHT[number]
    assert (code, [name for name in slow if name not in allowed]) == (expected, [])


def test_help_loads_nothing_that_computes() -> None:
    program = (
        "import sys\nfrom rag_evaluator.cli.main import main\ntry:\n  main(['--help'])\nfinally:\n  print(*sys.modules)"
    )
    modules = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "rag_evaluator.cli.arguments" in modules.stdout.split() and "numpy" not in modules.stdout.split()
