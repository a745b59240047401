"""One step checks the rows of every start."""

from pathlib import Path

import pytest
from folders import write_lines

from rag_evaluator import ConfigError, DatasetError
from rag_evaluator.config import make_config
from rag_evaluator.dataset import TaskColumns, checked_rows, rows_again

ROWS = [{"user_input": f"question {n}", "response": "a", "reference": "a"} for n in range(10)]
NEEDS = {"task": TaskColumns(["user_input"])}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    write_lines(path, ROWS)
    return path


def test_the_rows_know_their_source_which_they_are_and_the_digest_of_all(path: Path) -> None:
    whole = checked_rows(path, make_config({"metrics": ["exact_match"]}), NEEDS)
    some = checked_rows(path, make_config({"metrics": ["exact_match"], "limit": 3}), NEEDS)
    assert [len(whole), len(some)] == [10, 3]
    assert [whole.part, some.part] == [{}, {"of": 10, "limit": 3}]
    assert whole.digest == some.digest
    assert [row.index for row in some] == [0, 1, 2]
    assert [row.row for row in rows_again(path, {}, some.part)] == [row.row for row in some]
    assert some.source == path


def test_drawn_rows_are_given_in_the_order_of_the_dataset(path: Path) -> None:
    rows = checked_rows(path, make_config({"metrics": ["exact_match"], "sample": 4}), NEEDS)
    assert [row.row for row in rows] == [ROWS[place] for place in rows.choice.places]
    assert [row.index for row in rows] == [0, 1, 2, 3]


def test_columns_of_reports_are_checked_where_metrics_read_the_rows_only(path: Path) -> None:
    config = make_config({"metrics": ["exact_match"], "cluster": "share"})
    assert len(checked_rows(path, config, NEEDS)) == 10
    with pytest.raises(ConfigError, match="'share' is no column of any row"):
        checked_rows(path, config, NEEDS, are_scored=True)


def test_a_mapped_name_that_no_row_has_is_an_error_where_its_column_is_read_and_a_warning_elsewhere(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = make_config({"metrics": ["exact_match"], "columns": {"frage": "user_input"}})
    assert len(checked_rows(path, config, {"task": TaskColumns(["response"])})) == 10
    assert "maps 'frage' to 'user_input', but no row has a column 'frage'" in caplog.text
    for columns in (TaskColumns(["user_input"]), TaskColumns(["response"], optional=["user_input"])):
        with pytest.raises(DatasetError, match="no row has a column 'frage'"):
            checked_rows(path, config, {"task": columns})
