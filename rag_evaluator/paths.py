"""Paths as users write them: `~`, `$HOME` and `${DATA}` are replaced by their values."""

import os
import re
from pathlib import Path

from rag_evaluator.errors import ConfigError

VARIABLE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})")


def expand(text: str | Path) -> Path:
    """The path with home folder and environment variables filled in. Raises `ConfigError` naming what is unknown."""
    try:
        return Path(VARIABLE.sub(_value, str(text))).expanduser()
    except RuntimeError as error:  # pathlib's, for a '~user' that is none
        raise ConfigError(f"{str(text)!r}: {error} Write it from '/'.") from None


def _value(found: "re.Match[str]") -> str:
    name = found[1] or found[2]
    if name not in os.environ:
        raise ConfigError(
            f"{found.string!r}, and {name} is not set in the environment. Set it (export {name}=...) or write the path "
            "without it."
        )
    return os.environ[name]
