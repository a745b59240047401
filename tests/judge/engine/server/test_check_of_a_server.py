"""`check` of a judge that a server runs: nothing is loaded here, and nothing is known of tokens."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_server import Fake, serve, status

from rag_evaluator import CheckReport, check
from rag_evaluator.cli.main import main
from rag_evaluator.features.setup import exit_code

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])
ROWS = [{"user_input": "Where was Nolu Brak born?", "retrieved_contexts": ["Nolu Brak was born in Tesk."]}]


@pytest.fixture
def fake() -> Iterator[Fake]:
    with serve() as server:
        yield server


def checked(fake: Fake) -> tuple[CheckReport, dict[str, Any]]:
    judge = {"engine": "server", "url": fake.url}
    report = check({"metrics": ["context_relevance"], "judge": judge}, data=ROWS)
    return report, {entry.name: entry for entry in report.checks}


def test_a_server_is_asked_for_one_row_and_what_only_it_knows_is_skipped(fake: Fake) -> None:
    report, found = checked(fake)
    assert report.passed, [entry.text for entry in report.checks]
    assert "a server that is asked" in found["engine"].text
    assert found["row"].details["scores"]["context_relevance"]["questions"] == 2
    assert "Nolu Brak" in found["template"].details["prompt"]
    assert found["window"].state == "skipped"
    assert "memory" not in found


def test_a_judge_that_a_server_runs_is_never_called_the_toy(
    fake: Fake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`judge.model` is `demo` where nobody has set it."""
    _, found = checked(fake)
    assert (found["model"].state, found["model"].text) == ("ok", fake.url)
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    config = tmp_path / "config.yaml"
    settings = {
        "dataset": str(rows),
        "output_dir": str(tmp_path / "results"),
        "metrics": ["context_relevance"],
        "language": "german",
        "judge": {"engine": "server", "url": fake.url},
    }
    config.write_text(json.dumps(settings), encoding="utf-8")  # JSON is YAML
    assert main([str(config)]) == 0
    told = "".join(capsys.readouterr())
    assert "context_relevance" in told
    assert "according to this judge" in told
    assert "toy" not in told


def test_a_server_that_is_gone_is_named_with_the_exit_code_of_a_run(fake: Fake) -> None:
    fake.always = status(500)
    report, found = checked(fake)
    assert found["model"].state == "failed"
    assert exit_code(report) == 2
