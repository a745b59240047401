import pytest
from pydantic import BaseModel
from ragas.metrics.collections.context_recall.util import ContextRecallInput, ContextRecallOutput
from ragas.metrics.collections.faithfulness.util import (
    NLIStatementInput,
    NLIStatementOutput,
    StatementGeneratorInput,
    StatementGeneratorOutput,
)

from rag_evaluator.judge import LONGEST_REASON, share_out, tighten

CLOSING = 5  # tokens that a string may take past its limit


def nli(count: int) -> dict[str, object]:
    return tighten(NLIStatementOutput, NLIStatementInput(context="c", statements=["x"] * count))


def test_the_longest_answer_fits_the_budget() -> None:
    budget = share_out(nli(3), 10_000, 1024, len)
    fixed = len(NLIStatementOutput(statements=[_item()] * 3).model_dump_json(indent=4))  # type: ignore[list-item]
    assert fixed + 3 * (budget.string_tokens + CLOSING) <= 1024
    assert budget.wanted == 0


def test_dictated_text_does_not_count_against_what_the_model_may_choose() -> None:
    statements = ["w" * 1000, "v" * 1000]
    schema = tighten(NLIStatementOutput, NLIStatementInput(context="c", statements=statements))
    assert share_out(schema, 200, 10_000, len).string_tokens > 80
    assert share_out(nli(1), 100_000, 100_000, len).string_tokens > LONGEST_REASON
    assert share_out(nli(9), 64, 100_000, len).string_tokens == 1


def _item() -> dict[str, object]:
    return {"statement": "x", "reason": "", "verdict": 0}


@pytest.mark.parametrize(
    ("model", "data"),
    [
        (StatementGeneratorOutput, StatementGeneratorInput(question="q", answer="w " * 200)),
        (ContextRecallOutput, ContextRecallInput(question="q", context="c", answer="w " * 200)),
    ],
)
def test_a_list_may_have_twice_the_tokens_of_its_source_and_its_layout(model: type[BaseModel], data: BaseModel) -> None:
    schema = tighten(model, data)
    budget = share_out(schema, 100_000, 100_000, len)
    assert budget.max_new_tokens == budget.wanted >= 2 * 400
    assert "came to no end" in budget.limit
    least = share_out(schema, 500, 100_000, len)
    assert least.max_new_tokens == 500 < least.wanted
    assert "raise judge.max_new_tokens" in least.limit
    assert "of the window" in share_out(schema, 100_000, 500, len).limit


def test_a_short_answer_may_be_made_whole_by_the_words_of_its_question() -> None:
    data = StatementGeneratorInput(
        question="Who of the painters of Tesk was born in 1921 and died in 1987?", answer="Yes."
    )
    schema = tighten(StatementGeneratorOutput, data)
    assert share_out(schema, 1024, 100_000, len).max_new_tokens > 2 * len(data.question)


def test_reasons_in_a_list_are_never_cut_to_nothing() -> None:
    schema = tighten(ContextRecallOutput, ContextRecallInput(question="q", context="c", answer="w " * 200))
    assert share_out(schema, 1200, 100_000, len).string_tokens >= 32


@pytest.mark.parametrize("words", [1, 10, 400])
def test_the_shortest_useful_answer_is_one_item_long(words: int) -> None:
    data = StatementGeneratorInput(question="q", answer="w " * words)
    empty = StatementGeneratorOutput(statements=[""]).model_dump_json(indent=4)
    assert share_out(tighten(StatementGeneratorOutput, data), 512, 9000, len).needed == len(empty) + 2 + 32 + CLOSING
