"""`rag-evaluator compare` and `gate`: what they print, write and exit with."""

import csv
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from aliases import Capture
from folders import write_lines
from report.made_files import made_run

from rag_evaluator import RAGEvaluator
from rag_evaluator.cli.main import main

ROOT = Path(__file__).parents[2]
ROWS = 40
TWO_ROWS = [{"id": place, "user_input": "What?", "response": "It.", "reference": "It."} for place in range(2)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs, `a` and `b`: in `b` one answer is wrong, to a question that a terminal could misread."""
    base = tmp_path_factory.mktemp("results")
    for name, wrong in (("a", None), ("b", 3)):
        rows = [
            {
                "question": "[bold]Who?[/bold] \x1b[31m=1" if place == 3 else f"Question {place}?",
                "answer": "no" if place == wrong else "yes",
                "ground_truth": "yes",
                "topic": "=cmd()" if place % 2 else "[red]law",
            }
            for place in range(ROWS)
        ]
        RAGEvaluator({"metrics": ["exact_match", "chrf_score"], "name": name}).evaluate(rows, folder=base / name)
    return base


def run(folder: Path, *arguments: str) -> int:
    """The exit code; names of runs are those in the folder."""
    return main([str(folder / word) if word in ("a", "b") else word for word in arguments])


def test_the_table_has_every_figure_and_the_changed_row_as_it_is(folder: Path, capsys: Capture) -> None:
    assert run(folder, "compare", "a", "b", "--group-by", "topic") == 0
    shown = capsys.readouterr().out
    (line,) = [line for line in shown.splitlines() if "exact_match" in line and "1.0000" in line]
    cells = [cell.strip() for cell in re.split("[│|]", line)[1:-1]]
    assert cells[0] == "exact_match"
    assert cells[1:3] == ["1.000", "0.975"]
    assert cells[3].startswith("-0.025 [-0.1")
    assert cells[4:8] == ["0/39/1", "not settled", "0.6063", "1.0000"]
    assert f"{ROWS} rows of" in shown
    assert "  row 4: exact_match 1.000 → 0.000  [bold]Who?[/bold] [31m=1" in shown  # no markup, no control characters
    assert "\x1b" not in shown
    assert "topic: [red]law" in shown


@pytest.mark.parametrize("width", ["80", "100", "139"])
def test_a_narrow_terminal_shows_metric_means_difference_and_conclusion_and_names_the_rest(
    folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, width: str
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    assert run(folder, "compare", "a", "b", "--group-by", "topic") == 0
    lines = capsys.readouterr().out.splitlines()
    tables = [[cell.strip() for cell in re.split("[│┃]", line)[1:-1]] for line in lines if line[:1] in "│┃"]
    assert ["metric", "first", "second", "difference", "conclusion"] in tables
    cells = next(cells for cells in tables if cells[0] == "exact_match")
    assert (cells[1:3], cells[4]) == (["1.000", "0.975"], "not settled")
    assert re.fullmatch(r"-0\.025 \[-0\.\d{3}, 0\.\d{3}\]", cells[3])
    assert "won/tie/lost, p, p (Holm), can show, rows to show 0.05: in 140 columns" in " ".join(map(str.strip, lines))
    assert max(len(line) for line in lines if line[:1] in "│┃┡└") <= int(width)


def test_rows_that_changed_are_printed_without_control_characters(tmp_path: Path, capsys: Capture) -> None:
    claim = "\x1b[31mAnnam\u202e\n[bold]lies[/bold] " + "far " * 1_000
    runs = []
    for name, verdict, response in (("one", 1, "It lies.\x07"), ("two", 0, "It stands." + "!" * 1_000)):
        answer = {"statements": [{"statement": claim, "reason": "why\r\nnot", "verdict": verdict}]}
        judgement = {"prompt": "nli_statement_prompt", "prompt_digest": "d", "input": {}, "response": answer}
        details = [{"row": 0, "sample": "ab", "metric": "faithfulness", "judgements": [judgement]}]
        rows = [{"user_input": "Who?", "response": response}]
        scores = {"faithfulness": [float(verdict)], "bleu_score": [0.5 * verdict]}
        runs.append(str(made_run(tmp_path / name, scores, rows=rows, details=details)))
    assert main(["compare", *runs]) == 0
    shown = capsys.readouterr().out
    lines = shown[shown.index("became worse:") :].splitlines()
    assert lines[:2] == ["became worse:", "  row 1: faithfulness 1.000 → 0.000  Who?"]
    assert lines[2].startswith("    claim “ [31mAnnam [bold]lies[/bold] far far ")
    assert lines[2].endswith(" f…”: not supported instead of supported. why not")
    assert lines[3] == "    also changed: bleu_score 0.500 → 0.000"
    assert lines[4] == "    first:  It lies."
    assert re.fullmatch("    second: It stands.!+…", lines[5])
    assert max(map(len, lines)) <= 172
    assert shown.replace("\n", "").isprintable()


@pytest.mark.parametrize("width", ["80", "160"])
def test_two_runs_are_compared_in_40_lines_at_most(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, width: str
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    runs = []
    for name, better in (("one", 0), ("two", 1)):
        scores = {metric: [float((place + better) % 3 > 0) for place in range(60)] for metric in ("m", "n")}
        rows = [{"user_input": f"q{place}", "response": f"{name} {place}"} for place in range(60)]
        groups = {"topic": [f"a topic with a long name, of number {place % 15}" for place in range(60)]}
        runs.append(str(made_run(tmp_path / name, scores, rows=rows, groups=groups)))
    assert main(["compare", *runs, "--group-by", "topic"]) == 0
    shown = capsys.readouterr().out
    assert len(shown.splitlines()) <= 40
    assert re.search(r"^  row \d+: [mn] ", shown, re.MULTILINE)
    assert "topic: a topic" in " ".join(shown.split())
    assert shown.endswith("Not everything is shown here: the report, --markdown and --json have all.\n")


@pytest.mark.charts
def test_a_page_names_no_folder_of_this_machine(tmp_path: Path) -> None:
    """Though the runs are given by absolute paths, and sentences say what makes their scores differ."""
    for name, limit, more in (("a", None, {}), ("b", 1, {"user_input": "Else?", "response": "No."})):
        config = {"metrics": ["exact_match"], "name": name, "limit": limit}
        RAGEvaluator(config).evaluate([{**row, **more} for row in TWO_ROWS], folder=tmp_path / name)
    partial = tmp_path / "b"
    page = tmp_path / "page.html"
    assert main(["report", str(tmp_path / "a"), str(partial), "--out", str(page)]) == 0
    assert main(["report", str(partial)]) == 0
    compared, alone = (path.read_text("utf-8") for path in (page, partial / "report.html"))
    assert '<li dir="auto">b is partial: 1 of 2 rows' in compared
    assert "have other questions in b" in compared
    assert "Nobody has checked" in alone
    assert str(tmp_path) not in compared + alone


def test_a_csv_file_gets_the_table_and_no_formula(folder: Path, tmp_path: Path) -> None:
    assert run(folder, "compare", "a", "b", "--group-by", "topic", "--csv", str(tmp_path / "out.csv")) == 0
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["metric"] for line in lines] == ["exact_match", "chrf_score"] * 3
    assert float(lines[0]["difference"]) == pytest.approx(-1 / ROWS)
    assert {line["group"] for line in lines} == {"", "[red]law", "'=cmd()"}


def test_the_effect_and_the_column_to_match_are_options(folder: Path, capsys: Capture) -> None:
    assert run(folder, "compare", "a", "b", "--on", "question", "--effect", "0.1") == 0
    shown = capsys.readouterr().out
    assert "matched by 'question'" in shown
    assert f"Next: rag-evaluator report {folder / 'a'} {folder / 'b'} --on question\n" in shown
    assert "A difference of 0.10 needs about 51 rows." in shown


def test_what_lies_within_a_margin_is_called_equal(folder: Path, capsys: Capture) -> None:
    assert run(folder, "compare", "a", "b", "--margin", "exact_match=0.2") == 0
    assert "Equal within the margin of 0.2: exact_match -0.025 [" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("rules", "code", "said"),
    [
        (["--min", "exact_match=0.8"], 0, ["Passed: exact_match: 0.97 [0.8"]),
        (["--min", "exact_match=0.97"], 1, ["Failed: exact_match: 0.975 [0.8", "Next: rag-evaluator report "]),
        (["--not-worse-than", "a", "--margin", "0.2"], 0, ["Passed: all 2 rules; the closest is chrf_score: diff"]),
        (
            ["--not-worse-than", "a", "--margin", "exact_match=0.01"],
            1,
            ["Failed: exact_match: difference -0.03 [", "Next: rag-evaluator compare "],
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_gate_exits_with_one_and_begins_with_what_failed(
    folder: Path, capsys: Capture, rules: list[str], code: int, said: list[str]
) -> None:
    assert run(folder, "gate", "b", *rules) == code
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(said)
    for line, expected in zip(lines, said, strict=True):
        assert line.startswith(expected)


def test_junit_has_a_test_case_per_rule(folder: Path, tmp_path: Path) -> None:
    rules = ["--min", "exact_match=0.97", "--min", "chrf=0.5", "--junit", str(tmp_path / "gate" / "junit.xml")]
    assert run(folder, "gate", "b", *rules) == 1
    root = ElementTree.parse(tmp_path / "gate" / "junit.xml").getroot()  # our own file
    (suite,) = root
    assert (root.tag, suite.get("tests"), suite.get("failures")) == ("testsuites", "2", "1")
    cases = {case.get("name"): case.find("failure") for case in suite}
    assert list(cases) == ["exact_match >= 0.97", "chrf_score >= 0.5"]
    failure = cases["exact_match >= 0.97"]
    assert failure is not None
    assert "the rule needs at least 0.97" in (failure.get("message") or "")
    assert cases["chrf_score >= 0.5"] is None


def test_a_fall_that_correction_leaves_open_is_a_state_of_its_own_in_json_and_junit(
    tmp_path: Path, capsys: Capture
) -> None:
    scores = {"good": {3}, "bad": {1, 2, 4, 5, 6, 7, 8}}
    for name, wrong in scores.items():
        rows = "".join(f"Q{row},{float(row not in wrong)},{0.5 - row % 2 / 10},0.4\n" for row in range(16))
        (tmp_path / f"{name}.csv").write_text(f"user_input,exact_match,bleu,rouge\n{rows}", "utf-8")
    runs = [str(tmp_path / f"{name}.csv") for name in ("bad", "good")]
    junit = tmp_path / "gate.xml"
    words = ["gate", runs[0], "--fail-if-worse", runs[1], "--junit", str(junit)]
    assert main([*words, "--json"]) == 0
    verdicts = json.loads(capsys.readouterr().out)["verdicts"]
    assert [verdict["state"] for verdict in verdicts] == ["not settled after correction", "passed", "passed"]
    [suite] = ElementTree.parse(junit).getroot()  # our own file
    assert (suite.get("failures"), suite.get("skipped")) == ("0", "1")
    assert [case.find("skipped") is not None for case in suite] == [True, False, False]
    assert main([*words, "--fail-if-not-settled"]) == 3
    assert ElementTree.parse(junit).getroot()[0].get("failures") == "1"


def test_against_says_what_compare_says_with_its_caveats(tmp_path: Path, capsys: Capture) -> None:
    for name, reference in (("a", "yes"), ("b", "no")):
        rows = [{"user_input": f"Q{row}", "response": "yes", "reference": reference} for row in range(30)]
        write_lines(tmp_path / f"{name}.jsonl", rows)
        config = f"name: {name}\ndataset: {name}.jsonl\nmetrics: [exact_match]\n"
        (tmp_path / f"{name}.yaml").write_text(config, "utf-8")
    folders = [str(tmp_path / "results" / name) for name in "ab"]
    assert main([str(tmp_path / "a.yaml")]) == 0
    assert main([str(tmp_path / "b.yaml"), "--against", folders[0]]) == 0
    said = capsys.readouterr().out.partition(f"against {folders[0]}:\n")[2].partition("\nwritten: ")[0]
    assert main(["compare", *folders]) == 0
    compared = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("Next: ")]
    assert said.splitlines() == compared[: said.count("\n") + 1]
    assert "Decide: No run is named: more than 10% of the rows have other questions or references." in said
    assert "30 of 30 questions have another reference" in said


BAD: list[tuple[list[str], str]] = [
    (["compare", "a"], "expected two runs or more"),
    (["compare", "a", "b", "--group-by", "tpic"], "no row has something in 'tpic'.*Did you mean 'topic'"),
    (["compare", "a", "b", "--margin", "exact_mach=0.2"], "margin: 'exact_mach' is not compared here. Compared: exact"),
    (["compare", "a", "b", "--margin", "0"], "margin is 0.0: expected a difference above 0"),
    (["compare", "a", "b", "--margin", "exact_match"], "--margin exact_match"),
    (["compare", "a", "b", "--better", "chrf"], "--better chrf: expected METRIC=higher or METRIC=lower"),
    (["compare", "a", "b", "--csv", "/dev/null/out.csv"], "cannot be written"),
    (["gate", "b", "--min", "faithfulness=0.5"], "no scores of 'faithfulness'. Known: exact_match, chrf_score"),
    (["gate", "b", "--min", "exact_match=high"], "expected METRIC=NUMBER"),
    (["gate", "b", "--not-worse-than", "a", "--margin", "much"], "--margin"),
    (["gate", "b", "--not-worse-than", "a", "--margin", "0.1", "--margin", "0.2"], "expected one number"),
    (
        ["gate", "b", "--not-worse-than", "a", "--margin", "0.1", "--margin", "chrf=0.2"],
        "--margin 0.1: expected METRIC=NUMBER",
    ),
]


@pytest.mark.parametrize(("arguments", "said"), BAD, ids=[" ".join(arguments) for arguments, _ in BAD])
def test_bad_input_is_one_line_that_says_what_to_do_and_exit_code_2(
    folder: Path, capsys: Capture, arguments: list[str], said: str
) -> None:
    assert run(folder, *arguments) == 2
    printed = capsys.readouterr()
    assert re.search(said, printed.err)
    assert printed.err.startswith("error: ")
    assert printed.err.count("\n") == 1
    assert printed.out == ""
