"""Faults of runs that lost work, locked it, or believed what was damaged; each was reproduced before it was mended."""

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aliases import Capture, ModelFolder, Patch, Rows
from command_starter import Zygote
from folders import contents_of, printed, results_of, run_command, write_config

from rag_evaluator import RAGEvaluator, RagEvaluatorError, ScriptedJudge
from rag_evaluator.cli.main import main
from rag_evaluator.files import Appender

pytestmark = pytest.mark.processes

ROOT = Path(__file__).parents[2]


def rows_of(count: int) -> Rows:
    return [
        {
            "user_input": f"Where was number {number} born?",
            "retrieved_contexts": [f"Number {number} was born in Tesk."],
            "response": f"Number {number} was born in Tesk.",
            "reference": f"Number {number}: in Tesk.",
        }
        for number in range(count)
    ]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return write_config(tmp_path, rows_of(12), "metrics: [exact_match, chrf_score]\nchunk_size: 4")


def journal_files(config: Path, folder: str) -> list[Path]:
    """Files of a folder of the journal, whatever generation it belongs to."""
    return sorted(path for path in (results_of(config) / "journal").rglob(f"{folder}/*") if path.is_file())


def unpublish(config: Path, chunk: int, change: Callable[[bytes], bytes] = bytes) -> Path:
    """Make a finished chunk an unfinished one, as if its worker had been killed before it published."""
    [part] = [path for path in journal_files(config, "parts") if path.stem == f"{chunk:06d}"]
    lines = part.read_bytes().splitlines(keepends=True)[:-1]
    scores = part.parent.parent / "scores" / f"{chunk:06d}.killed.jsonl"
    scores.write_bytes(b"".join(map(change, lines)))
    part.unlink()
    (results_of(config) / "scores.csv").unlink()
    return scores


def test_a_damaged_value_of_an_unfinished_chunk_is_not_used(config: Path, capsys: Capture) -> None:
    run_command(config)
    scores = unpublish(config, 1, lambda line: line.replace(b'"value": 0.0', b'"value": 7.0'))
    assert f"{scores}, line 1: damaged (its checksum does not fit)" in printed(capsys, 2, config)


def test_a_value_beyond_the_metrics_range_is_refused_though_its_checksum_fits(config: Path, capsys: Capture) -> None:
    from rag_evaluator.files import checked_line, read_checked

    def spoil(line: bytes) -> bytes:
        return checked_line({**read_checked(line), "value": 7.0})

    run_command(config)
    unpublish(config, 1, spoil)
    message = printed(capsys, 2, config)
    assert "000001" in message
    assert "7.0 is no exact_match, which lies between 0.0 and 1.0" in message


class TestStartingOver:
    """`--fresh` must not lose what there is before there is something new."""

    def test_fresh_with_a_broken_template_leaves_everything_as_it_was(
        self, tmp_path: Path, model_folder: ModelFolder, capsys: Capture
    ) -> None:
        model = model_folder("llama-bytelevel")
        text = f"metrics: [context_relevance]\njudge: {{model: {model}, max_new_tokens: 32}}"
        config = write_config(tmp_path, rows_of(2), text)
        run_command(config)
        before = contents_of(results_of(config).rglob("*"))
        (tmp_path / "broken.jinja").write_text("{{ messages[0.content }}", "utf-8")
        printed(capsys, 2, config, "--fresh", "--set", "judge.chat_template=broken.jinja")
        after = contents_of(results_of(config).rglob("*"))
        assert before.items() <= after.items()
        assert "was complete already" in printed(capsys, 0, config)

    def test_fresh_that_is_killed_before_its_first_score_loses_nothing(self, config: Path, monkeypatch: Patch) -> None:
        run_command(config)
        before = contents_of(journal_files(config, "parts"))

        def stop(*_: Any) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr("rag_evaluator.models.Models.scorer", stop)
            assert main([str(config), "--fresh"]) == 130
        assert contents_of(journal_files(config, "parts")) == before

    def test_fresh_makes_every_score_again(self, config: Path) -> None:
        run_command(config)
        before = contents_of(results_of(config).iterdir())
        made = {path.stat().st_mtime_ns for path in journal_files(config, "parts")}
        run_command(config, "--fresh")
        assert contents_of(results_of(config).iterdir()) == before
        parts = journal_files(config, "parts")
        assert len(parts) == 3
        assert not made & {path.stat().st_mtime_ns for path in parts}  # a file system may give an inode anew


FOREIGN = [
    ("scores.csv", "a,b\n1,2\n"),
    ("scores.xlsx", "not a workbook"),
    ("summary.json", "{}"),
    ("manifest.json", '{"name": "of my web application"}'),
    ("journal/manifest.json", '{"name": "of my diary"}'),
]


@pytest.mark.parametrize(("name", "text"), FOREIGN)
@pytest.mark.parametrize("flags", [(), ("--fresh",), ("--update",)])
def test_files_that_are_not_ours_are_never_replaced(
    name: str, text: str, flags: tuple[str, ...], config: Path, capsys: Capture
) -> None:
    path = results_of(config) / name
    path.parent.mkdir(parents=True)
    path.write_text(text, "utf-8")
    message = printed(capsys, 2, config, *flags)
    assert str(path.parent) in message
    assert path.read_text("utf-8") == text


@pytest.mark.parametrize(("name", "text"), FOREIGN[:4])
def test_results_are_not_written_over_files_that_are_not_ours(name: str, text: str, tmp_path: Path) -> None:
    results = RAGEvaluator({"metrics": ["exact_match"]}).evaluate(rows_of(1))
    (tmp_path / name).write_text(text, "utf-8")
    with pytest.raises(RagEvaluatorError, match=f"holds {name}, which this program did not write"):
        results.write(tmp_path)
    assert (tmp_path / name).read_text("utf-8") == text
    results.write(tmp_path / "other")
    results.write(tmp_path / "other")


def test_a_first_run_that_fails_before_any_score_does_not_lock_its_folder(
    tmp_path: Path, model_folder: ModelFolder, capsys: Capture
) -> None:
    text = f"metrics: [context_relevance]\njudge: {{model: {model_folder('llama-bytelevel')}, max_new_tokens: 32}}"
    config = write_config(tmp_path, rows_of(2), text)
    (tmp_path / "broken.jinja").write_text("{{ messages[0.content }}", "utf-8")
    printed(capsys, 2, config, "--set", "judge.chat_template=broken.jinja")
    assert "context_relevance" in printed(capsys, 0, config)


def test_a_folder_without_scores_is_not_taken_from_a_worker_that_is_loading_its_model(
    config: Path, capsys: Capture
) -> None:
    code = (
        "import sys, time\nfrom rag_evaluator.models import Models\n"
        "Models.scorer = lambda *_: (print('loading', flush=True), time.sleep(60))\n"
        "from rag_evaluator.cli.main import main\nmain([sys.argv[1]])"
    )
    command = [sys.executable, "-c", code, str(config)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "loading\n"
        message = printed(capsys, 2, config, "--set", "metrics=[bleu]")
        other.kill()
        assert "Changed: metrics: exact_match, chrf_score before, bleu_score now" in message
    assert "bleu_score" in printed(capsys, 0, config, "--set", "metrics=[bleu]")


def asked_on_update(folder: Path, before: Rows, after: Rows, metrics: list[str]) -> int:
    """Questions to the judge that an update needs."""
    judge = ScriptedJudge(
        {"ContextRelevanceOutput": {"rating": 2}, "AnswerAccuracyOutput": {"rating": 4}}, model_id="j"
    )
    evaluator = RAGEvaluator({"metrics": metrics}, judge=judge)
    evaluator.evaluate(before, folder=folder)
    asked = len(judge.prompts)
    results = evaluator.evaluate(after, folder=folder, start="update")
    assert [row["user_input"] for row in results.rows()] == [row["user_input"] for row in after]
    details = list(results.details())
    assert [line["row"] for line in details[:: len(metrics)]] == list(range(len(after)))
    return len(judge.prompts) - asked


EIGHT = rows_of(8)
UPDATES = [
    ("a row before the others", [rows_of(9)[8], *EIGHT], 2),
    ("a row in the middle", [*EIGHT[:4], rows_of(9)[8], *EIGHT[4:]], 2),
    ("the other way round", EIGHT[::-1], 0),
    ("one left out", EIGHT[1:], 0),
    ("each twice", [*EIGHT, *EIGHT], 0),
    ("a column that the metric does not read", [{**row, "reference": "changed"} for row in EIGHT], 0),
    ("a column that the metric reads", [{**EIGHT[0], "retrieved_contexts": ["Other."]}, *EIGHT[1:]], 2),
]


@pytest.mark.parametrize(("after", "asked"), [case[1:] for case in UPDATES], ids=[case[0] for case in UPDATES])
def test_update_judges_only_what_it_does_not_have(after: Rows, asked: int, tmp_path: Path) -> None:
    assert asked_on_update(tmp_path, EIGHT, after, ["context_relevance"]) == asked


def test_a_part_that_was_deleted_after_the_merge_is_made_again(config: Path, capsys: Capture) -> None:
    run_command(config)
    before = contents_of(results_of(config).iterdir())
    journal_files(config, "parts")[1].unlink()
    assert "The command that began the run makes them." in printed(capsys, 75, "merge", results_of(config))
    assert "written to" in printed(capsys, 0, config)
    assert len(journal_files(config, "parts")) == 3
    assert contents_of(results_of(config).iterdir()) == before
    printed(capsys, 0, "merge", results_of(config))


ODD = ["[]", '{"exact_match": {"mean": "a", "scored": 1, "count": 1, "reasons": {}}}', '{"plan": 3}', "\x00"]


@pytest.mark.parametrize("text", ODD)
@pytest.mark.parametrize("name", ["workers", "summary.json", "merged.json"])
def test_odd_files_of_a_finished_run_give_no_traceback(name: str, text: str, config: Path, capsys: Capture) -> None:
    run_command(config)
    summary = (results_of(config) / "summary.json").read_bytes()
    found = [path for path in results_of(config).rglob("*.json") if name in (path.name, path.parent.name)]
    assert found
    for path in found:
        path.write_text(text, "utf-8")
    assert "24/24" in printed(capsys, 0, "status", results_of(config))
    assert "exact_match" in printed(capsys, 0, config)
    assert (results_of(config) / "summary.json").read_bytes() == summary


def test_a_finished_run_that_is_started_again_writes_nothing_and_notices_a_changed_file(
    config: Path, capsys: Capture
) -> None:
    assert "written to" in printed(capsys, 0, config)
    again = printed(capsys, 0, config)
    assert "written to" not in again
    assert f"{results_of(config)} was complete already: nothing was scored or written" in again
    shutil.copy(results_of(config) / "scores.csv", results_of(config) / "copy")  # the same bytes at another time
    (results_of(config) / "copy").replace(results_of(config) / "scores.csv")
    assert "somebody has changed it" not in printed(capsys, 0, config)
    path = results_of(config) / "scores.csv"
    text = path.read_text("utf-8")
    path.write_text(text.replace("0.0", "1.0"), "utf-8")
    message = printed(capsys, 0, config)
    assert "scores.csv is not as written, somebody has changed it" in message
    assert path.read_text("utf-8") != text
    printed(capsys, 0, "merge", results_of(config))
    assert path.read_text("utf-8") == text


@pytest.mark.parametrize(
    ("signals", "state"),
    [
        ([[0.1, signal.SIGKILL]], "gone without a word (killed?)"),
        ([[0.1, signal.SIGTERM], [1.5, signal.SIGTERM]], "stopped at once by SIGTERM"),
    ],
)
def test_status_does_not_show_a_killed_worker_as_working(
    signals: list[list[float]], state: str, config: Path, zygote: Zygote, capsys: Capture
) -> None:
    run = {"arguments": [str(config), "--grace", "60"], "environment": {"SLOW": "60"}, "signals": signals}
    assert zygote.run(config.parent / "record", run) != [0]
    message = printed(capsys, 0, "status", results_of(config))
    assert state in message
    assert "│ works" not in message
    assert "nobody works" in message


def test_the_folder_of_an_older_version_is_refused_in_one_line(config: Path, capsys: Capture) -> None:
    journal = results_of(config) / "journal"
    journal.mkdir(parents=True)
    (journal / "manifest.json").write_text('{"format": 1, "digest": "a", "plan": {}, "about": {}}', "utf-8")
    for arguments in ([str(config)], ["status", str(results_of(config))], ["merge", str(results_of(config))]):
        message = printed(capsys, 2, *arguments)
        assert len(message.splitlines()) == 1
        assert "its journal has format 1, this version reads and writes 2" in message
        assert "--fresh" in message
    run_command(config, "--fresh")


def test_rows_that_change_while_a_run_lasts_are_not_taken_for_those_that_were_scored(
    config: Path, capsys: Capture
) -> None:
    rows = config.parent / "rows.jsonl"

    def edit(done: int, total: int) -> None:
        if done == total:
            rows.write_text("".join(json.dumps({**row, "response": "other"}) + "\n" for row in rows_of(12)))

    RAGEvaluator(config).run(results_of(config), progress=edit)
    assert "holds scores of another run. Changed: the rows." in printed(capsys, 2, config)


def test_of_two_updates_at_the_same_time_one_wins_and_the_other_says_so(tmp_path: Path) -> None:
    first, second = (RAGEvaluator({"metrics": ["exact_match"]}) for _ in range(2))
    first.evaluate(rows_of(2), folder=tmp_path)

    def update_too(done: int, total: int) -> None:
        if not list(tmp_path.glob("journal/g3")):
            second.evaluate(rows_of(6), folder=tmp_path, start="update")

    with pytest.raises(RagEvaluatorError, match="another run that started over or updated took this folder over"):
        first.evaluate([*rows_of(5), {"response": "a", "reference": "b"}], update_too, tmp_path, "update")
    assert len(second.evaluate(rows_of(6), folder=tmp_path).to_pandas()) == 6
    assert [path.name for path in tmp_path.glob("journal/g*")] == ["g3"]


def test_an_update_beside_a_worker_that_publishes_says_so_and_leaves_nothing_behind(
    config: Path, capsys: Capture
) -> None:
    run_command(config)
    scores = unpublish(config, 1)
    scores.rename(scores.with_name("moved"))
    scores.symlink_to("published meanwhile")
    message = printed(capsys, 2, config, "--update", "--set", "metrics=[exact_match]")
    assert "another process is at work here" in message
    assert [path.name for path in results_of(config).glob("journal/g*")] == ["g1"]


def test_after_a_kill_in_the_merge_the_next_start_merges_at_once_and_leaves_nothing_behind(
    config: Path, zygote: Zygote
) -> None:
    kill = "import os; import rag_evaluator.results.writers as s; s.json_text = lambda *_: os.kill(os.getpid(), 9)"
    assert zygote.run(config.parent / "record", {"arguments": [str(config)], "code": kill}) == [-signal.SIGKILL]
    began = time.monotonic()
    run_command(config)
    assert time.monotonic() - began < 20
    assert not [path.name for path in results_of(config).iterdir() if path.name.startswith(".")]


def test_a_results_folder_that_cannot_be_made_is_reported(config: Path, capsys: Capture) -> None:
    results_of(config).parent.mkdir()
    results_of(config).symlink_to("nowhere/at all")
    assert "cannot be written" in printed(capsys, 2, config)


def test_a_line_that_a_full_disk_took_in_part_does_not_damage_the_lines_after_it(tmp_path: Path) -> None:
    class NearlyFull:
        """Takes half of a line, then nothing, then everything: somebody has freed space."""

        def __init__(self, file: Any) -> None:
            self.file = file
            self.calls = 0

        def write(self, data: memoryview) -> int:
            self.calls += 1
            if self.calls == 2:
                raise OSError(28, "No space left on device")
            return int(self.file.write(data[:5] if self.calls == 1 else data))

        def __getattr__(self, name: str) -> Any:
            return getattr(self.file, name)

    appender = Appender(tmp_path / "lines")
    appender.append(b"first line\n")
    appender._file = NearlyFull(appender._file)  # type: ignore[assignment]
    with pytest.raises(RagEvaluatorError, match="No space left"):
        appender.append(b"second line\n")
    appender.append(b"third line\n")
    appender.close()
    assert (tmp_path / "lines").read_bytes() == b"first line\nthird line\n"


def test_a_tilde_in_the_folders_of_python_calls_is_the_home_folder(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    results = RAGEvaluator({"metrics": ["exact_match"]}).evaluate(rows_of(1), folder="~/kept")
    results.write("~/written")
    assert sorted(path.name for path in (tmp_path / "home").iterdir()) == ["kept", "written"]


def test_the_same_command_twice_at_once_shares_the_work(config: Path, zygote: Zygote) -> None:
    record = config.parent / "record"
    arguments = [str(config), "--set", "judge.batch_size=1", "--set", "chunk_size=1"]
    run = {"arguments": arguments, "environment": {"SLOW": "0.05"}}
    assert zygote.run(record, run, run) == [0, 0]
    made = record.read_text("utf-8").splitlines()
    assert len(set(made)) == 24
    assert len(made) < 2 * 24


def test_a_start_that_is_none_is_refused(tmp_path: Path) -> None:
    evaluator = RAGEvaluator({"metrics": ["exact_match"]})
    with pytest.raises(RagEvaluatorError, match="start is 'again': expected one of continue, fresh, update"):
        evaluator.evaluate(rows_of(1), folder=tmp_path, start="again")  # type: ignore[arg-type]
