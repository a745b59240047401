"""`repeats`: each judged score made several times, with the judge's chance told apart from what rows differ in."""

import asyncio
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aliases import Capture, Json, ModelFolder, Rows
from folders import bytes_of, error_of, write_config
from langchain_core.language_models import FakeListLLM
from opinion_judge import OpinionJudge
from pydantic import BaseModel

from rag_evaluator import (
    ConfigError,
    JudgeLostError,
    JudgementError,
    RAGEvaluator,
    ResultsError,
    ScriptedJudge,
    compare,
    read_questions,
)
from rag_evaluator.judge import Draw, LangchainJudge, Opinion
from rag_evaluator.results import Score
from rag_evaluator.run import Journal, parse_worker, read_status

Ratings = Mapping[str, Sequence[int | None]]
RATINGS: Ratings = {  # of 0, 1, 2 for each repeat; None: no answer
    "Nolu": (2, 1, 0, 0, 2),
    "Harn": (2, None, 1, 2, 2),
    "Selo": (None, None, None, 1, 1),
}
BOTH = ["context_relevance", "exact_match"]  # the judge rates twice for the first one; none is asked for the second


class Chance(OpinionJudge):
    """Rates by a table of question and repeat, so that its chance is known; a `JudgeProtocol`.

    Attributes:
        asked: word of the question and draw, in the order of asking.
        left: questions until it is lost.
    """

    def __init__(self, ratings: Ratings = RATINGS, greedy: bool | None = False, left: float = math.inf) -> None:
        self.signature: str | None = "chance"
        self.capabilities = replace(LangchainJudge(None).capabilities, in_flight=2, greedy=greedy)
        self.ratings = ratings
        self.left = left
        self.asked: list[tuple[str, Draw]] = []

    async def opinion(self, prompt: str, response_model: type[BaseModel], draw: Draw = (0, 0)) -> Opinion:
        self.left -= 1
        if self.left < 0:
            raise JudgeLostError("the server is gone")
        await asyncio.sleep(0)
        [word] = [word for word in self.ratings if word in prompt]
        self.asked.append((word, draw))
        rating = self.ratings[word][draw[0]]
        if rating is None:
            raise JudgementError(f"no rating {draw[0]}")
        return Opinion(response_model(rating=rating))


def evaluator(repeats: int, judge: Any = None, **settings: Any) -> RAGEvaluator:
    config = {"metrics": BOTH, "repeats": repeats, **settings}
    return RAGEvaluator(config, judge=Chance() if judge is None else judge)


def lines_of(folder: Path) -> Rows:
    return [json.loads(line) for line in (folder / "details.jsonl").read_text("utf-8").splitlines()]


def test_a_row_s_score_is_the_mean_of_its_valid_repeats_and_missing_only_without_any(rows: Rows) -> None:
    scores = evaluator(3).evaluate(rows).scores
    values = [score.value for score in scores["context_relevance"]]
    assert values == pytest.approx([0.5, 0.75, math.nan], nan_ok=True)
    assert [score.reason for score in scores["context_relevance"]] == [None, None, "no rating 0"]
    repeats = [score.repeats for score in scores["context_relevance"]]
    assert repeats[0] == (1.0, 0.5, 0.0)
    assert repeats[1] == pytest.approx((1.0, math.nan, 0.5), nan_ok=True)
    assert repeats[2] == pytest.approx((math.nan,) * 3, nan_ok=True)
    assert [score.repeats for score in scores["exact_match"]] == [()] * 3, "a metric without a judge was repeated"


def test_the_summary_has_the_noise_of_the_judge_of_repeated_metrics_only(rows: Rows) -> None:
    summary = evaluator(3).evaluate(rows).summary()
    # rows (1, 0.5, 0) and (1, 0.5) with grand mean 0.6: within 0.625 / 3, between 3 * 0.01 + 2 * 0.0225 = 0.075,
    # 1/3 + 1/2 = 5/6, n0 = 5 - 13/5 = 2.4
    assert summary["context_relevance"]["mean"] == 0.625
    assert summary["context_relevance"]["repeats"] == 3
    assert summary["context_relevance"]["stderr_rerun"] == pytest.approx(math.sqrt(0.625 / 3 * 5 / 6) / 2)
    assert summary["context_relevance"]["icc"] == pytest.approx((0.075 - 0.625 / 3) / (0.075 + 1.4 * 0.625 / 3))
    assert summary["context_relevance"]["icc_mean"] == pytest.approx((0.075 - 0.625 / 3) / 0.075)
    assert not {"repeats", "stderr_rerun", "icc", "icc_mean"} & set(summary["exact_match"])


def test_each_repeat_asks_the_judge_with_draws_of_its_own_and_has_its_own_line(rows: Rows, tmp_path: Path) -> None:
    judge = Chance()
    evaluator(3, judge).evaluate(rows, folder=tmp_path)
    assert {draw for word, draw in judge.asked if word == "Nolu"} == {(0, 0), (1, 0), (2, 0)}
    lines = lines_of(tmp_path)
    found = [(line["row"], line.get("repeat"), line["value"], line["reason"]) for line in lines]
    missing = [f"no rating {repeat}" for repeat in range(3)]
    assert found == [
        *[(0, 0, 1.0, None), (0, 1, 0.5, None), (0, 2, 0.0, None), (0, None, 0.0, None)],
        *[(1, 0, 1.0, None), (1, 1, None, missing[1]), (1, 2, 0.5, None), (1, None, 0.0, None)],
        *[(2, 0, None, missing[0]), (2, 1, None, missing[1]), (2, 2, None, missing[2]), (2, None, 0.0, None)],
    ]
    assert [one["response"]["rating"] for line in lines[:3] for one in line["judgements"]] == [2, 2, 1, 1, 0, 0]


def test_results_in_memory_are_those_of_a_folder(rows: Rows, tmp_path: Path) -> None:
    evaluator(3).evaluate(rows, folder=tmp_path / "kept")
    evaluator(3).evaluate(rows).write(tmp_path / "memory")
    assert bytes_of(tmp_path / "memory") == bytes_of(tmp_path / "kept")


def test_a_run_without_repeats_is_written_as_ever(rows: Rows, tmp_path: Path) -> None:
    ratings = {word: [1] for word in RATINGS}
    results = evaluator(1, Chance(ratings)).evaluate(rows, folder=tmp_path)
    assert not [line for line in lines_of(tmp_path) if "repeat" in line]
    assert not [row for row in results.summary().values() if "repeats" in row]
    assert not [line for line in results.signatures.values() if "repeats" in line]
    plan = json.loads((tmp_path / "journal" / "manifest.json").read_bytes())["plan"]
    assert (plan["repeats"], "once" in plan) == (1, False)


def test_one_result_of_five_repeats_does_not_pass_for_a_single_one() -> None:
    one, five = (evaluator(repeats).signatures() for repeats in (1, 5))
    assert five["context_relevance"] == f"{one['context_relevance']}|repeats:5"
    assert five["exact_match"] == one["exact_match"], "a metric without a judge is not repeated"


@pytest.mark.parametrize(("before", "after", "new"), [(3, 5, {3, 4}), (1, 3, {1, 2}), (5, 3, set())])
def test_an_update_makes_only_the_repeats_that_are_not_there(
    before: int, after: int, new: set[int], rows: Rows, tmp_path: Path
) -> None:
    ratings = {word: [rating or 0 for rating in row] for word, row in RATINGS.items()}
    evaluator(before, Chance(ratings)).evaluate(rows, folder=tmp_path / "kept")
    with pytest.raises(ResultsError, match=f"Changed: repeats: {before} before, {after} now"):
        evaluator(after, Chance(ratings)).evaluate(rows, folder=tmp_path / "kept")
    judge = Chance(ratings)
    evaluator(after, judge).evaluate(rows, folder=tmp_path / "kept", start="update")
    assert {draw[0] for _, draw in judge.asked} == new
    assert len(judge.asked) == 2 * len(rows) * len(new)
    evaluator(after, Chance(ratings)).evaluate(rows, folder=tmp_path / "whole")
    assert bytes_of(tmp_path / "kept") == bytes_of(tmp_path / "whole")


@pytest.mark.parametrize("settings", [{}, {"chunk_size": 1}, {"chunk_size": 2}], ids=str)
@pytest.mark.parametrize("left", [1, 5, 13])
def test_a_run_that_lost_its_judge_continues_to_the_same_bytes(
    left: int, settings: Json, rows: Rows, tmp_path: Path
) -> None:
    evaluator(3).evaluate(rows, folder=tmp_path / "whole")
    with pytest.raises(JudgeLostError):
        evaluator(3, Chance(left=left), **settings).evaluate(rows, folder=tmp_path / "lost")
    again = Chance()
    evaluator(3, again, **settings).evaluate(rows, folder=tmp_path / "lost")
    lost = bytes_of(tmp_path / "lost")
    whole = bytes_of(tmp_path / "whole")
    for name in set(lost) - {"manifest.json"}:  # it holds the settings
        assert lost[name] == whole[name], name


@pytest.mark.parametrize("count", [2, 3])
def test_any_number_of_workers_gives_the_same_bytes(count: int, rows: Rows, tmp_path: Path) -> None:
    evaluator(3).evaluate(rows, folder=tmp_path / "alone")
    for number in range(count):
        part = evaluator(3, chunk_size=1)
        part.run(tmp_path / "shared", rows, parse_worker(f"{number}/{count}"))
    alone = bytes_of(tmp_path / "alone")
    shared = bytes_of(tmp_path / "shared")
    for name in set(alone) - {"manifest.json"}:
        assert shared[name] == alone[name], name


@pytest.mark.parametrize("folder", [True, False])
def test_progress_and_status_count_every_repeat(folder: bool, rows: Rows, tmp_path: Path) -> None:
    shown: list[tuple[int, int]] = []
    place = tmp_path if folder else None
    evaluator(3).evaluate(rows, lambda done, total: shown.append((done, total)), place)
    assert shown[-1] == (12, 12)  # three rows, three repeats of one metric and one of the other
    if folder:
        [status] = read_status(tmp_path)
        assert status.cells == (12, 12)
        assert Journal(tmp_path).plan.cells == 12


def test_the_first_repeat_of_a_sampling_model_is_what_it_says_without_repeats(
    rows: Rows, model_folder: ModelFolder
) -> None:
    model = {"model": str(model_folder("llama-bytelevel")), "dtype": "float32", "max_new_tokens": 32}
    judge = {**model, "temperature": 2.0, "batch_size": 3}
    config = {"metrics": ["context_relevance"], "judge": judge}
    once = list(RAGEvaluator(config).evaluate(rows).details())
    repeated = list(RAGEvaluator({**config, "repeats": 4}).evaluate(rows).details())
    ratings = [[one["response"] for one in line["judgements"]] for line in repeated]
    assert [line["judgements"] for line in repeated[::4]] == [line["judgements"] for line in once]
    assert len({json.dumps(rating) for rating in ratings}) > 3, "repeats do not sample anew"


@pytest.mark.parametrize("judge", [None, ScriptedJudge(), Chance(greedy=True)], ids=["demo", "scripted", "protocol"])
@pytest.mark.parametrize("ask", [RAGEvaluator.evaluate, RAGEvaluator.check, RAGEvaluator.stage])
def test_repeats_of_a_reproducible_judge_are_refused_before_it_is_loaded(
    judge: Any, ask: Any, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(*_: Any, **__: Any) -> Any:
        raise AssertionError("it was loaded")

    monkeypatch.setattr("rag_evaluator.models.Models.scorer", load)
    with pytest.raises(ConfigError, match="config: repeats is 5, but this judge is reproducible"):
        ask(RAGEvaluator({"metrics": BOTH, "repeats": 5}, judge=judge), rows)


ALLOWED: dict[str, tuple[Any, Json]] = {
    "not known": (Chance(greedy=None), {}),
    "LangChain": (FakeListLLM(responses=['{"rating": 1}']), {}),
    "configured, sampling": (None, {"judge": {"temperature": 0.7}}),
    "no judge is asked": (None, {"metrics": ["exact_match"]}),
}


@pytest.mark.parametrize(("judge", "settings"), ALLOWED.values(), ids=ALLOWED)
def test_repeats_of_a_judge_that_may_sample_are_allowed(judge: Any, settings: Json, rows: Rows) -> None:
    RAGEvaluator({"metrics": BOTH, "repeats": 5, **settings}, judge=judge).check(rows)


def test_the_command_line_refuses_in_one_line_with_the_place(rows: Rows, tmp_path: Path, capsys: Capture) -> None:
    shown = error_of(capsys, write_config(tmp_path, rows, "metrics: [context_relevance]\nrepeats: 5"))
    assert shown.startswith("error: config.yaml, line 3: repeats is 5, but this judge is reproducible: ")
    assert shown.count("\n") == 1


def test_the_questions_of_every_repeat_can_be_read(rows: Rows, tmp_path: Path) -> None:
    evaluator(2, Chance({word: [1, 1] for word in RATINGS})).evaluate(rows, folder=tmp_path)
    found = [(question["repeat"], question["prompt"]) for question in read_questions(tmp_path, 0)]
    assert found == [(repeat, f"judge{number}_prompt") for repeat in range(2) for number in (1, 2)]


def test_a_comparison_takes_the_means_and_no_other_number_of_repeats_for_another_judge(
    rows: Rows, tmp_path: Path
) -> None:
    one = tmp_path / "one"
    three = tmp_path / "three"
    evaluator(1, Chance({word: [2] for word in RATINGS})).evaluate(rows, folder=one)
    results = evaluator(3).evaluate(rows, folder=three)
    for run in (three, results):
        comparison = compare(one, run)
        changed = {change.question: (change.a, change.b) for change in comparison.changed}
        assert changed == {
            rows[0]["user_input"]: (1.0, 0.5),
            rows[1]["user_input"]: (1.0, 0.75),
            rows[2]["user_input"]: (1.0, None),
        }
        assert comparison.caveats == ()


def test_the_mean_of_repeats_has_the_fewest_contexts_that_any_of_them_was_given() -> None:
    repeats = [Score(0.5, None, (0, 1, 2)), Score(math.nan, "none", (0,)), Score(1.0, None, (0, 1))]
    assert Score.mean_of(repeats).contexts == (0,)
