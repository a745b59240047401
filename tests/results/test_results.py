import copy
import csv
import json
import math
import pickle
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import openpyxl
import pandas as pd
import pytest
from aliases import Json
from folders import contents_of, lines_of

from rag_evaluator import ConfigError, RAGEvaluator, Results, ResultsError, load_dataset
from rag_evaluator.files import file_digest
from rag_evaluator.results import Score

NAN = math.nan
AWKWARD = {
    "emoji": "😀 👩‍👩‍👧",
    "right_to_left": "שלום \u202e عالم",
    "chinese": "你好，世界",
    "quotes": "say \"yes\", 'no'; {a}\\n",
    "lines": "one\ntwo\r\nthree\rfour",
    "controls": "bell \x07 tab \t",
    "separators": "a\u2028b\x85c",
}


def results_of(rows: list[Json], **scores: list[Score]) -> Results:
    return Results(load_dataset(rows), scores, {name: f"metric:{name}" for name in scores}, {"name": "run"})


def csv_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def xlsx_of(path: Path) -> list[Json]:
    """Rows of cells, by column name."""
    heading, *rows = openpyxl.load_workbook(path)["scores"].iter_rows()
    return [dict(zip((cell.value for cell in heading), row, strict=True)) for row in rows]


@pytest.fixture
def three() -> Results:
    """Three rows; `one` was scored twice, `two` once, `none` never."""
    rows = [{"user_input": text, "response": text} for text in ("first", "second", "third")]
    return results_of(
        rows,
        one=[Score(0.25), Score(NAN, "too long"), Score(0.75)],
        two=[Score(NAN, "too long"), Score(NAN, "no reference"), Score(1.0)],
        none=[Score(NAN, "no reference"), Score(NAN, "too long"), Score(NAN, "no reference")],
    )


def test_a_missing_score_is_null_in_json_nan_in_pandas_and_empty_in_spreadsheets(
    three: Results, tmp_path: Path
) -> None:
    three.write(tmp_path)
    assert [row["one"] for row in lines_of(tmp_path / "scores.jsonl")] == [0.25, None, 0.75]
    assert "NaN" not in (tmp_path / "scores.jsonl").read_text("utf-8")
    frame = three.to_pandas()
    assert frame["one"].tolist()[::2] == [0.25, 0.75]
    assert math.isnan(frame["one"][1])
    assert frame["none"].dtype == float
    assert frame["none"].isna().all()
    assert [row["one"] for row in csv_of(tmp_path / "scores.csv")] == ["0.25", "", "0.75"]
    assert [row["one"].value for row in xlsx_of(tmp_path / "scores.xlsx")] == [0.25, None, 0.75]


def test_the_summary_is_written_as_it_is_returned(three: Results, tmp_path: Path) -> None:
    three.write(tmp_path)
    assert json.loads((tmp_path / "summary.json").read_bytes()) == three.summary()
    assert json.loads((tmp_path / "manifest.json").read_bytes()) == {
        "program": "rag_evaluator",
        "name": "run",
        "written": {
            "rows": 3,
            "sha256": {name: file_digest(tmp_path / name) for name in ("scores.jsonl", "scores.csv")},
        },
    }


def test_rows_keep_the_order_of_the_input(tmp_path: Path) -> None:
    names = [f"row {number * 7 % 20}" for number in range(20)]
    results = results_of([{"user_input": name} for name in names], m=[Score(number / 20) for number in range(20)])
    results.write(tmp_path)
    assert [row["user_input"] for row in lines_of(tmp_path / "scores.jsonl")] == names
    assert [row["user_input"] for row in csv_of(tmp_path / "scores.csv")] == names
    assert [row["user_input"].value for row in xlsx_of(tmp_path / "scores.xlsx")] == names
    assert [line["row"] for line in lines_of(tmp_path / "details.jsonl")] == list(range(20))


def test_the_user_s_own_columns_are_left_as_they_are(tmp_path: Path) -> None:
    rows = [
        {"question": "q", "id": 1, "note": None, "tags": ["a", "b"], "meta": {"page": 3, "ok": True}, "p": 0.1},
        {"question": "q", "id": None, "flag": False},
    ]
    results = results_of(rows, m=[Score(1.0), Score(0.0)])
    results.write(tmp_path)
    assert lines_of(tmp_path / "scores.jsonl") == [{**rows[0], "m": 1.0}, {**rows[1], "m": 0.0}]
    assert [row["id"] for row in csv_of(tmp_path / "scores.csv")] == ["1", ""]
    assert [row["tags"] for row in csv_of(tmp_path / "scores.csv")] == ['["a", "b"]', ""]
    cells = xlsx_of(tmp_path / "scores.xlsx")
    assert [row["id"].value for row in cells] == [1, None]
    assert cells[0]["meta"].value == '{"page": 3, "ok": true}'
    assert cells[1]["flag"].value is False


def test_integers_that_a_spreadsheet_would_round_are_text_there(tmp_path: Path) -> None:
    number = 12_345_678_901_234_567_890
    results_of([{"user_input": "q", "id": number}, {"user_input": "q"}], m=[Score(1.0)] * 2).write(tmp_path)
    assert lines_of(tmp_path / "scores.jsonl")[0]["id"] == number
    assert csv_of(tmp_path / "scores.csv")[0]["id"] == str(number)
    assert xlsx_of(tmp_path / "scores.xlsx")[0]["id"].value == str(number)


def test_awkward_text_survives_every_format(tmp_path: Path) -> None:
    results_of([{"user_input": "q", **AWKWARD}], m=[Score(1.0)]).write(tmp_path)
    assert lines_of(tmp_path / "scores.jsonl")[0].items() >= AWKWARD.items()
    assert csv_of(tmp_path / "scores.csv")[0].items() >= AWKWARD.items()
    assert pd.read_csv(tmp_path / "scores.csv").loc[0, "lines"] == AWKWARD["lines"]
    cells = xlsx_of(tmp_path / "scores.xlsx")[0]
    escaped = {**AWKWARD, "lines": "one\ntwo_x000D_\nthree_x000D_four", "controls": "bell _x0007_ tab \t"}
    assert {name: cells[name].value for name in AWKWARD} == escaped  # Excel shows _x000D_ as the character again


@pytest.mark.parametrize("start", [*"=+-@\t\r\n＝＋－＠"])
def test_text_in_spreadsheets_is_never_a_formula(start: str, tmp_path: Path) -> None:
    text = f"{start}cmd|' /C calc'!A0"
    row = {"user_input": text, "retrieved_contexts": [text], f"{start}column": "x"}
    results_of([row], m=[Score(1.0)]).write(tmp_path)
    assert lines_of(tmp_path / "scores.jsonl")[0] == {**row, "m": 1.0}
    [line] = csv_of(tmp_path / "scores.csv")
    assert line["user_input"] == f"'{text}"
    assert f"'{start}column" in line
    assert not [value for pair in line.items() for value in pair if value[0] == start]
    sheet = openpyxl.load_workbook(tmp_path / "scores.xlsx")["scores"]
    cells = [cell for row in sheet.iter_rows() for cell in row]
    assert {cell.data_type for cell in cells if cell.value != 1.0} == {"s"}
    assert cells[4].value.replace("_x000D_", "\r") == text


def test_negative_scores_and_numbers_stay_numbers(tmp_path: Path) -> None:
    results_of([{"user_input": "q", "delta": -5}], m=[Score(-0.5)]).write(tmp_path)
    assert [csv_of(tmp_path / "scores.csv")[0][name] for name in ("delta", "m")] == ["-5", "-0.5"]
    assert [xlsx_of(tmp_path / "scores.xlsx")[0][name].value for name in ("delta", "m")] == [-5, -0.5]


@pytest.mark.parametrize("character", ["x", "😀"])
def test_text_too_long_for_a_cell_is_cut_there_and_says_so(character: str, tmp_path: Path) -> None:
    text = character * 50_000
    results_of([{"user_input": text, "retrieved_contexts": [text]}], m=[Score(1.0)]).write(tmp_path)
    cells = xlsx_of(tmp_path / "scores.xlsx")[0]
    for name, start in (("user_input", character), ("retrieved_contexts", f'["{character}')):
        value = cells[name].value
        assert value.startswith(start)
        assert value.endswith(" … [cut: see scores.jsonl]")
        units = len(value.encode("utf-16-le")) // 2  # as the file format counts
        assert 32_766 <= units <= 32_767  # what a cell can hold
    assert lines_of(tmp_path / "scores.jsonl")[0]["user_input"] == text
    assert csv_of(tmp_path / "scores.csv")[0]["user_input"] == text


def test_details_follow_every_number(tmp_path: Path) -> None:
    judgement = {"prompt": "nli", "response": {"statements": [{"statement": "Ávila", "verdict": 1}]}, "error": None}
    results = results_of(
        [{"user_input": "first", "retrieved_contexts": ["a", "b"]}, {"user_input": "second"}],
        one=[Score(0.5, None, (0, 1), [judgement]), Score(NAN, "no retrieved_contexts in this row")],
        two=[Score(1.0), Score(0.0)],
    )
    results.write(tmp_path)
    samples = results.samples
    assert lines_of(tmp_path / "details.jsonl") == [
        {
            "row": row,
            "sample": samples[row].digest,
            "metric": metric,
            "value": value,
            "reason": reason,
            "contexts": contexts,
            "judgements": judgements,
            "signature": f"metric:{metric}",
        }
        for row, metric, value, reason, contexts, judgements in [
            (0, "one", 0.5, None, [0, 1], [judgement]),
            (0, "two", 1.0, None, None, []),
            (1, "one", None, "no retrieved_contexts in this row", None, []),
            (1, "two", 0.0, None, None, []),
        ]
    ]
    assert "Ávila" in (tmp_path / "details.jsonl").read_text("utf-8")


def test_contexts_that_were_left_out_are_named_in_their_row() -> None:
    rows = [{"user_input": text, "retrieved_contexts": ["a", "b", "c"]} for text in ("cut", "whole")]
    results = results_of(
        rows,
        one=[Score(0.5, None, (0,)), Score(0.5, None, (0, 1, 2))],
        two=[Score(0.5, None, (0, 1)), Score(0.5, None, (0, 1, 2))],
        bleu=[Score(0.5), Score(0.5)],
    )
    first, second = results.rows()
    assert first["dropped_contexts"] == {"one": [1, 2], "two": [2]}
    assert "dropped_contexts" not in second


@contextmanager
def little_space(size: int) -> Iterator[None]:
    """No file can grow beyond `size` bytes, as on a full disk; a test must leave it before pytest writes its log."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize(("size", "space"), [(100_000, 20_000), (5, 4_000)])
def test_when_space_runs_out_all_files_are_the_old_ones(three: Results, tmp_path: Path, size: int, space: int) -> None:
    three.write(tmp_path)
    before = contents_of(tmp_path.iterdir())
    other = results_of([{"user_input": "x" * size}], m=[Score(1.0)])
    with (
        pytest.raises(ResultsError, match=r"cannot be written: .* Free space or choose another output_dir"),
        little_space(space),  # enough for nothing, or for all before scores.xlsx
    ):
        other.write(tmp_path)
    after = contents_of(tmp_path.iterdir())
    assert after == before


def test_a_file_in_place_of_the_folder_is_an_error(three: Results, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine", "utf-8")
    for folder in (tmp_path / "taken", tmp_path / "taken" / "run"):
        with pytest.raises(ResultsError) as caught:
            three.write(folder)
        assert str(caught.value).startswith(f"{folder}: cannot be written: ")
    assert (tmp_path / "taken").read_text("utf-8") == "mine"


@pytest.mark.parametrize("folder", [None, "run"])
def test_results_have_a_length_scores_rows_copies_and_a_page(folder: str | None, tmp_path: Path) -> None:
    rows = [{"user_input": f"q{n}", "response": "a", "reference": "a" * n} for n in (1, 2)]
    evaluator = RAGEvaluator({"metrics": ["exact_match"], "report": False})
    results = evaluator.evaluate(rows, folder=folder and tmp_path / folder)
    assert (len(results), results["exact_match"]) == (2, [1.0, 0.0])
    assert [row.sample.row for row in results[1:]] == [results[1].sample.row] == rows[1:]
    with pytest.raises(ConfigError, match="Did you mean 'exact_match'"):
        results["exact_mach"]
    for other in (pickle.loads(pickle.dumps(results)), copy.copy(results), copy.deepcopy(results)):
        assert other.heading == results.heading
        assert list(other.details()) == list(results.details())
        assert str(other) == str(results)
    pages = [results.report(tmp_path / "x.html"), other.report(tmp_path / "y.html")]
    assert pages[0].read_bytes() == pages[1].read_bytes()
    pages[0].write_text("mine")
    with pytest.raises(ResultsError, match="exists already"):
        results.report(pages[0])
