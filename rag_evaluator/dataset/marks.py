"""Marks in a text that say nothing: citation marks and the signs of bold; and the parts of Markdown that claim nothing.

In doubt something is no mark.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

CITATION = "citation mark"
BOLD = "bold"
HEADING = "heading"
HEADER = "table header"
CODE = "code"

NUMBER = r"\^?\d{1,3}"
NUMBERS = rf"{NUMBER}(?:\s*[,;，、；–-]\s*{NUMBER})*"
WORD = (
    r"sources?|src|docs?|documents?|contexts?|passages?|chunks?|refs?|references?|citations?|cite[ds]?"
    r"|quellen?|dokumente?|fuentes?|documentos?|fontes?|fonti|documento|références?"
    r"|来源|资料|文档|文献|参考|出典|資料|文書|출처|문서|स्रोत|दस्तावेज़|المصادر|المصدر|مصدر|وثيقة"
)
"""What a source is called in the languages of the packs."""
FILE = r"[^\[\]()【】\n]{1,80}\.(?:pdf|docx?|txt|md|html?|csv|xlsx?|pptx?|json)"
PAGE = r"(?:[,;:]?\s*(?:pages?|pp?\.|s\.|seiten?|págs?\.?|p)\s*\d+(?:\s*[–-]\s*\d+)?)?"
NEXT = r"\s*(?:[,;，、；&–-]|and|und|et|[ey]|और|و|[和と])\s*"
SOME = rf"(?:{WORD})[\s_.#-]*{NUMBER}(?:{NEXT}(?:(?:{WORD})[\s_.#-]*)?{NUMBER})*"
NAMED = rf"(?:{SOME}|(?:{WORD})\s*[:：]\s*[^\[\]()【】（）\n]{{1,120}})"
INSIDE = rf"(?P<number>{NUMBERS})|{NAMED}|cite_start|\d+(?::\d+)?†[^\[\]【】\n]*|\^[\w-]{{1,30}}|{FILE}{PAGE}"
CITATIONS = re.compile(
    rf"""
    ^\[\^?[\w-]{{1,30}}\]:[ \t][^\n]*  # where Markdown says what a footnote or a link is
    | \[?[\[［【〔]\s*(?:{INSIDE})\s*[\]］】〕]\]?(?:\([^()\s]*\))?
    | [(（]\s*(?:{NAMED})\s*[)）]
    | <sup>\s*(?:<a\b[^<>]*>)?\s*\[+\s*{NUMBERS}\s*\]+\s*(?:</a>)?\s*</sup>
    | <sup>\s*<a\b[^<>]*>\s*{NUMBERS}\s*</a>\s*</sup>
    | (?<=[.,;:!?…。！？”"»])\s*(?:<sup>\s*{NUMBERS}\s*</sup>|[¹²³⁰⁴-⁹]+(?!\w))
    | <(?P<tag>cite|ref|co|source)(?:[\s:][^<>]*)?>\s*\[?{NUMBERS}\]?\s*</(?P=tag)>
    | </?(?:cite|co)(?:[\s:][^<>]*)?>
    | \ue200[^\ue201]*\ue201 | cite(?:turn\d+[a-z]+\d+)+
    """.replace(" \t", r"\ \t"),
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)
SOURCES = re.compile(
    rf"\n[ \t]*(?:#+[ \t]*|\*\*|__)?(?:{WORD})[ \t]*[:：]?(?:\*\*|__)?[:：]?[ \t]*\n"
    r"(?:[ \t]*\n|[ \t]*(?:[-*•][ \t]+|\d{1,3}[.)][ \t]+)?"
    rf"(?:\[\^?\d{{1,3}}\]|【|<?https?://|\[[^\[\]\n]*\]\(|{FILE})[^\n]*(?:\n|\Z))+\Z",
    re.IGNORECASE,
)
"""The list of sources at the end of a text."""
OPEN = frozenset(
    """in of to from by see at for with on is are be was were as the a an than between range interval index cf
    en de a por ver entre es son dans voir est sont le la von bis nach siehe im ist sind zwischen auf di da vedi è sono
    em é são""".split()
)
"""Words that go on: what follows is no mark but belongs to the sentence, as in `between [1, 5]` and `see [3]`."""
NAMES = frozenset("arr array list args argv items data row rows matrix vec vector values nums idx index".split())
"""Names before an index, beside short ones and those with a digit or `_`."""
CALCULATES = re.compile(r"\s*(?:[=+*/<>]|-\s)|\[\d*:|\.\w+\(")
BEFORE = re.compile(r"(?:(?<=[\]】〕］])[ \t]*[,;，、])?[ \t\u00a0\u202f]*\Z")
CLOSES = re.compile(r"(?<=[^\s*])(?:\*{2,3}([ \t]*)|\*([ \t]+))\Z")
"""Asterisks that end bold or italics, and no factor."""
MOST_BLANKS = 20

CODE_BLOCK = re.compile(
    r"^[ \t>]*(?P<fence>`{3,}|~{3,})(?P<language>[^`\n]*)\n(?P<code>.*?)(?:^[ \t>]*(?P=fence)[`~]*[ \t]*$|\Z)",
    re.MULTILINE | re.DOTALL,
)
INLINE_CODE = re.compile(r"(?<!`)(`+)(?!`)[^\n]{1,300}?(?<!`)\1(?!`)")
PROSE = ("", "markdown", "md", "text", "txt", "plaintext")
"""What a fence around a whole text names that is no code."""
HEADINGS = re.compile(r"^[ \t>]*#{1,6}[ \t]+\S[^\n]*", re.MULTILINE)
TABLE_HEADS = re.compile(
    r"^[^\n|]*\|[^\n]*\n[ \t>]*(?=[^\n]*\|)\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$", re.MULTILINE
)
BOLD_TEXT = re.compile(
    r"(?<![0-9A-Za-z_*\\])(?P<sign>\*\*|__)(?=\S)(?![a-z_]+__(?!\w))[^\n]{1,300}?(?<=\S)(?P=sign)(?![0-9A-Za-z_*])"
)


class ResponsePiece(NamedTuple):
    """A part of a text; `kind` is empty for what is said."""

    text: str
    kind: str = ""


def divided_by_marks(text: str) -> list[ResponsePiece]:
    """The text in pieces; all is said where nothing would be left."""
    wrap = CODE_BLOCK.fullmatch(text.strip())
    if wrap and wrap["language"].strip().lower() in PROSE and not CODE_BLOCK.search(wrap["code"]):
        start = text.index(wrap["code"], text.index("\n"))
        end = start + len(wrap["code"].rstrip())
        return [ResponsePiece(text[:start], CODE), *divided_by_marks(text[start:end]), ResponsePiece(text[end:], CODE)]
    blocks = [match.span() for pattern in (CODE_BLOCK, INLINE_CODE) for match in pattern.finditer(text)]
    code = {place for span in blocks for place in range(*span)}
    pieces = list(_cut(text, (mark for mark in _marks(text) if code.isdisjoint(range(mark[0], mark[1])))))
    return pieces if any(map(str.isalnum, said(pieces))) else [ResponsePiece(text)]


def said(pieces: Iterable[ResponsePiece]) -> str:
    """What is said, without the rest."""
    return "".join(piece.text for piece in pieces if not piece.kind)


def structure_of(text: str) -> list[tuple[int, int, str]]:
    """Code, headings and heads of tables in order: start, end, kind. Code holds none of the others."""
    spans = [(*match.span(), CODE) for match in CODE_BLOCK.finditer(text)]
    for pattern, kind in ((TABLE_HEADS, HEADER), (HEADINGS, HEADING)):
        found = [(*match.span(), kind) for match in pattern.finditer(text)]
        spans += [span for span in found if not any(start < span[1] and span[0] < end for start, end, _ in spans)]
    return sorted(spans)


def _marks(text: str) -> Iterator[tuple[int, int, str]]:
    for match in SOURCES.finditer(text):
        yield (*match.span(), CITATION)
    for match in CITATIONS.finditer(text):
        if match["number"] is None or _is_cited(match):
            yield (*_with_blanks(text, *match.span()), CITATION)
    for match in BOLD_TEXT.finditer(text):
        size = len(match["sign"])
        yield match.start(), match.start() + size, BOLD
        yield match.end() - size, match.end(), BOLD


def _is_cited(match: re.Match[str]) -> bool:
    """Whether numbers in brackets are a citation mark: no index, no interval, and no word before needs them."""
    before = CLOSES.sub(r"\1\2", match.string[: match.start()])
    name = re.search(r"[A-Za-z0-9_.]*\Z", before[-40:])
    glued = name[0] if name else ""
    word = re.search(r"([^\W\d_]+)[ \t]+\Z", before[-40:])
    is_name = bool(glued) and not glued.isdigit() and glued[-1] != "."
    is_index = is_name and (len(glued) < 3 or glued.lower() in NAMES or not glued.isalpha())
    has_zero = re.search(r"(?<!\d)0", match["number"]) and (glued or not match["number"].isdigit())
    goes_on = (word and word[1].lower() in OPEN) or re.search(r"[=∈+*/<]\s*[A-Za-z_.]*\Z", before[-40:])
    return not (is_index or has_zero or goes_on or CALCULATES.match(match.string, match.end()))


def _with_blanks(text: str, start: int, end: int) -> tuple[int, int]:
    """A mark with the blanks before it, at the beginning of a line with those behind it."""
    before = BEFORE.search(text[max(0, start - MOST_BLANKS) : start])
    first = start - len(before[0] if before else "")
    if first == 0 or text[first - 1] == "\n":
        return start, end + len(text[end : end + MOST_BLANKS]) - len(text[end : end + MOST_BLANKS].lstrip(" \t"))
    return (start if text[end : end + 1].isalnum() else first), end


def _cut(text: str, spans: Iterable[tuple[int, int, str]]) -> Iterator[ResponsePiece]:
    place = 0
    for start, end, kind in sorted(spans):
        if end <= place:  # within another one
            continue
        if place < start:
            yield ResponsePiece(text[place:start])
        yield ResponsePiece(text[max(start, place) : end], kind)
        place = end
    if place < len(text):
        yield ResponsePiece(text[place:])
