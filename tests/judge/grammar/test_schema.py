from typing import get_args

import pytest
from pydantic import BaseModel, ValidationError
from ragas.metrics.collections.context_entity_recall.util import EntitiesList, ExtractEntitiesInput
from ragas.metrics.collections.context_recall.util import ContextRecallInput, ContextRecallOutput
from ragas.metrics.collections.faithfulness.util import (
    StatementGeneratorInput,
    StatementGeneratorOutput,
)

from rag_evaluator.judge import ANSWERS, tighten
from rag_evaluator.metrics import all_prompts
from rag_evaluator.prompts import (
    CustomOutput,
    prompt_models,
)


def test_every_integer_that_ragas_asks_for_has_a_scale() -> None:
    for key, prompt in all_prompts().items():
        if prompt.output_model is CustomOutput:  # its labels are those of the question
            continue
        integers = _integers(tighten(prompt.output_model))
        assert not integers, f"{key}: {integers} may be any number"


def _integers(schema: object) -> list[str]:
    if isinstance(schema, list):
        return [name for item in schema for name in _integers(item)]
    if not isinstance(schema, dict):
        return []
    own = [name for name, value in schema.get("properties", {}).items() if value.get("type") == "integer"]
    return own + [name for value in schema.values() for name in _integers(value)]


def test_every_rule_names_a_response_model_of_the_installed_ragas() -> None:
    names = {prompt.output_model.__name__ for prompt in all_prompts().values()}
    nested = {"StatementFaithfulnessAnswer", "ContextRecallClassification"}
    assert set(ANSWERS) <= names | nested


SCALE_OF = {
    "verdict": [0, 1],
    "choice": [1, 2],
    "answerable": [0, 1],
    "known": [0, 1],
    "label": [1, 2, 3, 4, 5],
}
BY_THE_INPUT = {"SentencesOutput", "CustomOutput", "MadeOutput", "RewriteOutput", "VerifyOutput"}
"""Numbers of sentences, and of the question; no number."""
OWN = list(dict.fromkeys(answer for _, answer in prompt_models().values()))
SCALED = [
    (model, name)
    for model in OWN
    if model.__name__ not in BY_THE_INPUT
    for name in SCALE_OF
    if name in model.model_fields
]


def test_all_our_own_models_have_a_scale_or_take_it_from_the_input() -> None:
    assert {model.__name__ for model in OWN} - {model.__name__ for model, _ in SCALED} <= BY_THE_INPUT


@pytest.mark.parametrize(("model", "name"), SCALED)
def test_our_own_models_hold_their_scale_themselves(model: type[BaseModel], name: str) -> None:
    """And the prompt still shows the judge a plain integer, as ragas does."""
    assert list(get_args(model.model_fields[name].annotation)) == SCALE_OF[name]
    assert model.model_json_schema()["properties"][name]["type"] == "integer"
    assert "enum" not in model.model_json_schema()["properties"][name]
    others = {field: "a" for field in ("answer", "reason") if field in model.model_fields}
    with pytest.raises(ValidationError):
        model.model_validate({name: 7, **others})
    assert getattr(model.model_validate({name: "1", **others}), name) == 1  # as LLMs without a grammar may write it


@pytest.mark.parametrize(
    ("model", "data", "name", "limits"),
    [
        (StatementGeneratorOutput, StatementGeneratorInput(question="q", answer="a b c d"), "statements", (1, 3)),
        (ContextRecallOutput, ContextRecallInput(question="q", context="c", answer=""), "classifications", (1, 1)),
        (
            ContextRecallOutput,
            ContextRecallInput(question="q", context="c", answer="巴黎是法国的首都，位于塞纳河畔，人口超过两百万。"),
            "classifications",
            (1, 3),
        ),
        (EntitiesList, ExtractEntitiesInput(text="Ada, Bo, Cy"), "entities", (0, 4)),
    ],
)
def test_lists_have_no_more_items_than_a_text_can_give(
    model: type[BaseModel], data: BaseModel, name: str, limits: tuple[int, int]
) -> None:
    array = tighten(model, data)["properties"][name]
    assert (array["minItems"], array["maxItems"]) == limits
