"""Sheets for people: which rows, blind, in their language, safe to fill in and to read again."""

import json
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from labelled_runs import ROWS, exact_rows, exact_run, faithful_run, graded_run, shown

from rag_evaluator import METRICS, ConfigError, ResultsError, label_sheet
from rag_evaluator.dataset import label_of, read_records
from rag_evaluator.features.certify import choices_of, question_of
from tests.test_docs import table

PACKS = {"arabic", "chinese", "french", "german", "hindi", "italian", "japanese", "korean", "portuguese", "spanish"}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [{**row, "secret": "=cmd()"} for row in exact_rows()]
    rows[0]["answer"] = "=HYPERLINK(1)"
    return graded_run(tmp_path_factory.mktemp("run") / "exact", rows, language="german")


def test_the_sheet_is_blind_shuffled_and_the_same_for_the_same_seed(run: Path, tmp_path: Path) -> None:
    first = label_sheet(run, tmp_path / "a.xlsx", size=24)
    again = label_sheet(run, tmp_path / "b.xlsx", size=24)
    other = label_sheet(run, tmp_path / "c.xlsx", size=24, seed=1)
    assert (tmp_path / "a.xlsx").read_bytes() == (tmp_path / "b.xlsx").read_bytes()
    assert first == again
    kept = json.loads((run / "labels" / f"{first.name}.json").read_bytes())
    assert kept["rows"] == list(first.rows)
    assert len(kept["strata"]) == len(kept["probabilities"]) == ROWS
    assert sum(kept["probabilities"]) == pytest.approx(24)
    assert set(first.rows) != set(other.rows)
    head, *rows = shown(tmp_path / "a.xlsx")
    assert head == ["row", "sample", "draw", "user_input", "response", "reference", "answer_rubric"]
    assert [row[0] for row in rows] == list(first.rows) != sorted(first.rows)
    assert {row[-1] for row in rows} == {None}  # no score
    assert "secret" not in head


def test_cells_offer_answers_and_show_the_question_in_the_language_of_the_run(run: Path, tmp_path: Path) -> None:
    label_sheet(run, tmp_path / "a.xlsx", size=24)
    book = openpyxl.load_workbook(tmp_path / "a.xlsx")
    [rule] = book.worksheets[0].data_validations.dataValidation
    assert (rule.type, rule.formula1, str(rule.sqref)) == ("list", '"ja,nein"', "G2:G25")
    assert rule.prompt == "Ist diese Zeile nach dem Maß „answer_rubric“ gut?"
    assert book.active is not None
    assert book.active.title == "instructions"
    assert "Lassen Sie die Zelle leer" in str(shown(tmp_path / "a.xlsx", 1))
    cell = book.worksheets[0]["G2"]
    assert book.worksheets[0].protection.sheet
    assert not cell.protection.locked


def test_no_cell_is_a_formula_and_lists_of_contexts_have_ranks(tmp_path: Path) -> None:
    folder = faithful_run(tmp_path / "run", ["=1+1. It is so."] * 25)
    label_sheet(folder, tmp_path / "a.xlsx", size=20)
    cells = [cell for row in openpyxl.load_workbook(tmp_path / "a.xlsx").worksheets[0].iter_rows() for cell in row]
    assert {cell.data_type for cell in cells} <= {"s", "n", "inlineStr"}
    head, first, *_ = shown(tmp_path / "a.xlsx")
    texts = dict(zip(head, first, strict=True))
    assert texts["response"] == "=1+1. It is so."
    assert texts["retrieved_contexts"] == f"[1] Context {texts['row']}."
    assert "reference" not in head  # faithfulness does not read it


def test_a_sheet_that_is_there_is_not_replaced(run: Path, tmp_path: Path) -> None:
    (tmp_path / "a.xlsx").write_bytes(b"filled in")
    with pytest.raises(ResultsError, match=r"a\.xlsx exists already.*--force"):
        label_sheet(run, tmp_path / "a.xlsx", size=24)
    assert (tmp_path / "a.xlsx").read_bytes() == b"filled in"
    label_sheet(run, tmp_path / "a.xlsx", size=24, force=True)
    assert len(list(read_records(tmp_path / "a.xlsx")[1])) == 24


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"out": "a.csv"}, r"ends in \.xlsx"),
        ({"size": 5}, "--size 5: 20 labels are needed"),
        ({"metrics": ["answer_rubrik"]}, "--metric answer_rubrik: .*Did you mean 'answer_rubric'"),
    ],
)
def test_faulty_arguments_are_refused(run: Path, tmp_path: Path, arguments: dict[str, Any], said: str) -> None:
    out = tmp_path / arguments.pop("out", "a.xlsx")
    with pytest.raises(ConfigError, match=said):
        label_sheet(run, out, **arguments)


def test_a_run_of_few_rows_cannot_be_certified(tmp_path: Path) -> None:
    folder = graded_run(tmp_path / "run", exact_rows(12, 6))
    with pytest.raises(ConfigError, match="20 labels are needed at least, of 12 rows"):
        label_sheet(folder, tmp_path / "a.xlsx")


UNJUDGED = ["exact_match", "rouge_score", "answer_rubric", "semantic_similarity"]


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in which one metric of four asks a judge."""
    return graded_run(tmp_path_factory.mktemp("run") / "mixed", metrics=UNJUDGED)


def test_metrics_that_ask_no_judge_are_left_out(mixed: Path, tmp_path: Path) -> None:
    assert label_sheet(mixed, tmp_path / "a.xlsx", size=20).metrics == ["answer_rubric"]
    assert shown(tmp_path / "a.xlsx")[0][-2:] == ["reference", "answer_rubric"]


@pytest.mark.parametrize("name", ["exact_match", "rouge"])
def test_a_metric_that_asks_no_judge_is_refused_by_name(mixed: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=f"--metric {name}.*: no judge made its scores"):
        label_sheet(mixed, tmp_path / "a.xlsx", metrics=["answer_rubric", name])
    with pytest.raises(ResultsError, match="no judge made its scores"):
        label_sheet(exact_run(tmp_path / "run"), tmp_path / "a.xlsx")
    assert not (tmp_path / "a.xlsx").exists()


JUDGED = [name for name, metric in METRICS.items() if metric.judge]
# people are asked whether the score of these is right; a new metric has a question of its own, or is named here
OTHERS = {
    *("answer_rubric", "context_entity_recall", "summary_score"),
    *("instance_specific_rubrics", "rubrics_score_with_reference", "rubrics_score_without_reference"),
    *(f"retrieval_{measure}" for measure in ("map", "mrr", "ndcg", "precision", "recall")),
}


@pytest.mark.parametrize("language", sorted(PACKS | {"english"}))
def test_every_language_with_packs_has_texts_of_its_own(language: str) -> None:
    questions = {name: question_of(name, language) for name in JUDGED}
    assert {name for name, question in questions.items() if name in question} == OTHERS
    english = {question_of(name, "english") for name in JUDGED}
    assert len(set(questions.values())) == len(english)
    assert language == "english" or english.isdisjoint(questions.values())
    assert max(map(len, questions.values())) < 200  # a message of a cell has 255 characters
    assert choices_of(language, 1, 5) == [1, 2, 3, 4, 5]


def test_no_word_accepts_in_one_language_and_rejects_in_another() -> None:
    words = {language: choices_of(language, 0, 1) for language in PACKS | {"english"}}
    assert len({accepts for accepts, _ in words.values()}) > 5
    assert {(label_of(accepts), label_of(rejects)) for accepts, rejects in words.values()} == {(1.0, 0.0)}


@pytest.mark.parametrize(
    ("cell", "number"), [(1, 1.0), (True, 1.0), (" YES. ", 1.0), ("0", 0.0), (3.5, 3.5), ("4", 4.0)]
)
def test_cells_are_read_as_numbers(cell: Any, number: float) -> None:
    assert label_of(cell) == number


@pytest.mark.parametrize("cell", ["maybe", "inf", "1,5", [1], {"a": 1}])
def test_other_cells_are_no_labels(cell: Any) -> None:
    with pytest.raises(ValueError, match=r".*"):
        label_of(cell)


def test_the_docs_list_the_words_that_labels_may_be() -> None:
    listed = {
        language.lower(): (accept.split(", "), reject.split(", "))
        for language, accept, reject in table(Path(__file__).parents[3] / "docs" / "labels.md", "language")
    }
    assert len(listed) == 11
    for language, (accept, reject) in listed.items():
        assert choices_of(language, 0.0, 1.0) == [accept[0], reject[0]]
        assert {*map(label_of, accept)} == {1.0}
        assert {*map(label_of, reject)} == {0.0}
