"""Thresholds from labels of sentences and of rows: by hand, and without optimism."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from aliases import Json
from known_labels import keep_draw
from known_verifier import KnownVerifier
from labelled_runs import shown

from rag_evaluator import ConfigError, RAGEvaluator, ScriptedJudge, certify, label_sheet

ROWS = 20


def probability(row: int, place: int) -> float:
    """Of a sentence: 0.1 to 0.29 and 0.7 to 0.89, and in each fourth row 0.4, in the one after it 0.6."""
    if place:
        return {0: 0.4, 1: 0.6}.get(row % 4, 0.1)
    return 0.7 + row / 100


def rows_of() -> list[Json]:
    return [
        {
            "user_input": f"Question {row}?",
            "retrieved_contexts": [f"Context {row}."],
            "response": f"First of {row}. Second of {row}.",
        }
        for row in range(ROWS)
    ]


def verifier(parts: dict[str, str] | None = None) -> KnownVerifier:
    known = {
        (f"Context {row}.", f"{name} of {row}."): probability(row, place)
        for row in range(ROWS)
        for place, name in enumerate(("First", "Second"))
    }
    made = KnownVerifier(known)
    if parts is not None:
        made.signature_parts = parts
    return made


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run") / "grounded"
    RAGEvaluator({"metrics": ["groundedness"]}, verifier=verifier()).evaluate(rows_of(), folder=folder)
    return folder


def sentences(path: Path, accepted: Sequence[float] = (0.4,)) -> Path:
    """Labels of all sentences: people accept those of 0.4, or of what is given, and of 0.7 and more."""
    lines = ["row,metric,statement,label"]
    for row in range(ROWS):
        for place, name in enumerate(("First", "Second")):
            value = probability(row, place)
            lines.append(f"{row},groundedness,{name} of {row}.,{int(value >= 0.7 or value in accepted)}")
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def found(run: Path, labels: Path, out: Path) -> Json:
    threshold: Json = certify(run, labels, out=out).certificate["verifier"]["groundedness"]
    return threshold


def test_the_threshold_of_sentences_is_the_one_with_the_best_balanced_accuracy_nearest_to_one_half(
    run: Path, tmp_path: Path
) -> None:
    """People accept 0.4, 0.6 and all from 0.7: between 0.1 and 0.4 is no error."""
    own = found(run, sentences(tmp_path / "l.csv", (0.4, 0.6)), tmp_path / "c.json")
    assert (own["threshold"], own["by"], own["labels"], own["rows"]) == (0.25, "sentences", 40, 20)
    assert own["balanced_accuracy"]["value"] == 1.0
    accepted_by_half = (20 + 5) / 30
    assert own["at_half"]["value"] == pytest.approx((accepted_by_half + 1) / 2)
    assert own["signature"] == {"verifier": "known"}


def test_held_out_verdicts_are_those_of_thresholds_that_other_rows_chose(tmp_path: Path) -> None:
    """Both sentences of one row alone have labels between: its own fold does not see them."""
    values = {f"{place} of {row}.": value for row in range(20) for place, value in enumerate((0.1, 0.2 + row % 2 / 2))}
    values |= {"0 of 20.": 0.3, "1 of 20.": 0.3}
    rows = [
        {"user_input": f"{row}?", "retrieved_contexts": ["c"], "response": f"0 of {row}. 1 of {row}."}
        for row in range(21)
    ]
    known = KnownVerifier({("c", text): value for text, value in values.items()})
    folder = tmp_path / "run"
    RAGEvaluator({"metrics": ["groundedness"]}, verifier=known).evaluate(rows, folder=folder)
    lines = [
        f"{text.split()[2]}groundedness,{text},{int(value >= 0.3)}".replace(".g", ",g")
        for text, value in values.items()
    ]
    (tmp_path / "l.csv").write_text("\n".join(["row,metric,statement,label", *lines]))
    own = found(folder, tmp_path / "l.csv", tmp_path / "c.json")
    assert (own["threshold"], own["labels"], own["rows"]) == (pytest.approx(0.25), 42, 21)
    assert own["balanced_accuracy"]["value"] == pytest.approx((10 / 12 + 1) / 2)
    assert own["at_half"]["value"] == pytest.approx((10 / 12 + 1) / 2)


@pytest.mark.parametrize("accepted", [(), (0.1, 0.4, 0.6)], ids=["few of one class", "one class"])
def test_labels_of_one_class_choose_no_threshold(run: Path, tmp_path: Path, accepted: Sequence[float]) -> None:
    lines = sentences(tmp_path / "l.csv", accepted).read_text().splitlines()
    if not accepted:  # all but four are rejected
        lines[5:] = [line[:-1] + "0" for line in lines[5:]]
    (tmp_path / "l.csv").write_text("\n".join(lines))
    assert "verifier" not in certify(run, tmp_path / "l.csv", out=tmp_path / "c.json").certificate


def judge(model_id: str) -> ScriptedJudge:
    """It is as sure as the verifier."""

    def choices(prompt: str, options: Sequence[str]) -> dict[str, float]:
        data: Any = prompt.data  # type: ignore[attr-defined]  # a PromptText
        name, _, row = data.hypothesis.rstrip(".").partition(" of ")
        value = probability(int(row), int(name == "Second"))
        return dict(zip(options, (value, 1 - value), strict=True))

    return ScriptedJudge(choices=choices, model_id=model_id)


def test_a_threshold_of_the_judge_as_verifier_is_for_this_judge_and_evidence(tmp_path: Path) -> None:
    folder = tmp_path / "judged"
    path = tmp_path / "c.json"
    RAGEvaluator({"metrics": ["groundedness"]}, judge=judge("first")).evaluate(rows_of(), folder=folder)
    own = found(folder, sentences(tmp_path / "l.csv", (0.4, 0.6)), path)
    assert (own["threshold"], own["by"], list(own["signature"])) == (0.25, "sentences", ["prompts", "judge"])


@pytest.mark.parametrize("threshold", ["certified", 0.0, 1.0, "0.5x"])
def test_other_thresholds_are_refused(threshold: Any) -> None:
    with pytest.raises(ConfigError, match=r"verifier\.threshold"):
        RAGEvaluator({"metrics": ["groundedness"], "verifier": {"threshold": threshold}})


def test_the_sheet_of_sentences_has_one_line_each_and_never_a_probability(run: Path, tmp_path: Path) -> None:
    record = label_sheet(run, tmp_path / "s.xlsx", size=20, sentences=True)
    heading, *lines = shown(tmp_path / "s.xlsx")
    assert heading == ["row", "sample", "draw", "metric", "user_input", "evidence", "statement", "label"]
    expected = [[row, f"{name} of {row}."] for row in record.rows for name in ("First", "Second")]
    assert [[line[0], line[6]] for line in lines] == expected
    assert {line[3] for line in lines} == {"groundedness"}
    assert lines[0][5] == f"[1] Context {record.rows[0]}."
    assert {line[7] for line in lines} == {None}
    texts = " ".join(str(cell) for line in lines for cell in line[3:])
    assert not re.search(r"0\.\d", texts)
    instructions = openpyxl.load_workbook(tmp_path / "s.xlsx").worksheets[1]
    assert instructions.cell(5, 2).value == (
        "Does the text in the column 'evidence' support the sentence in the column 'statement'? (yes, no)"
    )


def test_a_sheet_of_sentences_that_was_filled_in_gives_the_threshold(run: Path, tmp_path: Path) -> None:
    label_sheet(run, tmp_path / "s.xlsx", size=20, sentences=True)
    book = openpyxl.load_workbook(tmp_path / "s.xlsx")
    for line in book.worksheets[0].iter_rows(min_row=2):
        row = line[0].value
        place = int(str(line[6].value).startswith("Second"))
        line[7].value = "yes" if probability(int(row), place) >= 0.6 else "no"
    book.save(tmp_path / "filled.xlsx")
    certification = certify(run, tmp_path / "filled.xlsx", out=tmp_path / "c.json")
    own = certification.certificate["verifier"]["groundedness"]
    assert (own["threshold"], own["by"], own["labels"], own["rows"]) == (0.5, "sentences", 40, 20)
    auc = certification.certificate["metrics"]["groundedness"]["statements"]["binary"]["auc"]
    assert certification.conclusion.sentences[0] == (
        "The scores are useful for groundedness: they rank a statement that people accept above one that they reject "
        f"in 100 % [{100 * auc['ci_low']:.0f}, 100] of pairs, by 40 labels of statements in 20 rows."
    )
    assert certification.conclusion.sentences[-1] == (
        "The best threshold for sentences of groundedness is 0.5, by 40 labels of sentences in 20 rows: balanced "
        "accuracy 1.00 [0.84, 1.00] on labels that did not choose it; 0.5 has 1.00 [0.84, 1.00]."
    )
    figures = certification.certificate["metrics"]["groundedness"]["statements"]
    assert (figures["labels"], figures["binary"]["auc"]["value"]) == (40, 1.0)


def test_rows_that_were_not_drawn_choose_no_threshold(run: Path, tmp_path: Path) -> None:
    record = label_sheet(run, tmp_path / "s.xlsx", size=20, sentences=True)
    assert len(record.rows) == ROWS, "all rows of this run are drawn"
    lines = sentences(tmp_path / "l.csv", (0.4, 0.6)).read_text("utf-8").splitlines()
    drawn = keep_draw(run, record.rows[:15], [0.75] * ROWS, "groundedness")
    with_draw = [f"{lines[0]},draw", *(f"{line},{drawn}" for line in lines[1:])]
    (tmp_path / "d.csv").write_text("\n".join(with_draw) + "\n", "utf-8")
    own = found(run, tmp_path / "d.csv", tmp_path / "c.json")
    assert (own["labels"], own["rows"]) == (30, 15)


def test_the_rank_of_probabilities_counts_in_the_auc_whatever_the_threshold(tmp_path: Path) -> None:
    folder = tmp_path / "low"
    config = {"metrics": ["groundedness"], "verifier": {"threshold": 0.05}}
    RAGEvaluator(config, verifier=verifier()).evaluate(rows_of(), folder=folder)
    labels = sentences(tmp_path / "l.csv", (0.4, 0.6))
    figures = certify(folder, labels, out=tmp_path / "c.json").certificate["metrics"]["groundedness"]["statements"]
    assert figures["binary"]["auc"]["value"] == 1.0
    assert figures["binary"]["confusion"]["false_positive"] == 10
