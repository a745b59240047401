"""`duel`: which of two runs answers better; values worked out by hand, faults, resume, workers, the command."""

import asyncio
import json
import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from aliases import Capture, Json, ModelFolder, Patch
from folders import error_of, output_of, printed
from opinion_judge import OpinionJudge
from pydantic import BaseModel

from rag_evaluator import Judge, JudgeLostError, JudgementError, PromptTooLongError, RAGEvaluator, ScriptedJudge
from rag_evaluator.cli.main import main
from rag_evaluator.config import JudgeConfig
from rag_evaluator.judge import Draw, Opinion, PromptText, as_judge, source_of
from rag_evaluator.prompts import prompt_models
from rag_evaluator.run import Journal, read_finished
from tests.loaded_prompts import load_prompts

Rows = Sequence[Mapping[str, Any]]
FILES = ("duel.json", "duel_summary.json")
ROOT = Path(__file__).parents[3]


def row(number: int, response: str | None, **more: Any) -> Json:
    return {"id": number, "user_input": f"Question {number}?", "response": response, "reference": "Tesk", **more}


def write_run(folder: Path, rows: Rows, **config: Any) -> Path:
    """The results folder of an evaluation that asked no judge."""
    if any(row["response"] and row["response"].strip() for row in rows):
        metric = "exact_match"
        judge = None
    else:
        metric = "context_recall"
        judge = ScriptedJudge()
        rows = [{"retrieved_contexts": ["Tesk"], **row} for row in rows]
    RAGEvaluator({"metrics": [metric], **config}, judge=judge).evaluate(list(rows), folder=folder, start="fresh")
    return folder


def write_runs(folder: Path, a: Rows, b: Rows, **config: Any) -> tuple[Path, Path]:
    return write_run(folder / "a", a, **config), write_run(folder / "b", b, **config)


def shown(prompt: str) -> Json:
    """What a prompt asks about."""
    assert isinstance(prompt, PromptText)
    assert prompt.data is not None
    return prompt.data.model_dump(exclude_none=True)


def judge_of(first_share: Callable[[Json], float], **more: Any) -> ScriptedJudge:
    """A judge that gives the first place a probability, and says of its choice what it was asked about."""

    def choices(prompt: str, options: Sequence[str]) -> dict[str, float]:
        share = first_share(shown(prompt))
        return dict(zip(options, (share, 1 - share), strict=True))

    def script(prompt: str, response_model: type[BaseModel]) -> Json:
        asked = shown(prompt)
        choice = 1 if first_share(asked) > 0.5 else 2
        return {"choice": choice, "reason": f"{asked[f'answer_{choice}']} is better"}

    return ScriptedJudge(script, choices, **{"model_id": "script", **more})


@dataclass(frozen=True)
class Judged:
    """What the command has written."""

    code: int
    folder: Path
    rows: Any  # JSON; None where there are no files
    summary: Any

    @property
    def win_rate(self) -> float:
        return float(self.summary["measures"]["win rate of a"]["mean"])


Duel = Callable[..., Judged]


@pytest.fixture
def duel(monkeypatch: Patch) -> Duel:
    """The command with a judge of the test."""

    def duel(a: Path, b: Path, judge: Any, out: Path | None = None, start: str = "--update") -> Judged:
        monkeypatch.setattr("rag_evaluator.tasks.question.source_of", lambda given, *about: source_of(judge, *about))
        folder = out or a.parent / f"duel-{a.name}-{b.name}"
        code = main(["duel", str(a), str(b), "--out", str(folder), start])
        return Judged(code, folder, *(json.loads((folder / name).read_bytes()) if code < 2 else None for name in FILES))

    return duel


SHARES = {  # of the first place, by the answers in the order in which they are shown
    ("good", "bad"): 0.75,  # log odds ln 3
    ("bad", "good"): 0.4,  # ln 2/3, so ln 3/2 for "good"
    ("poor", "fine"): 0.2,  # ln 1/4
    ("fine", "poor"): 0.5,  # 0
    ("one", "two"): 0.8,  # ln 4
    ("two", "one"): 0.8,
}


def by_table(asked: Json) -> float:
    return SHARES[asked["answer_1"], asked["answer_2"]]


def tried_again(folder: Path) -> list[int]:
    """The chunks that the next start tries again."""
    note = read_finished(Journal(folder, folder / "journal" / "duel.preferences"))
    assert note is not None
    return list(note.again)


def four_rows(folder: Path) -> tuple[Path, Path]:
    a = ["good", "poor", "one", "equal"]
    b = ["bad", "fine", "two", " equal "]
    return write_runs(folder, *([row(number, text) for number, text in enumerate(texts)] for texts in (a, b)))


def test_win_rate_odds_bias_and_reasons_are_those_worked_out_by_hand(tmp_path: Path, duel: Duel) -> None:
    judge = judge_of(by_table)
    result = duel(*four_rows(tmp_path), judge=judge)
    good, poor, one, equal = result.rows
    assert [line["winner"] for line in result.rows] == ["a", "b", "tie", "tie"]
    odds = math.sqrt(3 * 1.5)  # the mean of the log odds of both orders
    assert good["a_better"] == pytest.approx(odds / (1 + odds), abs=1e-6)
    assert good["log_odds_a_first"] == pytest.approx(math.log(3), abs=1e-6)
    assert good["log_odds_b_first"] == pytest.approx(math.log(1.5), abs=1e-6)
    assert (good["reason"], good["reason_order"], good["no_reason"]) == ("good is better", "a_first", None)
    assert poor["a_better"] == pytest.approx(1 / 3, abs=1e-6)  # odds 1/4 and 1, so 1/2
    assert (poor["reason"], poor["reason_order"]) == ("fine is better", "a_first")
    assert (one["a_better"], one["reason"]) == (0.5, None)
    assert "same place" in one["no_reason"]
    assert (equal["a_better"], equal["same"], equal["judge_calls"]) == (0.5, True, 0)
    assert result.win_rate == pytest.approx((1 + 0 + 0.5 + 0.5) / 4)
    counts = {name: result.summary[name] for name in ("wins", "ties", "losses", "same", "judge_calls")}
    assert counts == {"wins": 1, "ties": 1, "losses": 1, "same": 1, "judge_calls": 3 + 3 + 2}
    assert judge.asked == 8
    bias = result.summary["position_bias"]
    assert (bias["pairs"], bias["first_won_twice"], bias["second_won_twice"]) == (3, 1 / 3, 0)
    both = [math.log(3) + math.log(2 / 3), math.log(1 / 4) + 0, 2 * math.log(4)]
    assert bias["log_odds_of_first"] == pytest.approx(sum(both) / 6, abs=1e-6)
    measured = result.summary["measures"]["win rate of a"]
    assert (measured["scored"], measured["count"], measured["ci_method"]) == (4, 4, "wilson-effective-n")
    assert 0 <= measured["ci_low"] < 0.5 < measured["ci_high"] <= 1


@pytest.mark.parametrize(
    ("first", "second", "winner"),  # shares of the first place with a there, and with b there
    [(0.9, 0.6, "tie"), (0.4, 0.1, "tie"), (0.9, 0.4, "a"), (0.4, 0.9, "b"), (0.9, 0.5, "a"), (0.5, 0.9, "b")],
)
def test_a_row_whose_winner_changes_with_the_order_is_a_tie(
    first: float, second: float, winner: str, tmp_path: Path, duel: Duel
) -> None:
    judge = judge_of(lambda asked: first if asked["answer_1"] == "good" else second)
    result = duel(*write_runs(tmp_path, [row(1, "good")], [row(1, "bad")]), judge=judge)
    [line] = result.rows
    odds = math.log(first / (1 - first)) - math.log(second / (1 - second))
    assert line["a_better"] == pytest.approx(1 / (1 + math.exp(-odds / 2)), abs=1e-6)
    assert line["winner"] == winner
    assert result.win_rate == {"a": 1, "tie": 0.5, "b": 0}[winner]
    assert ("the same place" in str(line["no_reason"])) == (winner == "tie")


def test_exchanging_the_runs_exchanges_wins_and_losses_only(tmp_path: Path, duel: Duel) -> None:
    a, b = four_rows(tmp_path)
    there = duel(a, b, judge=judge_of(by_table))
    back = duel(b, a, judge=judge_of(by_table))
    assert [line["a_better"] for line in back.rows] == pytest.approx([1 - line["a_better"] for line in there.rows])
    assert [line["reason"] for line in back.rows] == [line["reason"] for line in there.rows]
    assert (back.summary["wins"], back.summary["losses"]) == (there.summary["losses"], there.summary["wins"])
    assert back.summary["position_bias"] == there.summary["position_bias"]


def first_wins(asked: Json) -> float:
    """Of a judge that goes by the place."""
    return 0.9


def best_wins(asked: Json) -> float:
    return 0.9 if asked["answer_1"] < asked["answer_2"] else 0.1


EVEN = (["a1", "b2"] * 10, ["b1", "a2"] * 10)
SENTENCES: dict[str, tuple[tuple[list[str], list[str]], Callable[[Json], float], tuple[str, str], str]] = {
    "a wins": ((["a"] * 20, ["b"] * 20), best_wins, ("a", "b"), "a wins: 1.00 [{low}, 1.00] of 20 rows against b, "),
    "figures are those of b": (
        (["b"] * 20, ["a"] * 20), best_wins, ("a", "b"), "b wins: 1.00 [{low}, 1.00] of 20 rows against a, "
    ),
    "not settled": (EVEN, best_wins, ("a", "b"), "Not settled which run answers better: a wins 0.50 ["),
    "one name": (EVEN, best_wins, ("a", "other/a"), "Not settled which run answers better: a (a) wins 0.50 ["),
    "one row": ((["a"], ["b"]), best_wins, ("a", "b"), "Not settled which run answers better: a wins 1.00 [0.00, "),
    "the same": ((["a"] * 20, ["a"] * 20), best_wins, ("a", "b"), "No difference: in 20 rows both runs have the same"),
    "by place": (
        (["a"] * 20, ["b"] * 20), first_wins, ("a", "b"),
        "In 100 % of 20 rows the judge chose the same place in both orders, mostly the first",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("texts", "share", "names", "sentence"), SENTENCES.values(), ids=SENTENCES)
def test_a_run_wins_if_the_whole_interval_is_on_one_side_of_one_half(
    texts: tuple[list[str], list[str]],
    share: Callable[[Json], float],
    names: tuple[str, str],
    sentence: str,
    tmp_path: Path,
    duel: Duel,
    capsys: Capture,
) -> None:
    runs = [
        write_run(tmp_path / name, [row(number, text) for number, text in enumerate(side)], name=name.split("/")[-1])
        for name, side in zip(names, texts, strict=True)
    ]
    result = duel(*runs, judge=judge_of(share), out=tmp_path / "out")
    rate = result.summary["measures"]["win rate of a"]
    low = 1 - rate["ci_high"] if rate["mean"] < 0.5 else rate["ci_low"]
    shown = " ".join(capsys.readouterr().out.split())
    assert sentence.format(low=f"{low:.2f}") in shown


def test_the_95_percent_interval_says_who_wins_whatever_interval_is_printed(
    tmp_path: Path, duel: Duel, capsys: Capture
) -> None:
    """16 of 20 rows: 0.58 to 0.92; the interval of 0.999 holds one half."""
    texts = ["a" if number < 16 else "c" for number in range(20)]
    a = write_run(tmp_path / "a", [row(number, text) for number, text in enumerate(texts)], ci_level=0.999)
    b = write_run(tmp_path / "b", [row(number, "b") for number in range(20)])
    rate = duel(a, b, judge=judge_of(best_wins)).summary["measures"]["win rate of a"]
    assert rate["ci_low"] < 0.5 < rate["interval_95"][0]
    assert capsys.readouterr().out.startswith("a wins: 0.80 [")


class Plain(OpinionJudge):
    """A judge without probabilities that prefers one answer; a `JudgeProtocol`.

    Attributes:
        window: letters that it can read, None: any number.
    """

    signature: str | None = "plain"

    def __init__(self, best: str, window: int | None = None) -> None:
        self.best = best
        self.window = window
        self.prompts = list[str]()
        offered = as_judge(ScriptedJudge()).capabilities
        self.capabilities = replace(offered, in_flight=2, greedy=True, probabilities=False, window=window)

    async def opinion(self, prompt: str, response_model: type[BaseModel], draw: Draw = (0, 0)) -> Opinion:
        if self.window is not None and self.room(prompt) < 0:
            raise PromptTooLongError("too long")
        await asyncio.sleep(0)
        self.prompts.append(prompt)
        choice = 1 if shown(prompt)["answer_1"] == self.best else 2
        return Opinion(response_model.model_validate({"choice": choice, "reason": f"choice {choice}"}))

    def count(self, text: str) -> int:
        return len(text)

    def room(self, prompt: str) -> int:
        assert self.window is not None
        return self.window - len(prompt)


def test_a_judge_without_probabilities_is_asked_for_its_choice(tmp_path: Path, duel: Duel) -> None:
    runs = write_runs(tmp_path, [row(1, "good")], [row(1, "bad")])
    [line] = duel(*runs, judge=Plain("good")).rows
    assert (line["winner"], line["log_odds_a_first"], line["log_odds_b_first"]) == ("a", 30, 30)
    assert (line["reason"], line["reason_order"]) == ("choice 1", "a_first")


def test_a_reason_for_the_answer_that_lost_is_none(tmp_path: Path, duel: Duel) -> None:
    """One that samples may say something else when it is asked for its reason."""
    runs = write_runs(tmp_path, [row(1, "good")], [row(1, "bad")])
    judge = judge_of(by_table)
    judge.script = lambda prompt, response_model: {"choice": 2, "reason": "the second one"}
    [line] = duel(*runs, judge=judge).rows
    assert (line["winner"], line["reason"]) == ("a", None)
    assert "choice" in line["no_reason"]


def test_a_model_gives_the_odds_of_its_digit_and_a_reason_for_either_choice(
    tmp_path: Path, duel: Duel, model_folder: ModelFolder
) -> None:
    runs = write_runs(tmp_path, [row(1, "In Tesk.")], [row(1, "I do not know.")])
    config = JudgeConfig(model=str(model_folder("llama-bytelevel")), dtype="float32", max_new_tokens=40)
    judge = Judge.from_config(config)
    [line] = duel(*runs, judge=judge).rows
    prompts = load_prompts(["duel"], "english", ROOT)
    asked = prompt_models()["duel", "prompt"][0](
        user_input="Question 1?", reference="Tesk", answer_1="In Tesk.", answer_2="I do not know."
    )
    prompt = prompts["duel", "prompt"].to_string(asked)
    first, second = asyncio.run(judge.inner.choose(prompt, ['{\n    "choice": 1', '{\n    "choice": 2'])).values()
    assert line["log_odds_a_first"] == pytest.approx(math.log(first / second), abs=1e-4)
    assert line["winner"] == "tie" or line["reason"]


SHOWN = [  # columns of a, columns of b, contexts, reference
    ({"retrieved_contexts": ["B", "D"]}, {"retrieved_contexts": ["A", "D", "B", "E"]}, ["A", "B", "D", "E"], "Tesk"),
    ({"retrieved_contexts": ["B", " "]}, {}, ["B"], "Tesk"),
    ({"retrieved_contexts": ["B"], "reference_contexts": ["R"]}, {"retrieved_contexts": ["A"]}, ["R"], "Tesk"),
    ({"retrieved_contexts": ["B"]}, {"reference_contexts": ["R"]}, ["R"], "Tesk"),
    ({"reference": None}, {"reference": "Om"}, [], "Om"),
    ({"reference": "Om"}, {}, [], "Om"),
    ({"reference": " "}, {"reference": None}, [], None),
]


@pytest.mark.parametrize(("a", "b", "contexts", "reference"), SHOWN)
def test_the_judge_is_shown_the_reference_and_the_contexts_of_both_once(
    a: Json, b: Json, contexts: list[str], reference: str | None, tmp_path: Path, duel: Duel
) -> None:
    more = {"id": 0, "user_input": "Q?", "response": "x", "reference": "x"}  # a reference for the metric
    judge = judge_of(lambda asked: 0.7 if asked["answer_1"] == "good" else 0.3)
    result = duel(
        *write_runs(tmp_path, [row(1, "good", **a), more], [row(1, "bad", **b), more]), judge=judge, out=tmp_path
    )
    line = result.rows[0]
    assert (line["contexts"], line["reference"]) == (contexts, reference)
    asked = shown(judge.prompts[0])
    assert (asked.get("contexts", []), asked.get("reference")) == (contexts, reference)
    assert line["contexts_shown"] == len(contexts)


def test_contexts_that_do_not_fit_are_left_out_from_the_last_but_never_all(tmp_path: Path, duel: Duel) -> None:
    contexts = [letter * 500 for letter in "ABC"]
    runs = write_runs(
        tmp_path, [row(1, "good", retrieved_contexts=contexts)], [row(1, "bad", retrieved_contexts=contexts)]
    )
    whole = Plain("good")
    duel(*runs, judge=whole, out=tmp_path / "whole")
    needed = len(whole.prompts[0])
    for window, expected in ((needed + 300, 3), (needed, 2), (needed - 200, 2), (needed - 1020, 1)):
        judge = Plain("good", window)
        [line] = duel(*runs, judge=judge, out=tmp_path / str(window)).rows
        assert line["contexts_shown"] == expected
        assert shown(judge.prompts[0])["contexts"] == contexts[:expected]
    [line] = duel(*runs, judge=Plain("good", needed - 2000), out=tmp_path / "none").rows
    assert (line["winner"], line["missing"]) == (None, "too long")
    assert tried_again(tmp_path / "none") == []


def test_rows_are_counted_that_have_no_partner_or_no_answer(tmp_path: Path, duel: Duel) -> None:
    a = [row(1, "good"), row(2, "good"), row(3, None), row(4, " "), row(5, "good")]
    b = [row(2, "bad"), row(1, "bad"), row(3, "bad"), row(4, None), row(6, "bad"), row(7, "bad")]
    result = duel(*write_runs(tmp_path, a, b), judge=judge_of(by_table))
    assert result.summary["rows"] == {"compared": 2, "unanswered": 2, "unmatched_a": 1, "unmatched_b": 2}
    assert [line["key"] for line in result.rows] == ["1", "2"]


def test_several_answers_to_one_question_are_paired_in_order_and_depend_on_each_other(
    tmp_path: Path, duel: Duel
) -> None:
    def rows(*texts: str) -> list[Json]:
        return [{"user_input": "Q?", "response": text, "reference": "Tesk"} for text in texts]

    a = rows("good", "poor", "good")
    b = rows("bad", "fine")
    result = duel(*write_runs(tmp_path, a, b), judge=judge_of(by_table))
    assert [line["winner"] for line in result.rows] == ["a", "b"]
    assert result.summary["rows"]["unmatched_a"] == 1
    assert result.summary["measures"]["win rate of a"]["ci_method"] == "range: one cluster"


def test_the_cluster_is_that_of_the_configuration(tmp_path: Path, duel: Duel) -> None:
    a = [row(1, "good", topic="x"), row(2, "poor", topic="x"), row(3, "poor", topic="y")]
    b = [row(1, "bad"), row(2, "fine"), row(3, "fine")]
    runs = (write_run(tmp_path / "a", a, cluster="topic"), write_run(tmp_path / "b", b))
    clustered = duel(*runs, judge=judge_of(by_table)).summary["measures"]["win rate of a"]
    assert clustered["ci_method"].endswith("clustered")
    together = [{**each, "topic": "x"} for each in a]
    write_run(tmp_path / "c", together, cluster="topic")
    one = duel(tmp_path / "c", runs[1], judge=judge_of(by_table)).summary["measures"]["win rate of a"]
    assert one["ci_method"] == "range: one cluster"


LASTING = [
    ({"user_input": "Question 1?"}, {"user_input": "Another?"}, "the two runs have different questions in this row"),
    ({"user_input": None}, {"user_input": " "}, "there is no question"),
]


@pytest.mark.parametrize(("a", "b", "reason"), LASTING)
def test_a_row_that_asks_nothing_or_two_things_is_missing_with_its_reason(
    a: Json, b: Json, reason: str, tmp_path: Path, duel: Duel
) -> None:
    judge = judge_of(by_table)
    rows = ([row(1, "good") | a, row(2, "good")], [row(1, "bad") | b, row(2, "bad")])
    result = duel(*write_runs(tmp_path, *rows), judge=judge)
    assert (result.rows[0]["winner"], result.rows[0]["missing"]) == (None, reason)
    measured = result.summary["measures"]["win rate of a"]
    assert (measured["scored"], measured["count"], measured["reasons"]) == (1, 2, {reason: 1})
    assert result.win_rate == 1
    assert tried_again(result.folder) == []


def test_a_failure_of_the_judge_costs_one_row_and_is_tried_again(tmp_path: Path, duel: Duel) -> None:
    runs = four_rows(tmp_path)
    fails = [True]

    def share(asked: Json) -> float:
        if fails[0] and "poor" in asked.values():
            raise JudgementError("no idea")
        return by_table(asked)

    first = duel(*runs, judge=judge_of(share))
    assert [line["missing"] for line in first.rows] == [None, "no idea", None, None]
    assert tried_again(first.folder) == [1]
    assert first.win_rate == pytest.approx(2 / 3)
    fails[0] = False
    judge = judge_of(share)
    assert duel(*runs, judge=judge).win_rate == 0.5
    assert judge.asked == 3


@pytest.mark.parametrize("left", [1, 3, 5, 7])
def test_a_run_whose_judge_is_lost_continues_and_asks_nothing_twice(left: int, tmp_path: Path, duel: Duel) -> None:
    runs = four_rows(tmp_path)
    asked = list[int]()

    def share(prompt: Json) -> float:
        asked.append(1)
        if len(asked) == left + 1:
            raise JudgeLostError("the server is gone")
        return by_table(prompt)

    whole = duel(*runs, judge=judge_of(by_table), out=tmp_path / "whole")
    assert duel(*runs, judge=judge_of(share)).code == 75
    judge = judge_of(share)
    result = duel(*runs, judge=judge)
    assert (result.rows, result.summary) == (whole.rows, whole.summary)
    assert judge.asked <= 8 - left + 1
    assert [(result.folder / name).read_bytes() for name in FILES] == [
        (whole.folder / name).read_bytes() for name in FILES
    ]
    again = judge_of(by_table)
    duel(*runs, judge=again)
    assert again.asked == 0
    duel(*runs, judge=again, start="--fresh")
    assert again.asked == 8


WRONG = [  # rows of a, rows of b, arguments, what is said
    ([row(1, "x")], None, [], "no such folder"),
    ([row(1, "x")], [], [], "no scores here"),
    ([row(1, "x")], [row(2, "y")], [], "have no row in common: no 'id' of one is in the other"),
    (
        [row(1, "x"), row(2, None)],
        [row(1, None), row(2, "y")],
        [],
        "2 rows match by 'id', and in none of them both have a response",
    ),
    ([row(1, "x")], [row(1, "y")], ["--on", "nme"], "no row has something in 'nme'"),
    ([row(1, "x")], [row(1, "y")], ["--set", "judge.model=/no/such"], "judge.model: no such folder"),
    ([row(1, "x")], [row(1, "y")], ["--set", "language=klingon"], "language 'klingon' is not known"),
    ([row(1, "x")], [row(1, "y")], ["--set", "cluster=topc"], "no row has something in 'topc'"),
    ([row(1, "x")], [row(1, "y")], ["--out", __file__], "cannot be"),
]


@pytest.mark.parametrize(("a", "b", "arguments", "message"), WRONG, ids=[case[3] for case in WRONG])
def test_wrong_input_ends_with_one_line_and_2_before_a_model_is_loaded(
    a: Rows,
    b: Rows | None,
    arguments: list[str],
    message: str,
    tmp_path: Path,
    capsys: Capture,
    monkeypatch: Patch,
) -> None:
    def refuse(*arguments: Any) -> None:
        raise AssertionError("a model was loaded")

    monkeypatch.setattr(Judge, "from_config", refuse)
    write_run(tmp_path / "a", a)
    if b:
        write_run(tmp_path / "b", b)
    elif b is not None:
        (tmp_path / "b").mkdir()
    error = error_of(capsys, "duel", tmp_path / "a", tmp_path / "b", *arguments)
    assert error.startswith("error: ") and message in error
    assert error.count("\n") == 1


def test_a_manifest_without_configuration_needs_one(tmp_path: Path, capsys: Capture) -> None:
    a, b = four_rows(tmp_path)
    (a / "manifest.json").write_text('{"program": "rag_evaluator"}', "utf-8")
    shutil.rmtree(a / "journal")  # it knows the manifest
    assert "Give the configuration with --config" in error_of(capsys, "duel", a, b)


def test_the_command_with_the_demo_judge_says_who_wins_and_refuses_what_changed(
    tmp_path: Path, capsys: Capture
) -> None:
    contexts = ["Nolu Brak was born in Tesk.", "The Harn bridge was built in 1921."]
    a = [row(number, text, retrieved_contexts=contexts) for number, text in enumerate(["In Tesk.", "In 1921.", "No."])]
    b = [row(number, text, retrieved_contexts=contexts) for number, text in enumerate(["In Om.", "In 1921.", "Yes."])]
    runs = [str(run) for run in write_runs(tmp_path, a, b)]
    arguments = ["duel", *runs, "--set", "judge.max_new_tokens=32"]
    shown = output_of(capsys, *arguments)
    assert shown.startswith("Not settled which run answers better: a wins ")
    assert " of 3 rows against b, ties count half, according to the toy judge.\n" in shown
    assert f"Next: rag-evaluator compare {' '.join(runs)}\n" in shown
    assert "3 rows that a and b both answered, matched by 'id'" in shown
    assert "1 ties without asking the judge" in shown
    out = tmp_path / "duel-a-b"
    summary = json.loads((out / "duel_summary.json").read_bytes())
    assert f"{summary['judge_calls']} judge calls, of them {summary['judge_calls']} now" in shown
    assert summary["wins"] + summary["ties"] + summary["losses"] == 2
    manifest = json.loads((out / "duel_manifest.json").read_bytes())
    assert manifest["duel"] == {"a": runs[0], "b": runs[1], "on": "id"}
    assert "judge:" in manifest["signatures"]["duel"]
    assert "interval: 0.95 before, 0.8 now" in error_of(capsys, *arguments, "--set", "ci_level=0.8")
    assert "of them 0 now" in output_of(capsys, *arguments, "--set", "ci_level=0.8", "--update")
    write_run(tmp_path / "b", [*b, row(9, "more")], chunk_size=1)
    assert "not the rows that were compared" in error_of(capsys, "merge", out)


def test_the_docs_name_every_field_of_a_row_and_of_the_summary(tmp_path: Path, duel: Duel) -> None:
    result = duel(*four_rows(tmp_path), judge=judge_of(by_table))
    text = (ROOT / "docs" / "duel.md").read_text("utf-8")
    names = {*result.rows[0], *result.summary, *result.summary["position_bias"], *result.summary["rows"]}
    assert [name for name in sorted(names) if f"`{name}`" not in text] == []


def test_a_duel_of_some_pairs_goes_on_with_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    judge = judge_of(lambda asked: 0.6)
    monkeypatch.setattr("rag_evaluator.judge.judge.Judge.from_config", lambda config, offline: judge)
    a, b = write_runs(tmp_path, *([row(place, text) for place in range(3)] for text in ("Tesk", "Perhaps in Tesk")))
    assert "partial: 2 of 3 rows (limit)" in printed(capsys, 0, "duel", b, a, "--limit", "2")
    before = judge.asked
    shown = printed(capsys, 0, "duel", b, a)
    assert "3 rows that b and a both answered" in shown
    assert "partial" not in shown
    assert judge.asked - before == before / 2
    assert printed(capsys, 0, "merge", tmp_path / "duel-b-a")
