"""What a report carries in itself: scripts and styles with the policy that admits them, data in blocks of text."""

import base64
import gzip
import hashlib
import json
import re
from collections import Counter
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
PIECES = re.compile(r"(<[^>]*>|&#34;|\\n|\n)")  # a context ends at these on its own and in a prompt
LONG = 40  # characters; a shorter piece is left to the compression
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


def folded(fragment: str) -> list[str | int]:
    """A fragment with each long text once: a number is the place, in the list, of the text that stands here again.

    A row holds its contexts for the reader and in most of its prompts, further apart than compression looks back.
    """
    pieces = PIECES.split(fragment)
    several = {piece for piece, count in Counter(pieces).items() if count > 1 and len(piece) >= LONG}
    found: list[str | int] = []
    places: dict[str, int] = {}
    plain: list[str] = []
    for piece in pieces:
        if piece not in several:
            plain.append(piece)
            continue
        found.append("".join(plain))
        plain = []
        found.append(places.get(piece, piece))
        places.setdefault(piece, len(found) - 1)
    return [*found, "".join(plain)]


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
