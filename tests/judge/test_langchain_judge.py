"""Chat models of LangChain as judges: by structured output where they can, by text where they cannot."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from aliases import Rows
from folders import lines_of
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models import BaseChatModel, FakeListLLM
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field
from ragas.llms import LangchainLLMWrapper

from rag_evaluator import METRICS, RAGEvaluator, generate, sort
from rag_evaluator.judge import LangchainJudge, as_judge


def shortest(schema: dict[str, Any]) -> Any:
    """The shortest value of a tool's parameters: the last verdict, lists with one item."""
    if "enum" in schema:
        return schema["enum"][-1]
    if "anyOf" in schema:
        return shortest(schema["anyOf"][0])
    if schema["type"] == "object":
        return {name: shortest(value) for name, value in schema["properties"].items()}
    if schema["type"] == "array":
        return [shortest(schema["items"])]
    return {"string": "a", "integer": 0, "number": 0.0, "boolean": False}[schema["type"]]


class TextModel(BaseChatModel):
    """A chat model that writes a text."""

    text: str = '{"rating": 2}'
    asked: list[Any] = Field(default_factory=list)  # the tools of each call
    fails: bool = False

    @property
    def _llm_type(self) -> str:
        return "small"

    def _generate(self, messages: list[BaseMessage], *_: Any, **settings: Any) -> ChatResult:
        if self.fails:
            raise ConnectionError("server down")
        self.asked.append(settings.get("tools"))
        return ChatResult(generations=[ChatGeneration(message=self.answer(settings.get("tools")))])

    def answer(self, tools: Any) -> AIMessage:
        return AIMessage(self.text)


class ToolModel(TextModel):
    """One that calls tools, as most do, so that LangChain gives it structured output."""

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Runnable[Any, AIMessage]:
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools])

    def answer(self, tools: Any) -> AIMessage:
        if not tools:
            return AIMessage(self.text)
        called = {"name": tools[0]["function"]["name"], "args": shortest(tools[0]["function"]["parameters"]), "id": "1"}
        return AIMessage("", tool_calls=[called])


class DeafModel(ToolModel):
    """One that takes tools and does not call them, as many local models do."""

    def answer(self, tools: Any) -> AIMessage:
        return AIMessage(self.text)


class RefusingModel(ToolModel):
    """One whose server knows no tools."""

    def answer(self, tools: Any) -> AIMessage:
        if tools:
            raise RuntimeError("this model does not support tools")
        return AIMessage(self.text)


class WrongModel(ToolModel):
    """One that calls the tool with what was not asked for."""

    def answer(self, tools: Any) -> AIMessage:
        return AIMessage("", tool_calls=[{"name": tools[0]["function"]["name"], "args": {"rating": 9}, "id": "1"}])


def score_of(judge: Any, rows: Rows) -> Any:
    return (
        RAGEvaluator({"metrics": ["context_relevance"]}, judge=judge).evaluate(rows[:1]).scores["context_relevance"][0]
    )


def test_a_model_that_can_is_asked_for_structured_output_on_the_scale(rows: Rows) -> None:
    model = ToolModel(text="I would say 2.")
    assert score_of(model, rows).value == 1.0
    assert {json.dumps(tools[0]["function"]["parameters"]["properties"]) for tools in model.asked} == {
        '{"rating": {"type": "integer", "enum": [0, 1, 2]}}'
    }


@pytest.mark.parametrize("kind", [TextModel, DeafModel, RefusingModel])
def test_a_model_that_cannot_is_asked_for_text(kind: type[TextModel], rows: Rows) -> None:
    assert score_of(kind(text='Sure: {"rating": 2}.'), rows).value == 1.0


@pytest.mark.parametrize(
    "text",
    [
        '<think>\nok, {the} thing\n</think>\n\n{"rating": 2}',
        '<think>{"rating": 0}</think>{"rating": 2}',
        'so {"rating": 0}?[/THINK]{"rating": 2}',
        'In the form {"rating": ...}: {"rating": 2}',
        '{"rating": 2} For example: {"rating": 0}',
        '{"score": 0} as {"rating": 2}',
    ],
)
def test_the_first_object_after_the_thoughts_that_fits_is_the_answer(text: str, rows: Rows) -> None:
    assert score_of(TextModel(text=text), rows).value == 1.0


class EchoModel(TextModel):
    """One that returns prompt and answer, as pipelines of transformers do, perhaps with other spaces."""

    spaces: bool = False

    def _generate(self, messages: list[BaseMessage], *_: Any, **settings: Any) -> ChatResult:
        prompt = str(messages[0].content)
        shown = f"<s> {' '.join(prompt.split())}" if self.spaces else prompt
        return ChatResult(generations=[ChatGeneration(message=AIMessage(shown + self.text))])


@pytest.mark.parametrize("spaces", [False, True])
@pytest.mark.parametrize("text", ['{"rating": 2}', '{"rating": 2}\n\nExample: {"rating": 0}'])
def test_a_prompt_that_comes_back_with_the_answer_is_no_answer(text: str, spaces: bool, rows: Rows) -> None:
    assert score_of(EchoModel(text=text, spaces=spaces), rows).value == 1.0
    assert "holds no JSON" in score_of(EchoModel(text="I cannot say.", spaces=spaces), rows).reason


WRONG = {
    "no JSON": (TextModel(text="I would say 2."), "the judge's answer holds no JSON: 'I would say 2.'"),
    "no JSON and no call of the tool": (DeafModel(text="I would say 2."), "the judge's answer holds no JSON"),
    "a thought alone": (TextModel(text='<think>{"rating": 2}'), "the judge's answer holds no JSON"),
    "other keys": (TextModel(text='{"score": 2}'), "is no ContextRelevanceOutput: Field required"),
    "down": (TextModel(fails=True), "ConnectionError: server down"),
    "off the scale": (WrongModel(), "rating is 9: expected 0 or 1 or 2"),
    "off the scale in a text": (FakeListLLM(responses=['{"rating": 7}']), "rating is 7: expected 0 or 1 or 2"),
    "a key twice": (TextModel(text='{"rating": 2, "rating": 0}'), "the answer has the key 'rating' twice"),
    "a key twice before an example": (TextModel(text='{"rating": 2, "rating": 0} {"rating": 1}'), "'rating' twice"),
    "off the scale before an example": (TextModel(text='{"rating": 7} {"rating": 1}'), "rating is 7: expected 0 or 1"),
    "neither way": (RefusingModel(text="no"), "the judge's answer holds no JSON: 'no'"),
}


@pytest.mark.parametrize(("model", "reason"), WRONG.values(), ids=WRONG)
def test_what_is_no_answer_is_a_missing_score_with_its_reason(model: Any, reason: str, rows: Rows) -> None:
    score = score_of(model, rows)
    assert score.missing and reason in score.reason


def test_a_langchain_model_in_the_wrapper_of_ragas_is_the_model_itself(rows: Rows) -> None:
    model = ToolModel()
    with pytest.warns(DeprecationWarning):
        wrapped = LangchainLLMWrapper(model)
    judge = as_judge(wrapped)
    assert isinstance(judge, LangchainJudge) and judge.llm is model
    assert score_of(wrapped, rows).value == 1.0


def test_every_metric_and_its_files_do_without_probabilities_confidences_and_counts(
    whole_rows: Rows, tmp_path: Path
) -> None:
    names = [name for name, metric in METRICS.items() if metric.judge]
    evaluator = RAGEvaluator({"metrics": names}, judge=ToolModel(), embeddings=DeterministicFakeEmbedding(size=8))
    known = as_judge(evaluator.judge.model).capabilities
    assert not (known.probabilities or known.counts_tokens)
    evaluator.evaluate(whole_rows[:1], folder=tmp_path)
    details = lines_of(tmp_path / "details.jsonl")
    judged = [one for line in details for one in line["judgements"]]
    assert judged and not [one["error"] for one in judged if one["error"]]
    assert {(tuple(one["confidence"]), one["prompt_tokens"]) for one in judged} == {((), 0)}
    assert len(details) == len(names)


def test_sort_and_generate_do_without_probabilities_and_counts(tmp_path: Path) -> None:
    model = ToolModel(text='{"answerable": 1, "answer": "a"}')  # of several forms: no tool takes it
    (ranking,) = sort(["q"], [["a", "b", "c"]], judge=model, output_dir=tmp_path, fast=False)
    assert sorted(ranking["sorted"]) == [0, 1, 2]
    (reference,) = generate(["q"], [["a", "b", "c"]], judge=model, output_dir=tmp_path)
    assert reference == "a"
