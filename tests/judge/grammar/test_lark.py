"""Grammars on passing and failing strings, with no model."""

import itertools
import json
from typing import Any

import llguidance
import llguidance.hf
import pytest
import tiny_models
from hypothesis import given, settings
from hypothesis import strategies as st
from made_engine import request_of
from pydantic import BaseModel
from ragas.metrics.collections.answer_correctness.util import ClassificationWithReason, CorrectnessClassifierInput
from ragas.metrics.collections.faithfulness.util import NLIStatementInput, NLIStatementOutput
from transformers import PreTrainedTokenizerFast

from rag_evaluator.metrics import all_prompts
from rag_evaluator.prompts import english_pack

TOKENIZER = PreTrainedTokenizerFast(tokenizer_object=tiny_models.byte_level(["</s>"]), eos_token="</s>")
ENGINE = llguidance.hf.from_tokenizer(TOKENIZER)


def accepts_answer(request: Any, text: str) -> bool:
    """Whether an answer obeys the grammar, both parts of it where there is a partition."""
    if request.rest is None:
        return accepts(request.grammar, text)
    first, colon, rest = text.partition('"FP":')
    return accepts(request.grammar, first + colon) and accepts(request.rest(first + colon), rest)


def accepts(grammar: str, text: str) -> bool:
    matcher = llguidance.LLMatcher(ENGINE, grammar)
    assert not matcher.is_error(), matcher.get_error()
    tokens = ENGINE.tokenize_str(text)
    return matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting()


def emptied(value: Any) -> Any:
    """JSON without reasons."""
    if isinstance(value, dict):
        return {name: "" if name in ("reason", "feedback") else emptied(part) for name, part in value.items()}
    return [emptied(item) for item in value] if isinstance(value, list) else value


def test_every_example_that_ragas_shows_is_a_legal_answer_in_its_own_layout() -> None:
    told = set()
    for key, prompt in all_prompts().items():
        for example in english_pack(prompt).examples:
            data = prompt.input_model(**example["input"])
            output = example["output"]
            answer, silent = (
                prompt.output_model(**each).model_dump_json(indent=4) for each in (output, emptied(output))
            )
            assert accepts(request_of(prompt.output_model, prefix=" ").grammar, " " + answer), (key, answer)
            assert accepts_answer(request_of(prompt.output_model, data), answer), (key, answer)
            assert accepts_answer(request_of(prompt.output_model, data, reasons="none"), silent), (key, silent)
            told |= {prompt.output_model.__name__} if silent != answer else set()
    assert {"NLIStatementOutput", "ContextRecallOutput", "ContextPrecisionOutput", "RubricScoreOutput"} <= told


def nli(statements: list[str]) -> str:
    grammar: str = request_of(NLIStatementOutput, NLIStatementInput(context="c", statements=statements)).grammar
    return grammar


def nli_answer(statements: list[str], verdict: int = 1) -> str:
    items = [{"statement": text, "reason": "so", "verdict": verdict} for text in statements]
    return NLIStatementOutput(statements=items).model_dump_json(indent=4)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong",
    [
        nli_answer(["A.", "B."], verdict=7),
        nli_answer(["B.", "A."]),
        nli_answer(["A."]),
        nli_answer(["A.", "B.", "B."]),
        nli_answer(["A.", "B. "]),
        json.dumps(json.loads(nli_answer(["A.", "B."]))),
        nli_answer(["A.", "B."]) + "\n",
    ],
)
def test_a_verdict_cannot_be_lost_added_shifted_or_off_its_scale(wrong: str) -> None:
    assert accepts(nli(["A.", "B."]), nli_answer(["A.", "B."]))
    assert not accepts(nli(["A.", "B."]), wrong)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1, max_size=4))
def test_statements_of_any_script_and_punctuation_are_dictated_word_by_word(statements: list[str]) -> None:
    assert accepts(nli(statements), nli_answer(statements))


ANSWER = ["a1", "a2", "a3"]
TRUTH = ["g1", "g2"]


def classification(tp: list[str], fp: list[str], fn: list[str]) -> str:
    def items(texts: list[str]) -> list[dict[str, str]]:
        return [{"statement": text, "reason": "so"} for text in texts]

    return ClassificationWithReason(TP=items(tp), FP=items(fp), FN=items(fn)).model_dump_json(indent=4)  # type: ignore[arg-type]


def test_each_statement_of_the_answer_is_tp_or_fp_exactly_once() -> None:
    data = CorrectnessClassifierInput(question="q", answer=ANSWER, ground_truth=TRUTH)
    request = request_of(ClassificationWithReason, data)
    subsets = [
        [t for t, keep in zip(ANSWER, mask, strict=True) if keep] for mask in itertools.product([0, 1], repeat=3)
    ]
    for tp, fp in itertools.product(subsets, repeat=2):
        for fn in ([], ["g1"], ["g2"], ["g1", "g2"]):
            legal = sorted(tp + fp) == ANSWER
            assert accepts_answer(request, classification(tp, fp, fn)) == legal, (tp, fp, fn)
    assert not accepts_answer(request, classification(["a2", "a1"], ["a3"], []))
    assert not accepts_answer(request, classification(ANSWER, [], ["g2", "g1"]))
    assert not accepts_answer(request, classification(ANSWER, [], ["g1", "g1"]))
    assert not accepts_answer(request, classification([*ANSWER, "g1"], [], []))
    assert not accepts_answer(request, classification(ANSWER, [], ["a1"]))


@pytest.mark.parametrize("answer", [[], ["same", "same"], [f"a{i}" for i in range(40)]])
def test_partitions_of_any_size_are_complete(answer: list[str]) -> None:
    request = request_of(
        ClassificationWithReason, CorrectnessClassifierInput(question="q", answer=answer, ground_truth=[])
    )
    middle = len(answer) // 2
    assert accepts_answer(request, classification(answer[:middle], answer[middle:], []))
    if answer:
        assert not accepts_answer(request, classification(answer[:middle], answer[middle + 1 :], []))


class Everything(BaseModel):
    text: str
    count: int
    share: float
    sure: bool
    tags: list[str]
    note: str | None


@pytest.mark.parametrize(
    "value",
    [
        {"text": "x", "count": -3, "share": 0.5, "sure": True, "tags": [], "note": None},
        {"text": 'q"\\\n\t', "count": 0, "share": 12.0, "sure": False, "tags": ["a", "b"], "note": "n"},
    ],
)
def test_a_users_own_response_model_has_a_grammar_too(value: dict[str, Any]) -> None:
    assert accepts(request_of(Everything).grammar, Everything(**value).model_dump_json(indent=4))


class Text(BaseModel):
    text: str


def test_control_characters_and_lone_escapes_cannot_be_generated() -> None:
    grammar = request_of(Text).grammar
    assert accepts(grammar, '{\n    "text": "a\\nb"\n}')
    for wrong in ('"a\nb"', '"\\ud800"', '"a', '""', '"a" x'):
        assert not accepts(grammar, f'{{\n    "text": {wrong}\n}}')
