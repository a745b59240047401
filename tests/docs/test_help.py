"""Every --help has examples of its own command."""

import argparse

import pytest
from docs_commands import examples_of

from tools.docs.commands import parsers

PARSERS = list(parsers())


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.prog)
def test_the_help_of_a_command_has_an_example_of_this_command(parser: argparse.ArgumentParser) -> None:
    short = parser.prog == "rag-evaluator evaluate"  # 'rag-evaluator config.yaml'
    name = "rag-evaluator" if short else parser.prog
    assert any(example.startswith(f"{name} ") for example in examples_of(parser)), parser.epilog
