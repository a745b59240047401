"""With `--json` a command prints one JSON document and nothing else on standard output; output to files is plain."""

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import pytest
from aliases import Capture, Patch
from folders import is_there, write_lines

from rag_evaluator import RAGEvaluator
from rag_evaluator.cli import print_table
from rag_evaluator.cli.main import main

ROOT = Path(__file__).parents[2]
ROWS = [
    {
        "user_input": f"Question {place}?",
        "retrieved_contexts": ["Tesk lies on the river Om.", f"It was built in 16{place + 10}."],
        "reference_contexts": ["Tesk lies on the river Om."],
        "response": "Tesk" if place % 4 else "Nolu",
        "reference": "Tesk",
        "right": int(place % 4 > 0),
    }
    for place in range(24)
]
CONFIG = """\
dataset: rows.jsonl
metrics: [exact_match]
name: base
require: [exact_match >= 0.99]
"""
FEW = {"of": 24, "limit": 4}
FIRST = "conclusion.sentences"
CASES: Mapping[str, tuple[str, int, Mapping[str, Any]]] = {  # command, exit code, path in the document -> value
    "evaluate": (
        "config.yaml",
        0,
        {"name": "base", "part": None, "metrics.exact_match.mean": 0.75, "requirements.0.passed": False},
    ),
    **{
        f"{task} of some rows": (f"{task} config.yaml --limit 4 --set name=few{flags}", 0, {"part": FEW})
        for task, flags in {
            "evaluate": "",
            "sort": "",
            "generate": "",
            "probe": " --set metrics=[retrieval_recall] --set require=[]",
        }.items()
    },
    "sort": ("sort config.yaml", 0, {"name": "base", "comparisons": 0}),
    "generate": (
        "generate config.yaml",
        0,
        {"questions": 0, "kept": 24, FIRST: ["Nothing to write: 24 rows had a reference already."]},
    ),
    "probe": (
        "probe config.yaml --set metrics=[retrieval_recall] --set require=[] --sample 4",
        0,
        {"name": "base", "rows": 4},
    ),
    "duel": (
        "duel results/base results/other --config config.yaml",
        0,
        {
            "rows.compared": 24,
            "same": 24,
            FIRST: ["No difference: in 24 rows both runs have the same answer, and the judge was not asked."],
        },
    ),
    "status": ("status results/base", 0, {"stages.0.cells.done": 24, "stages.0.merged": True, "stages.0.missing": []}),
    "review apply": (
        "review apply results/reviewed",
        0,
        {"rows": 24, "changes.0.before": "Tesk", "changes.0.after": "Om", "already": 0},
    ),
    "compare": ("compare results/base results/other", 0, {}),
    "gate": (
        "gate results/base --min exact_match=0.9 --min mean:exact_match=0.7",
        1,
        {
            f"{FIRST}.0": "Failed: 2 of 3 rules.",
            "passed": False,
            "verdicts.0.rule": "exact_match >= 0.99",
            "verdicts.2.passed": True,
        },
    ),
    "certify": ("certify results/base --label exact_match=right", 0, {}),
    "list": ("list metrics", 0, {"0.name": "faithfulness"}),
    "prompts check": (
        f"prompts check {ROOT / 'prompts'} --language es --metrics sort",
        0,
        {"languages.es.faults": []},
    ),
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a configuration and two finished runs with equal answers."""
    folder = tmp_path_factory.mktemp("project")
    write_lines(folder / "rows.jsonl", ROWS)
    (folder / "config.yaml").write_text(CONFIG, "utf-8")
    RAGEvaluator(folder / "config.yaml").evaluate(folder=folder / "results" / "base")
    for other in ("other", "reviewed"):
        shutil.copytree(folder / "results" / "base", folder / "results" / other)
    RAGEvaluator({"metrics": ["exact_match"], "dataset": folder / "rows.jsonl", "limit": 6}).run(
        folder / "results" / "part"
    )
    review(folder / "results" / "reviewed")
    return folder


def review(results: Path) -> None:
    """Somebody corrects the reference of the first row."""
    first = json.loads((results / "details.jsonl").read_bytes().splitlines()[0])
    about: dict[str, Any] = {
        "id": "1",
        "run": "base",
        "row": 0,
        "sample": first["sample"],
        "at": "2026-01-01T00:00:00Z",
    }
    change = {"by": "anna", "kind": "correct", "field": "reference", "before": "Tesk", "after": "Om"}
    (results / "reviews.jsonl").write_text(json.dumps({**about, **change}) + "\n")


def no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON")


@pytest.mark.parametrize("case", [case for case, (words, *_) in CASES.items() if is_there([*words.split()])])
def test_one_json_document_and_nothing_else_is_printed(
    case: str, project: Path, monkeypatch: Patch, capsys: Capture
) -> None:
    words, code, expected = CASES[case]
    monkeypatch.chdir(project)
    assert main([*words.split(), "--json"]) == code
    document = json.loads(capsys.readouterr().out, parse_constant=no_number)
    for path, value in expected.items():
        found = document
        for step in path.split("."):
            found = found[int(step) if isinstance(found, list) else step]
        assert found == value


def test_an_error_leaves_the_output_empty(project: Path, capsys: Capture) -> None:
    assert main(["status", str(project), "--json"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("error: ")


TABLES = ["config.yaml", "status results/base", "compare results/base results/other"]


@pytest.mark.parametrize(
    ("words", "columns"),
    [*((words, None) for words in TABLES), ("status results/base", "72")],
)
def test_output_to_a_file_has_no_colours_and_the_width_that_is_asked_for(
    words: str, columns: str | None, project: Path, monkeypatch: Patch, capsys: Capture
) -> None:
    monkeypatch.chdir(project)
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    if columns:
        monkeypatch.setenv("COLUMNS", columns)
    main(words.split())
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    table = [line for line in shown.splitlines() if re.match("[┃│┏┡├└]", line)]
    assert table
    assert max(map(len, table)) <= int(columns or 160)


def test_a_table_on_a_narrow_terminal_keeps_the_names_of_its_rows(monkeypatch: Patch, capsys: Capture) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    headings = ["scores done", "judge calls", "prompt tokens", "generated tokens", "rows for ±0.05"]
    columns = [("metric", "left"), *((heading, "right") for heading in headings)]
    print_table("figures", columns, [["faithfulness", "20/20", "~40", "~31,400", "~1,540", "~350"]])
    shown = capsys.readouterr().out
    assert "faithfulness" in shown
    assert max(map(len, shown.splitlines())) <= 80
