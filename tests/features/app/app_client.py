"""Results folders for tests of the app, and the app as a browser sees it that was given the link."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from rag_evaluator import RAGEvaluator
from rag_evaluator.features.app.app import make_app

TOKEN = "a-token-of-these-tests"
HOST = "127.0.0.1"
PORT = 8765
ORIGIN = f"http://{HOST}:{PORT}"
METRICS = ["exact_match", "string_presence"]


def write_run(folder: Path, rows: Sequence[dict[str, Any]] | None = None, **config: Any) -> Path:
    """A real run of metrics that ask nobody."""
    few = [
        {"id": "a", "user_input": "Where was Nolu born?", "response": "Tesk", "reference": "Tesk", "team": "north"},
        {"id": "b", "user_input": "Who built it?", "response": "It was Lira.", "reference": "Lira", "team": "south"},
        {"id": "c", "user_input": "<script>alert(1)</script>", "response": "no", "reference": "Brak", "team": "north"},
    ]
    settings = {"metrics": METRICS, "name": folder.name, "group_by": ["team"], **config}
    RAGEvaluator(settings).evaluate(few if rows is None else rows, folder=folder)
    return folder


def made_run(
    folder: Path, rows: Sequence[dict[str, Any]], metrics: Sequence[str], group_by: Sequence[str] = ()
) -> Path:
    """The files of a run that the table reads, with any scores."""
    folder.mkdir(parents=True, exist_ok=True)
    figures = {"mean": 0.5, "scored": len(rows), "count": len(rows), "reasons": {}}
    (folder / "summary.json").write_text(json.dumps(dict.fromkeys(metrics, figures)))
    (folder / "manifest.json").write_text(
        json.dumps({"program": "rag_evaluator", "config": {"group_by": list(group_by)}})
    )
    (folder / "scores.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def client(results: Path, entered: bool = True, **options: Any) -> TestClient:
    """A browser; `entered`: it was given the link."""
    app = make_app(results, TOKEN, HOST, PORT, **options)
    made = TestClient(app, base_url=ORIGIN, raise_server_exceptions=False, follow_redirects=False)
    if entered:
        made.headers["authorization"] = f"Bearer {TOKEN}"
    return made


def asked(browser: TestClient, address: str, **query: Any) -> dict[str, Any]:
    """The JSON of an address."""
    answer = browser.get(address, params=query)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())
