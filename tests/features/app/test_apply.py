"""The revised dataset: a new file in the user's format and columns, with its history; judged again where it changed."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from aliases import Capture, Json, Patch
from app_client import client, kept, sent
from folders import lines_of, output_of

from rag_evaluator import (
    ConfigError,
    DatasetError,
    RAGEvaluator,
    ResultsError,
    ScriptedJudge,
    apply_reviews,
    load_dataset,
)

ROWS = [
    {"id": 1, "question": "=1+1?", "contexts": ["a", "b"], "answer": "two", "ground_truth": "2", "note": "@x"},
    {"id": 2, "question": "Where?", "contexts": ["c"], "answer": "Tesk", "ground_truth": "Tesk", "note": "007"},
    {"id": 3, "question": "Who?", "contexts": ["d"], "answer": "Nolu", "ground_truth": "-Nolu", "note": "line\nend"},
]


def write(path: Path, rows: list[Json]) -> Path:
    cells = [{n: json.dumps(v) if isinstance(v, list) else v for n, v in row.items()} for row in rows]
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n\n" for row in rows))
    elif path.suffix == ".json":
        path.write_text(json.dumps({"samples": rows}))
    elif path.suffix in (".csv", ".tsv"):
        pd.DataFrame(cells).to_csv(path, sep="," if path.suffix == ".csv" else "\t", index=False)
    elif path.suffix == ".xlsx":
        pd.DataFrame(cells).to_excel(path, index=False, engine_kwargs={"options": {"strings_to_formulas": False}})
    else:
        pd.DataFrame(rows).to_parquet(path)
    return path


def judged(folder: Path, dataset: Any, **config: Any) -> Path:
    source = {"dataset": dataset} if isinstance(dataset, str | Path) else {}
    evaluator = RAGEvaluator({"metrics": ["exact_match"], **source, **config})
    if source:
        evaluator.run(folder)
    else:
        evaluator.evaluate(dataset, folder=folder)
    return folder


def say(folder: Path, row: int, field: str, after: Any, before: Any = None, by: str = "anna") -> Json:
    """What somebody says of a row of a run, as it is kept."""
    is_correction = field in ("user_input", "reference", "reference_contexts")
    values = {"row": row, "field": field, "after": after}
    values |= {"kind": "correct", "before": before} if is_correction else {"kind": "flag", "before": not after}
    answer = sent(client(folder, who=by), folder.name, values)
    assert answer.status_code == 200, answer.text
    return kept(folder)[-1]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write(tmp_path / "data.jsonl", ROWS)


@pytest.fixture
def run(tmp_path: Path, data: Path) -> Path:
    """The results of the dataset."""
    return judged(tmp_path / "run", data)


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".csv", ".tsv", ".xlsx", ".parquet"])
def test_the_new_dataset_has_the_columns_and_the_texts_of_the_old_one(tmp_path: Path, suffix: str) -> None:
    data = write(tmp_path / f"data{suffix}", ROWS)
    old = data.read_bytes()
    run = judged(tmp_path / "run", data)
    say(run, 1, "reference", "=Tesk, in the east", before="Tesk")
    say(run, 2, "user_input", "Who was it?", before="Who?")
    say(run, 0, "too_easy", True)
    made = apply_reviews(run)
    assert made.path == tmp_path / "data.reviewed.jsonl"
    assert data.read_bytes() == old
    before = load_dataset(data)
    after = load_dataset(made.path)
    held = [{**sample.row, "contexts": sample.columns["retrieved_contexts"]} for sample in before]
    assert list(after[0].row) == list(before[0].row)
    assert after[0].row == held[0]
    assert after[1].row == {**held[1], "ground_truth": "=Tesk, in the east"}
    assert after[2].row == {**held[2], "question": "Who was it?"}


def test_lines_that_nobody_has_corrected_stay_the_same_bytes(tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    first = b'{"question":  "a?", "answer":"x","reference": "x", "n": 1e3}'
    data.write_bytes(b"\xef\xbb\xbf" + first + b'\n\n{"question": "b?", "answer": "y", "reference": "\\u0079"}')
    run = judged(tmp_path / "run", data)
    say(run, 1, "reference", "z", before="y")
    made = apply_reviews(run)
    lines = made.path.read_bytes().splitlines()
    assert lines[0] == first
    assert json.loads(lines[1]) == {"question": "b?", "answer": "y", "reference": "z"}


def test_the_history_says_who_changed_what_when_before_and_after(run: Path) -> None:
    say(run, 1, "reference", "Tusk", before="Tesk")
    second = say(run, 1, "reference", "Tisk", before="Tusk", by="bob")
    say(run, 0, "duplicate", True)
    made = apply_reviews(run, drop=["duplicate"])
    history = lines_of(made.history)
    assert made.history.name == "data.reviewed.history.jsonl"
    assert [(line["row"], line["was"], line["by"], line["before"], line["after"]) for line in history] == [
        (None, 0, "anna", False, True),
        (0, 1, "anna", "Tesk", "Tusk"),
        (0, 1, "bob", "Tusk", "Tisk"),
    ]
    assert [line["column"] for line in history] == [None, "ground_truth", "ground_truth"]
    assert history[2]["at"] == second["at"]
    assert history[2]["revised"] == load_dataset(made.path)[0].digest
    assert [(change.place, change.field) for change in made.changes] == [(0, "row"), (1, "reference")]
    assert made.rows == 2


def test_the_command_says_what_was_changed(run: Path, capsys: Capture) -> None:
    say(run, 1, "reference", "Tusk", before="Tesk")
    say(run, 0, "duplicate", True)
    shown = output_of(capsys, "review", "apply", run, "--drop", "duplicate")
    assert shown.startswith("row 1 left out, anna: ")
    assert 'row 2, reference, anna: "Tesk" -> "Tusk"' in shown
    assert f"2 rows written to {run.parent / 'data.reviewed.jsonl'}" in shown


AB = {"question": "a?", "answer": "x"}
LOG = {"id": 1, **AB, "correct_answer": "y"}
HOMES: dict[str, tuple[list[Json], dict[str, str], Any, str, Any]] = {  # rows, columns, after, column, held
    "mapped": (
        [{"q": "a?", "response": "x", "gold": "y"}], {"q": "user_input", "gold": "reference"}, "z", "gold", "z"
    ),
    "a list with the answer": ([{**AB, "ground_truths": ["y"]}], {}, "z", "ground_truths", ["z"]),
    "a new column": ([{**AB, "reference": "y"}], {}, ["c", "d"], "reference_contexts", ["c", "d"]),
    "expected contexts": ([{**AB, "reference": "y", "correct_context": "c"}], {}, ["d"], "correct_context", ["d"]),
    "nothing there": ([{**AB, "reference": None}, {**AB, "reference": "y"}], {}, "z", "reference", "z"),
    "the name that wins": ([{**AB, "reference": "y", "ground_truth": "y"}], {}, "z", "reference", "z"),
    "two aliases": ([{**AB, "ground_truth": "y", "correct_answer": "y"}], {}, "z", "correct_answer", "z"),
    "a retrieval log": (
        [{**LOG, "document_score": 0.3, "reference": "c1"}, {**LOG, "document_score": 0.9, "reference": "c2"}],
        {}, "z", "correct_answer", "z",
    ),
}  # fmt: skip


@pytest.mark.parametrize("home", HOMES)
def test_a_correction_goes_where_the_users_own_column_is(tmp_path: Path, home: str) -> None:
    rows, mapping, after, column, held = HOMES[home]
    field = "reference" if isinstance(after, str) else "reference_contexts"
    run = judged(tmp_path / "run", write(tmp_path / "data.jsonl", rows), columns=mapping)
    say(run, 0, field, after)
    made = apply_reviews(run, tmp_path / "new.jsonl")
    sample = load_dataset(made.path, mapping)[0]
    assert sample.row[column] == held
    assert sample.columns[field] == after


def test_reviews_are_found_by_the_digest_of_their_row_wherever_it_is_now(run: Path, data: Path) -> None:
    say(run, 2, "reference", "Nolu B.", before="-Nolu")
    write(data, [ROWS[2], {**ROWS[0], "note": "edited where no metric reads"}])
    made = apply_reviews(run)
    assert [row.columns["reference"] for row in load_dataset(made.path)] == ["Nolu B.", "2"]


def test_a_review_of_a_row_that_was_edited_since_is_named(tmp_path: Path, run: Path, data: Path) -> None:
    say(run, 0, "too_easy", True)
    record = say(run, 2, "reference", "Nolu B.", before="-Nolu")
    write(data, [*ROWS[:2], {**ROWS[2], "question": "Whoever?"}])
    with pytest.raises(DatasetError, match=rf"reviews\.jsonl: anna reviewed row 2.*edited.*--dataset.*{record['id']}"):
        apply_reviews(run)
    assert not (tmp_path / "data.reviewed.jsonl").exists()


def test_of_equal_rows_the_one_that_was_reviewed_is_changed(tmp_path: Path) -> None:
    data = write(tmp_path / "data.jsonl", [ROWS[1], ROWS[0], ROWS[1]])
    run = judged(tmp_path / "run", data)
    say(run, 2, "duplicate", True)
    assert [row.columns["reference"] for row in load_dataset(apply_reviews(run, drop=["duplicate"]).path)] == [
        "Tesk",
        "2",
    ]
    write(data, [ROWS[1], ROWS[1], ROWS[0]])
    with pytest.raises(DatasetError, match=r"row 2 .*data\.jsonl is there 2 times"):
        apply_reviews(run, drop=["duplicate"], force=True)


def test_rows_that_came_from_python_are_written_without_their_scores(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.chdir(tmp_path)
    run = judged(tmp_path / "run", ROWS)
    say(run, 1, "reference", "Tusk", before="Tesk")
    made = apply_reviews(run)
    assert made.path == Path("run.reviewed.jsonl")
    assert [row.row for row in load_dataset(made.path)] == [ROWS[0], {**ROWS[1], "ground_truth": "Tusk"}, ROWS[2]]


def test_nothing_is_replaced_without_force_and_the_reviewed_dataset_never(run: Path, data: Path) -> None:
    say(run, 1, "reference", "Tusk", before="Tesk")
    made = apply_reviews(run)
    with pytest.raises(ResultsError, match="exists already"):
        apply_reviews(run)
    apply_reviews(run, force=True)
    with pytest.raises(ResultsError, match="is read by this command"):
        apply_reviews(run, data, force=True)
    made.path.unlink()
    with pytest.raises(ResultsError, match=r"history\.jsonl exists already"):
        apply_reviews(run)


@pytest.mark.parametrize(
    ("drop", "error", "said"),
    [
        (["to_easy"], ConfigError, "Did you mean 'too_easy'"),
        ([], ResultsError, "no correction changes the dataset.*--drop too_easy"),
        (["duplicate"], ResultsError, "no correction changes the dataset"),
    ],
)
def test_flags_alone_change_nothing_unless_they_are_named(
    run: Path, drop: list[str], error: type[Exception], said: str
) -> None:
    say(run, 1, "too_easy", True)
    with pytest.raises(error, match=said):
        apply_reviews(run, drop=drop)


def test_no_dataset_lacks_its_history_whenever_writing_is_interrupted(
    tmp_path: Path, run: Path, monkeypatch: Patch
) -> None:
    say(run, 1, "reference", "Tusk", before="Tesk")

    def killed(*given: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rag_evaluator.features.app.apply.write_lines", killed)
    with pytest.raises(KeyboardInterrupt):
        apply_reviews(run)
    assert not (tmp_path / "data.reviewed.jsonl").exists()


class Counting:
    """A judge that supports everything, and knows which prompts it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, prompt: Any, response_model: Any) -> Json:
        asked = prompt.data.model_dump()
        self.asked.append(f"{type(prompt.data).__name__} {json.dumps(asked)}")
        if "statements" in asked:
            said = [{"statement": text, "reason": "r", "verdict": 1} for text in asked["statements"]]
            return {"statements": said}
        if "classifications" in response_model.model_fields:
            return {"classifications": [{"statement": asked["answer"], "reason": "r", "attributed": 1}]}
        return {"statements": [asked["answer"]]}


def test_after_apply_update_judges_only_metrics_that_read_what_changed(tmp_path: Path) -> None:
    rows = [{"question": f"q{n}?", "contexts": [f"c{n}"], "answer": f"a{n}", "reference": f"r{n}"} for n in range(6)]
    data = write(tmp_path / "data.jsonl", rows)
    run = tmp_path / "run"
    judge = Counting()
    config = {"metrics": ["faithfulness", "context_recall"]}
    first = RAGEvaluator({**config, "dataset": data}, judge=ScriptedJudge(judge, model_id="script"))
    first.run(run)
    assert len(judge.asked) == 6 * 3  # statements and verdicts of faithfulness, one of context_recall
    say(run, 4, "reference", "better", before="r4")
    say(run, 2, "too_easy", True)
    made = apply_reviews(run, drop=["too_easy"])
    judge.asked.clear()
    again = RAGEvaluator({**config, "dataset": made.path}, judge=ScriptedJudge(judge, model_id="script"))
    again.run(run, start="update")
    assert len(judge.asked) == 1
    assert "better" in judge.asked[0]
    assert len((run / "scores.jsonl").read_bytes().splitlines()) == 5
    with pytest.raises(ResultsError, match="in this dataset already"):
        apply_reviews(run)
    say(run, 0, "reference", "best", before="r0")
    second = apply_reviews(run)
    assert second.path.name == "data.reviewed2.jsonl"
    assert [row.columns["reference"] for row in load_dataset(second.path)] == ["best", "r1", "r3", "better", "r5"]
    assert len(second.history.read_bytes().splitlines()) == 3
