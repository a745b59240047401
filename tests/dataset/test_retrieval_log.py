"""The log with a line per question and chunk: its lines as rows, one for each question."""

import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from rag_evaluator import DatasetError, Results, load_dataset
from rag_evaluator.dataset import ALIASES, open_dataset
from tests.dataset.data_files import Row, columns_of, write_csv, write_jsonl


def line(question: str | None, score: Any, chunk: Any, **others: Any) -> Row:
    return {"question": question, "document_score": score, "reference": chunk, **others}


def sample_columns(question: str, contexts: list[str], scores: list[float] | None, **others: Any) -> Row:
    scored = {} if scores is None else {"document_score": scores}
    return {"user_input": question, "retrieved_contexts": contexts, **scored, **others}


LOGS: dict[str, tuple[list[Row], list[Row]]] = {
    "lines that are not adjacent": (
        [line("q", 0.1, "a"), line("p", 0.5, "c"), line("q", 0.9, "b")],
        [sample_columns("q", ["b", "a"], [0.9, 0.1]), sample_columns("p", ["c"], [0.5])],
    ),
    "ties as given": (
        [line("q", 1, "a"), line("q", 2, "b"), line("q", 1, "c"), line("q", 2, "d")],
        [sample_columns("q", ["b", "d", "a", "c"], [2.0, 2.0, 1.0, 1.0])],
    ),
    "a chunk without score": (
        [line("q", 0.1, "a"), line("q", None, "b"), line("p", 0.1, "c"), line("p", 0.2, "d")],
        [sample_columns("q", ["a", "b"], None), sample_columns("p", ["d", "c"], [0.2, 0.1])],
    ),
    "a line without the column": (
        [line("q", 0.1, "a"), {"question": "q", "reference": "b"}],
        [sample_columns("q", ["a", "b"], None)],
    ),
    "answers and expected contexts once": (
        [
            line("q", 0.1, "a", correct_answer="r", correct_context="e", answer="x"),
            line("q", 0.9, "b", correct_answer="r ", correct_context="e", answer=""),
        ],
        [sample_columns("q", ["b", "a"], [0.9, 0.1], reference="r", reference_contexts=["e"], response="x")],
    ),
    "a ground truth on one line": (
        [line("q", 0.1, "a"), line("q", 0.9, "b", ground_truth="r")],
        [sample_columns("q", ["b", "a"], [0.9, 0.1], reference="r")],
    ),
    "an id is the question": (
        [line("q", 0.1, "a", id=1), line("q", 0.2, "b", id=2), line("q", 0.3, "c", id="1")],
        [sample_columns("q", ["c", "a"], [0.3, 0.1]), sample_columns("q", ["b"], [0.2])],
    ),
    "a line without id belongs to its question": (
        [line("q", 0.1, "a", id=""), line("q", 0.2, "b", id=None), line("q", 0.3, "c", id=7)],
        [sample_columns("q", ["b", "a"], [0.2, 0.1]), sample_columns("q", ["c"], [0.3])],
    ),
    "lines without question and id": (
        [line(None, 0.1, "a"), line(None, 0.2, "b")],
        [
            {"retrieved_contexts": ["a"], "document_score": [0.1]},
            {"retrieved_contexts": ["b"], "document_score": [0.2]},
        ],
    ),
    "ids of chunks": (
        [line("q", 0.1, "a", retrieved_context_ids=7), line("q", 0.9, "b", retrieved_context_ids="x")],
        [sample_columns("q", ["b", "a"], [0.9, 0.1], retrieved_context_ids=["x", "7"])],
    ),
    "rows that hold lists stay": (
        [line("q", [0.1, 0.9], ["a", "b"]), line("q", [0.2], ["c"])],
        [sample_columns("q", ["b", "a"], [0.9, 0.1]), sample_columns("q", ["c"], [0.2])],
    ),
    "an empty context keeps its rank": (
        [line("q", 0.9, ""), line("q", 0.1, "a")],
        [sample_columns("q", ["", "a"], [0.9, 0.1])],
    ),
    "a document": (
        [line("q", 0.1, {"page_content": "a"}), line("q", 0.9, "[b")],
        [sample_columns("q", ["[b", "a"], [0.9, 0.1])],
    ),
}


@pytest.mark.parametrize("case", LOGS)
def test_a_log_gives_a_row_for_each_question(case: str, tmp_path: Path) -> None:
    rows, expected = LOGS[case]
    samples = open_dataset(write_jsonl(tmp_path / "log.jsonl", rows))
    assert [sample.columns | {} for sample in samples] == expected
    assert [sample.wrong for sample in samples] == [{}] * len(expected)
    assert [sample.index for sample in samples] == list(range(len(expected)))


@pytest.mark.parametrize("case", LOGS)
def test_a_log_that_was_written_is_read_back(case: str, tmp_path: Path) -> None:
    samples = open_dataset(LOGS[case][0])
    Results(samples, {}).write(tmp_path)
    for name in ("scores.jsonl", "scores.csv", "scores.xlsx"):
        again = open_dataset(tmp_path / name)
        assert columns_of(again) == columns_of(samples)
        assert [sample.digest for sample in again] == [sample.digest for sample in samples]


def test_the_users_own_names_are_kept_and_say_that_it_is_a_log() -> None:
    rows = [{"frage": "q", "points": n, "reference": chunk, "doc": f"d{n}"} for n, chunk in enumerate("ab")]
    mapping = {
        "frage": "user_input",
        "points": "document_score",
        "reference": "retrieved_contexts",
        "doc": "retrieved_context_ids",
    }
    [sample] = load_dataset(rows, mapping)
    assert sample.row == {"frage": "q", "points": [1, 0], "reference": ["b", "a"], "doc": ["d1", "d0"]}
    assert sample.columns["retrieved_context_ids"] == ["d1", "d0"]
    assert load_dataset([sample.row], mapping)[0].columns == sample.columns
    del mapping["reference"]
    assert load_dataset(rows, mapping)[0].columns == sample.columns


@pytest.mark.parametrize(
    ("row", "columns"),
    [({"reference": "a"}, {"reference": "retrieved_contexts"}), ({"context": "a", "document_score": 1}, {})],
)
def test_without_scores_or_beside_contexts_nothing_is_joined(row: Row, columns: dict[str, str]) -> None:
    samples = load_dataset([{"question": "q", **row}] * 2, columns)
    assert [sample.columns["retrieved_contexts"] for sample in samples] == [["a"], ["a"]]


def test_other_columns_are_kept_once_or_by_context(tmp_path: Path) -> None:
    rows = [line("q", 0.1, "a", page=3, lang="en"), line("q", 0.9, "b", page=5, lang="en", tag=1)]
    for source in (rows, write_jsonl(tmp_path / "log.jsonl", rows)):
        row = open_dataset(source)[0].row
        assert {name: row[name] for name in ("page", "lang", "tag")} == {"page": [5, 3], "lang": "en", "tag": 1}


DIFFER: list[tuple[Row, Row, str]] = [
    ({"correct_answer": "r"}, {"correct_answer": "s"}, "reference"),
    ({"answer": "r"}, {"answer": "s"}, "response"),
    ({"correct_context": "r"}, {"correct_context": "s"}, "reference_contexts"),
    ({"answerable": True}, {"answerable": False}, "answerable"),
]


@pytest.mark.parametrize(("first", "second", "canonical"), DIFFER, ids=repr)
def test_values_that_differ_are_an_error_with_both_lines_where_a_metric_needs_them(
    first: Row, second: Row, canonical: str, tmp_path: Path
) -> None:
    rows = [line("q", 0.9, "a", **first), line("p", 1, "b"), line("q", 0.8, "c"), line("q", 1, "d", **second)]
    samples = open_dataset(write_jsonl(tmp_path / "log.jsonl", rows))
    places = ("log.jsonl, line 1", "log.jsonl, line 4")
    [name] = first
    samples.check_columns({"m": ["retrieved_contexts"]}, "log")
    with pytest.raises(DatasetError) as caught:
        samples.check_readable([canonical])
    read_as = "" if name == canonical else f" (read as {canonical})"
    assert str(caught.value) == (
        f"{places[0]} and 2 more: column '{name}'{read_as}: expected the same value in all lines of a question, "
        f"received {first[name]!r} ({places[0]}) and {second[name]!r} ({places[1]}). Correct one of them, or give each "
        "question its own 'id'."
    )
    assert samples[0].row[name] == [second[name], first[name], None]


def test_an_id_of_two_questions_is_an_error() -> None:
    with pytest.raises(DatasetError, match=r"row 0 and 1 more: column 'question' .*'q' \(row 0\) and 'p' \(row 1\)"):
        load_dataset([line("q", 1, "a", id=1), line("p", 1, "b", id=1)])


@pytest.mark.parametrize("score", ["high", True, [0.1], {"a": 1}], ids=repr)
def test_a_score_that_is_none_gives_no_order_and_is_an_error_where_it_is_needed(score: Any) -> None:
    samples = open_dataset([line("q", 0.1, "a"), line("q", score, "b") if score != [0.1] else line("q", "x", "b")])
    assert samples[0].columns == sample_columns("q", ["a", "b"], None)
    assert "item 2: expected a number" in samples[0].wrong["document_score"]


@pytest.mark.parametrize("cell", ["[broken", "('a', 'b')"])
def test_a_cell_that_python_wrote_is_refused_as_before(cell: str, tmp_path: Path) -> None:
    samples = open_dataset(write_csv(tmp_path / "log.csv", [line("q", "0.1", cell), line("q", "0.2", "b")]))
    with pytest.raises(DatasetError, match=r"log\.csv, row 2: column 'reference' "):
        samples.check_readable(ALIASES)


def test_memory_does_not_grow_with_the_texts_of_a_log(tmp_path: Path) -> None:
    peaks = []
    for size in (10, 500):
        path = tmp_path / f"{size}.jsonl"
        write_jsonl(path, [line(f"q{n % 500}", n, f"{n} " * size) for n in range(2000)])
        tracemalloc.start()
        samples = open_dataset(path)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert [len(sample.columns["retrieved_contexts"]) for sample in samples] == [4] * 500
    assert path.stat().st_size > 4_000_000
    assert peaks[1] < peaks[0] + 1_000_000
