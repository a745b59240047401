"""Contexts as libraries and services give them, cells as pandas writes them, files as they come."""

import gzip
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import openpyxl
import pandas
import pytest

from rag_evaluator.config import default_config
from rag_evaluator.dataset import TaskColumns, checked_rows, load_dataset, open_dataset

TWO = ["a", "b"]
SCORES = {"document_score": [0.9, 0.1]}
IDS = {"retrieved_context_ids": ["x", "y"]}


def hits(make: Any) -> list[Any]:
    return [make(*parts) for parts in (("a", 0.9, "x"), ("b", 0.1, "y"))]


FORMS: list[tuple[Any, dict[str, Any]]] = [  # contexts, what is read beside the texts
    ({"text": TWO, "score": [0.9, 0.1]}, {}),
    ({"page_content": TWO, "metadata": [{}, {}]}, {}),
    ({"ids": [["x", "y"]], "documents": [TWO], "distances": [[0.1, 0.9]]}, {}),
    (hits(lambda text, score, key: {"node": {"text": text, "id_": key}, "score": score}), {**SCORES, **IDS}),
    (hits(lambda text, score, key: {"content": [{"type": "text", "text": text}], "score": score, "file_id": key}),
     {**SCORES, **IDS}),
    ({"data": hits(lambda text, *_: {"content": [{"type": "text", "text": text}]})}, {}),
    ({"retrievalResults": hits(lambda text, score, _: {"content": {"text": text}, "score": score})}, SCORES),
    ({"value": hits(lambda text, score, key: {"@search.score": score, "chunk": text, "chunk_id": key})},
     {**SCORES, **IDS}),
    (hits(lambda text, score, key: {"content": text, "score": score, "id": key, "meta": {}}), {**SCORES, **IDS}),
    ({"hits": {"hits": hits(lambda text, score, key: {"_source": {"text": text}, "_score": score, "_id": key})}},
     {**SCORES, **IDS}),
    (hits(lambda text, score, key: {"text": text, "score": score, "id": key}), {}),
    (hits(lambda text, *_: SimpleNamespace(content=text)), {}),
    (hits(lambda text, *_: SimpleNamespace(text=text)), {}),
    (hits(lambda text, score, _: SimpleNamespace(node=SimpleNamespace(text=text), score=score)), SCORES),
    ('["a", "b"]', {}),
    ("['a', \"b\"]", {}),
]  # fmt: skip


@pytest.mark.parametrize(("contexts", "beside"), FORMS)
def test_contexts_of_libraries_and_services_are_read_with_their_scores_and_ids(contexts: Any, beside: Any) -> None:
    [row] = load_dataset([{"contexts": contexts}])
    assert dict(row.columns) == {"retrieved_contexts": TWO, **beside}
    [row] = load_dataset(pandas.DataFrame({"contexts": [contexts], "document_score": [[3, 4]]}))
    assert row.columns["document_score"] == [3.0, 4.0]


def doubts_of(path: Any) -> str:
    columns = TaskColumns(["user_input"])
    return "\n".join(checked_rows(path, default_config(metrics=["exact_match"]), {"task": columns}).doubts)


def test_cells_that_pandas_writes_for_nothing_are_missing_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("question,contexts,answer\nq,nan,NaN\np,a,None\no,<NA>,nan is what it says\n", encoding="utf-8")
    rows = [dict(row.columns) for row in load_dataset(path)]
    assert rows == [
        {"user_input": "q"},
        {"user_input": "p", "retrieved_contexts": ["a"], "response": "None"},
        {"user_input": "o", "response": "nan is what it says"},
    ]
    assert "2 of the first 3 rows have a cell with nan, NaN or <NA>, which counts as missing" in doubts_of(path)
    assert "1 of the first 3 rows have None, null, NaN or N/A as a text" in doubts_of(path)
    assert load_dataset([{"response": "NaN"}])[0].columns == {"response": "NaN"}


def test_the_same_context_twice_is_a_doubt() -> None:
    rows = [{"question": "q", "contexts": ["a", "b", "a"]}, {"question": "p", "contexts": ["a", "b"]}]
    assert "1 of the first 2 rows have the same context twice" in doubts_of(rows)
    assert load_dataset(rows)[0].columns["retrieved_contexts"] == ["a", "b", "a"]


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl", "rows.json"])
@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-8"])
def test_files_of_other_encodings_and_packed_ones_are_read_with_a_note(
    name: str, encoding: str, tmp_path: Path
) -> None:
    text = "question\nPeña’s\n" if name.endswith("csv") else '{"question": "Peña’s"}\n'
    text = f"[{text}]" if name.endswith("json") else text
    plain = tmp_path / name
    plain.write_bytes(text.encode(encoding))
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    for path in (plain, packed):
        assert [row.columns for row in open_dataset(path)] == [{"user_input": "Peña’s"}]
        note = f"{path.name} is no UTF-8, and is read as {encoding.upper()}."
        assert (note in doubts_of(path)) is (encoding != "utf-8")


def test_merged_and_hidden_cells_get_a_note(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (["question"], ["q"], ["p"], [None], ["o"]):
        book.active.append(row)
    book.active.merge_cells("A3:A4")
    book.active.row_dimensions[2].hidden = True
    book.save(tmp_path / "rows.xlsx")
    doubts = doubts_of(tmp_path / "rows.xlsx")
    assert "merged cells: 1." in doubts and "hidden rows: 1." in doubts


def test_a_polars_frame_is_read() -> None:
    polars = pytest.importorskip("polars")
    [row] = load_dataset(polars.DataFrame({"question": ["q"], "contexts": [TWO]}))
    assert dict(row.columns) == {"user_input": "q", "retrieved_contexts": TWO}
