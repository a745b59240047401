"""What was asked once is not asked again, and is the same answer, in this run and from the disk."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ragas.llms.base import InstructorBaseRagasLLM

from rag_evaluator import JudgementError, ScriptedJudge
from rag_evaluator.files import Records
from rag_evaluator.judge import CachedJudge, JudgeProtocol, as_judge, log_odds, probability, sigmoid
from rag_evaluator.prompts import CompareOutput, FilterOutput, ReferenceOutput

FIRST = CompareOutput(choice=1)
SECOND = CompareOutput(choice=2)
OF_FORMAT_2 = (
    b'{"signature": "sig", "prompt": "1241626eb8ca5429", "log_odds": 0.847298, "sha256": "c9f33a440d47e7ae"}\n'
    b'{"signature": "sig", "prompt": "10fd874b68dad080", "answer": {"answerable": 1, "answer": "Hahn \xc3\xa1"}, '
    b'"sha256": "5c4b215af0c4c4db"}\n'
    b'{"signature": "plain", "prompt": "1241626eb8ca5429", "log_odds": -30.0, "sha256": "9a63eb9428326f85"}\n'
)


class Plain(InstructorBaseRagasLLM):
    """A ragas LLM without probabilities."""

    async def agenerate(self, prompt: str, response_model: type[Any]) -> Any:
        return SECOND

    def generate(self, prompt: str, response_model: type[Any]) -> Any:
        raise NotImplementedError


def scripted() -> ScriptedJudge:
    def choices(prompt: str, options: Sequence[str]) -> dict[str, float]:
        return dict(zip(options, (0.7, 0.3) if len(options) == 2 else (0.5, 0.25, 0.25), strict=True))

    return ScriptedJudge({"ReferenceOutput": {"answerable": 1, "answer": "Hahn á"}}, choices)


def records_at(path: Path) -> Records:
    return Records(path, ("signature", "prompt"))


async def all_three(path: Path) -> tuple[list[Any], int]:
    """The answers of format 2, and how many were asked for."""
    records = records_at(path)
    judge = CachedJudge(scripted(), "sig", records)
    plain = CachedJudge(Plain(), "plain", records)
    answers = [
        await log_odds(judge, "compare", FIRST, SECOND),
        (await judge.opinion("write", ReferenceOutput)).answer,
        await log_odds(plain, "compare", FIRST, SECOND),
    ]
    records.close()
    return answers, judge.asked + plain.asked


@pytest.mark.parametrize("whole_lines", [0, 1, 2, 3])
def test_a_folder_of_format_2_is_continued_without_asking_again_and_keeps_its_bytes(
    tmp_path: Path, whole_lines: int
) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(b"".join(OF_FORMAT_2.splitlines(keepends=True)[:whole_lines]))
    answers, asked = asyncio.run(all_three(path))
    assert answers == [0.847298, ReferenceOutput(answerable=1, answer="Hahn á"), -30.0]
    assert asked == 3 - whole_lines
    assert path.read_bytes() == OF_FORMAT_2


@given(st.floats(-30, 30).map(lambda value: round(value, 6)))
def test_log_odds_stay_the_same_through_probabilities(value: float) -> None:
    shares = sigmoid(value), sigmoid(-value)
    judge = ScriptedJudge(choices=lambda prompt, options: dict(zip(options, shares, strict=True)))
    assert asyncio.run(log_odds(as_judge(judge), "compare", FIRST, SECOND)) == value


@pytest.mark.parametrize("on_disk", [False, True])
def test_equal_questions_differ_by_draw_model_and_options(tmp_path: Path, on_disk: bool) -> None:
    inner = ScriptedJudge(
        lambda prompt, model: {"answerable": 1, "answer": "x"} if model is ReferenceOutput else {"verdict": 1},
        scripted().choices,
    )
    judge = CachedJudge(inner, "sig", records_at(tmp_path / "p.jsonl") if on_disk else None)
    assert isinstance(judge, JudgeProtocol)

    async def ask() -> None:
        for _ in range(2):
            for draw in ((0, 0), (0, 1), (1, 0)):
                await asyncio.gather(*(judge.opinion("p", ReferenceOutput, draw) for _ in range(3)))
            for draw in ((0, 2), (0, 3)):
                assert await judge.choose("p", ["a", "b", "c"], draw) == {"a": 0.5, "b": 0.25, "c": 0.25}
        assert inner.asked == judge.asked == 5
        assert (await judge.opinion("p", FilterOutput)).answer == FilterOutput(verdict=1)
        assert await judge.choose("p", ["a", "b"]) == pytest.approx({"a": 0.7, "b": 0.3}, abs=1e-6)
        assert inner.asked == judge.asked == 7

    asyncio.run(ask())


def test_a_judge_is_asked_the_same_with_and_without_memory() -> None:
    async def ask(judge: JudgeProtocol) -> list[float]:
        return [await log_odds(judge, "p", FIRST, SECOND), await probability(judge, "p", FIRST, SECOND)]

    for inner in (scripted(), Plain()):
        cached = CachedJudge(inner)
        assert asyncio.run(ask(cached)) == asyncio.run(ask(cached.judge))
        assert cached.asked == 1


def test_an_answer_that_failed_is_asked_for_again() -> None:
    answers = iter(["neither", "a"])
    judge = CachedJudge(ScriptedJudge(choices=lambda prompt, options: next(answers)))
    with pytest.raises(JudgementError, match="neither"):
        asyncio.run(judge.choose("p", ["a", "b"]))
    assert asyncio.run(judge.choose("p", ["a", "b"])) == pytest.approx({"a": 1.0, "b": 0.0}, abs=1e-6)


def test_answers_of_a_judge_without_a_signature_do_not_reach_the_disk(tmp_path: Path) -> None:
    judge = CachedJudge(scripted(), None, records_at(tmp_path / "p.jsonl"))
    asyncio.run(log_odds(judge, "p", FIRST, SECOND))
    assert list(tmp_path.iterdir()) == []
