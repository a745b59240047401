"""Paths of a configuration: home folders and variables are filled in, and they count from the folder of its file."""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from rag_evaluator.config.origin import Key, Origin, dotted
from rag_evaluator.errors import ConfigError
from rag_evaluator.files.gguf import SUFFIX

DEMO = "demo"
BY_JUDGE = "judge"  # the verifier that is the configured judge, asked for one of two answers
AnyModel = TypeVar("AnyModel", bound=BaseModel)
VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)")


def expand(text: str | Path) -> Path:
    """The path with home folder and environment variables filled in. Raises `ConfigError` naming what is unknown."""
    path = os.path.expandvars(text)
    if unknown := VARIABLE.search(path):
        name = unknown[1]
        raise ConfigError(
            f"{str(text)!r}, and {name} is not set in the environment. Set it (export {name}=...) or write the path "
            "without it."
        )
    try:
        return Path(path).expanduser()
    except RuntimeError as error:  # pathlib's, for a '~user' that is none
        raise ConfigError(f"{str(text)!r}: {error} Write it from '/'.") from None


def model_path(model: str, base: Path) -> str:
    """A folder (existing, or written like one) and a GGUF file become absolute; 'demo' and hub ids stay as they are.

    Raises `ConfigError` for an unknown home folder or environment variable.
    """
    path = expand(model)
    looks_local = model.startswith((".", "~")) or path.is_absolute() or path.suffix.lower() == SUFFIX
    if model != DEMO and (looks_local or (base / path).is_dir()):
        return str(base / path)
    return str(path) if "$" in model else model


def template_path(template: str, base: Path) -> str:
    """A file (existing, or written like one) becomes absolute; 'auto', 'none' and other words stay."""
    path = base / expand(template)
    looks_local = any(sign in template for sign in "/.$") or template.startswith("~")
    return str(path) if looks_local or path.is_file() else template


def adapter_path(folder: str, base: Path) -> str:
    """The folder of an adapter is always one here."""
    return str(base / expand(folder))


def judge_or_path(model: str, base: Path) -> str:
    """The model of a verifier: as `model_path`, but for the judge."""
    return model if model == BY_JUDGE else model_path(model, base)


@dataclass(frozen=True)
class Place:
    """The mark of a key that holds a path as a text: what makes it absolute, from the configuration's folder."""

    absolute: Callable[[str, Path], str] = model_path


def resolved(section: AnyModel, base: Path, origin: Origin, above: Key = ()) -> AnyModel:
    """The section with absolute paths, also in the sections below it. Raises `ConfigError` with the key's place."""
    values: dict[str, Any] = {}  # Any: of whatever kind the keys are
    for name, field in type(section).model_fields.items():
        value, key = getattr(section, name), (*above, name)
        place = next((mark for mark in field.metadata if isinstance(mark, Place)), None)
        if isinstance(value, BaseModel):
            values[name] = resolved(value, base, origin, key)
        elif isinstance(value, Path) or (place is not None and value is not None):
            values[name] = _absolute(value, place, base, origin, key)
        elif isinstance(value, list) and value and isinstance(value[0], Path):
            values[name] = [_absolute(path, None, base, origin, (*key, at)) for at, path in enumerate(value)]
    return section.model_copy(update=values)


def _absolute(path: Any, place: Place | None, base: Path, origin: Origin, key: Key) -> Any:
    """One path; an error of reading it gets its place. Any: a path, or the text of one."""
    try:
        return base / expand(path) if place is None else place.absolute(path, base)
    except ConfigError as error:
        raise ConfigError(f"{origin.place(*key)}: '{dotted(key)}' is {error}") from None
