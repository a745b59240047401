"""The generated pages of the reference have every key, command, option and public name."""

from collections.abc import Iterator

import pytest

from rag_evaluator.config import Section
from tools.docs import configuration

PARTS = list(configuration.parts())
KEYS = [(part.place, key) for part in PARTS for key in part.keys]


def every_section(model: type[Section] = Section) -> Iterator[type[Section]]:
    for section in model.__subclasses__():
        if section.__module__.startswith("rag_evaluator."):
            yield section
            yield from every_section(section)


@pytest.mark.parametrize(("place", "key"), KEYS, ids=[f"{place or 'file'}-{key.name}" for place, key in KEYS])
def test_a_key_of_the_configuration_says_what_it_means(place: str, key: configuration.Key) -> None:
    assert key.meaning, f"write what '{key.name}' means under 'Attributes:' in the docstring of its section ({place})"
    assert key.type
    assert "any value" not in key.type.replace("any values", "") or key.name in ("function", "metric"), key


def test_every_key_of_every_section_is_in_the_reference() -> None:
    shown = {key.name for _, key in KEYS}
    assert {name for section in every_section() for name in section.model_fields} == shown
