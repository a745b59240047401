"""Response model to tightened JSON schema: it allows only answers that ragas can use.

The schema is plain JSON Schema, with four keywords of our own: `x-optional` on an array of `prefixItems` (each item may
be left out, the order stays), `x-partition` on an object (its first two arrays share out the same statements), and on
an array `x-source` (the text that its texts are made from) and `x-question` (what that text answers).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from difflib import SequenceMatcher
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from rag_evaluator.config import Reasons
from rag_evaluator.errors import JudgementError
from rag_evaluator.judge.grammar.lark import REASONS, SHORT

Schema = dict[str, Any]  # JSON
Value = Any  # JSON
Answer = TypeVar("Answer", bound=BaseModel)
KINDS: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def plain(schema: Schema) -> Schema:
    """A schema of `tighten` in the form that most servers understand.

    Lists of a fixed length have `prefixItems`, `minItems` = `maxItems` and no `items`, objects no further keys: other
    forms are ignored or refused by some.
    """
    options = [schema["const"]] if "const" in schema else schema.get("enum")
    if options is not None:
        return {"type": next(name for name, types in KINDS.items() if type(options[0]) in types), "enum": options}
    if "anyOf" in schema:
        return {"anyOf": [plain(option) for option in schema["anyOf"]]}
    kind = schema["type"]
    if kind == "object":
        properties = {name: plain(value) for name, value in schema["properties"].items()}
        return {"type": kind, "properties": properties, "required": list(properties), "additionalProperties": False}
    if kind == "array":
        return _array(schema)
    limits = {"minLength": 1, "maxLength": schema.get("maxLength")} if kind == "string" else {}
    return {"type": kind, **{name: limit for name, limit in limits.items() if limit is not None}}


def _array(schema: Schema) -> Schema:
    if "prefixItems" not in schema:
        limits: Schema = {name: schema[name] for name in ("minItems", "maxItems") if name in schema}
        return {"type": "array", "items": plain(schema["items"]), **limits}
    items = [plain(item) for item in schema["prefixItems"]]
    if not items:
        return {"type": "array", "items": {"type": "string"}, "maxItems": 0}
    if schema.get("x-optional"):
        return {"type": "array", "items": {"anyOf": items}, "maxItems": len(items)}
    return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}


def settle(schema: Schema, value: Value) -> Value:
    """The value with its optional items in order, each once; of two lists that share items the first one wins."""
    if "anyOf" in schema:
        return next((settle(each, value) for each in schema["anyOf"] if fits(each, value)), value)
    if schema.get("type") == "object" and isinstance(value, dict):
        settled = {name: settle(part, value[name]) for name, part in schema["properties"].items() if name in value}
        first, second = schema.get("x-partition", ("", ""))
        if isinstance(settled.get(first), list) and isinstance(settled.get(second), list):
            settled[second] = left = list(settled[second])
            for statement in _statements(settled[first]):  # equal ones are taken one by one
                if statement in (others := _statements(left)):
                    del left[others.index(statement)]
        return settled
    if schema.get("type") == "array" and isinstance(value, list) and schema.get("x-optional"):
        return list(_in_order(schema["prefixItems"], value))
    return value


def _in_order(options: list[Schema], items: list[Value]) -> Iterator[Value]:
    left = list(items)
    for option in options:
        match = next((item for item in left if fits(option, item)), None)
        if match is not None:
            left = [item for item in left if item is not match]
            yield match
    yield from (item for item in left if not any(fits(option, item) for option in options))  # which is a fault


def _statements(items: list[Value]) -> list[Value]:
    return [item.get("statement") if isinstance(item, dict) else item for item in items]


def fits(schema: Schema, value: Value) -> bool:
    """Whether a schema allows a value."""
    return not any(faults(schema, value))


def faults(schema: Schema, value: Value, place: str = "the answer") -> Iterator[str]:
    """What in a value its schema does not allow, in words."""
    if "anyOf" in schema:
        if not any(fits(option, value) for option in schema["anyOf"]):
            yield f"{place} is none of its forms"
        return
    if "const" in schema or "enum" in schema:
        options = [schema["const"]] if "const" in schema else schema["enum"]
        if not any(value == option and type(value) is type(option) for option in options):
            yield f"{place} is {value!r:.60}: expected {' or '.join(map(repr, options)):.120}"
        return
    kind = schema.get("type")  # a field of a user's model may be of any
    if kind and type(value) not in KINDS[kind]:
        yield f"{place} is {value!r:.60}: expected {kind}"
    elif kind == "object":
        yield from _object_faults(schema, value, place)
    elif kind == "array":
        yield from _array_faults(schema, value, place)


def _object_faults(schema: Schema, value: Value, place: str) -> Iterator[str]:
    properties = schema.get("properties", {})
    if missing := set(properties) - set(value):
        yield f"{place} lacks {', '.join(sorted(missing))}"
    for name, part in properties.items():
        if name in value:
            yield from faults(part, value[name], name)
    first, second = schema.get("x-partition", ("", ""))
    if first and isinstance(value.get(first), list) and isinstance(value.get(second), list):
        statements = [item["properties"]["statement"]["const"] for item in schema["properties"][first]["prefixItems"]]
        shared = _statements(value[first]) + _statements(value[second])
        if sorted(map(str, shared)) != sorted(map(str, statements)):
            yield f"{first} and {second} do not share out the statements"


def _array_faults(schema: Schema, value: Value, place: str) -> Iterator[str]:
    options = schema.get("prefixItems")
    if options is None:
        for item in value:
            yield from faults(schema["items"], item, f"{place}[]")
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            yield f"{place} has {len(value)} items"
    elif schema.get("x-optional"):
        for item in value:
            if not any(fits(option, item) for option in options):
                yield f"{place} holds {item!r:.60}, which was not asked"
    elif len(value) != len(options):
        yield f"{place} has {len(value)} items: expected {len(options)}"
    else:
        for option, item in zip(options, value, strict=True):
            yield from faults(option, item, f"{place}[]")


BINARY = (0, 1)
STARS = (1, 2, 3, 4, 5)
SCALES: Mapping[tuple[str, str], tuple[int | str, ...]] = {
    ("StatementFaithfulnessAnswer", "verdict"): BINARY,
    ("ContextPrecisionOutput", "verdict"): BINARY,
    ("ContextRecallClassification", "attributed"): BINARY,
    ("AnswerRelevanceOutput", "noncommittal"): BINARY,
    ("ContextRelevanceOutput", "rating"): (0, 1, 2),
    ("ResponseGroundednessOutput", "rating"): (0, 1, 2),
    ("AnswerAccuracyOutput", "rating"): (0, 2, 4),
    ("RubricScoreOutput", "score"): STARS,
    ("InstanceRubricScoreOutput", "score"): STARS,
    ("AnswersGenerated", "answers"): ("0", "1"),
}
"""(response model of ragas, field) -> its values, or those of its items: ragas declares plain integers and texts.

Models of our own have a `Literal`.
"""
EMPTY_WHERE_ZERO: Mapping[str, tuple[str, str]] = {
    "ReferenceOutput": ("answerable", "answer"),
    "KnownOutput": ("known", "answer"),
}
"""Response model -> its flag, and the text that is empty where the flag is 0."""
RUBRIC = re.compile(r"score(\d)_description")
REASON_SCHEMAS: Mapping[str, Schema] = {"none": {"const": ""}, "short": {"type": "string", "maxLength": SHORT}}
MAX_ITEMS = 128


def rubric_numbers(names: Iterable[str]) -> list[int]:
    """The scores that rubrics describe, ascending; names of another form describe none."""
    return sorted(int(match[1]) for match in map(RUBRIC.fullmatch, names) if match)


def tighten(response_model: type[BaseModel], data: BaseModel | None = None, reasons: Reasons = "full") -> Schema:
    """The JSON schema of a ragas response model, narrowed by its scale and by the input it answers.

    Args:
        response_model: what ragas will get, for instance `NLIStatementOutput`.
        data: the prompt's input, for instance `NLIStatementInput`; None leaves lists and statements free.
        reasons: as they are wanted: `short` ones have at most `SHORT` characters, `none` is empty.
    """
    schema = response_model.model_json_schema(mode="serialization")  # that of validation hides our own scales
    schema = _resolve(schema, schema.get("$defs", {}), REASON_SCHEMAS.get(reasons))
    if response_model.__name__ in EMPTY_WHERE_ZERO:
        schema = _empty_where_zero(schema, *EMPTY_WHERE_ZERO[response_model.__name__])
    rule = RULES.get(response_model.__name__)
    return rule(schema, data.model_dump()) if rule and data is not None else schema


def on_scale(value: Any, response_model: type[Answer], data: BaseModel | None = None) -> Answer:
    """The answer that a value is. Raises `JudgementError` for none, and for one off its scale. Any: JSON."""
    name = response_model.__name__
    try:
        answer = response_model.model_validate(value)
    except ValidationError as error:
        raise JudgementError(f"the answer {value!r:.80} is no {name}: {error.errors()[0]['msg']}") from error
    for wrong in off_scale(answer, data):
        raise JudgementError(f"the {name} is off its scale: {wrong}")
    return answer


def unique_keys(pairs: Iterable[tuple[str, Value]]) -> dict[str, Value]:
    """The object of JSON that has these keys. Raises `JudgementError` for one that is there twice."""
    members = dict[str, Value]()
    for name, value in pairs:
        if name in members:
            raise JudgementError(f"the answer has the key {name!r:.60} twice, so it does not say which value it means")
        members[name] = value
    return members


def off_scale(answer: BaseModel, data: BaseModel | None = None) -> Iterator[str]:
    """What in an answer the schema would not allow, in words: `verdict is 7: expected 0 or 1`.

    It reads only the rubrics of the input: statements may be others than those in the question.
    """
    kind = type(answer)
    schema = _free_schema(kind)
    if RULES.get(kind.__name__) is OF_RUBRICS:  # of an input that is not known they may be any numbers
        schema = tighten(kind, data) if data else {**schema, "properties": {"score": {"enum": list(range(10))}}}
    yield from faults(schema, answer.model_dump(mode="json", by_alias=True))


_free_schema = cache(tighten)  # of a response model, whatever the input


def _resolve(schema: Any, definitions: Mapping[str, Any], reason: Schema | None) -> Any:
    """The schema with references written out and the known scales as enums.

    Args:
        reason: the schema of reasons; None: they are free strings.
    """
    if isinstance(schema, list):
        return [_resolve(item, definitions, reason) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _resolve(definitions[schema["$ref"].rsplit("/", 1)[-1]], definitions, reason)
    if "enum" in schema:
        return {"enum": schema["enum"]}
    resolved = {key: _resolve(value, definitions, reason) for key, value in schema.items() if key != "$defs"}
    for name, part in resolved.get("properties", {}).items():
        if scale := SCALES.get((resolved.get("title", ""), name)):
            values = {"enum": list(scale)}
            resolved["properties"][name] = {**part, "items": values} if part.get("type") == "array" else values
        elif reason and name in REASONS and part.get("type") == "string":
            resolved["properties"][name] = reason
    return resolved


def _empty_where_zero(schema: Schema, flag: str, text: str) -> Schema:
    """Either flag 0 and an empty text, or flag 1 and a text."""
    properties = schema["properties"]
    answers = ({flag: {"const": 0}, text: {"const": ""}}, {flag: {"const": 1}, text: properties[text]})
    return {"anyOf": [{**schema, "properties": {**properties, **answer}} for answer in answers]}


def _bounded(array: str, *sources: str, words_per_item: int, at_least: int = 1) -> "Rule":
    """A list drawn from a text in `sources`: as many items as it can give, so that a weak model's list ends, too."""

    def rule(schema: Schema, data: dict[str, Any]) -> Schema:
        for text in (data[source] for source in sources if source in data):
            words = max(len(text.split()), len(text) // 6)  # characters count where a script writes no spaces
            most = max(at_least, min(MAX_ITEMS, words // words_per_item + 1))
            made_from = {"x-source": text, "x-question": data.get("question", "")}
            schema["properties"][array] |= {"minItems": at_least, "maxItems": most, **made_from}
        return schema

    return rule


def _questions(schema: Schema, data: dict[str, Any]) -> Schema:
    """At least one, and two about each keyphrase at most."""
    limits = {"minItems": 1, "maxItems": min(MAX_ITEMS, max(1, 2 * len(data["keyphrases"])))}
    schema["properties"]["questions"] |= {**limits, "x-source": data["text"]}
    return schema


def _answers(schema: Schema, data: dict[str, Any]) -> Schema:
    """Exactly one "0" or "1" for each question: ragas reads the answers as texts."""
    array = schema["properties"]["answers"]
    array["prefixItems"] = [{"enum": ["0", "1"]} for _ in data["questions"]]
    del array["items"]
    return schema


def _chosen(name: str, numbers: Callable[[dict[str, Any]], list[int]]) -> "Rule":
    """One of the numbers that the input names, if it names some."""

    def rule(schema: Schema, data: dict[str, Any]) -> Schema:
        if options := numbers(data):
            schema["properties"][name] = {"enum": options}
        return schema

    return rule


def _one_each(array: str, source: str) -> "Rule":
    """Exactly the statements that were given, in order, so that no verdict is lost, added or shifted."""
    return lambda schema, data: _listed(schema, array, data[source])


def _listed(schema: Schema, name: str, statements: list[str], **more: Any) -> Schema:
    array = schema["properties"][name]
    item = array.pop("items")
    array["prefixItems"] = [
        {**item, "properties": {**item["properties"], "statement": {"const": text}}} for text in statements
    ]
    array |= more
    return schema


def _recalled(schema: Schema, data: dict[str, Any]) -> Schema:
    """One verdict for each sentence of the reference, where these are known."""
    by_sentence = _one_each("classifications", "sentences")
    return (by_sentence if "sentences" in data else _bounded("classifications", "answer", words_per_item=2))(
        schema, data
    )


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
    for name, source in (("TP", "answer"), ("FP", "answer"), ("FN", "ground_truth")):
        _listed(schema, name, data[source], **{"x-optional": True})
    return {**schema, "x-partition": ["TP", "FP"]}


Rule = Callable[[Schema, dict[str, Any]], Schema]
OF_RUBRICS = _chosen("score", lambda data: rubric_numbers(data.get("rubrics", ())))
RULES: Mapping[str, Rule] = {
    "StatementGeneratorOutput": _bounded("statements", "answer", "text", words_per_item=2),
    "ClaimDecompositionOutput": _bounded("claims", "response", words_per_item=2),
    "ContextRecallOutput": _recalled,
    "EntitiesList": _bounded("entities", "text", words_per_item=1, at_least=0),
    "NLIStatementOutput": _one_each("statements", "statements"),
    "StatementFaithfulnessOutput": _one_each("statements", "statements"),
    "ClassificationWithReason": _partition,
    "RubricScoreOutput": OF_RUBRICS,
    "InstanceRubricScoreOutput": OF_RUBRICS,
    "ExtractedKeyphrases": _bounded("keyphrases", "text", words_per_item=1),
    "QuestionsGenerated": _questions,
    "AnswersGenerated": _answers,
    "SentencesOutput": _numbers,
    "CustomOutput": _chosen("label", lambda data: [int(label) for label in data["scale"]]),
}
CUT_LISTS: Mapping[str, str] = {
    "StatementGeneratorOutput": "statements",
    "ClaimDecompositionOutput": "claims",
    "ContextRecallOutput": "classifications",
}
"""Response model -> a list that can be used although the budget ended within it, since its texts have a place in their
source."""
WHOLE = frozenset({"AnswerRelevanceOutput", "ReferenceOutput"})
"""Response models whose text is used whole or not at all."""
LEAST_READ = 0.9  # share of the source before the end of the last text of a list that was cut
MATCH = 6  # letters that a text and its source have in common, at least, where it ends; a quarter of a short text


def part_of(text: str, response_model: type[BaseModel], schema: Schema) -> tuple[BaseModel | None, bool]:
    """What is whole of an answer that was cut in its list, None if nothing is; and whether little of it is lacking.

    Args:
        text: the beginning of the answer.
        schema: of the answer, with the source of the list.
    """
    name = CUT_LISTS.get(response_model.__name__, "")
    source = schema.get("properties", {}).get(name, {}).get("x-source")
    part = from_json(text, allow_partial=True) if source and text else None
    items = part.get(name, []) if isinstance(part, dict) else []
    for whole in filter(None, (items, items[:-1])):  # the last one may lack fields
        with suppress(ValidationError):
            answer = response_model.model_validate({name: whole})
            return answer, end_in(source, str(_statements(whole)[-1])) >= LEAST_READ
    return None, False


def end_in(source: str, text: str) -> float:
    """Where a text made from a source ends in it, [0, 1]; 0 where they have no letters in common."""
    letters, end = ("".join(filter(str.isalnum, part.casefold())) for part in (source, text))
    blocks = SequenceMatcher(None, letters, end, autojunk=False).get_matching_blocks()
    places = [block.a + block.size for block in blocks if block.size >= min(MATCH, 1 + len(end) // 4)]
    return max(places, default=0) / max(len(letters), 1)
