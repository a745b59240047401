"""Jinja2 templates: everything that comes from data is escaped, cleaned and shown as text. Scripts and styles."""

import base64
import hashlib
import json
import re
from functools import cache, partial
from importlib.resources import files
from typing import Any
from urllib.parse import urlencode

import jinja2
from markupsafe import Markup

from rag_evaluator.results import SIGNS, shortened

NOT_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\u202d\u202e]")  # with the overrides of direction

BEGINNING = 300  # characters of a text in a table
STYLES = ("base.css", "figures.css", "row.css", "rows.css", "table.css")
SCRIPTS = (
    "theme.js",
    "elements.js",
    "hash.js",
    "row_dialog.js",
    "take_away.js",
    "table_keys.js",
    "table.js",
    "row.js",
    "embedded.js",
    "start.js",
)
"""In this order; the app links the same, with a source of its own in place of `embedded.js`."""
NOT_IN_SCRIPT = "<>&\u2028\u2029"  # an HTML parser could take it for the end of a script

MINUS = re.compile(r"(?<![\w.-])-(?=\d)")  # of a figure in a sentence; not within a name


def clean(text: str) -> str:
    """A text that can be encoded and shown: control characters, lone surrogates and overrides of direction are named.

    `[U+202E]` stands where a reader would otherwise see letters in another order than they are in the data.
    """
    return NOT_TEXT.sub(lambda sign: f"[U+{ord(sign[0]):04X}]", text)


def beginning(text: str) -> str:
    """What a table shows of a text: at most `BEGINNING` characters, with an ellipsis where there are more."""
    return clean(shortened(text, BEGINNING))


def render(template: str, **values: Any) -> str:
    """A page, or a part of one. `template` is in `templates/`. Any: what it shows."""
    return environment().get_template(template).render(**values)


def rows_link(**filters: object) -> str:
    """The address of the rows that these filters choose: `#metric=faithfulness&min=0.2&max=0.3`."""
    return f"#{urlencode(filters, errors='replace')}"


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
def inline() -> dict[str, str]:
    """`script` and `style` of a page that needs no other file, and the `policy` that admits nothing else."""
    script, style = ("\n".join(map(asset, names)) for names in (SCRIPTS, STYLES))
    assert "</script" not in script.lower(), "it would end the script"
    assert "</style" not in style.lower(), "it would end the style"
    policy = (
        f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return {"script": Markup(script), "style": Markup(style), "policy": policy}


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def environment(*packages: str) -> jinja2.Environment:
    """The templates of the report, and those in `templates/` of other packages."""
    templates = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(name) for name in ("rag_evaluator.report", *packages)]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.finalize = _cleaned
    templates.filters["beginning"] = beginning
    templates.filters["number"] = number
    templates.filters["signed"] = signed
    templates.filters["minus"] = partial(MINUS.sub, "−")
    templates.filters["sign"] = SIGNS.__getitem__
    templates.filters["no_interval"] = why_no_interval
    templates.filters["thousands"] = "{:,}".format
    return templates


def _cleaned(value: Any) -> Any:
    """What a template puts out; markup that was made by a template stays as it is."""
    return clean(value) if type(value) is str else value


def number(value: float | None, digits: int = 2) -> str:
    """A figure as the pages show it; an en dash where there is none."""
    return "–" if value is None or value != value else f"{value:z.{digits}f}".replace("-", "−")


def signed(value: float | None, digits: int = 2) -> str:
    """A difference as the pages show it; an en dash where there is none."""
    if value is None:
        return number(None)
    return f"{value:+.{digits}f}".replace("-", "−") if round(value, digits) else f"{0:.{digits}f}"


def percent(share: Any) -> str:
    """A probability as percent, never rounded to certainty; empty for none."""
    if not isinstance(share, int | float) or not 0 <= share <= 1:
        return ""
    if 0.995 <= share < 1:
        return ">99%"
    return "<1%" if 0 < share < 0.005 else f"{share:.0%}"


def why_no_interval(method: str | None) -> str:
    """Why a mean has no interval, or the whole range; empty where it has one. `method`: its `ci_method`."""
    return method.partition(": ")[2] if method and method.startswith(("none", "range")) else ""
