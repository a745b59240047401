"""What `plan` says of a run, and that the rows it judges are not judged again."""

import json
import math
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from rag_evaluator import PlannedJudge, PlannedMetric, PlannedRun, RAGEvaluator, ScriptedJudge, plan
from rag_evaluator.cli.main import main
from rag_evaluator.dataset.sample import RowChoice
from rag_evaluator.features.setup.plan import Expected, JudgeCall, calls_of, expected_of, scaled
from rag_evaluator.features.setup.plan_command import print_plan
from rag_evaluator.features.setup.trial import read_measured
from rag_evaluator.judge.grammar.schema import tighten
from rag_evaluator.run.task import Record
from rag_evaluator.statistics.formulas import Scale
from rag_evaluator.statistics.paired import rows_for_interval

Rows = list[dict[str, Any]]


def row(number: int) -> dict[str, Any]:
    return {
        "user_input": f"Where was number {number} born?",
        "retrieved_contexts": [f"Number {number} was born in Tesk. It is odd.", f"The number {number} is in Om."],
        "response": f"Number {number} was born in Tesk, I think.",
        "reference": f"Number {number}: in Tesk. It is odd.",
        "reference_contexts": [f"Number {number} was born in Tesk."],
        "rubrics": {"score1_description": "wrong", "score5_description": "right"},
    }


ROWS = [row(number) for number in range(8)]


def any_answer(seed: int) -> Callable[[str, type[BaseModel]], dict[str, Any]]:
    """A script of random answers that fit."""
    chance = random.Random(seed)

    def fill(part: Any) -> Any:
        if "const" in part or "enum" in part:
            return part["const"] if "const" in part else chance.choice(part["enum"])
        if "anyOf" in part:
            return fill(chance.choice(part["anyOf"]))
        if "prefixItems" in part:
            kept = [item for item in part["prefixItems"] if not part.get("x-optional") or chance.random() < 0.5]
            return list(map(fill, kept))
        kind = part.get("type")
        if kind == "array":
            return [fill(part["items"]) for _ in range(max(part.get("minItems", 0), chance.randint(0, 3)))]
        if kind == "object":
            return {name: fill(value) for name, value in part["properties"].items()}
        return {"integer": chance.randint(0, 1), "string": f"Text {chance.random()}.", "boolean": True}[kind]

    def script(prompt: str, model: type[BaseModel]) -> dict[str, Any]:
        answer: dict[str, Any] = fill(tighten(model, getattr(prompt, "data", None)))
        return answer

    return script


def ratings(name: str | None = "j") -> ScriptedJudge:
    """Rates row n with n modulo 3."""

    def script(prompt: str, model: type[BaseModel]) -> dict[str, int]:
        [number] = {int(word) for word in prompt.rpartition("Where was number ")[2].split()[:1]}
        return {"rating": number % 3}

    return ScriptedJudge(script, model_id=name)


RATED = {"metrics": ["context_relevance"], "chunk_size": 2}


def planned(folder: Path, judge: ScriptedJudge, rows: Rows = ROWS, sample: int = 4, **settings: Any) -> PlannedJudge:
    [found] = plan({**RATED, **settings}, rows, folder, judge, sample=sample).judges
    return found


def evaluate(folder: Path, rows: Rows = ROWS, **settings: Any) -> int:
    """How often the judge was asked by a run."""
    judge = ratings()
    RAGEvaluator({**RATED, **settings}, judge=judge).evaluate(rows, folder=folder)
    return judge.asked


class TestCounted:
    def test_equal_questions_count_once(self, tmp_path: Path) -> None:
        rows = [*ROWS, *ROWS[:3], {**ROWS[0], "response": "Other."}]
        judge = ScriptedJudge(any_answer(0), model_id="j")
        found = planned(tmp_path, judge, rows, 20, metrics=["context_precision", "context_precision_with_reference"])
        [metric] = found.metrics
        assert metric.all == Expected(16)

    def test_a_question_of_two_metrics_counts_once_in_all(self, tmp_path: Path) -> None:
        rows = [{**row, "reference": row["response"]} for row in ROWS]
        names = ["context_precision_with_reference", "context_precision_without_reference"]
        judge = ScriptedJudge(any_answer(0), model_id="j")
        found = planned(tmp_path, judge, rows, metrics=names)
        assert [metric.all for metric in found.metrics] == [Expected(16), Expected(16)]
        assert found.all == Expected(16)

    @pytest.mark.parametrize(("greedy", "asked"), [(True, 1), (False, 4)])
    def test_a_sampling_judge_is_asked_the_same_again(self, greedy: bool, asked: int) -> None:
        judgement = {"prompt_digest": "a", "prompt_tokens": 9, "generated_tokens": 2, "thinking_tokens": 3}
        record = Record(0.5, details={"judgements": [judgement, judgement]})
        calls = calls_of([(0, record), (1, record)], greedy)
        assert len(calls) == asked
        assert set(calls.values()) == {(9, 5)}

    def test_without_judged_rows_nothing_is_loaded_and_only_the_rows_needed_are_known(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("rag_evaluator.judge.judge.Judge.from_config", lambda *_: pytest.fail("it was loaded"))
        [found] = plan({"metrics": ["context_recall", "faithfulness"]}, ROWS, tmp_path, sample=0).judges
        assert (found.all, found.left, found.seconds) == (None, None, None)
        assert [metric.all for metric in found.metrics] == [None, None]
        most = rows_for_interval([0, 1], Scale(), 0.05)  # no scores are further apart
        assert [metric.rows_needed for metric in found.metrics] == [most, most]
        assert not list(tmp_path.iterdir())


class TestEstimated:
    def test_the_total_and_its_range_are_those_of_the_ratio_estimator(self) -> None:
        # by hand: ratio 12 / 6 = 2; residuals 1, 0, -1; s^2 1; N 7, n 3; t(2) 4.303
        total, margin = scaled([3, 4, 5], [1, 2, 3], 15, new=4)
        assert total == 30
        assert margin == pytest.approx(4.303 * math.sqrt(7 * 4 / 3 * 1), rel=1e-3)
        assert scaled([3, 4, 5], [1, 2, 3], 6, new=0) == (12, 0)  # all rows were judged
        assert scaled([3], [1], 4, new=3) == (12, None)  # too few rows to know

    @pytest.mark.parametrize("seed", range(5))
    def test_the_range_holds_the_truth_about_as_often_as_it_says(self, seed: int) -> None:
        chance = random.Random(seed)
        lengths = [chance.uniform(100, 900) for _ in range(200)]
        values = [0.1 * length + chance.gauss(0, 15) for length in lengths]
        hits = 0
        for _ in range(200):
            judged = chance.sample(range(200), 20)
            total, margin = scaled([values[n] for n in judged], [lengths[n] for n in judged], sum(lengths), 180)
            assert margin is not None
            hits += abs(total - sum(values)) <= margin
        assert 0.9 <= hits / 200 <= 0.99

    def test_calls_are_scaled_by_rows_and_tokens_by_letters(self) -> None:
        asked = {"a": {JudgeCall("a", False, (0, 0)): (100, 10)}, "b": {JudgeCall("b", False, (0, 0)): (200, 20)}}
        letters = {"a": 10.0, "b": 20.0, "c": 50.0}
        assert expected_of(asked, letters, letters) == Expected(3, 800, 80)
        assert expected_of(asked, letters, {"c"}) == Expected(1, 500, 50)
        assert expected_of({}, letters, letters) is None

    def test_the_time_is_that_of_the_judged_rows_scaled_by_letters(self, tmp_path: Path) -> None:
        rows = [row(number) for number in range(10, 22)]
        stage = RAGEvaluator(RATED, judge=ratings()).stage(rows)
        found = planned(tmp_path / "a", ratings(), rows)
        cost = read_measured(tmp_path / "a", stage.plan)
        assert cost is not None
        assert found.seconds == pytest.approx(2 * cost.seconds)
        judged = RowChoice.make(12, sample=4).places
        longer = [
            {**line, "user_input": line["user_input"] * (1 if n in judged else 99)} for n, line in enumerate(rows)
        ]
        found = planned(tmp_path / "b", ratings(), longer)
        cost = read_measured(tmp_path / "b", RAGEvaluator(RATED, judge=ratings()).stage(longer).plan)
        assert cost is not None
        assert found.seconds is not None
        assert found.seconds > 3 * cost.seconds

    def test_the_time_of_a_metric_that_was_not_timed_is_not_known(self, tmp_path: Path) -> None:
        metrics = ["context_relevance", "bleu"]
        assert planned(tmp_path, ratings(), metrics=metrics).seconds
        [path] = tmp_path.rglob("measured.json")
        cost = json.loads(path.read_text())
        cost["cells"] = [cell for cell in cost["cells"] if cell[1] == "bleu"]
        path.write_text(json.dumps(cost))
        assert planned(tmp_path, ratings(), metrics=metrics).seconds is None

    def test_faithfulness_is_estimated_from_the_judged_rows(self, tmp_path: Path) -> None:
        judge = ScriptedJudge(any_answer(1), model_id="j")
        [found] = plan({"metrics": ["faithfulness"]}, ROWS, tmp_path, judge, sample=3).judges
        [metric] = found.metrics
        assert metric.all == Expected(16)
        assert metric.left == Expected(10)
        assert metric.left.within == Expected(0, None, None)  # each row that was judged asked two questions
        assert judge.asked == 6

    def test_rows_needed_follow_the_interval_of_the_mean(self) -> None:
        # Wilson: half a width of z / 2 / sqrt(n + z^2) at 1/2, so 380 rows for 0.05; t and two pseudo-rows: a few more
        assert rows_for_interval([0, 1] * 10, Scale(), 0.05) == pytest.approx(382, abs=3)
        assert rows_for_interval([0, 1] * 10, Scale(), 0.1) == pytest.approx(93, abs=3)
        assert rows_for_interval([1, 5] * 10, Scale(1, 5), 0.2) == rows_for_interval([0, 1] * 10, Scale(), 0.05)
        assert rows_for_interval([0.5, float("nan")], Scale(), 0.05) is None
        assert rows_for_interval([0, 1], Scale(), 1e-5) is None


def test_what_is_to_be_made_for_the_plan_is_known_before_the_first_answer(tmp_path: Path) -> None:
    judge, counts = ratings(), list[tuple[int, int, int]]()
    plan(RATED, ROWS, tmp_path, judge, sample=2, progress=lambda done, total: counts.append((done, total, judge.asked)))
    assert counts[0] == (0, 2, 0)
    plan(RATED, ROWS, tmp_path, judge, sample=3, progress=lambda done, total: counts.append((done, total, judge.asked)))
    assert (2, 3, 4) in counts


def test_nothing_left_is_no_estimate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    judge = ScriptedJudge(any_answer(0), model_id="j")
    print_plan(plan({"metrics": ["faithfulness"]}, ROWS, tmp_path, judge, sample=8))
    [line] = [line for line in capsys.readouterr().out.splitlines() if "not done yet" in line]
    assert re.findall(r"~?\d+", line) == ["0"]


class TestKeptForTheRun:
    def test_the_run_judges_the_other_rows_only_and_gives_the_same_bytes(self, tmp_path: Path) -> None:
        judge = ratings()
        found = planned(tmp_path / "a", judge)
        assert judge.asked == 8
        assert found.left == Expected(8)
        assert found.left.within == Expected(0, None, None)
        assert (found.metrics[0].done, found.metrics[0].scores, found.judged) == (4, 8, 4)
        assert not (tmp_path / "a" / "scores.jsonl").exists()
        assert evaluate(tmp_path / "a") == 8
        assert evaluate(tmp_path / "b") == 16
        for name in ("scores.jsonl", "details.jsonl", "summary.json"):
            assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name
        assert not list((tmp_path / "a" / "journal").glob("spare"))

    def test_a_plan_a_limited_run_and_the_whole_run_ask_nothing_twice(self, tmp_path: Path) -> None:
        judge = ratings()
        planned(tmp_path, judge, sample=20)  # more than there are
        assert judge.asked == 16
        assert evaluate(tmp_path, limit=3) == 0
        assert evaluate(tmp_path) == 0

    def test_a_second_plan_asks_nothing_and_says_the_same(self, tmp_path: Path) -> None:
        first = planned(tmp_path, ratings())
        judge = ratings()
        second = planned(tmp_path, judge)
        assert judge.asked == 0
        assert second == first

    def test_a_plan_beside_a_run_that_was_stopped_is_found_by_the_run(self, tmp_path: Path) -> None:
        def stop(done: int, total: int) -> None:
            if done == 2:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            RAGEvaluator(RATED, judge=ratings()).evaluate(ROWS, stop, tmp_path)
        judge = ratings()
        found = planned(tmp_path, judge)
        left = found.left
        assert left is not None
        assert evaluate(tmp_path) == left.calls

    def test_of_a_finished_run_nothing_is_left(self, tmp_path: Path) -> None:
        evaluate(tmp_path)
        before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        judge = ratings()
        found = planned(tmp_path, judge)
        assert (judge.asked, found.left, found.all) == (0, Expected(0, None, None), Expected(16))
        assert found.seconds_with(1) == 0
        assert found.metrics[0].mean == pytest.approx(sum(n % 3 / 2 for n in (1, 2, 4, 6)) / 4, abs=0.3)
        assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before

    def test_scores_of_another_judge_are_not_taken_and_a_note_says_so(self, tmp_path: Path) -> None:
        evaluate(tmp_path)
        other = ratings("k")
        found = planned(tmp_path, other)
        assert (other.asked, found.metrics[0].done) == (8, 4)
        [note] = found.notes
        assert "holds another run, so that this one needs --update" in note

    def test_the_rows_of_a_limit_are_planned(self, tmp_path: Path) -> None:
        found = plan({**RATED, "limit": 5}, ROWS, tmp_path, ratings(), sample=2)
        assert (found.rows, found.count) == ("5 of 8 rows (limit)", 5)
        assert found.judges[0].all == Expected(10)


class TestCommand:
    @pytest.fixture
    def config(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
        monkeypatch.setattr("rag_evaluator.judge.judge.Judge.from_config", lambda config, offline: ratings())
        (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
        text = "dataset: rows.jsonl\nmetrics: [context_relevance, bleu]\n"
        (tmp_path / "config.yaml").write_text(text, encoding="utf-8")
        return str(tmp_path / "config.yaml")

    def test_tables_say_what_is_done_and_what_is_estimated(
        self, config: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["plan", config, "--sample", "4", "--workers", "2"]) == 0
        shown = capsys.readouterr().out
        assert "plan of run: all 8 rows" in shown
        lines = {line.split("│")[1].strip(): line.split("│")[2:] for line in shown.splitlines() if "│" in line}
        assert [cell.strip() for cell in lines["context_relevance"][:3]] == ["4/8", "~16", "not known"]
        assert lines["not done yet"][1].strip() == "~8"
        first, second, following, *_ = shown.splitlines()
        # each of the 8 rows is asked twice, 4 rows are judged
        assert first.startswith("About 8 questions to the judge and ")
        assert first.endswith(
            " with 2 workers on machines like this one, for 8 rows (8 of 16 scores are made), estimated from 4 of them."
        )
        assert second.startswith("For an interval of ±0.05 about ")
        assert following == f"Next: rag-evaluator submit {config} --workers 2"
        assert "the scores of the 4 judged rows are kept for the run" in shown

    def test_without_judged_rows_the_rows_needed_are_the_most_that_are_needed(
        self, config: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["plan", config, "--sample", "0"]) == 0
        shown = capsys.readouterr().out
        [line] = [line for line in shown.splitlines() if "│ context_relevance" in line]
        assert [cell.strip() for cell in line.split("│")[2:7]] == ["0/8", *["not known"] * 3, "at most 384"]
        assert shown.splitlines()[:3] == [
            "Not known how many questions to the judge and how long: none of 8 rows was judged.",
            "At most 384 rows are needed for an interval of ±0.05 in context_relevance, the most of 2 metrics.",
            f"Next: rag-evaluator plan {config} --sample 20",
        ]

    @pytest.mark.parametrize("task", ["sort", "generate", "probe", "duel", "testset"])
    def test_a_plan_of_another_task_says_how_to_find_out(self, task: str, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit) as ended:
            main(["plan", task, "config.yaml"])
        assert ended.value.code == 2
        message = capsys.readouterr().err
        assert f"plan is for evaluations. What a row of '{task}' takes, a run of some rows shows" in message

    def test_what_is_estimated_is_shown_with_its_range(self, capsys: pytest.CaptureFixture[str]) -> None:
        part = Expected(40, 1000, 200, Expected(0, 9, 31))
        metric = PlannedMetric("faithfulness", 20, 4, part, part, 0.5, 300)
        judge = PlannedJudge([metric], part, part, 4, 10.0, 3600.0, None, None, seconds_within=600.0)
        print_plan(PlannedRun("run", "all 20 rows", 20, 2, 0.95, 0.05, [judge]))
        shown = capsys.readouterr().out
        [line] = [line for line in shown.splitlines() if "faithfulness" in line]
        assert [cell.strip() for cell in line.split("│")[3:6]] == ["~40", "~1,000 ±1 %", "~200 ±16 %"]
        assert "of the time 10 s are for loading the models" in shown

    def test_json_is_one_document(self, config: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["plan", config, "--sample", "0", "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        metric = found["judges"][0]["metrics"][0]
        assert (metric["scores"], metric["all"]) == (8, None)
        assert found["conclusion"]["sentences"][0].startswith("Not known how many questions to the judge")
        assert main(["plan", config, "--sample", "4", "--json"]) == 0
        planned = json.loads(capsys.readouterr().out)
        assert planned["judges"][0]["metrics"][0]["all"] == {
            "calls": 16,
            "prompt_tokens": None,
            "generated_tokens": None,
            "within": {"calls": 0, "prompt_tokens": None, "generated_tokens": None},
        }
        assert found["seconds"] is None

    @pytest.mark.parametrize(
        ("flag", "number", "message"),
        [("--sample", "-1", "expected 0 or more"), ("--workers", "0", "expected 1"), ("--within", "0", "above 0")],
    )
    def test_numbers_that_cannot_be_are_told(
        self, flag: str, number: str, message: str, config: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["plan", config, flag, number]) == 2
        assert message in capsys.readouterr().err
