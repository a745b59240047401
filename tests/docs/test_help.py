"""Every --help has examples of its own command."""

import pytest
from docs_commands import examples_of

from tools.docs.commands import parsers

PARSERS = dict(parsers())


@pytest.mark.parametrize("name", PARSERS)
def test_the_help_of_a_command_has_an_example_of_this_command(name: str) -> None:
    short = name.removesuffix(" evaluate")  # 'rag-evaluator config.yaml'
    assert any(example.startswith(f"{short} ") for example in examples_of(PARSERS[name])), PARSERS[name].epilog
