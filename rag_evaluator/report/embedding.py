"""What a report carries in itself: scripts and styles with the policy that admits them, data in blocks of text."""

import base64
import gzip
import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from markupsafe import Markup

from rag_evaluator.report.pages import asset, json_in_page

STYLES = ("base.css", "figures.css", "row.css", "table.css")
SCRIPTS = (
    "theme.js",
    "texts.js",
    "hash.js",
    "row_dialog.js",
    "table_keys.js",
    "table.js",
    "tooltips.js",
    "row.js",
    "embedded.js",
    "start.js",
)
"""In this order; the app links the same, with a source of its own in place of `embedded.js`."""
JSON_TEXT, PACKED = "application/json", "application/octet-stream"
PART_BYTES = 256 * 1024  # of fragments packed together: one part is unpacked for a row that is opened


@dataclass(frozen=True)
class Inline:
    """Script and style of a page that needs no other file, and the policy that admits nothing else."""

    script: Markup
    style: Markup
    policy: str


@dataclass(frozen=True)
class Block:
    """Data in a page: `<script type="..." id="...">`, which no browser runs."""

    name: str
    kind: str
    text: Markup


@cache
def inline() -> Inline:
    script, style = ("\n".join(map(asset, names)) for names in (SCRIPTS, STYLES))
    assert "</script" not in script.lower(), "it would end the script"
    assert "</style" not in style.lower(), "it would end the style"
    policy = (
        f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return Inline(Markup(script), Markup(style), policy)


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def json_block(name: str, value: Any) -> Block:
    """A value as JSON. Any: JSON."""
    return Block(name, JSON_TEXT, json_in_page(value))


def packed_block(name: str, value: Any) -> Block:
    """A value as JSON, compressed; the same bytes for the same value. Any: JSON."""
    data = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    return Block(name, PACKED, Markup(base64.b64encode(gzip.compress(data, compresslevel=6, mtime=0)).decode("ascii")))


def parts_of(fragments: Iterable[str]) -> Iterator[Sequence[str]]:
    """Fragments put together in parts of about `PART_BYTES`."""
    part: list[str] = []
    size = 0
    for fragment in fragments:
        part.append(fragment)
        size += len(fragment)
        if size >= PART_BYTES:
            yield part
            part, size = [], 0
    if part:
        yield part
