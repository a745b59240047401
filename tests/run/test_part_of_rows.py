"""Runs of some rows only: which rows, what the results say, and that nothing is asked twice when there are more."""

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from aliases import Capture, Rows
from folders import is_there, printed, results_of, run_command, write_config

from rag_evaluator import RAGEvaluator, ResultsError, ScriptedJudge
from rag_evaluator.cli.main import main
from rag_evaluator.dataset import RowChoice
from rag_evaluator.report import what_html
from rag_evaluator.results import Run
from rag_evaluator.run import Journal
from rag_evaluator.run.worker_journal import WorkerJournal

JUDGED = "metrics: [context_relevance]\nchunk_size: 4"
COUNT = 12


def row(number: int) -> dict[str, Any]:
    return {
        "user_input": f"Where was number {number} born?",
        "retrieved_contexts": [f"Number {number} was born in Tesk.", f"Number {number} is odd."],
        "response": f"Number {number} was born in Tesk.",
        "reference": f"Number {number}: in Tesk.",
    }


ROWS = [row(number) for number in range(COUNT)]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return write_rows(tmp_path, "metrics: [exact_match, chrf_score]\nchunk_size: 4")


def write_rows(folder: Path, text: str, rows: Rows = ROWS) -> Path:
    return write_config(folder, rows, text)


def judge() -> ScriptedJudge:
    return ScriptedJudge({"ContextRelevanceOutput": {"rating": 2}}, model_id="j")


def evaluate(folder: Path, start: Any = "continue", rows: Rows = ROWS, **settings: int) -> tuple[list[str], int]:
    """The questions of the results, and how often the judge was asked."""
    asked = judge()
    evaluator = RAGEvaluator({"metrics": ["context_relevance"], "chunk_size": 4, **settings}, judge=asked)
    results = evaluator.evaluate(rows, folder=folder, start=start)
    return [found["user_input"] for found in results.rows()], asked.asked


class TestWhichRows:
    """The expected places are those of the smallest SHA-256 digests of `seed:place`."""

    CHOICES = (
        ("the first rows", {"limit": 3}, [0, 1, 2], "3 of 12 rows (limit)"),
        ("as many as there are", {"limit": 12}, list(range(12)), "all 12 rows"),
        ("drawn", {"sample": 3}, [4, 7, 9], "3 of 12 rows (sample, seed 0)"),
        ("of another seed", {"sample": 3, "seed": 1}, [4, 7, 11], "3 of 12 rows (sample, seed 1)"),
        ("drawn of the first", {"limit": 5, "sample": 2}, [3, 4], "2 of 12 rows (sample of the first 5, seed 0)"),
    )

    @pytest.mark.parametrize(("given", "places", "text"), [case[1:] for case in CHOICES], ids=[c[0] for c in CHOICES])
    def test_rows_are_taken_in_the_order_of_the_data(self, given: dict[str, int], places: list[int], text: str) -> None:
        choice = RowChoice.make(12, **given)
        assert list(choice.places) == places
        assert str(choice) == text

    @pytest.mark.parametrize("size", range(1, 40))
    def test_a_larger_sample_of_the_same_seed_holds_the_smaller_one(self, size: int) -> None:
        smaller, larger = (RowChoice.make(50, sample=number) for number in (size, size + 1))
        assert larger.holds(smaller)
        assert not smaller.holds(larger)
        assert not RowChoice.make(50, sample=size, seed=1).holds(larger)

    def test_more_than_there_are_takes_all_and_says_so(self, tmp_path: Path, caplog: Any) -> None:
        assert evaluate(tmp_path, limit=20)[0] == [found["user_input"] for found in ROWS]
        assert caplog.messages == ["limit is 20, and there are 12 rows: all of them are taken"]
        assert "part" not in json.loads((tmp_path / "manifest.json").read_bytes())


class TestMoreRows:
    GROWTHS = (
        ("limit to all", {"limit": 5}, {}, 14),
        ("limit to a larger one", {"limit": 5}, {"limit": 8}, 6),
        ("limit to one in the same chunk", {"limit": 5}, {"limit": 6}, 2),
        ("sample to a larger one", {"sample": 5}, {"sample": 9}, 8),
        ("sample of the first to the first", {"limit": 6, "sample": 2}, {"limit": 6}, 8),
    )

    @pytest.mark.parametrize(("before", "after", "asked"), [case[1:] for case in GROWTHS], ids=[c[0] for c in GROWTHS])
    def test_a_run_with_more_rows_asks_only_for_these(
        self, before: dict[str, int], after: dict[str, int], asked: int, tmp_path: Path
    ) -> None:
        evaluate(tmp_path / "a", **before)
        rows, now = evaluate(tmp_path / "a", **after)
        assert now == asked
        expected, _ = evaluate(tmp_path / "b", **after)
        assert rows == expected
        for name in ("scores.jsonl", "details.jsonl", "summary.json", "scores.csv"):
            assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name

    def test_a_run_that_was_stopped_keeps_what_it_has_for_one_with_more_rows(self, tmp_path: Path) -> None:
        lost = judge()
        lost.script = lambda prompt, model: {"rating": 2} if lost.asked <= 6 else 1 / 0
        evaluator = RAGEvaluator({"metrics": ["context_relevance"], "limit": 8, "chunk_size": 4}, judge=lost)

        def stop(done: int, total: int) -> None:
            if done == 3:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            evaluator.evaluate(ROWS, stop, tmp_path)
        assert evaluate(tmp_path)[1] == 18

    def test_rows_that_changed_are_still_another_run(self, tmp_path: Path) -> None:
        evaluate(tmp_path, limit=5)
        with pytest.raises(ResultsError, match=r"Changed: the rows\."):
            evaluate(tmp_path, rows=[*ROWS[:11], row(99)])
        assert evaluate(tmp_path, "update", rows=[*ROWS[:11], row(99)])[1] == 14

    @pytest.mark.processes
    def test_workers_that_start_together_after_a_limited_run_bring_its_scores_once(
        self, config: Path, capsys: Capture
    ) -> None:
        run_command(config, "--limit", "6")
        command = [sys.executable, "-m", "rag_evaluator", str(config), "--worker"]
        workers = [subprocess.Popen([*command, f"{n}/3"], stderr=subprocess.PIPE, text=True) for n in range(3)]
        errors = [worker.communicate()[1].splitlines() for worker in workers]
        assert [worker.returncode for worker in workers] == [0] * 3
        assert not [line for lines in errors for line in lines if not re.match(r"\d\d:\d\d:\d\d ", line)]  # progress
        results = results_of(config)
        assert Journal(results).generation == 2
        assert [path.name for path in (results / "journal").glob("g*")] == ["g2"]
        assert "12 rows" in printed(capsys, 0, config)


class TestFewerRows:
    @pytest.mark.parametrize("start", ["continue", "update"])
    def test_the_results_of_more_rows_are_not_replaced(self, start: str, tmp_path: Path) -> None:
        evaluate(tmp_path)
        before = (tmp_path / "scores.jsonl").read_bytes()
        with pytest.raises(ResultsError) as error:
            evaluate(tmp_path, start, limit=5)
        assert "holds the scores of all rows, and this run takes 5 of 12 rows (limit)" in str(error.value)
        assert (tmp_path / "scores.jsonl").read_bytes() == before
        assert evaluate(tmp_path, "fresh", limit=5)[1] == 10
        assert evaluate(tmp_path)[1] == 14


class TestWhatResultsSay:
    def test_every_place_says_that_a_run_is_partial(self, config: Path, capsys: Capture) -> None:
        results = results_of(config)
        assert "run: 5 of 12 rows (limit)" in printed(capsys, 0, config, "--limit", "5")
        assert "run: 5 of 12 rows (limit)" in printed(capsys, 0, config, "--limit", "5")
        assert "partial: 5 of 12 rows (limit)" in printed(capsys, 0, "status", results)
        assert "5 of 12 rows (limit)" in what_html(Run(results))
        manifest = json.loads((results / "manifest.json").read_bytes())
        assert (manifest["rows"], manifest["part"]) == (5, {"of": 12, "limit": 5})
        merged = printed(capsys, 0, "merge", results)
        assert "5 rows from" in merged
        assert "partial: 5 of 12 rows (limit)" in merged
        assert len((results / "scores.jsonl").read_text("utf-8").splitlines()) == 5

    def test_gate_and_compare_say_which_run_is_partial(self, config: Path, caplog: Any, capsys: Capture) -> None:
        printed(capsys, 0, config, "--sample", "5", "--set", "name=few")
        printed(capsys, 0, config)
        few, run = (str(config.parent / "results" / name) for name in ("few", "run"))
        printed(capsys, 1, "gate", few, "--min", "exact_match=0.5")
        assert f"{few} is partial: 5 of 12 rows (sample, seed 0)." in caplog.messages
        shown = printed(capsys, 0, "compare", run, few)
        assert f"{few} is partial: 5 of 12 rows (sample, seed 0)." in shown
        assert f"5 rows of {run} and {few} matched" in shown


SCRIPT = {"AnswerAccuracyOutput": {"rating": 4}, "ReferenceOutput": {"answerable": 1, "answer": "In Tesk."}}


class TestOtherTasks:
    """Four rows, of which two are taken first; a script judges in the demo judge's place."""

    COMMANDS = (  # questions: of two rows, then of the other two; probes of more rows exchange other texts
        ("evaluate", (), 4, 4),
        ("sort", ("--set", "sort.fast=false"), 4, 4),
        ("generate", ("--set", "generate.replace=true"), 6, 6),
        ("probe", ("--set", "probe.sample=2"), None, None),
    )

    @pytest.fixture
    def asked(self, monkeypatch: pytest.MonkeyPatch) -> ScriptedJudge:
        judge = ScriptedJudge(SCRIPT, choices=lambda prompt, options: options[0])
        monkeypatch.setattr("rag_evaluator.judge.judge.Judge.from_config", lambda config, offline: judge)
        return judge

    def test_a_limit_of_no_rows_is_refused(self, config: Path, capsys: Capture) -> None:
        with pytest.raises(SystemExit):
            main([str(config), "--limit", "0"])
        assert "--limit: expected a whole number of 1 or more" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("command", "flags", "first", "then"),
        [pytest.param(*case, id=case[0]) for case in COMMANDS if is_there(case[:1])],
    )
    def test_a_limited_task_says_so_and_continues_with_all_rows(
        self,
        command: str,
        flags: Sequence[str],
        first: int | None,
        then: int | None,
        asked: ScriptedJudge,
        tmp_path: Path,
        capsys: Capture,
    ) -> None:
        config = str(write_rows(tmp_path, "metrics: [answer_accuracy]", ROWS[:4]))
        results = str(tmp_path / "results" / "run")
        assert "2 of 4 rows (limit)" in printed(capsys, 0, command, config, *flags, "--limit", "2")
        assert first in (asked.asked, None)
        assert "partial: 2 of 4 rows (limit)" in printed(capsys, 0, "status", results)
        assert printed(capsys, 0, "merge", results)
        before = asked.asked
        assert "2 of 4 rows" not in printed(capsys, 0, command, config, *flags)
        assert then in (asked.asked - before, None)
        assert "holds the scores of all rows" in printed(capsys, 2, command, config, *flags, "--limit", "2")

    def test_the_next_command_names_the_configuration_that_was_given(
        self, asked: ScriptedJudge, tmp_path: Path, model_folder: Any, capsys: Capture
    ) -> None:
        config = str(write_rows(tmp_path, "metrics: [answer_accuracy]", ROWS[:4]))
        shown = printed(capsys, 0, config, "--limit", "2")
        assert f"Next: rag-evaluator evaluate {config} --set judge.model=MODEL --set name=NAME\n" in shown
        shown = printed(capsys, 0, config, "--set", "name=my run", "--set", "language=english")
        begin = f"Next: rag-evaluator evaluate {config} --set language=english"
        assert f"{begin} --set judge.model=MODEL --set name=NAME\n" in shown, "no key twice"
        keys = ("--set", f"judge.model={model_folder('llama-bytelevel')}", "--set", "name=b")
        shown = printed(capsys, 0, config, *keys, "--limit", "2")
        assert f"Next: rag-evaluator evaluate {config} {' '.join(keys)}\n" in shown


def test_an_update_that_never_began_does_not_remove_what_a_run_with_more_rows_made(tmp_path: Path) -> None:
    evaluate(tmp_path, limit=5)
    other = RAGEvaluator({"metrics": ["context_recall"]}, judge=judge())
    stage = other.stage(ROWS)
    pending = WorkerJournal(tmp_path, stage, "w0of1.other.0.0.1", "update")
    assert evaluate(tmp_path)[1] == 14
    pending.close()
    assert evaluate(tmp_path)[1] == 0
