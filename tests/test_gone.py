"""What earlier versions had is named where somebody still uses it, with what to do in its place."""

import pytest

import rag_evaluator
from rag_evaluator.cli.main import main

COMMANDS = [  # command -> what its message names
    ("plan", "Type check in its place"),
    ("doctor", "Type check, without a configuration"),
]
NAMES = [  # public name -> what its message names
    ("plan", "check(config)"),
    ("PlannedJudge", "check(config)"),
    ("PlannedMetric", "check(config)"),
    ("PlannedRun", "check(config)"),
    ("doctor", "check(config)"),
    ("Diagnosis", "check(config)"),
]


@pytest.mark.parametrize(("command", "instead"), COMMANDS)
def test_an_old_command_names_what_takes_its_place(
    command: str, instead: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "config.yaml"]) == 2
    assert f"'{command}' is no command any more" in (message := capsys.readouterr().err)
    assert instead in message


@pytest.mark.parametrize(("name", "instead"), NAMES)
def test_an_old_name_names_what_takes_its_place(name: str, instead: str) -> None:
    with pytest.raises(AttributeError, match="is not there any more") as error:
        getattr(rag_evaluator, name)
    assert instead in str(error.value)
