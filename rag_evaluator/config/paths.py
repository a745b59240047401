"""Paths of a configuration: home folders and variables are filled in, and they count from the folder of its file."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, ValidationInfo

from rag_evaluator.errors import ConfigError
from rag_evaluator.files import SUFFIX

DEMO = "demo"
BY_JUDGE = "judge"  # the verifier that is the configured judge, asked for one of two answers
BY_WORDS = "words"  # the verifier that counts words, without a model
NO_FOLDER = (BY_JUDGE, BY_WORDS)
ADDRESSES = ("http://", "https://", "unix:")  # what the address of a server begins with
VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)")


def expand(text: str | Path) -> Path:
    """The path with home folder and environment variables filled in. Raises `ConfigError` naming what is unknown."""
    path = os.path.expandvars(text)
    if unknown := VARIABLE.search(path):
        name = unknown[1]
        raise ConfigError(
            f"{name} is not set in the environment. Set it (export {name}=...), or write {str(text)!r} without it."
        )
    try:
        return Path(path).expanduser()
    except RuntimeError as error:  # pathlib's, for a '~user' that is none
        raise ConfigError(f"{error} Write {str(text)!r} from '/'.") from None


def model_path(model: str, base: Path) -> str:
    """A folder (existing, or written like one) and a GGUF file become absolute; 'demo' and hub ids stay as they are.

    Raises `ConfigError` for an unknown home folder or environment variable.
    """
    path = expand(model)
    looks_local = model.startswith((".", "~")) or path.is_absolute() or path.suffix.lower() == SUFFIX
    if model != DEMO and (looks_local or (base / path).is_dir()):
        return str(base / path)
    return str(path) if "$" in model else model


def verifier_path(model: str, base: Path) -> str:
    """`model_path` of a verifier; names of `NO_FOLDER` stay, even where a folder has such a name."""
    return model if model in NO_FOLDER else model_path(model, base)


def template_path(template: str, base: Path) -> str:
    """A file (existing, or written like one) becomes absolute; 'auto', 'none' and other words stay."""
    path = base / expand(template)
    looks_local = any(sign in template for sign in "/.$") or template.startswith("~")
    return str(path) if looks_local or path.is_file() else template


def in_folder(absolute: Callable[[Any, Path], Any]) -> AfterValidator:
    """The mark of a key that holds a path: what makes it absolute, from the folder that is the context of validation.

    Without a context it stays as it is, and as the name of a model on a server, whose `url` is a key before it. Any: a
    path, or the text of one.
    """

    def check(path: Any, info: ValidationInfo) -> Any:
        try:
            return path if info.context is None or info.data.get("url") else absolute(path, info.context)
        except ConfigError as error:
            raise ValueError(str(error)) from None

    return AfterValidator(check)


FullPath = Annotated[Path, in_folder(lambda path, base: base / expand(path))]
ModelPath = Annotated[str, in_folder(model_path)]
