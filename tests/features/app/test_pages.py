import json
import re
from pathlib import Path
from typing import Any

import pytest
from app_client import client, write_run
from labelled_runs import faithful_run
from pydantic import BaseModel

import rag_evaluator
from rag_evaluator import RAGEvaluator, ScriptedJudge
from rag_evaluator.config import all_features
from rag_evaluator.files import Stop, StopSignal

HOSTILE = "<img src=x onerror=alert(1)>\u202e"


@pytest.fixture
def stopped(tmp_path: Path) -> Path:
    """An evaluation of six rows that was stopped after two."""
    stop = Stop(grace=0.0)
    asked_for = []

    def script(prompt: str, model: type[BaseModel]) -> dict[str, Any]:
        asked_for.append(prompt)
        if len(asked_for) == 4:
            stop.asked = "SIGTERM"
        if model.__name__ == "StatementGeneratorOutput":
            return {"statements": ["It is so."]}
        return {"statements": [{"statement": "It is so.", "reason": "because", "verdict": 1}]}

    rows = [{"user_input": f"q{number}", "response": "It is so.", "retrieved_contexts": ["c"]} for number in range(6)]
    judge = ScriptedJudge(script, model_id="script")
    with pytest.raises(StopSignal):
        RAGEvaluator({"metrics": ["faithfulness"], "name": "stopped"}, judge=judge).run(
            tmp_path / "stopped", rows, stop=stop
        )
    return tmp_path


def test_the_list_shows_means_intervals_and_coverage(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"user_input": f"q{place}", "response": "a", "reference": "a"} for place in range(3)]
    write_run(tmp_path / "a", [*rows, {"user_input": "q", "response": "a"}], group_by=[])
    page = client(tmp_path).get("/").text.replace("<wbr>", "")
    figures = json.loads((tmp_path / "a" / "summary.json").read_bytes())["exact_match"]
    interval = f"[{figures['ci_low']:.2f}, {figures['ci_high']:.2f}]"
    for shown in ("exact_match", "1.00", interval, "3 of 4 scored", "finished"):
        assert shown in page, shown


@pytest.mark.parametrize("text", ['{"format": 1}', "[]"])
def test_a_journal_that_cannot_be_read_hides_no_results(tmp_path: Path, text: str) -> None:
    write_run(tmp_path / "old")
    (tmp_path / "old" / "journal").mkdir(exist_ok=True)
    (tmp_path / "old" / "journal" / "manifest.json").write_text(text)
    browser = client(tmp_path)
    for address in ("/", "/run/old"):
        page = browser.get(address)
        assert page.status_code == 200
        assert "string_presence" in page.text.replace("<wbr>", "")
        assert "journal" in page.text


def test_a_run_that_was_stopped_shows_how_far_it_is(stopped: Path) -> None:
    for address in ("/", "/run/stopped"):
        assert "2 of 6 scores · stopped" in client(stopped).get(address).text


def test_an_answer_that_cannot_be_made_hides_no_row_and_is_reported(tmp_path: Path) -> None:
    (write_run(tmp_path / "run") / "details.jsonl").unlink()
    with client(tmp_path) as browser:
        assert browser.get("/run/run").status_code == 200
        answer = browser.get("/api/answer/run")
        assert answer.status_code == 500
        assert "details.jsonl: cannot be read" in answer.json()["error"]
        assert browser.get("/api/rows/run").json()["total"] == 3


@pytest.mark.parametrize(
    ("query", "status"),
    [("run=a&run=b", 200), ("run=a", 400), ("", 400), ("run=a&run=a", 400), ("run=a&run=c", 404), ("run=a&run=d", 400)],
)
def test_runs_are_compared_or_the_page_has_the_reason_why_not(tmp_path: Path, query: str, status: int) -> None:
    write_run(tmp_path / "a")
    write_run(tmp_path / "b")
    write_run(tmp_path / "d", [{"id": "x", "user_input": "another", "response": "r", "reference": "r"}], group_by=[])
    assert client(tmp_path).get(f"/compare?{query}").status_code == status


def test_nothing_in_a_page_could_run_beside_our_scripts(tmp_path: Path) -> None:
    rows = [{"id": "1", "user_input": HOSTILE, "response": HOSTILE, "reference": f"{HOSTILE}!", "team": HOSTILE}]
    write_run(tmp_path / "a", rows, name="a")
    write_run(tmp_path / "x&y <b>", rows, name="x")
    browser = client(tmp_path, who=HOSTILE)
    odd = "x&y%20%3Cb%3E"
    compared = "/compare?run=a&run=x%26y%20%3Cb%3E"
    labels = ["/label/a"] if "certify" in all_features() else []
    parts = ("/", "/run/a", f"/run/{odd}", compared, "/api/answer/a", "/api/row/a/0", f"/review/{odd}")
    for address in (*parts, *labels):
        answer = browser.get(address)
        assert answer.status_code == 200, address
        page = answer.text
        assert "<img" not in page
        assert "\u202e" not in page
        assert not re.search(r"<[^>]*\son\w+=", page)
        assert not re.search(r"<[^>]*\sstyle=", page)
        scripts = re.findall(r"<script([^>]*)>", page)
        assert all("src=" in script or 'type="application/json"' in script for script in scripts)
        assert "<style" not in page
    assert 'data-row="0"' in browser.get("/api/answer/a").text  # the row is among the worst


def test_every_script_and_style_of_a_page_is_served(tmp_path: Path) -> None:
    write_run(tmp_path / "a")
    browser = client(tmp_path)
    linked = re.findall(r'(?:src|href)="(/assets/[^"]+)"', browser.get("/run/a").text)
    assert len(linked) > 10
    for address in linked:
        answer = browser.get(address)
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith(("text/css", "text/javascript"))
    script = Path(rag_evaluator.__file__).parent / "report" / "assets" / "table.js"
    assert browser.get("/assets/table.js").text == script.read_text()


def test_no_script_needs_what_browsers_refuse_to_pages_from_another_machine() -> None:
    scripts = [path.read_text() for path in Path(rag_evaluator.__file__).parent.rglob("assets/*.js")]
    assert len(scripts) > 10
    assert not re.search(r"randomUUID\(|crypto\.subtle|navigator\.(clipboard|serviceWorker|locks)", "".join(scripts))


def test_the_list_names_the_judge_that_judged_not_the_one_of_the_configuration(tmp_path: Path) -> None:
    faithful_run(tmp_path / "scripted", ["It is so."])
    write_run(tmp_path / "unjudged")
    browser = client(tmp_path)
    cells = re.findall(r'<td class="judge"><bdi dir="auto">(.*?)</bdi>', browser.get("/").text)
    assert sorted(cells) == ["script", "–"]
