"""Published sets of labels in their own formats, with their traps, read as any dataset."""

import json
from pathlib import Path
from typing import Any

import pytest

from rag_evaluator import DatasetError, load_dataset
from rag_evaluator.dataset import data_digest
from tests.dataset.data_files import Row, write_jsonl

SPAN = {"start": 8, "end": 16, "text": "by Ilna.", "label_type": "Evident Baseless Info", "implicit_true": True}
ANSWER = {"model": "m", "response": "In Tesk by Ilna.", "labels": [SPAN]}
PASSAGES = {"question": "Where?", "passages": "passage 1:In Tesk.\n\npassage 2:On the Om.\nFar off.\n\n"}
DATA = {"name": "Om", "open": None}


def ragtruth(folder: Path, *others: Row) -> Path:
    sources = [
        {"source_id": "7", "task_type": "QA", "source": "MARCO", "source_info": PASSAGES, "prompt": "Answer: Where?"},
        {
            "source_id": "8",
            "task_type": "Summary",
            "source": "CNN",
            "source_info": "News.",
            "prompt": "Sum up:\nNews.\n",
        },
        {"source_id": "9", "task_type": "Data2txt", "source": "Yelp", "source_info": DATA, "prompt": f"Data:\n{DATA}"},
    ]
    write_jsonl(folder / "source_info.jsonl", sources)
    about = {"split": "test", "quality": "good", "temperature": 0.7}
    rows = [{**ANSWER, **about, "id": f"r{place}", "source_id": place} for place in "789"]
    rows[1] |= {"labels": [], "quality": "incorrect_refusal"}
    return write_jsonl(folder / "response.jsonl", [*rows, *others])


def shown(path: Path, *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(sample.row.get(column) for column in columns) for sample in load_dataset(path)]


def test_ragtruth_is_read_with_its_sources_and_what_is_true_but_not_in_them_is_not_supported(tmp_path: Path) -> None:
    path = ragtruth(tmp_path)
    first, summary, data = load_dataset(path)
    assert first.columns == {
        "user_input": "Where?",
        "retrieved_contexts": ["In Tesk.", "On the Om.\nFar off."],
        "response": "In Tesk by Ilna.",
    }
    before = data_digest(path)
    (tmp_path / "source_info.jsonl").write_text((tmp_path / "source_info.jsonl").read_text("utf-8") + "\n", "utf-8")
    assert data_digest(path) != before
    assert (first.row["spans"], first.where) == ([{**SPAN, "label": 0}], "response.jsonl, line 1")
    assert (summary.columns["user_input"], summary.columns["retrieved_contexts"]) == ("Sum up:", ["News."])
    assert data.columns["retrieved_contexts"] == ['{"name": "Om", "open": null}']
    assert shown(path, "id", "label", "language", "task", "source", "source_id", "system", "quality") == [
        ("r7", 0, "en", "QA", "MARCO", "7", "m", "good"),
        ("r8", 1, "en", "Summary", "CNN", "8", "m", "incorrect_refusal"),
        ("r9", 0, "en", "Data2txt", "Yelp", "9", "m", "good"),
    ]


def test_ragtruth_without_its_sources_and_a_row_of_another_form_are_refused(tmp_path: Path) -> None:
    path = ragtruth(tmp_path, {"source_id": "10", "labels": [], "response": "R", "id": "x"})
    with pytest.raises(DatasetError, match=r"response.jsonl, line 4: expected a row as RAGTruth has them.*'10'"):
        load_dataset(path)
    (tmp_path / "source_info.jsonl").unlink()
    with pytest.raises(
        DatasetError, match=r"questions and contexts are in source_info.jsonl: expected .*/source_info.jsonl"
    ):
        load_dataset(path)


def test_faithjudge_has_several_responses_to_a_source(tmp_path: Path) -> None:
    rows = [{"source_id": 7, "source": PASSAGES, "responses": [ANSWER, {**ANSWER, "labels": []}]}]
    path = write_jsonl(tmp_path / "ragtruth_qa.jsonl", [*rows, {**rows[0], "source_id": 8, "source": "News."}])
    assert shown(path, "user_input", "label", "task", "source_id") == [
        ("Where?", 0, "QA", "7"),
        ("Where?", 1, "QA", "7"),
        (None, 0, "Summary", "8"),
        (None, 1, "Summary", "8"),
    ]


def test_aggrefact_keeps_its_labels_and_the_name_of_each_set(tmp_path: Path) -> None:
    rows = [{"dataset": name, "doc": "D.", "claim": "C.", "label": label} for name, label in (("Wice", 1), ("Lfqa", 0))]
    path = write_jsonl(tmp_path / "test.jsonl", rows)
    assert [sample.columns for sample in load_dataset(path)] == [{"retrieved_contexts": ["D."], "response": "C."}] * 2
    assert shown(path, "label", "source") == [(1, "Wice"), (0, "Lfqa")]


def test_memerag_has_its_language_from_the_file_and_no_label_where_people_found_it_challenging(tmp_path: Path) -> None:
    words = [
        ["Supported"],
        ["Supported", "Challenging to determine"],
        ["Challenging to determine", "Not Supported"],
        [["Supported"] * 3 + ["Not Supported"] * 2],
        [["Supported"] * 2 + ["Not Supported"] * 2 + ["Challenging to determine"]],
    ]
    sentences = [[{"sentence": f"Satz {n}. ", "factuality": word} for n, word in enumerate(row)] for row in words]
    rows = [
        {"query_id": n, "query": "Wo?", "context": [{"text": "Dort."}], "answer": answer}
        for n, answer in enumerate(sentences)
    ]
    path = write_jsonl(tmp_path / "de.jsonl", rows)
    assert shown(path, "label", "language") == [(label, "de") for label in (1, None, 0, 1, None)]
    second = load_dataset(path)[1]
    assert second.columns["response"] == "Satz 0. Satz 1."
    assert second.row["spans"] == [{"start": 8, "end": 15, "label": None}]
    own = [{"query_id": 1, "query": "Wo?", "context": ["Dort."], "answer": "Dort."}]  # a user's own row
    assert load_dataset(own)[0].columns["response"] == "Dort."


MARKS = {
    "none": ([], 1, "Consistent"),
    "benign": ([["Benign"]], 1, "Benign"),
    "questionable beside benign": ([["Benign"], ["Questionable"]], 0, "Questionable"),
    "unwanted": ([["Unwanted", "Unwanted.Intrinsic"], ["Benign"]], 0, "Unwanted"),
}


@pytest.mark.parametrize(("labels", "label", "worst"), MARKS.values(), ids=MARKS)
def test_faithbench_goes_by_the_worst_annotation(
    tmp_path: Path, labels: list[list[str]], label: int, worst: str
) -> None:
    marks = [{"label": words, "summary_start": 1, "summary_end": 4, "summary_span": "One"} for words in labels]
    made = {"sample_id": 3, "summary": " One.", "annotations": marks, "metadata": {"summarizer": "m"}}
    columns = ("label", "worst", "source_id", "system")
    path = tmp_path / "batch_1.json"
    path.write_text(json.dumps({"samples": [{**made, "source": "S."}]}), "utf-8")
    [(*found, digest, system)] = shown(path, *columns)
    assert (found, system) == ([label, worst], "m")
    kept = [{"start": 1, "end": 4, "type": worst, "label": 0}] if label == 0 else []
    assert shown(path, "spans") == [(kept,)]
    (tmp_path / "f.csv").write_text(f"source,summary,LLM,worst-label,best-label\nS., One.,m,{worst},Benign\n", "utf-8")
    assert shown(tmp_path / "f.csv", *columns) == [(label, worst, digest, "m")]


SCALE = [{"value": word, "numeric_value": n} for n, word in enumerate(("no", "mostly no", "mostly yes", "yes"), 1)]


def mtrag(path: Path, *votes: list[Any], author: str = "human", **metric: Any) -> Path:
    metric = {"name": "faithfulness", "author": author, **(metric or {"values": SCALE})}
    task = {
        "task_id": "c<::>2",
        "input": [
            {"speaker": "user", "text": "Who?"},
            {"speaker": "agent", "text": "Ilna."},
            {"speaker": "user", "text": "And where?"},
        ],
        "contexts": [{"document_id": "d1"}],
    }
    rated = [{f"rater{n}": {"value": value} for n, value in enumerate(given)} for given in votes]
    answers = [
        {"task_id": "c<::>2", "model_id": f"m{n}", "model_response": "There.", "annotations": {"faithfulness": given}}
        for n, given in enumerate(rated)
    ]
    document = {"models": [], "documents": [{"document_id": "d1", "text": "In Tesk."}], "metrics": [metric]}
    path.write_text(json.dumps({"name": "x", **document, "tasks": [task], "evaluations": answers}), "utf-8")
    return path


def test_mtrag_takes_the_median_of_its_raters_and_no_label_in_the_middle(tmp_path: Path) -> None:
    votes = [["yes", "mostly yes", "no"], ["no", "no", "yes"], ["no", "yes"], []]
    path = mtrag(tmp_path / "r.json", *votes)
    assert shown(path, "label", "ratings") == [
        (1, [4.0, 3.0, 1.0]),
        (0, [1.0, 1.0, 4.0]),
        (None, [1.0, 4.0]),
        (None, []),
    ]
    assert load_dataset(path)[0].columns == {
        "user_input": "And where?",
        "retrieved_contexts": ["In Tesk."],
        "response": "There.",
    }
    assert shown(mtrag(tmp_path / "r.json", [3, 3, 1], range=[1, 4, 1]), "label", "source") == [(1, "MTRAG")]
    with pytest.raises(DatasetError, match=r"no people's ratings.*reference_subset_with_human_evaluations.json"):
        load_dataset(mtrag(tmp_path / "r.json", [1], author="algorithm"))
