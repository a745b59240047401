"""Jinja2 templates: everything that comes from data is escaped, cleaned and shown as text."""

import json
import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

from rag_evaluator.report.texts import TEXTS

NOT_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\u202d\u202e]")  # with the overrides of direction

NOT_IN_SCRIPT = "<>&\u2028\u2029"  # an HTML parser could take it for the end of a script
SCRIPTED = ("table.", "row.", "review.", "label.", "view.")  # parts of `TEXTS` that scripts show


def clean(text: str) -> str:
    """A text that can be encoded and shown: control characters, lone surrogates and overrides of direction are named.

    `[U+202E]` stands where a reader would otherwise see letters in another order than they are in the data.
    """
    return NOT_TEXT.sub(lambda sign: f"[U+{ord(sign[0]):04X}]", text)


def page_text(key: str, **values: Any) -> str:
    """A text of `TEXTS` with its values filled in. Any: whatever `str.format` takes."""
    return TEXTS[key].format(**values) if values else TEXTS[key]


def render(template: str, **values: Any) -> str:
    """A page, or a part of one. `template` is in `templates/` of `report` or of `view`. Any: what it shows."""
    return _environment().get_template(template).render(**values)


def stream(template: str, **values: Any) -> Iterator[str]:
    """The same in pieces, for a page that need not fit into memory."""
    return _environment().get_template(template).generate(**values)


def script_texts() -> Markup:
    """The texts that scripts show."""
    return json_in_page({key: value for key, value in TEXTS.items() if key.startswith(SCRIPTED)})


def json_in_page(value: Any) -> Markup:
    """JSON that no HTML parser takes for anything else. Any: JSON."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in NOT_IN_SCRIPT:
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)


def asset(name: str, package: str = "rag_evaluator.report") -> str:
    """A style sheet or script in `assets/` of a package."""
    return (files(package) / "assets" / name).read_text(encoding="utf-8")


@cache
def _environment() -> jinja2.Environment:
    loader = jinja2.ChoiceLoader(
        [jinja2.PackageLoader("rag_evaluator.report"), jinja2.PackageLoader("rag_evaluator.view")]
    )
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.finalize = _cleaned
    environment.globals["t"] = page_text
    environment.globals["script_texts"] = script_texts
    environment.filters["number"] = number
    environment.filters["signed"] = signed
    environment.filters["thousands"] = "{:,}".format
    return environment


def _cleaned(value: Any) -> Any:
    """What a template puts out; markup that was made by a template stays as it is."""
    return clean(value) if type(value) is str else value


def number(value: float | None, digits: int = 2) -> str:
    """A figure as the pages show it; an en dash where there is none."""
    return "–" if value is None or value != value else f"{value:.{digits}f}"


def signed(value: float, digits: int = 2) -> str:
    """A difference as the pages show it."""
    return f"{value:+.{digits}f}".replace("-", "−") if round(value, digits) else f"{0:.{digits}f}"
