"""Turns before a question: how they are read, and what metrics see as the question."""

from pathlib import Path
from typing import Any

import pytest
from aliases import Json
from ragas.dataset_schema import EvaluationDataset, MultiTurnSample
from ragas.messages import AIMessage, HumanMessage, ToolCall, ToolMessage

from rag_evaluator import DatasetError, load_dataset
from rag_evaluator.dataset import Sample, open_dataset, value_of
from tests.dataset.data_files import write_jsonl

TURNS = [{"role": "user", "content": "Who is Bo?"}, {"role": "assistant", "content": "A dog."}]
ROW: Json = {"question": "How old?", "history": TURNS, "answer": "Two."}
IN_CONTEXT = "user: Who is Bo?\nassistant: A dog.\nuser: How old?"
SAYS = 'Write {"role": "user" or "assistant", "content": "..."}'


def row_of(way: str = "append", **more: Any) -> Sample:
    [sample] = open_dataset([{**ROW, **more}], history=way)
    return sample


@pytest.mark.parametrize(
    "turns",
    [
        TURNS,
        [{"type": "human", "content": "Who is Bo?", "metadata": None}, {"type": "ai", "content": "A dog."}],
        [HumanMessage(content="Who is Bo?"), AIMessage(content="A dog.")],
        {"role": ["user", "assistant"], "content": ["Who is Bo?", "A dog."]},
        [{"role": "system", "content": "Be kind."}, *TURNS, {"role": "assistant", "content": None}],
        "user: Who is Bo?\nassistant: A dog.",
    ],
    ids=repr,
)
def test_the_turns_come_before_the_question(turns: Any) -> None:
    sample = row_of(history=turns)
    assert sample.columns["user_input"] == IN_CONTEXT == value_of(sample, "user_input")
    assert sample.asked == "How old?"
    assert value_of(sample, "turn") == (None if isinstance(turns, str) else 2)


def test_what_metrics_see_as_the_question() -> None:
    assert row_of("ignore").columns["user_input"] == "How old?"
    assert row_of("ignore", standalone_question="How old is Bo?").columns["user_input"] == "How old is Bo?"
    assert row_of("rewrite", rewritten_question="Bo's age?").columns["user_input"] == "Bo's age?"
    assert row_of("append", rewritten_question="Bo's age?").columns["user_input"] == IN_CONTEXT
    assert len({row_of(way).digest for way in ("append", "rewrite", "ignore")}) == 1
    assert row_of("rewrite").needs_rewrite
    assert not row_of("rewrite", rewritten_question="Bo's age?").needs_rewrite


@pytest.mark.parametrize("turns", [None, [], ""])
def test_a_row_without_turns_is_as_it_was(turns: Any) -> None:
    first = row_of(history=turns)
    [plain] = load_dataset([{name: value for name, value in ROW.items() if name != "history"}])
    assert (first.columns, first.digest, value_of(first, "turn")) == (plain.columns, plain.digest, 1)


@pytest.mark.parametrize(
    ("turns", "fault"),
    [
        (7, "column 'history': expected a list of turns, or a text, received 7"),
        (["Hi"], "column 'history'[0]: expected a turn as an object, received 'Hi'"),
        ([*TURNS, {"role": "bot", "content": "x"}], "column 'history'[2].role: expected one of user, human,"),
        ([{"content": "x"}], "column 'history'[0].type: expected one of user, human,"),
        ([{"role": "user"}], "column 'history'[0].content: expected a string, received {'role': 'user'}"),
    ],
)
def test_bad_turns_are_named_by_file_line_and_key(turns: Any, fault: str, tmp_path: Path) -> None:
    with pytest.raises(DatasetError) as error:
        load_dataset(write_jsonl(tmp_path / "data.jsonl", [ROW, {**ROW, "history": turns}]))
    assert str(error.value).startswith(f"data.jsonl, line 2: {fault}")
    assert SAYS in str(error.value)


def test_a_multi_turn_sample_is_a_row_for_each_answer() -> None:
    said = [
        AIMessage(content="Hello."),
        *(HumanMessage(content="Who is Bo?"), AIMessage(content="A dog.")),
        *(HumanMessage(content="How old?"), AIMessage(content="I look.", tool_calls=[ToolCall(name="age", args={})])),
        ToolMessage(content="2"),
        AIMessage(content="Two."),
    ]
    rows = load_dataset(EvaluationDataset(samples=[MultiTurnSample(user_input=said, reference="The goal")]))
    hello = {"role": "assistant", "content": "Hello."}
    assert [row.row for row in rows] == [
        {"id": "1.1", "conversation": 1, "history": [hello], "user_input": "Who is Bo?", "response": "A dog."},
        {
            "id": "1.2",
            "conversation": 1,
            "history": [hello, *TURNS],
            "user_input": "How old?",
            "response": "I look.\nTwo.",
        },
    ]
    with pytest.raises(DatasetError, match="row 0: column 'user_input': expected a question and an answer to it"):
        load_dataset([{"user_input": [{"type": "human", "content": "Hi"}]}])
