"""`certify`: figures worked out by hand, what counts and what does not, the certificate and the summary."""

import json
import math
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from aliases import Json
from folders import contents_of, run_command, write_lines
from known_labels import certified, keep_draw
from labelled_runs import ROWS, exact_rows, exact_run, faithful_run, fill, graded_run, scored_run

from rag_evaluator import (
    Certification,
    ConfigError,
    DatasetError,
    RagEvaluatorError,
    ResultsError,
    certify,
    label_sheet,
)

HUMAN = [row["human"] for row in exact_rows()]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return exact_run(tmp_path_factory.mktemp("run") / "exact")


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same scores, by a judge."""
    return graded_run(tmp_path_factory.mktemp("run") / "graded")


@pytest.fixture(scope="module")
def faithful(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each row has a right statement and one that is right in every second row."""
    texts = [f"It is {place}. It is {'wrong' if place % 2 else 'so'} {place}." for place in range(ROWS)]
    return faithful_run(tmp_path_factory.mktemp("faithful") / "faithful", texts)


def write_csv(path: Path, lines: Sequence[str]) -> Path:
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def table(path: Path, labels: Sequence[Any] = tuple(HUMAN), heading: str = "row,exact_match") -> Path:
    return write_csv(path, [heading, *(f"{row},{label}" for row, label in enumerate(labels))])


def part(found: Certification, metric: str = "exact_match") -> Json:
    figures: Json = found.certificate["metrics"][metric]
    return figures


def test_agreement_auc_kappa_and_mean_are_those_worked_out_by_hand(run: Path, tmp_path: Path) -> None:
    """18 both accept, 2 only the judge, 1 only people, 19 both reject."""
    found = part(certify(run, table(tmp_path / "l.csv"), threshold={"exact_match": 0.5}, out=tmp_path / "c.json"))
    own = found["binary"]
    assert own["confusion"] == {"true_positive": 18, "false_positive": 2, "false_negative": 1, "true_negative": 19}
    assert own["auc"]["value"] == pytest.approx((18 * 19 + (18 * 2 + 1 * 19) / 2) / (19 * 21))
    assert own["agreement"]["mean"] == pytest.approx(37 / 40)
    assert own["balanced_accuracy"]["value"] == pytest.approx((18 / 19 + 19 / 21) / 2)
    assert own["kappa"]["value"] == pytest.approx((0.925 - 0.5) / 0.5)
    assert (own["threshold"], own["cross_fitted"]) == (0.5, False)
    assert found["chosen"] == "all"
    assert found["label_mean"]["label_mean"] == pytest.approx(19 / 40)
    assert found["label_mean"]["judge_mean"] == pytest.approx(0.5)


FORMS = {
    "by row": ["row,exact_match", *(f"{row},{label}" for row, label in enumerate(HUMAN))],
    "by id, words": ["id,exact_match", *(f"r{row},{'yes' if label else 'No'}" for row, label in enumerate(HUMAN))],
    "by question, an alias": [
        "question,ExactMatch",
        *(f"Question {row}?,{'PASS' if label else 'fail'}" for row, label in enumerate(HUMAN)),
    ],
    "long": ["row,metric,label", *(f"{row},exact_match,{label}" for row, label in enumerate(HUMAN))],
    "empty lines": ["row,exact_match", ",", *(f"{row},{label}" for row, label in enumerate(HUMAN))],
}


@pytest.mark.parametrize("lines", FORMS.values(), ids=FORMS)
def test_each_form_of_a_table_says_the_same(run: Path, tmp_path: Path, lines: list[str]) -> None:
    expected = part(certify(run, label={"exact_match": "human"}, out=tmp_path / "a.json"))
    assert part(certify(run, write_csv(tmp_path / "l.csv", lines), out=tmp_path / "b.json")) == expected


FAULTS: dict[str, tuple[list[str], str]] = {
    "a key that no row has": (["row,exact_match", "0,1", "40,1"], r"l\.csv, row 3: no rows of .* have the row '40'"),
    "a doubled key": (
        ["row,exact_match", "3,1", "3,0"],
        r"l\.csv, row 3, column 'exact_match': a second label of row 3",
    ),
    "another word": (["row,exact_match", "0,1", "1,perhaps"], r"l\.csv, row 3, column 'exact_match': 'perhaps' is no"),
    "not a number": (["row,exact_match", "0,nan"], r"l\.csv, row 2, column 'exact_match': 'nan' is no label"),
    "an unknown scale": (
        ["row,exact_match", "0,1", "1,4"],
        r"l\.csv, row 3.*4 is no grade of exact_match.*--scale exact_match=1\.\.5",
    ),
    "a word among grades": (
        ["row,exact_match", "0,0.5", "1,yes"],
        r"l\.csv, row 3.*a word, where other labels .* grades",
    ),
    "a metric without scores": (
        ["row,faithfulness", "0,1"],
        r"column 'faithfulness': .* has no scores of 'faithfulness'",
    ),
    "no metric": (["row,verdict", "0,1"], "no column has the name of a metric"),
    "no key": (["number,exact_match", "0,1"], "no column says which row"),
    "too few": (["row,exact_match", *(f"{row},1" for row in range(7))], r"too few labels .*7 labels.* 20 are needed"),
    "another run's row": (["row,sample,exact_match", "0,abc,1"], "'sample' 'abc' is not that of this row"),
    "an id of another row": (["row,id,exact_match", "3,zz,1"], r"l\.csv, row 2: 'row' is .* is not that of this row"),
    "another question": (["row,question,exact_match", "3,Question 2?,1"], "row 2: 'row' is .* is not that of this row"),
    "two draws": (["row,draw,exact_match", "0,a,1", "1,b,1"], "2 draws"),
    "a draw elsewhere": (["row,draw,exact_match", "0,../../x,1"], r"labels/x\.json: cannot be read"),
}


@pytest.mark.parametrize(("lines", "said"), FAULTS.values(), ids=FAULTS)
def test_a_faulty_table_is_refused_with_its_line_and_nothing_is_written(
    run: Path, tmp_path: Path, lines: list[str], said: str
) -> None:
    before = contents_of(run.rglob("*"))
    with pytest.raises((DatasetError, ResultsError), match=said):
        certify(run, write_csv(tmp_path / "l.csv", lines))
    assert contents_of(run.rglob("*")) == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "no labels: give a table"),
        ({"label": {"exact_match": "humn"}}, "Did you mean 'human'"),
        ({"label": {"exact_match": "human"}, "threshold": {"exact_match": 2}}, "expected a number from 0 to 1"),
        ({"label": {"exact_match": "human"}, "threshold": {"bleu": 0.5}}, "has no scores of 'bleu'"),
        ({"label": {"exact_match": "human"}, "scale": ["exact_match=5..1"]}, "expected METRIC=LOW..HIGH"),
        ({"label": {"exact_match": "human"}, "scale": ["exact_match=1..5"]}, "0 is no grade of exact_match, 1 to 5"),
        ({"label": {"exact_match": "human", "ExactMatch": "human"}}, "both have labels of exact_match"),
    ],
)
def test_faulty_arguments_are_refused(run: Path, tmp_path: Path, arguments: Json, said: str) -> None:
    with pytest.raises(RagEvaluatorError, match=said):
        certify(run, **arguments, out=tmp_path / "c.json")
    assert not (tmp_path / "c.json").exists()


def test_the_mean_of_all_rows_needs_a_draw(run: Path, tmp_path: Path) -> None:
    some = table(tmp_path / "l.csv", HUMAN[5:35], "row,exact_match")
    unknown = certify(run, some, out=tmp_path / "a.json")
    drawn = certify(run, some, random=True, out=tmp_path / "b.json")
    assert (part(unknown)["chosen"], part(drawn)["chosen"]) == ("unknown", "random")
    assert part(unknown)["label_mean"]["label_mean"] is None
    assert "'certify sheet' draws rows" in part(unknown)["label_mean"]["ci_method"]
    assert part(drawn)["label_mean"]["label_mean"] is not None


def test_the_mean_label_does_not_depend_on_the_order_of_rows(tmp_path: Path) -> None:
    rows = exact_rows()
    labels = write_csv(tmp_path / "l.csv", ["id,exact_match", *(f"r{row},{HUMAN[row]}" for row in range(5, 35))])
    runs = exact_run(tmp_path / "a", rows), exact_run(tmp_path / "b", rows[::-1])
    means = [part(certify(folder, labels, random=True))["label_mean"] for folder in runs]
    assert means[0] == means[1]
    assert 0 < means[0]["judge_weight"] < 1


def test_the_rows_of_a_cluster_are_in_one_fold(tmp_path: Path) -> None:
    rows = [{**row, "document": place % 8} for place, row in enumerate(exact_rows())]
    labels = table(tmp_path / "l.csv", HUMAN[5:35])
    runs = exact_run(tmp_path / "a", rows), exact_run(tmp_path / "b", rows, cluster="document")
    apart, whole = (part(certify(folder, labels, random=True))["label_mean"]["label_mean"] for folder in runs)
    assert apart != whole


def test_annotators_vote_and_ties_count_nowhere(run: Path, tmp_path: Path) -> None:
    """Two say what `human` says; in rows 0 and 1 the second one says the contrary."""
    wide = ["row,exact_match.anna,exact_match.bob"]
    wide += [f"{row},{label},{1 - label if row < 2 else label}" for row, label in enumerate(HUMAN)]
    long = ["row,annotator,exact_match", *(line for row in wide[1:] for line in apart(row))]
    anna = table(tmp_path / "anna.csv")
    bob = table(tmp_path / "bob.csv", [1 - label if row < 2 else label for row, label in enumerate(HUMAN)])
    files: list[Any] = [write_csv(tmp_path / "wide.csv", wide), write_csv(tmp_path / "long.csv", long), [anna, bob]]
    for file in files:
        found = part(certify(run, file, out=tmp_path / "c.json"))
        assert found["annotators"] == ["anna", "bob"]
        assert (found["tied"], found["compared"]) == (2, 38)
        own = found["binary"]["confusion"]
        assert own == {"true_positive": 18, "false_positive": 0, "false_negative": 1, "true_negative": 19}
        # nominal alpha: 80 ratings, 40 of 1; two pairs of 40 disagree: 1 - 79 * (2 * 2 / 80) / (2 * 40 * 40 / 80)
        assert found["annotator_alpha"]["alpha"] == pytest.approx(1 - 79 * 4 / (2 * 40 * 40))


def test_files_of_one_name_in_two_folders_are_two_annotators(run: Path, tmp_path: Path) -> None:
    """Both label row 0, with 1 and 0.5 of them 1 elsewhere: no label is lost, whatever their order."""
    for name in ("anna", "bob"):
        (tmp_path / name).mkdir()
    paths = [
        table(tmp_path / "anna" / "labels.csv", [1] * ROWS),
        table(tmp_path / "bob" / "labels.csv", [1, 0] * (ROWS // 2)),
    ]
    for order in (paths, paths[::-1]):
        found = part(certify(run, order, out=tmp_path / "c.json"))
        assert found["annotators"] == ["anna/labels", "bob/labels"]
        assert found["label_mean"]["label_mean"] == pytest.approx(0.75)
        assert found["tied"] == ROWS // 2


def test_a_file_that_is_named_twice_and_two_files_of_one_annotator_are_refused(run: Path, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    lines = ["row,annotator,exact_match", "0,anna,1"]
    one, other = (write_csv(tmp_path / name, lines) for name in ("l.csv", "b/l.csv"))
    for files in ([one, tmp_path / "b" / ".." / "l.csv"], [one, other]):
        with pytest.raises(DatasetError, match="a second label of row 0 by anna"):
            certify(run, files, out=tmp_path / "c.json")


def test_a_question_of_several_rows_is_no_key(tmp_path: Path) -> None:
    folder = exact_run(tmp_path / "run", [{**row, "question": "Again?"} for row in exact_rows()])
    with pytest.raises(DatasetError, match=r"40 rows of .* have the question 'Again.'.*column 'row'"):
        certify(folder, write_csv(tmp_path / "l.csv", ["question,exact_match", "Again?,1"]))


def apart(line: str) -> Iterator[str]:
    row, anna, bob = line.split(",")
    yield f"{row},anna,{anna}"
    yield f"{row},bob,{bob}"


def test_grades_are_moved_to_the_range_of_the_scores(run: Path, tmp_path: Path) -> None:
    """5 for right answers, 1 for wrong ones, but one 4: kappa = 1 - observed/expected squared distance."""
    grades = [5] * 20 + [1] * 20
    grades[0] = 4
    found = part(certify(run, table(tmp_path / "l.csv", grades), scale=["exact_match=1..5"], out=tmp_path / "c.json"))
    assert found["scale"] == {"kind": "graded", "low": 1, "high": 5}
    expected = (19 * 20 * 16 + 20 * 9 + 20 * 20 * 16 + 20) / 1600
    assert found["graded"]["kappa_quadratic"]["value"] == pytest.approx(1 - (1 / 40) / expected)
    assert found["label_mean"]["label_mean"] == pytest.approx((5 * 19 + 4 + 20) / 40)
    assert found["label_mean"]["judge_mean"] == pytest.approx(3)


def test_labels_of_statements_are_compared_with_verdicts_row_by_row(faithful: Path, tmp_path: Path) -> None:
    """Of 40 second statements the judge accepts the even ones; people accept 0 and 1, too, but not 2."""
    people = [1 if place % 2 == 0 else 0 for place in range(ROWS)]
    people[1] = 1
    people[2] = 0
    lines = ["row,metric,statement,label"]
    lines += [
        f"{row},faithfulness,It is {'wrong' if row % 2 else 'so'} {row}.,{label}" for row, label in enumerate(people)
    ]
    lines += [f"{row},faithfulness, It is {row}. ,1" for row in range(5)]
    found = part(certify(faithful, write_csv(tmp_path / "l.csv", lines), out=tmp_path / "c.json"), "faithfulness")
    own = found["statements"]
    assert (own["labels"], own["rows"], own["tied"], own["unclear"]) == (45, 40, 0, 0)
    assert own["binary"]["confusion"] == {
        "true_positive": 19 + 5, "false_positive": 1, "false_negative": 1, "true_negative": 19,
    }  # fmt: skip
    assert "clustered" in own["binary"]["agreement"]["ci_method"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "3,faithfulness,It is another.,1",
            r"row 2, column 'label': .* no verdict on the statement 'It is another\.' in",
        ),
        ("3,faithfulness,It is 3.,2", "labels of statements are 0 or 1"),
    ],
)
def test_labels_of_statements_that_nobody_judged_are_refused(
    faithful: Path, tmp_path: Path, line: str, said: str
) -> None:
    with pytest.raises(DatasetError, match=said):
        certify(faithful, write_csv(tmp_path / "l.csv", ["row,metric,statement,label", line]))


def test_the_worst_disagreements_have_the_judge_s_reasons(faithful: Path, tmp_path: Path) -> None:
    labels = [0] + [1] * (ROWS - 1)  # the score of row 0 is 1, that of odd rows 0.5
    lines = ["row,faithfulness", *(f"{row},{label}" for row, label in enumerate(labels))]
    found = certify(faithful, write_csv(tmp_path / "l.csv", lines), out=tmp_path / "c.json")
    worst = found.disagreements[0]
    assert (worst.row, worst.label, worst.score, worst.question) == (0, 0.0, 1.0, "Question 0?")
    assert worst.reasons[-1] == "supported: “It is so 0.”. about: It is so 0."
    assert [each.row for each in found.disagreements] == [0, 1, 3, 5, 7]


def test_the_certificate_names_judge_prompts_language_data_and_date(faithful: Path, tmp_path: Path) -> None:
    lines = ["row,faithfulness", *(f"{row},{row % 2}" for row in range(ROWS))]
    file = write_csv(tmp_path / "l.csv", lines)
    made = [certify(faithful, file, out=tmp_path / name) for name in ("a.json", "b.json")]
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    certificate = json.loads((tmp_path / "a.json").read_bytes())
    assert certificate == json.loads(json.dumps(made[0].certificate))
    about = certificate["metrics"]["faithfulness"]
    assert date.fromisoformat(certificate["date"])
    assert (certificate["language"], certificate["rows"]) == ("english", ROWS)
    assert about["judge"] == "script"
    assert set(about["prompts"]) == {
        "faithfulness.statement_generator_prompt", "faithfulness.nli_statement_prompt"
    }  # fmt: skip
    assert about["signature"].startswith("metric:faithfulness|")


def test_the_summary_keeps_the_mean_label_through_merge_and_new_groups(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    write_lines(rows, exact_rows())
    config = tmp_path / "config.yaml"
    config.write_text("name: run\ndataset: rows.jsonl\nmetrics: [exact_match]\n", "utf-8")
    folder = tmp_path / "results" / "run"
    run_command(config)

    def labels() -> Any:
        return json.loads((folder / "summary.json").read_bytes())["exact_match"].get("labels")

    assert labels() is None
    certify(folder, label={"exact_match": "human"})
    assert labels()["label_mean"] == pytest.approx(19 / 40)
    certify(folder, label={"exact_match": "human"})  # which refuses files that are not as they were written
    run_command("merge", folder)
    assert labels()["label_mean"] == pytest.approx(19 / 40)
    run_command(config, "--set", "group_by=[human]")
    summary = json.loads((folder / "summary.json").read_bytes())["exact_match"]
    assert set(summary["groups"]) == {"human"}
    assert summary["labels"]["label_mean"] == pytest.approx(19 / 40)
    write_lines(rows, exact_rows(right=10))
    run_command(config, "--fresh")
    assert labels() is None  # other rows


def test_a_sheet_that_was_filled_in_gives_a_weighted_mean_and_counts_blanks(graded: Path, tmp_path: Path) -> None:
    record = label_sheet(graded, tmp_path / "s.xlsx", size=24)
    words: list[Any] = ["yes" if label else "no" for label in HUMAN]
    words[record.rows[0]] = None
    found = part(certify(graded, fill(tmp_path / "s.xlsx", words), out=tmp_path / "c.json"), "answer_rubric")
    assert (found["chosen"], found["labels"], found["blank"]) == ("drawn", 23, 1)
    mean = found["label_mean"]
    assert mean["ci_low"] < 19 / 40 < mean["ci_high"]
    assert mean["ci_high"] - mean["ci_low"] < 0.5
    words[record.rows[0]] = "vielleicht"
    with pytest.raises(DatasetError, match=r"s\.xlsx, row 2, column 'answer_rubric': 'vielleicht' is no label"):
        certify(graded, fill(tmp_path / "s.xlsx", words), out=tmp_path / "c.json")


def test_a_larger_draw_holds_the_labels_that_its_rows_have(tmp_path: Path) -> None:
    folder = graded_run(tmp_path / "run")
    words = ["yes" if label else "no" for label in HUMAN]
    first = label_sheet(folder, tmp_path / "s.xlsx", size=24)
    certify(folder, fill(tmp_path / "s.xlsx", words))
    more = label_sheet(folder, tmp_path / "m.xlsx", size=34)
    cells = list(openpyxl.load_workbook(tmp_path / "m.xlsx").worksheets[0].iter_rows(min_row=2))
    again = set(first.rows) & set(more.rows)
    assert {row[0].value: row[-1].value for row in cells} == {
        row: words[row] if row in again else None for row in more.rows
    }
    found = part(certify(folder, fill(tmp_path / "m.xlsx", words)), "answer_rubric")
    assert (found["labels"], found["blank"], found["chosen"]) == (34, 0, "drawn")


NOT_AGAIN = {
    "nobody knows how rows were chosen": (["row,answer_rubric"], [f"{row},{HUMAN[row]}" for row in range(30)]),
    "labels of two people": (
        ["row,answer_rubric.anna,answer_rubric.bob"], [f"{row},{HUMAN[row]},{HUMAN[row]}" for row in range(ROWS)],
    ),
    "grades": (["row,answer_rubric"], [f"{row},{HUMAN[row] or 0.5}" for row in range(ROWS)]),
}  # fmt: skip


@pytest.mark.parametrize("lines", NOT_AGAIN.values(), ids=NOT_AGAIN)
def test_other_labels_are_not_filled_in(tmp_path: Path, lines: tuple[list[str], list[str]]) -> None:
    folder = graded_run(tmp_path / "run")
    certify(folder, write_csv(tmp_path / "l.csv", [*lines[0], *lines[1]]))
    label_sheet(folder, tmp_path / "m.xlsx", size=34)
    rows = openpyxl.load_workbook(tmp_path / "m.xlsx").worksheets[0].iter_rows(min_row=2)
    assert {row[-1].value for row in rows} == {None}


def test_labels_of_rows_that_were_not_drawn_are_read_and_not_counted(graded: Path, tmp_path: Path) -> None:
    record = label_sheet(graded, tmp_path / "s.xlsx", size=24)
    drawn = set(record.rows)
    lines = ["row,draw,answer_rubric", *(f"{row},{record.name},{HUMAN[row]}" for row in sorted(drawn))]
    plain = certify(graded, write_csv(tmp_path / "a.csv", lines), out=tmp_path / "a.json")
    others = [f"{row},,{1 - HUMAN[row]}" for row in range(ROWS) if row not in drawn]  # the contrary of the truth
    more = certify(graded, write_csv(tmp_path / "b.csv", lines + others), out=tmp_path / "b.json")
    assert part(more, "answer_rubric").pop("not_drawn") == ROWS - 24
    part(plain, "answer_rubric").pop("not_drawn")
    assert part(more, "answer_rubric") == part(plain, "answer_rubric")
    assert any(not each.drawn for each in more.disagreements)


def test_a_draw_of_other_rows_is_refused(graded: Path, tmp_path: Path) -> None:
    other = graded_run(tmp_path / "other", exact_rows(right=15))
    record = label_sheet(graded, tmp_path / "s.xlsx", size=24)
    (other / "labels").mkdir()
    (other / "labels" / f"{record.name}.json").write_bytes((graded / "labels" / f"{record.name}.json").read_bytes())
    lines = ["id,draw,answer_rubric", *(f"r{row},{record.name},1" for row in record.rows)]
    with pytest.raises(ResultsError, match="drawn from other rows"):
        certify(other, write_csv(tmp_path / "l.csv", lines))


def test_lower_is_better_is_turned_so_that_1_is_what_people_accept(tmp_path: Path) -> None:
    """Scores are low for what people accept."""
    found = certified(tmp_path / "run", [0.1] * 15 + [0.9] * 15, [1] * 15 + [0] * 15, better="lower", threshold=0.3)
    assert found["binary"]["auc"]["value"] == 1
    assert found["binary"]["confusion"]["true_positive"] == 15
    assert found["binary"]["threshold"] == pytest.approx(0.3)
    assert found["label_mean"]["judge_mean"] == pytest.approx(0.5)


def test_a_drawn_row_counts_for_as_many_rows_as_its_probability_implies(tmp_path: Path) -> None:
    """Rows of probability 1/2 agree, those of 1/4 do not: 10 * 2 of 10 * 2 + 20 * 4 rows."""
    run = scored_run(tmp_path / "run", [1.0] * 100, [None] * 100)
    name = keep_draw(run, range(30), [0.5] * 10 + [0.25] * 20 + [0.5] * 70)
    labels = write_csv(tmp_path / "l.csv", ["row,draw,m", *(f"{row},{name},{int(row < 10)}" for row in range(30))])
    found = part(certify(run, labels, threshold={"m": 0.5}), "m")
    assert found["binary"]["agreement"]["mean"] == pytest.approx(20 / 100)


def test_a_configured_threshold_was_fixed_before(tmp_path: Path) -> None:
    folder = exact_run(tmp_path / "run", thresholds={"exact_match": 0.7})
    found = part(certify(folder, label={"exact_match": "human"}))
    assert (found["binary"]["threshold"], found["binary"]["cross_fitted"]) == (0.7, False)


def test_missing_scores_are_a_stratum_of_their_own(tmp_path: Path) -> None:
    rows = [{**row, "answer": None} if place > 35 else row for place, row in enumerate(exact_rows())]
    found = part(certify(exact_run(tmp_path / "run", rows), label={"exact_match": "human"}))
    assert (found["labels"], found["compared"], found["label_mean"]["unscored"]) == (40, 36, 4)
    assert found["label_mean"]["label_mean"] == pytest.approx(19 / 40)
    assert not math.isnan(found["label_mean"]["judge_mean"])


def test_scores_are_no_labels(faithful: Path, tmp_path: Path) -> None:
    copied = tmp_path / "copied.csv"
    copied.write_bytes((faithful / "scores.csv").read_bytes())
    with pytest.raises(DatasetError, match=r"copied\.csv: its labels of faithfulness are the scores themselves"):
        certify(faithful, copied, out=tmp_path / "c.json")


def test_a_metric_does_not_certify_itself(tmp_path: Path) -> None:
    """Scores of 0 and 1 look like labels: neither a column with them nor a file of the run is a label."""
    rows = [{**row, "exact_match": float(row["answer"] == "yes")} for row in exact_rows()]
    folder = exact_run(tmp_path / "run", rows)
    with pytest.raises(ConfigError, match=r"--label exact_match=exact_match: .* holds scores"):
        certify(folder, label={"exact_match": "exact_match"})
    with pytest.raises(ConfigError, match=r"--label exact_match=ExactMatch: .* holds scores"):
        certify(folder, label={"exact_match": "ExactMatch"})
    for name in ("scores.csv", "scores.jsonl"):
        with pytest.raises(DatasetError, match=rf"{name}: a file of the run itself, with its scores"):
            certify(folder, folder / name)
    assert not (folder / "certificate.json").exists()
