"""Whether a value is what a JSON schema allows, and in which words not."""

from collections.abc import Iterator, Mapping
from typing import Any

from rag_evaluator.files import JsonDict

Schema = JsonDict  # JSON
Value = Any  # JSON
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
            for statement in statements_of(settled[first]):  # equal ones are taken one by one
                if statement in (others := statements_of(left)):
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


def statements_of(items: list[Value]) -> list[Value]:
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
        shared = statements_of(value[first]) + statements_of(value[second])
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
