"""Response model to tightened JSON schema: it allows only answers that ragas can use.

The schema is plain JSON Schema, with two keywords of our own: `x-optional` on an array of `prefixItems` (each item may
be left out, the order stays) and `x-partition` on an object (its first two arrays share out the same statements).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel

Schema = dict[str, Any]  # JSON

BINARY = (0, 1)
STARS = (1, 2, 3, 4, 5)
DIGITS = tuple(range(10))
SCALES: Mapping[tuple[str, str], tuple[int, ...]] = {
    ("StatementFaithfulnessAnswer", "verdict"): BINARY,
    ("ContextPrecisionOutput", "verdict"): BINARY,
    ("ContextRecallClassification", "attributed"): BINARY,
    ("AnswerRelevanceOutput", "noncommittal"): BINARY,
    ("ContextRelevanceOutput", "rating"): (0, 1, 2),
    ("ResponseGroundednessOutput", "rating"): (0, 1, 2),
    ("AnswerAccuracyOutput", "rating"): (0, 2, 4),
    ("RubricScoreOutput", "score"): STARS,
    ("InstanceRubricScoreOutput", "score"): STARS,
}
"""(response model of ragas, field) -> its values: ragas declares plain integers. Models of our own have a `Literal`."""
EMPTY_WHERE_ZERO: Mapping[str, tuple[str, str]] = {
    "ReferenceOutput": ("answerable", "answer"),
    "KnownOutput": ("known", "answer"),
}
"""Response model -> its flag, and the text that is empty where the flag is 0."""
BY_RUBRICS = frozenset({("RubricScoreOutput", "score"), ("InstanceRubricScoreOutput", "score")})
"""Those whose scale is another one where the input has rubrics: the numbers that these name."""
RUBRIC = re.compile(r"score(\d)_description")
MAX_ITEMS = 128


def rubric_numbers(names: Iterable[str]) -> list[int]:
    """The scores that rubrics describe, ascending; names of another form describe none."""
    return sorted(int(match[1]) for match in map(RUBRIC.fullmatch, names) if match)


def tighten(response_model: type[BaseModel], data: BaseModel | None = None) -> Schema:
    """The JSON schema of a ragas response model, narrowed by its scale and by the input it answers.

    Args:
        response_model: what ragas will get, for instance `NLIStatementOutput`.
        data: the prompt's input, for instance `NLIStatementInput`; None leaves lists and statements free.
    """
    schema = response_model.model_json_schema(mode="serialization")  # that of validation hides our own scales
    schema = _resolve(schema, schema.get("$defs", {}))
    if response_model.__name__ in EMPTY_WHERE_ZERO:
        schema = _empty_where_zero(schema, *EMPTY_WHERE_ZERO[response_model.__name__])
    rule = RULES.get(response_model.__name__)
    return rule(schema, data.model_dump()) if rule and data is not None else schema


def off_scale(answer: BaseModel, data: BaseModel | None = None) -> Iterator[str]:
    """What in an answer the schema would not allow, in words: `statements[0].verdict is 7: expected one of 0, 1`.

    Of the input it knows the rubrics only: statements may be others than those in the question.
    """
    kind = type(answer).__name__
    for name, value in answer:
        scale = SCALES.get((kind, name))
        if (kind, name) in BY_RUBRICS:
            default = DIGITS if data is None else scale
            scale = tuple(rubric_numbers(getattr(data, "rubrics", ()))) or default
        if scale and value not in scale:
            yield f"{name} is {value!r}: expected one of {', '.join(map(str, scale))}"
        for place, item in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(item, BaseModel):
                yield from (f"{name}{'' if place is None else f'[{place}]'}.{wrong}" for wrong in off_scale(item))
    flag, text = EMPTY_WHERE_ZERO.get(kind, ("", ""))
    if flag and not getattr(answer, flag) and getattr(answer, text):
        yield f"{text} is {getattr(answer, text)!r:.40}: expected '' where {flag} is 0"


def _resolve(schema: Any, definitions: Mapping[str, Any]) -> Any:
    """The schema with references written out, free strings non-empty and the known scales as enums."""
    if isinstance(schema, list):
        return [_resolve(item, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _resolve(definitions[schema["$ref"].rsplit("/", 1)[-1]], definitions)
    if "enum" in schema:
        return {"enum": schema["enum"]}
    resolved = {key: _resolve(value, definitions) for key, value in schema.items() if key != "$defs"}
    for name in resolved.get("properties", {}):
        scale = SCALES.get((resolved.get("title", ""), name))
        if scale:
            resolved["properties"][name] = {"enum": list(scale)}
    return resolved


def _empty_where_zero(schema: Schema, flag: str, text: str) -> Schema:
    """Either flag 0 and an empty text, or flag 1 and a text."""
    properties = schema["properties"]
    answers = ({flag: {"const": 0}, text: {"const": ""}}, {flag: {"const": 1}, text: properties[text]})
    return {"anyOf": [{**schema, "properties": {**properties, **answer}} for answer in answers]}


def _items_for(text: str, words_per_item: int) -> int:
    """How many list items a text can give at most; counts characters where a script writes no spaces."""
    return min(MAX_ITEMS, max(len(text.split()), len(text) // 6) // words_per_item + 1)


def _bounded(array: str, source: str, words_per_item: int, at_least: int = 1) -> "Rule":
    """A list drawn from the text in `source`: as many items as it can give, so that a weak model's list ends, too."""

    def rule(schema: Schema, data: dict[str, Any]) -> Schema:
        if source in data:
            limits = {"minItems": at_least, "maxItems": max(at_least, _items_for(data[source], words_per_item))}
            schema["properties"][array] |= limits
        return schema

    return rule


def _questions(schema: Schema, data: dict[str, Any]) -> Schema:
    """At least one, and two about each keyphrase at most."""
    limits = {"minItems": 1, "maxItems": min(MAX_ITEMS, max(1, 2 * len(data["keyphrases"])))}
    schema["properties"]["questions"] |= limits
    return schema


def _answers(schema: Schema, data: dict[str, Any]) -> Schema:
    """Exactly one "0" or "1" for each question: ragas reads the answers as texts."""
    array = schema["properties"]["answers"]
    array["prefixItems"] = [{"enum": ["0", "1"]} for _ in data["questions"]]
    del array["items"]
    return schema


def _of_rubrics(schema: Schema, data: dict[str, Any]) -> Schema:
    """A score that the rubrics describe."""
    if numbers := rubric_numbers(data.get("rubrics", ())):
        schema["properties"]["score"] = {"enum": numbers}
    return schema


def _repeated(schema: Schema, data: dict[str, Any]) -> Schema:
    """Exactly the statements that were given, in order, so that no verdict is lost, added or shifted."""
    array = schema["properties"]["statements"]
    array["prefixItems"] = [_with_statement(array["items"], text) for text in data["statements"]]
    del array["items"]
    return schema


def _numbers(schema: Schema, data: dict[str, Any]) -> Schema:
    """Any of the numbers of the given sentences, ascending."""
    numbers = range(1, len(data["sentences"]) + 1)
    schema["properties"]["numbers"] = {
        "type": "array",
        "prefixItems": [{"const": number} for number in numbers],
        "x-optional": True,
    }
    return schema


def _partition(schema: Schema, data: dict[str, Any]) -> Schema:
    """Each statement of the answer is TP or FP; each of the ground truth is FN or left out."""
    answer, ground_truth = data["answer"], data["ground_truth"]
    for name, statements in (("TP", answer), ("FP", answer), ("FN", ground_truth)):
        array = schema["properties"][name]
        array["prefixItems"] = [_with_statement(array["items"], text) for text in statements]
        array["x-optional"] = True
        del array["items"]
    return {**schema, "x-partition": ["TP", "FP"]}


def _labelled(schema: Schema, data: dict[str, Any]) -> Schema:
    """One of the labels of the user's scale."""
    schema["properties"]["label"] = {"enum": [int(label) for label in data["scale"]]}
    return schema


def _with_statement(item: Schema, text: str) -> Schema:
    return {**item, "properties": {**item["properties"], "statement": {"const": text}}}


Rule = Callable[[Schema, dict[str, Any]], Schema]


def _first_of(*rules: Rule) -> Rule:
    def rule(schema: Schema, data: dict[str, Any]) -> Schema:
        for apply in rules:
            schema = apply(schema, data)
        return schema

    return rule


RULES: Mapping[str, Rule] = {
    "StatementGeneratorOutput": _first_of(_bounded("statements", "answer", 2), _bounded("statements", "text", 2)),
    "ClaimDecompositionOutput": _bounded("claims", "response", 2),
    "ContextRecallOutput": _bounded("classifications", "answer", 2),
    "EntitiesList": _bounded("entities", "text", 1, at_least=0),
    "NLIStatementOutput": _repeated,
    "StatementFaithfulnessOutput": _repeated,
    "ClassificationWithReason": _partition,
    "RubricScoreOutput": _of_rubrics,
    "InstanceRubricScoreOutput": _of_rubrics,
    "ExtractedKeyphrases": _bounded("keyphrases", "text", 1),
    "QuestionsGenerated": _questions,
    "AnswersGenerated": _answers,
    "SentencesOutput": _numbers,
    "CustomOutput": _labelled,
}
CUT_LISTS: Mapping[str, str] = {
    "StatementGeneratorOutput": "statements",
    "ClaimDecompositionOutput": "claims",
    "EntitiesList": "entities",
    "ExtractedKeyphrases": "keyphrases",
    "QuestionsGenerated": "questions",
}
"""Lists that can be used although the budget ended within them: response model -> the list that is cut."""
