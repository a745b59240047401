"""Jinja2 templates: everything that comes from data is escaped, cleaned and shown as text. Scripts and styles."""

import base64
import hashlib
import json
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.resources import files
from itertools import groupby, pairwise
from typing import Any, Literal, NamedTuple
from urllib.parse import urlencode

import jinja2
from markupsafe import Markup
from rapidfuzz.distance import Indel

from rag_evaluator.results import SIGNS, Tone, shortened

NOT_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\u202d\u202e]")  # with the overrides of direction

BEGINNING = 300  # characters of a text in a table
STYLES = ("base.css", "figures.css", "row.css", "rows.css", "table.css")
SCRIPTS = (
    "theme.js",
    "elements.js",
    "hash.js",
    "row_dialog.js",
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


FOLDED = 3_000  # characters before the fold
NAME = 120  # characters of a name
BACK = 200  # characters in which a blank is looked for, so that no word is cut
Mark = Literal["", "ins", "del"]
WORDS = 20_000  # characters of a text whose words are compared: 0.1 s and 50 MB at most
UNSPACED = (
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Tibetan, Burmese, Khmer
    "\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)


@dataclass(frozen=True)
class TextPart:
    """A part of a text; `mark`: only this text has it (`ins`), or only it lacks it in the other (`del`).

    Attributes:
        sentence: to which it belongs; None where its sentences were not judged.
        flag: the probability as percent that it is not supported; empty where nobody says so.
    """

    text: str
    mark: Mark = ""
    sentence: "SentenceView | None" = None
    flag: str = ""


@dataclass(frozen=True)
class ShownText:
    """What a reader sees of a text at once, and what is folded: nothing of a short text."""

    start: tuple[TextPart, ...]
    rest: tuple[TextPart, ...] = ()

    @property
    def folded(self) -> int:
        """Characters behind the fold."""
        return sum(len(piece.text) for piece in self.rest)


class Span(NamedTuple):
    """A part of a sentence that a classifier of tokens flagged.

    Attributes:
        start, end: in characters of the sentence.
        probability: as percent, that the evidence does not support it.
    """

    start: int
    end: int
    text: str
    probability: str


@dataclass(frozen=True)
class SentenceView:
    """A sentence of a text; `plain` is the tone of one that does not count.

    Attributes:
        section: by which links find what is known of it.
        supported: whether it counts as supported.
        text: with the flagged parts.
        probability: that the evidence supports it, as percent; empty where it does not count.
        contexts: places of the contexts in the piece that counted, from 0; empty where the evidence is no context.
        piece: that counted, from 1.
        place: start and end in the text; None where it is not there.
    """

    number: int
    tone: Tone
    word: str
    section: str
    supported: bool
    text: ShownText
    probability: str = ""
    contexts: tuple[int, ...] = ()
    piece: int = 1
    spans: tuple[Span, ...] = ()
    place: tuple[int, int] | None = None


def short(name: object) -> str:
    """A name on one line, cut where it is no name any more."""
    return shortened(str(name), NAME)


def shown(text: str | Sequence[TextPart], folded: int = FOLDED) -> ShownText:
    """A text, or the pieces that together are it, with about so many characters before the fold, never more."""
    pieces = (TextPart(text),) if isinstance(text, str) else tuple(text)
    whole = "".join(piece.text for piece in pieces)
    if len(whole) <= folded:
        return ShownText(pieces)
    blank = max(whole.rfind(sign, folded - BACK, folded) for sign in " \n")
    cut = blank + 1 if blank >= 0 else folded
    parts = list(divided(pieces, [cut]))
    return ShownText(
        tuple(part for place, part in parts if place < cut), tuple(part for place, part in parts if place >= cut)
    )


def divided(pieces: Iterable[TextPart], edges: Iterable[int]) -> Iterator[tuple[int, TextPart]]:
    """Pieces that are cut at places of the text, each with the place where it begins."""
    ordered = sorted(edges)
    place = 0
    for piece in pieces:
        end = place + len(piece.text)
        inside = ordered[bisect_right(ordered, place) : bisect_right(ordered, end - 1)]
        for start, stop in pairwise([place, *inside, end]):
            yield start, replace(piece, text=piece.text[start - place : stop - place])
        place = end


@dataclass(frozen=True)
class WordDiff:
    """Two texts in pieces.

    Attributes:
        first: the first text; `ins` where the second has no such words.
        second: the second text; `del` where the first has no such words.
        too_long: they are not compared, as one is too long.
    """

    first: tuple[TextPart, ...]
    second: tuple[TextPart, ...]
    too_long: bool = False

    @property
    def equal(self) -> bool:
        """Whether nothing differs, as far as it was compared."""
        return not any(piece.mark for piece in (*self.first, *self.second))


def difference(first: str, second: str) -> WordDiff:
    """By words; not at all above `WORDS` characters, unless the texts are equal."""
    if first == second or max(len(first), len(second)) > WORDS:
        return WordDiff((TextPart(first),), (TextPart(second),), first != second)
    numbers: dict[str, int] = {}
    words = tokens(first), tokens(second)
    coded = [[numbers.setdefault(token, len(numbers)) for token in text] for text in words]
    # places of words that one text has and the other has not
    own = set[int]()
    other = set[int]()
    for code in Indel.opcodes(*coded):
        if code.tag != "equal":
            own.update(range(code.src_start, code.src_end))
            other.update(range(code.dest_start, code.dest_end))
    return WordDiff(_marked(words[0], own, "ins"), _marked(words[1], other, "del"))


def tokens(text: str) -> list[str]:
    """Words with their marks, single letters of scripts without blanks, runs of white space, other signs one by one."""
    return _pattern().findall(text)


@cache
def _pattern() -> re.Pattern[str]:
    marks = "".join(chr(code) for code in range(0x300, 0xFE30) if unicodedata.category(chr(code))[0] == "M")
    marks += "\u200c\u200d"
    return re.compile(
        rf"\s+|[{UNSPACED}][{marks}]*|(?:(?![{UNSPACED}])\w)(?:(?![{UNSPACED}])[\w{marks}])*|.", re.DOTALL
    )


def _marked(words: Sequence[str], differing: Collection[int], mark: Mark) -> tuple[TextPart, ...]:
    """A text in pieces. White space is marked between two marked words only, which read as one change then."""

    def is_marked(place: int) -> bool:
        if words[place].isspace():
            return place - 1 in differing and place + 1 in differing
        return place in differing

    pieces = groupby(range(len(words)), key=is_marked)
    return tuple(TextPart("".join(words[at] for at in places), mark if marked else "") for marked, places in pieces)
