"""`check` of a judge that a server runs: nothing is loaded here, and nothing is known of tokens."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_server import Fake, serve, status

from rag_evaluator import CheckReport, check
from rag_evaluator.cli.main import main

pytestmark = [pytest.mark.models, pytest.mark.allow_hosts(["127.0.0.1"])]
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
    assert (found["model"].state, found["model"].text) == ("ok", fake.url), "not the toy, as judge.model says"


def test_a_server_that_is_gone_is_named_with_the_exit_code_of_a_run(fake: Fake, tmp_path: Path) -> None:
    fake.always = status(500)
    _, found = checked(fake)
    assert found["model"].state == "failed"
    (tmp_path / "rows.jsonl").write_text(json.dumps(ROWS[0]))
    judge = f"{{engine: server, url: '{fake.url}'}}"
    (tmp_path / "config.yaml").write_text(f"dataset: rows.jsonl\nmetrics: [context_relevance]\njudge: {judge}\n")
    assert main(["check", str(tmp_path / "config.yaml")]) == 2
