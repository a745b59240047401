"""What becomes of an answer that meets its limit: a text is whole or not there, a reason ends at a word."""

import asyncio
import json
from typing import Any

import pytest
from made_engine import MadeEngine, judge_of, reply_of
from pydantic import BaseModel
from ragas.metrics.collections.answer_relevancy.util import AnswerRelevanceOutput
from ragas.metrics.collections.context_entity_recall.util import EntitiesList, ExtractEntitiesInput
from ragas.metrics.collections.context_recall.util import ContextRecallInput, ContextRecallOutput
from ragas.metrics.collections.faithfulness.util import StatementGeneratorInput, StatementGeneratorOutput
from tiny_models import Tiny

from rag_evaluator import BudgetError
from rag_evaluator.judge import PromptText
from rag_evaluator.judge.encoding.sequence import Sequence

SOURCE = "The ferry leaves Orla at 7:40. It takes 35 minutes. Tickets are sold on board, a bicycle costs 4 crowns."
ASKED = StatementGeneratorInput(question="q", answer=SOURCE)
RECALLED = ContextRecallInput(question="q", context="c", answer=SOURCE)


def after_a_cut(text: str, model: type[BaseModel] = StatementGeneratorOutput, data: BaseModel = ASKED) -> BaseModel:
    return opinion_of(reply_of(text, False), model, data)


def opinion_of(reply: Any, model: type[BaseModel], data: BaseModel | None = None) -> BaseModel:
    judge = judge_of(MadeEngine(reply), max_new_tokens=64)
    return asyncio.run(judge.opinion(PromptText("x", data), model)).answer


def statements(*texts: str) -> str:
    return json.dumps({"statements": [*texts, "It is unfini"]}, indent=4)[: -len('"\n    ]\n}')]


def test_the_unfinished_text_of_a_list_is_dropped() -> None:
    whole = [
        "The ferry leaves Orla at 7:40.",
        "It takes 35 minutes.",
        "Tickets are sold on board; bicycles cost 4 crowns.",
    ]
    assert after_a_cut(statements(*whole)).model_dump() == {"statements": whole}


@pytest.mark.parametrize(
    "texts", [(), ("The ferry leaves Orla at 7:40.",), ("It takes 35 minutes.",), ("Nothing alike",)]
)
def test_a_list_that_ends_before_nine_tenths_of_its_source_is_no_answer(texts: tuple[str, ...]) -> None:
    with pytest.raises(BudgetError, match=r"raise judge\.max_new_tokens"):
        after_a_cut(statements(*texts))


def test_a_list_without_places_in_its_source_is_whole_or_no_answer() -> None:
    text = '{\n    "entities": [\n        "Orla",\n        "crowns",\n        "cro'
    with pytest.raises(BudgetError):
        after_a_cut(text, EntitiesList, ExtractEntitiesInput(text=SOURCE))


def test_an_unfinished_object_of_a_list_is_dropped() -> None:
    item = {"statement": "Tickets are sold on board, a bicycle costs 4 crowns.", "reason": "r", "attributed": 1}
    text = json.dumps({"classifications": [item, {**item, "reason": "not finished"}]})[
        : -len(' finished", "attributed": 1}]}')
    ]
    assert after_a_cut(text, ContextRecallOutput, RECALLED).model_dump() == {"classifications": [item]}


class Judged(BaseModel):
    reason: str
    verdict: int


class Note(BaseModel):
    note: str


@pytest.mark.parametrize(
    ("model", "text", "written"),
    [
        (Judged, '{\n    "reason": "The contexts say that it was bu', "The contexts say that it was"),
        (Judged, '{\n    "reason": "Thecontextssaythatitwasbu', "Thecontextssaythatitwasbu"),
        (Judged, '{\n    "reason": "她出生于一九一二年，那一年很冷', "她出生于一九一二年，那一年很冷"),
        (Note, '{\n    "note": "The contexts say that it was bu', "The contexts say that it was"),
    ],
)
def test_a_string_that_meets_its_limit_ends_at_a_word(
    tiny: Tiny, model: type[BaseModel], text: str, written: str
) -> None:
    sequence = fed(tiny, model, text)
    assert sequence.limited
    mask = sequence.within_budget(sequence.mask())
    sequence.push(int(mask.nonzero()[0]))
    assert sequence.vocabulary.texts[sequence.tokens[-1]] == b'"'
    reply = sequence.reply()
    assert reply.text.endswith(f': "{written}"')
    assert reply.cut == ({"reason"} if model is Judged else {"string"})


def test_a_text_of_a_list_has_no_limit_of_its_own(tiny: Tiny) -> None:
    text = '{\n    "statements": [\n        "' + "The ferry leaves Orla at 7:40 and " * 9
    assert not fed(tiny, StatementGeneratorOutput, text, ASKED).limited


def test_a_question_that_meets_its_limit_is_no_answer() -> None:
    text = '{"question": "When does the ferry", "noncommittal": 0}'
    with pytest.raises(BudgetError, match=r"raise judge\.max_new_tokens"):
        opinion_of(reply_of(text, True, "string"), AnswerRelevanceOutput)


def fed(tiny: Tiny, model: type[BaseModel], text: str, data: BaseModel | None = None) -> Sequence:
    """An answer that has begun with a text, whose strings may have few tokens."""
    judge = tiny("llama-bytelevel", max_new_tokens=16)
    request = judge.inner.request(PromptText("x", data), model)
    assert request.budget.string_tokens <= 32
    sequence = Sequence(request, judge.inner.engine.vocabulary)
    for token in sequence.vocabulary.engine.tokenize_str(f"{judge.inner.encoder.answer_prefix}{text}"):
        sequence.push(token)
    return sequence
