"""Completion in the shell by argcomplete: commands and flags, metrics, languages, keys of `--set`, files."""

import argparse
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, get_args

ASKED = "_ARGCOMPLETE"  # the shell sets it where it asks for completions: the number of the word that starts us
Names = Callable[..., list[str]]


def complete(parser: argparse.ArgumentParser, commands: Mapping[str, Any], **to: Any) -> None:
    """Print what the shell asks for and end; returns where argcomplete is not installed.

    Args:
        to: as in `argcomplete.autocomplete`, for tests.
    """
    try:
        import argcomplete
    except ImportError:
        return
    _name_the_command(commands)
    for action in _actions(parser):
        for flag in NAMES.keys() & set(action.option_strings):
            action.completer = NAMES[flag]  # type: ignore[attr-defined]  # argcomplete reads it there
    argcomplete.autocomplete(parser, always_complete_options="long", **to)


def _name_the_command(commands: Mapping[str, Any]) -> None:
    """`rag-evaluator config.yaml` leaves the first word out, which is `evaluate`: add it to the line."""
    line, point = os.environ.get("COMP_LINE", ""), int(os.environ.get("COMP_POINT", "0") or 0)
    words = line[:point].split()
    first = int(os.environ[ASKED]) if os.environ[ASKED].isdigit() else 1
    if len(words) <= first or words[first].startswith("-") or words[first] in commands:
        return
    if len(words) == first + 1 and not line[:point].endswith(" "):  # it is still being typed
        return
    place = line.index(words[first], len(" ".join(words[:first])))
    added = "evaluate "
    os.environ["COMP_LINE"] = line[:place] + added + line[place:]
    os.environ["COMP_POINT"] = str(point + len(added))


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """The arguments of all commands."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from _actions(inner)
        else:
            yield action


def metric_names(**about: Any) -> list[str]:
    from rag_evaluator.metrics.table import METRICS

    return list(METRICS)


def limits(**about: Any) -> list[str]:
    """`--min METRIC=`."""
    return [f"{name}=" for name in metric_names()]


def language_names(**about: Any) -> list[str]:
    from rag_evaluator.config.languages import LANGUAGES

    return list(LANGUAGES)


def config_keys(**about: Any) -> list[str]:
    """`--set judge.model=`."""
    from rag_evaluator.config.schema import config_class

    return [f"{key}=" for key in _keys(config_class())]


def _keys(model: Any, before: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        parts = [part for part in (field.annotation, *get_args(field.annotation)) if hasattr(part, "model_fields")]
        if parts:
            yield from _keys(parts[0], f"{before}{name}.")
        else:
            yield before + name


NAMES: Mapping[str, Names] = {
    "--metrics": metric_names,
    "--metric": metric_names,
    "--min": limits,
    "--max": limits,
    "--margin": limits,
    "--threshold": limits,
    "--scale": limits,
    "--label": limits,
    "--language": language_names,
    "--set": config_keys,
}
"""A flag -> what may stand there; files and folders are the shell's own completion."""
