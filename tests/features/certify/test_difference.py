"""Two runs compared by people's labels: the same rows, whole or drawn; else why not."""

import json
from pathlib import Path
from typing import Any

import pytest
from aliases import Capture
from folders import output_of
from labelled_runs import ROWS, exact_rows, fill, graded_run

from rag_evaluator import RAGEvaluator, ResultsError, certify, compare, label_sheet, metric
from rag_evaluator.statistics import LabelMean, Scale, interval_p_value, label_mean


def other_rows() -> list[dict[str, Any]]:
    """The same questions in another order, answered by a system that is right in ten more of them; people say so."""
    rows = [{**row, "answer": "yes", "human": 1} if 20 <= place < 30 else row for place, row in enumerate(exact_rows())]
    return rows[::-1]


PEOPLE, OTHER_PEOPLE = ([row["human"] for row in rows] for rows in (exact_rows(), other_rows()))


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Path, Path]:
    return graded_run(tmp_path / "a"), graded_run(tmp_path / "b", other_rows())


def test_labels_of_all_rows_give_their_mean_difference(runs: tuple[Path, Path], capsys: Capture) -> None:
    for folder in runs:
        certify(folder, label={"answer_rubric": "human"})
    comparison = compare(*runs)
    [line] = comparison.labels
    assert (line.metric, line.both, line.reason) == ("answer_rubric", ROWS, None)
    assert line.figures is not None
    assert line.figures.label_mean == pytest.approx(10 / 40)  # 19 labels of 1 in one run, 29 in the other
    written = json.loads(json.dumps(comparison.to_json()))
    assert written["labels"][0]["figures"]["labels"] == ROWS
    assert (written["labels"][0]["conclusion"], written["labels"][0]["p"]) == ("shown", line.tested and line.tested.p)
    first, scores, *_ = written["conclusion"]["sentences"]
    assert first == "By people's labels of 40 rows, b is better in answer_rubric by 0.25 [0.08, 0.39]."
    assert scores == "b is better in answer_rubric by 0.25 [0.10, 0.39]."
    assert "over the 1 difference by labels of this comparison" in written["conclusion"]["rules"][1]
    assert "answer_rubric, by people's labels of 40 rows, " in output_of(capsys, "compare", *runs)


def test_other_labels_of_equal_texts_are_noise_and_no_difference(tmp_path: Path) -> None:
    """Of the rows that people call better in the second run, eleven have the same response in both, and one has not."""
    rows = exact_rows()
    others = [{**row, "human": int(20 <= place < 31 or row["human"])} for place, row in enumerate(rows)]
    others[31] |= {"answer": "yes", "human": 1}
    runs = graded_run(tmp_path / "a", rows), graded_run(tmp_path / "b", others)
    for folder in runs:
        certify(folder, label={"answer_rubric": "human"})
    comparison = compare(*runs)
    [line] = comparison.labels
    assert line.contradicting == tuple(range(20, 31))
    assert line.figures is not None
    assert line.figures.label_mean == pytest.approx(1 / 40)
    first, noise, *_ = comparison.conclusion.sentences
    assert first.startswith("Not settled by labels of 40 rows: answer_rubric differs by 0.03 [")
    assert noise == (
        "In 11 rows the texts are equal in both runs, and the labels of answer_rubric are not: that is noise of the "
        "labels and counts as no difference. Label again, in both runs (rows of a): r20, r21, r22 and 8 more."
    )
    others[31] |= {"answer": "no"}
    graded_run(tmp_path / "c", others)
    certify(tmp_path / "c", label={"answer_rubric": "human"})
    first, noise, *_ = compare(runs[0], tmp_path / "c").conclusion.sentences
    assert first == "In 40 rows no label of answer_rubric differs."
    assert noise.startswith("In 12 rows the texts are equal in both runs")


def test_the_cluster_of_the_second_run_counts_for_labels_too(tmp_path: Path) -> None:
    graded_run(tmp_path / "a")
    for name in ("plain", "by document"):
        rows = [{**row, "document": f"d{place // 8}"} for place, row in enumerate(other_rows())]
        graded_run(tmp_path / name, rows, cluster="document" if name == "by document" else None)
    for folder in ("a", "plain", "by document"):
        certify(tmp_path / folder, label={"answer_rubric": "human"})
    plain, clustered = (compare(tmp_path / "a", tmp_path / name).labels[0].figures for name in ("plain", "by document"))
    assert plain is not None and clustered is not None
    assert clustered.ci_method.endswith("clustered")
    assert clustered.label_mean == pytest.approx(plain.label_mean)
    assert not plain.ci_method.endswith("clustered")


def test_the_same_rows_are_drawn_for_a_second_run(runs: tuple[Path, Path], tmp_path: Path) -> None:
    a, b = runs
    first = label_sheet(a, tmp_path / "a.xlsx", size=24)
    second = label_sheet(b, tmp_path / "b.xlsx", like=a)
    assert [ROWS - 1 - row for row in second.rows] == list(first.rows)
    assert list(second.strata) == list(first.strata)[::-1]
    certify(a, fill(tmp_path / "a.xlsx", PEOPLE))
    certify(b, fill(tmp_path / "b.xlsx", OTHER_PEOPLE))
    label_sheet(a, tmp_path / "more.xlsx", size=30)
    again = label_sheet(b, tmp_path / "b.xlsx", like=a, force=True)
    assert again.rows == second.rows, "the draw whose labels are certified is taken"
    [line] = compare(a, b).labels
    assert line.both == 24
    assert line.figures is not None
    assert line.figures.ci_low is not None and line.figures.ci_high is not None
    assert line.figures.ci_low < 10 / 40 < line.figures.ci_high


def test_a_difference_of_few_changed_labels_says_that_the_scores_do_not_count(tmp_path: Path, capsys: Capture) -> None:
    """The person changes the label of two rows only, both among the labelled ones."""
    rows = exact_rows()
    changed = {"answer": "yes!", "ground_truth": "yes!", "human": 1}
    better = [{**row, **changed} if place in (0, 1) else row for place, row in enumerate(rows)]
    runs = graded_run(tmp_path / "a", rows), graded_run(tmp_path / "b", better)
    for folder, own in zip(runs, (rows, better), strict=True):
        table = tmp_path / f"{folder.name}.csv"
        table.write_text("id,answer_rubric\n" + "".join(f"{row['id']},{row['human']}\n" for row in own[:30]))
        certify(folder, table, random=True)
    [line] = compare(*runs).labels
    assert line.figures is not None
    assert (line.figures.judge_weight, line.figures.label_mean) == (0.0, pytest.approx(2 / 30))
    shown = " ".join(output_of(capsys, "compare", *runs).split())
    assert "labels only, without the scores, in all 5 folds: the other folds have fewer than 5 labels of the " in shown
    assert shown.startswith("Not settled by labels of 30 rows: answer_rubric differs by 0.07 [-0.07, 0.19]; a true")
    assert "needs about 240 labels in each run. In 40 rows no score differs." in shown


def test_rows_that_were_drawn_separately_are_not_compared(runs: tuple[Path, Path], tmp_path: Path) -> None:
    for folder, people in zip(runs, (PEOPLE, OTHER_PEOPLE), strict=True):
        label_sheet(folder, tmp_path / f"{folder.name}.xlsx", size=24)
        certify(folder, fill(tmp_path / f"{folder.name}.xlsx", people))
    [line] = compare(*runs).labels
    assert line.figures is None
    assert "drawn separately" in (line.reason or "")
    first, *_ = compare(*runs).conclusion.sentences
    assert first.startswith("Not settled by labels in answer_rubric: their rows were drawn separately: ")


def test_rows_that_somebody_chose_are_not_compared_with_drawn_ones(runs: tuple[Path, Path], tmp_path: Path) -> None:
    a, b = runs
    label_sheet(a, tmp_path / "a.xlsx", size=24)
    certify(a, fill(tmp_path / "a.xlsx", PEOPLE))
    chosen = [place for place, row in enumerate(other_rows()) if row["answer"] == "yes"][:25]
    lines = ["row,answer_rubric", *(f"{row},1" for row in chosen)]
    (tmp_path / "chosen.csv").write_text("\n".join(lines), "utf-8")
    certify(b, tmp_path / "chosen.csv")
    for pair in ((a, b), (b, a)):
        [line] = compare(*pair).labels
        assert line.figures is None
        assert line.reason == "how the labelled rows were chosen is not known"


def test_of_two_metrics_one_may_be_shown_also_where_lower_is_better(tmp_path: Path) -> None:
    """All rows have a label in both runs, and the scores say nothing: errors rise in twenty rows."""
    labels = {
        "a": [{"errors": 0.0 if row < 39 else 0.5, "recall": row % 2 / 2} for row in range(40)],
        "b": [{"errors": float(row < 20) if row < 39 else 0.5, "recall": (1 - row % 2) / 2} for row in range(40)],
    }
    half = [metric(lambda response: 0.5, columns=["response"], name=name, better=better, kind="continuous")
            for name, better in (("errors", "lower"), ("recall", "higher"))]  # fmt: skip
    for name, people in labels.items():
        rows = [{"id": str(row), "response": f"{name} {row}", **{f"of_{key}": value for key, value in said.items()}}
                for row, said in enumerate(people)]  # fmt: skip
        RAGEvaluator({"metrics": half}).evaluate(rows, folder=tmp_path / name)
        certify(tmp_path / name, label={key: f"of_{key}" for key in people[0]})
    comparison = compare(tmp_path / "a", tmp_path / "b")
    errors, recall = (line.figures for line in comparison.labels)
    assert errors is not None and recall is not None
    assert (errors.label_mean, recall.label_mean) == (pytest.approx(0.5), pytest.approx(0.0))
    assert [line.tested.p_holm for line in comparison.labels if line.tested] == pytest.approx(
        [2 * comparison.labels[0].tested.p, 1]
    )
    first, second, *_ = comparison.conclusion.sentences
    assert first.startswith("By people's labels of 40 rows, b is worse in errors by 0.50 [0.")
    assert second.startswith("Not settled by labels of 40 rows: recall differs by 0.00 [-0.")


def test_a_run_that_labels_show_to_be_worse_is_never_named(tmp_path: Path) -> None:
    runs = []
    for name, answers, rare in (("a", ["no"] * 40, 0), ("b", ["yes"] * 30 + ["never"] * 10, 1)):
        rows = [
            {**row, "answer": answer, "human": int((place % 10 == 0) == rare)}
            for place, (row, answer) in enumerate(zip(exact_rows(), answers, strict=True))
        ]
        runs.append(graded_run(tmp_path / name, rows))
    assert compare(*runs).decisions[0].named == str(tmp_path / "b"), "by the scores"
    for run in runs:
        certify(run, label={"answer_rubric": "human"})
    for pair in (runs, runs[::-1]):
        [decision] = compare(*pair).decisions
        assert decision.named is None
        assert "answer_rubric by people's labels" in decision.decision


def test_the_p_value_of_a_difference_by_labels_belongs_to_its_interval() -> None:
    """At the level 1 - p an end of the interval is at 0."""

    def estimate_at(level: float) -> LabelMean:
        return label_mean([0.0] * 30, [1.0] * 8 + [-1.0] * 2 + [0.0] * 20, Scale(-1.0, 1.0), level=level)

    p = interval_p_value(estimate_at)
    assert p is not None
    assert estimate_at(1 - p).ci_low == pytest.approx(0, abs=1e-6)
    assert interval_p_value(lambda level: label_mean([0.5] * 30, [0.0] * 30, Scale(-1.0, 1.0), level=level)) == 1


def test_a_run_with_other_rows_has_no_rows_to_draw_again(runs: tuple[Path, Path], tmp_path: Path) -> None:
    label_sheet(runs[0], tmp_path / "a.xlsx", size=24)
    short = graded_run(tmp_path / "short", exact_rows()[:30])
    with pytest.raises(ResultsError, match="both runs need the same rows, each with a 'id' of its own"):
        label_sheet(short, tmp_path / "b.xlsx", like=runs[0])
    with pytest.raises(ResultsError, match="it has 0 draws"):
        label_sheet(short, tmp_path / "b.xlsx", like=runs[1])
    assert not (tmp_path / "b.xlsx").exists()
