"""Results folders for tests of the app, and the app as a browser sees it that was given the link."""

import html
import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock, patch

from aliases import Json
from folders import lines_of, run_command, write_lines
from starlette.testclient import TestClient

from rag_evaluator import RAGEvaluator

TOKEN = "a-token-of-these-tests"
HOST = "127.0.0.1"
PORT = 8765
ORIGIN = f"http://{HOST}:{PORT}"
METRICS = ["exact_match", "string_presence"]


def write_run(folder: Path, rows: Sequence[Json] | None = None, **config: Any) -> Path:
    """A real run of metrics that ask nobody."""
    few = [
        {"id": "a", "user_input": "Where was Nolu born?", "response": "Tesk", "reference": "Tesk", "team": "north"},
        {"id": "b", "user_input": "Who built it?", "response": "It was Lira.", "reference": "Lira", "team": "south"},
        {"id": "c", "user_input": "<script>alert(1)</script>", "response": "no", "reference": "Brak", "team": "north"},
    ]
    settings = {"metrics": METRICS, "name": folder.name, "group_by": ["team"], **config}
    RAGEvaluator(settings).evaluate(few if rows is None else rows, folder=folder)
    return folder


def made_run(folder: Path, rows: Sequence[Json], metrics: Sequence[str], group_by: Sequence[str] = ()) -> Path:
    """The files of a run that the table reads, with any scores."""
    folder.mkdir(parents=True, exist_ok=True)
    figures = {"mean": 0.5, "scored": len(rows), "count": len(rows), "reasons": {}}
    (folder / "summary.json").write_text(json.dumps(dict.fromkeys(metrics, figures)))
    (folder / "manifest.json").write_text(
        json.dumps({"program": "rag_evaluator", "config": {"group_by": list(group_by)}})
    )
    write_lines(folder / "scores.jsonl", rows)
    return folder


@cache
def app_of(results: Path, who: str | None, host: str) -> Any:
    """What `view` gives its server; no socket is opened."""
    apps: list[Any] = []
    listening = MagicMock()
    listening.__enter__().getsockname.return_value = (host, PORT)
    reviewer = [] if who is None else ["--review", "--as", who]
    with (
        patch("rag_evaluator.features.app.command._listen", return_value=listening),
        patch("rag_evaluator.features.app.command.end_by_signals"),
        patch("uvicorn.Server.run", lambda server, sockets: apps.append(server.config.app)),
        patch.dict("os.environ", RAG_EVALUATOR_TOKEN=TOKEN),
    ):
        run_command("view", results, "--host", host, *reviewer)
    return apps[0]


def client(results: Path, entered: bool = True, who: str | None = None, host: str = HOST) -> TestClient:
    """A browser; `entered`: it was given the link, `who`: the person who reviews."""
    app = app_of(results, who, host)
    made = TestClient(app, base_url=ORIGIN, raise_server_exceptions=False, follow_redirects=False)
    if entered:
        made.headers["authorization"] = f"Bearer {TOKEN}"
    if who is not None:
        made.headers["origin"] = ORIGIN
    return made


def asked(browser: TestClient, address: str, **query: Any) -> Json:
    """The JSON of an address."""
    answer = browser.get(address, params=query)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def sent(browser: TestClient, run: str, values: Json) -> Any:
    """The answer to a flag or a correction; its row is as it is now unless `sample` says otherwise."""
    sample = browser.get(f"/api/review/row/{run}/{values['row']}").json().get("sample", "no such row")
    body = json.dumps({"sample": sample, **values})  # in ASCII: a text may hold half a surrogate pair
    return browser.post(f"/api/review/record/{run}", content=body, headers={"content-type": "application/json"})


def kept(folder: Path) -> list[Json]:
    """What people have said of a run, in order."""
    return lines_of(folder / "reviews.jsonl")


def question(browser: TestClient, run: str, draw: str, per: str = "score", place: int | str = "") -> Json:
    """A question as the page shows it: its row, its texts, and what its buttons send."""
    page = browser.get(f"/api/label/item/{run}", params={"draw": draw, "per": per, "place": place}).text
    row = re.search(r'data-row="(\d+)"', page)
    answers = [json.loads(html.unescape(text)) for text in re.findall(r"data-send='(.*?)'", page)]
    return {"row": int(row[1]) if row else None, "answers": answers, "text": page}


def label(browser: TestClient, run: str, answer: Json, **other: Any) -> Any:
    return browser.post(f"/api/label/record/{run}", json={**answer, **other})
