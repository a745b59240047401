"""`testset make` and `testset check` as commands: what they print, their exit codes, and what they refuse."""

import json
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from aliases import Capture, Patch

from rag_evaluator import ScriptedJudge
from rag_evaluator.cli.main import main
from rag_evaluator.judge import source_of
from tests.features.testset.document_files import write_pdf
from tests.features.testset.testset_world import Knowing, write_documents, write_rows

CONFIG = """\
metrics: [faithfulness]
name: towns
testset:
  documents: [documents]
  kinds: {single_fact: 1}
  candidates: 12
  size: 4
"""
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def judge(monkeypatch: Patch) -> ScriptedJudge:
    """A judge that knows everything, in place of the configured one."""
    knowing = Knowing("english").judge()
    monkeypatch.setattr("rag_evaluator.tasks.question.source_of", lambda judge, *about: source_of(knowing, *about))
    return knowing


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_documents(tmp_path / "documents", "english")
    (tmp_path / "config.yaml").write_text(CONFIG, "utf-8")
    return tmp_path


@pytest.fixture
def run(project: Path, monkeypatch: Patch, capsys: Capture) -> Run:
    """Runs a command in the folder of the project: exit code, output, errors."""
    monkeypatch.chdir(project)
    monkeypatch.setenv("COLUMNS", "200")

    def run(command: str) -> tuple[int, str, str]:
        code = main(shlex.split(command))
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


def test_the_size_of_the_last_start_counts_in_all_files_also_when_they_are_merged(
    run: Run, project: Path, judge: ScriptedJudge
) -> None:
    results = project / "results" / "towns"
    assert run("testset make config.yaml --size 2")[0] == 0
    assert run("testset make config.yaml --size 3")[0] == 0
    settings = json.loads((results / "testset_manifest.json").read_bytes())["config"]["testset"]
    assert settings["size"] == 3
    written = {path.name: path.read_bytes() for path in results.glob("testset*") if path.is_file()}
    (results / "testset.jsonl").unlink()
    assert run("merge results/towns")[0] == 0
    assert {name: (results / name).read_bytes() for name in written} == written
    shutil.rmtree(results)
    assert run("testset make config.yaml --size 3")[0] == 0
    assert {name: (results / name).read_bytes() for name in written} == written


def test_a_test_set_is_made_and_shown_in_words_or_as_one_json_document(run: Run, judge: ScriptedJudge) -> None:
    code, out, _ = run("testset make config.yaml")
    assert code == 0
    assert "12 documents, 12 chunks" in out and "4 of 4 questions, chosen from 12 candidates" in out
    code, out, _ = run("testset make config.yaml --size 6 --json --fresh")
    made = json.loads(out)
    assert code == 1, "4 good ones of 6"
    assert (made["name"], made["wanted"], made["chosen"], made["judge_calls"]) == ("towns", 6, 4, judge.asked // 2)


def test_more_candidates_need_no_update_and_other_judges_are_refused(run: Run, judge: ScriptedJudge) -> None:
    assert run("testset make config.yaml --set testset.candidates=6 --size 2")[0] == 0
    first = judge.asked
    assert run("testset make config.yaml")[0] == 0
    grown = judge.asked
    assert grown > first
    assert run("testset make config.yaml --set testset.candidates=6 --size 2")[0] == 0, (
        "fewer are chosen from the first"
    )
    assert run("testset make config.yaml")[0] == 0
    assert judge.asked == grown, "nothing is asked twice"
    code, _, err = run("testset make config.yaml --set testset.neighbours=3")
    assert code == 2 and "neighbours 10 before, 3 now" in err


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("testset make config.yaml --set testset.documents=[]", "'testset.documents' is missing"),
        ("testset make config.yaml --documents empty", "no documents here"),
        ("testset make config.yaml --documents scan", "scan.pdf: no text in it"),
        ("testset make config.yaml --size 50", "50 questions are wanted, and 12 chunks"),
        ("testset make config.yaml --set testset.kinds='{singel_fact: 1}'", "'singel_fact' is no kind of question"),
        ("testset make config.yaml --set testset.kinds='{single_fact: 0}'", "all shares are 0"),
        ("testset make config.yaml --set testset.filters=[easy]", "'easy'"),
        ("testset make kinds.yaml", "kinds.yaml, line 3"),
        ("testset check nothing.jsonl --config config.yaml", "nothing.jsonl"),
        ("testset check answers.jsonl --config config.yaml", "user_input"),
    ],
)
def test_bad_input_is_refused_and_nothing_is_written(run: Run, project: Path, command: str, said: str) -> None:
    (project / "empty").mkdir()
    (project / "scan").mkdir()
    write_pdf(project / "scan" / "scan.pdf", "")
    (project / "kinds.yaml").write_text("metrics: [faithfulness]\ntestset:\n  kinds: {singel_fact: 1}\n")
    write_rows(project / "answers.jsonl", [{"response": "Yes."}])
    code, out, err = run(command)
    assert (code, out) == (2, "") and err.startswith("error: ") and said in err
    assert list((project / "results").rglob("testset*")) == []


def test_documents_of_the_command_are_relative_to_where_it_is_typed_those_of_the_file_to_the_file(
    run: Run, project: Path, judge: ScriptedJudge, monkeypatch: Patch
) -> None:
    (project / "inside").mkdir()
    write_documents(project / "inside" / "others", "english")
    monkeypatch.chdir(project / "inside")
    assert run("testset make ../config.yaml")[0] == 0, "documents beside the configuration"
    assert run("testset make ../config.yaml --documents others --set name=others")[0] == 0
    assert run("testset make ../config.yaml --documents documents")[0] == 2
