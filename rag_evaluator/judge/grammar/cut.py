"""What is whole of an answer that was cut."""

from contextlib import suppress
from difflib import SequenceMatcher

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from .answers import row_of
from .faults import Schema, statements_of

LEAST_READ = 0.9  # share of the source before the end of the last text of a list that was cut
MATCH = 6  # letters that a text and its source have in common, at least, where it ends; a quarter of a short text


def part_of(text: str, response_model: type[BaseModel], schema: Schema) -> tuple[BaseModel | None, bool]:
    """What is whole of an answer that was cut in its list, None if nothing is; and whether little of it is lacking.

    Args:
        text: the beginning of the answer.
        schema: of the answer, with the source of the list.
    """
    row = row_of(response_model)
    name = row.counted if row.divides else ""
    source = schema.get("properties", {}).get(name, {}).get("x-source")
    part = from_json(text, allow_partial=True) if source and text else None
    items = part.get(name, []) if isinstance(part, dict) else []
    for whole in filter(None, (items, items[:-1])):  # the last one may lack fields
        with suppress(ValidationError):
            answer = response_model.model_validate({name: whole})
            return answer, end_in(source, str(statements_of(whole)[-1])) >= LEAST_READ
    return None, False


def end_in(source: str, text: str) -> float:
    """Where a text made from a source ends in it, [0, 1]; 0 where they have no letters in common."""
    letters, end = ("".join(filter(str.isalnum, part.casefold())) for part in (source, text))
    blocks = SequenceMatcher(None, letters, end, autojunk=False).get_matching_blocks()
    places = [block.a + block.size for block in blocks if block.size >= min(MATCH, 1 + len(end) // 4)]
    return max(places, default=0) / max(len(letters), 1)
