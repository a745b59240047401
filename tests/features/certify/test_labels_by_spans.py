"""Spans that people marked in a response, as labels of the sentences that a verifier looked at."""

import json
from pathlib import Path

import pytest
from known_verifier import KnownVerifier

from rag_evaluator import DatasetError, RAGEvaluator, certify, load_dataset, metric
from rag_evaluator.config import LANGUAGES
from rag_evaluator.verifiers import labels_by_spans

TEXT = "<think>Hm.</think>\n**Tesk** is old [1]. It has a port. Ilna built it. Boats go there."
FIRST = "Tesk is old."


@metric(name="length")
def length(response: str) -> float:
    return len(response) / 100


def labels(*spans: dict[str, object]) -> list[int | None]:
    [sample] = load_dataset([{"response": TEXT, "spans": list(spans)}])
    found = labels_by_spans(sample, "spans", LANGUAGES["english"])
    assert next(iter(found)) == FIRST
    return list(found.values())


def span(part: str, **label: object) -> dict[str, object]:
    start = TEXT.index(part)
    return {"start": start, "end": start + len(part), **label}


def test_spans_are_places_in_the_response_as_it_was_written_and_the_worst_counts() -> None:
    assert labels() == [1, 1, 1, 1]
    assert labels(span("old [1]")) == [0, 1, 1, 1]
    assert labels(span("Hm."), span(" It has")) == [1, 0, 1, 1]  # a thought; the blank is no sentence's
    assert labels(span("port. Ilna", label=0), span("Ilna", label=None)) == [1, 0, 0, 1]
    with pytest.raises(DatasetError, match=r"row 0, column 'spans': expected objects with start, end and label"):
        labels({"begin": 3})
    assert labels(span("port", label=None), span("port", label=1), span("Boats", label=1)) == [1, None, 1, 1]


def test_labels_of_sentences_come_from_a_column_of_spans(tmp_path: Path) -> None:
    """RAGTruth as published: the second sentence of each response is marked, in half of them the first, too."""
    sources = []
    rows = []
    known = {}
    for row in range(20):
        info = {"question": f"Question {row}?", "passages": f"passage 1:Context {row}.\n\n"}
        sources.append({"source_id": str(row), "task_type": "QA", "source": "M", "source_info": info, "prompt": ""})
        marks = [{"start": 13, "end": 24}, *([{"start": 2, "end": 4}] if row % 2 else [])]
        text = f"Says 1 of {row:02}. Says 2 of {row:02}."
        about = {"id": str(row), "source_id": str(row), "model": "m", "split": "test", "quality": "good"}
        rows.append({**about, "labels": marks, "response": text})
        known[f"Context {row}.", f"Says 1 of {row:02}."] = 0.4 if row % 2 else 0.9
    for name, lines in (("source_info", sources), ("response", rows)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    run = tmp_path / "run"
    settings = {"metrics": ["groundedness", length], "group_by": ["task", "source"], "report": False}
    RAGEvaluator(settings, verifier=KnownVerifier(known)).evaluate(tmp_path / "response.jsonl", folder=run)
    statements = certify(run, label={"groundedness": "spans"}).certificate["metrics"]["groundedness"]["statements"]
    assert (statements["labels"], statements["rows"], statements["binary"]["auc"]["value"]) == (40, 20, 1.0)
    summary = json.loads((run / "summary.json").read_text("utf-8"))["groundedness"]
    assert {column: list(groups) for column, groups in summary["groups"].items()} == {"task": ["QA"], "source": ["M"]}
    with pytest.raises(DatasetError, match="it holds spans, and length has no such sentences"):
        certify(run, label={"length": "spans"})
