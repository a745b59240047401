"""Schemas for servers that take no grammar, and a check of what they wrote: not every server obeys all of a schema.

What plain JSON Schema cannot say (each item at most once, one list gets what the other leaves) is checked afterwards.
"""

from collections.abc import Iterator, Mapping
from typing import Any

Schema = dict[str, Any]  # JSON
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
    if "const" in schema:
        return _one_of([schema["const"]])
    if "enum" in schema:
        return _one_of(schema["enum"])
    if "anyOf" in schema:
        return {"anyOf": [plain(option) for option in schema["anyOf"]]}
    if schema.get("type") == "object":
        properties = {name: plain(value) for name, value in schema["properties"].items()}
        return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    if schema.get("type") == "array":
        return _array(schema)
    return {"type": schema["type"]} | ({"minLength": 1} if schema["type"] == "string" else {})


def _one_of(options: list[Any]) -> Schema:
    kind = next(name for name, types in KINDS.items() if type(options[0]) in types)
    return {"type": kind, "enum": options}


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
        return next((settle(each, value) for each in schema["anyOf"] if not list(faults(each, value))), value)
    if schema.get("type") == "object" and isinstance(value, dict):
        settled = {name: settle(part, value[name]) for name, part in schema["properties"].items() if name in value}
        first, second = schema.get("x-partition", ("", ""))
        if isinstance(settled.get(first), list) and isinstance(settled.get(second), list):
            taken = _statements(settled[first])
            settled[second] = [item for item in settled[second] if _take(item, taken)]
        return settled
    if schema.get("type") == "array" and isinstance(value, list) and schema.get("x-optional"):
        return list(_in_order(schema["prefixItems"], value))
    return value


def _in_order(options: list[Schema], items: list[Value]) -> Iterator[Value]:
    left = list(items)
    for option in options:
        found = next((item for item in left if not list(faults(option, item))), None)
        if found is not None:
            left = [item for item in left if item is not found]
            yield found
    known = [item for item in left if any(not list(faults(option, item)) for option in options)]
    yield from (item for item in left if item not in known)  # what is no option at all is a fault


def _statements(items: list[Value]) -> list[Value]:
    return [item.get("statement") if isinstance(item, dict) else item for item in items]


def _take(item: Value, taken: list[Value]) -> bool:
    """Whether an item is not taken; equal statements are taken one by one."""
    statement = item.get("statement") if isinstance(item, dict) else item
    if statement in taken:
        taken.remove(statement)
        return False
    return True


def faults(schema: Schema, value: Value, place: str = "the answer") -> Iterator[str]:
    """What in a value its schema does not allow, in words."""
    if "anyOf" in schema:
        if all(list(faults(option, value)) for option in schema["anyOf"]):
            yield f"{place} is none of its forms"
        return
    if "const" in schema or "enum" in schema:
        options = [schema["const"]] if "const" in schema else schema["enum"]
        if not any(value == option and type(value) is type(option) for option in options):
            yield f"{place} is {value!r:.60}: expected {' or '.join(map(repr, options)):.120}"
        return
    if type(value) not in KINDS[schema["type"]]:
        yield f"{place} is {value!r:.60}: expected {schema['type']}"
    elif schema["type"] == "object":
        yield from _object_faults(schema, value, place)
    elif schema["type"] == "array":
        yield from _array_faults(schema, value, place)


def _object_faults(schema: Schema, value: Value, place: str) -> Iterator[str]:
    if missing := set(schema["properties"]) - set(value):
        yield f"{place} lacks {', '.join(sorted(missing))}"
    for name, part in schema["properties"].items():
        if name in value:
            yield from faults(part, value[name], name)
    first, second = schema.get("x-partition", ("", ""))
    if first and isinstance(value.get(first), list) and isinstance(value.get(second), list):
        given = [item["properties"]["statement"]["const"] for item in schema["properties"][first]["prefixItems"]]
        shared = _statements(value[first]) + _statements(value[second])
        if sorted(map(str, shared)) != sorted(map(str, given)):
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
            if all(list(faults(option, item)) for option in options):
                yield f"{place} holds {item!r:.60}, which was not asked"
    elif len(value) != len(options):
        yield f"{place} has {len(value)} items: expected {len(options)}"
    else:
        for option, item in zip(options, value, strict=True):
            yield from faults(option, item, f"{place}[]")
