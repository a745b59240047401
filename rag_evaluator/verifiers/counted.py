"""Which sentences of a text count as claims: no questions, courtesies, refusals, labels, code; with their offsets."""

import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from rag_evaluator.config import LANGUAGES, Language, sentences
from rag_evaluator.dataset import CODE, HEADER, HEADING, divided_by_marks, said, structure_of
from rag_evaluator.errors import NotApplicableError
from rag_evaluator.resources import PACKAGE
from rag_evaluator.results import NOT_COUNTED

LONGEST_PHRASE = 300  # characters; a longer sentence is no greeting
LABEL_WORDS = 3  # the longest label
LABEL_LETTERS = 8  # letters in languages without spaces
LINE = re.compile(
    r"\s*(?:>\s*)*(?:(?P<heading>#{1,6})\s+(?:\d{1,2}[.)]\s+)?"
    r"|(?:[-*+•‣▪–—]|[①-⑳]|(?P<number>\d{1,3})[.)])\s+(?:\[[ xX]\]\s+)?)?"
)
NUMBER = re.compile(r"\d{1,3}[.)]")
LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
PAIRED = re.compile(r"(~~|(?<!`)`+(?!`))(?=\S)(.{1,300}?)(?<=\S)\1(?!`)")
SINGLE = re.compile(r"(?<![\w*])([*_])(?=[^\s*_])([^*_]*?[^\s*_])\1(?![\w*])")
EDGES = re.compile(r"^(?:\*\*|__|~~)+|(?:\*\*|__|~~)+$")  # of signs that span several sentences
ROW = re.compile(r"^\|\s*|\s*\|$")  # of a table
DIVIDES = r"[;:،؛，；：、–—()（）]|\s-\s|[.!?…؟。！？।]+(?=\s)"  # clauses, beside commas
AROUND = " \t.!?…؟。！？।'\"“”„«»‘’「」『』¡¿"
APOSTROPHES = str.maketrans("’ʼ`´", "''''")
ALIKE = str.maketrans("أإآى", "اااي", "ـ")  # Arabic letters that are written either way
HARAKAT = re.compile("[\u064b-\u0652\u0670]")
OPENING = "opening"
KINDS = ("greeting", "thanks", "offer", "introduction", "refusal")


@dataclass(frozen=True)
class Sentence:
    """A sentence of a text.

    Attributes:
        text: what is verified: without list marker, Markdown signs and citation marks; one line, no spaces around it.
        start: offset of its first character in the text, behind a list marker.
        end: offset behind its last character; what is left out of `text` may be between both.
        counts: whether it is a claim.
        why: why it is none: "empty", "question", "label", "heading", "table header", "code", "courtesy", or one of
            `KINDS`; empty where it counts.
    """

    text: str
    start: int
    end: int
    counts: bool
    why: str = ""


def sentences_of(text: str, language: Language) -> list[Sentence]:
    """All sentences of a text in order, each with whether it counts as a claim.

    Each line is at least one sentence. In a language that `counted.jsonl` does not have, only questions and what has
    no letter and no digit do not count.
    """
    lines = text.splitlines(keepends=True)
    is_list = _numbers_of_lists(lines)
    structure = structure_of(text)
    parts: list[tuple[Sentence, str]] = []
    start = 0
    for line in lines:
        begin, heading = _marker(line, is_list)
        kind = next((kind for first, end, kind in structure if first <= start < end and kind != HEADING), heading)
        parts += [(sentence, kind) for sentence in _sentences(line[begin:], start + begin, language)]
        start += len(line)
    last = max((place for place, (part, _) in enumerate(parts) if any(map(str.isalnum, part.text))), default=-1)
    whys = [_why(part.text, kind, place == last, language) for place, (part, kind) in enumerate(parts)]
    return [replace(part, counts=not why, why=why) for (part, _), why in zip(parts, whys, strict=True)]


def _numbers_of_lists(lines: Sequence[str]) -> frozenset[int]:
    """The numbers that are list markers: one before or after it is one, too. `3. Mai` is a date."""
    numbers = {int(match["number"]) for match in map(LINE.match, lines) if match and match["number"]}
    return frozenset(number for number in numbers if {number - 1, number + 1} & numbers)


def _marker(line: str, is_list: frozenset[int]) -> tuple[int, str]:
    """Where the text of a line begins, and `HEADING` if it is one."""
    match = LINE.match(line)
    if match is None or (match["number"] and int(match["number"]) not in is_list):
        return len(line) - len(line.lstrip()), ""
    return match.end(), HEADING if match["heading"] else ""


def _sentences(line: str, offset: int, language: Language) -> Iterator[Sentence]:
    """The sentences of a line that begins at an offset.

    A number that was divided from its item is a part of it, signs that were divided from a sentence a part of that.
    """
    spans: list[tuple[int, int]] = []
    start = end = 0
    for part in sentences(line, language):
        end += len(part)
        text = line[start:end].strip()
        if spans and text and not any(map(str.isalnum, text)):
            start, _ = spans.pop()
        elif NUMBER.fullmatch(text) and line[end:].strip():
            continue
        spans.append((start, end))
        start = end
    for start, end in spans:
        if stripped := line[start:end].strip():
            begin = offset + line.index(stripped, start)
            yield Sentence(_plain(stripped), begin, begin + len(stripped), counts=True)


def _plain(text: str) -> str:
    """Without Markdown signs and citation marks."""
    text = LINK.sub(r"\1", said(divided_by_marks(text)))
    text = SINGLE.sub(r"\2", PAIRED.sub(r"\2", text))
    return ROW.sub("", EDGES.sub("", text.strip())).strip()


def _why(text: str, kind: str, last: bool, language: Language) -> str:
    if not any(map(str.isalnum, text)):
        return "empty"
    if kind in (CODE, HEADER):
        return kind
    if any(map(str.isdigit, text)):
        return ""
    if _is_question(text):
        return "question"
    phrases = _phrases(language.name)
    if phrases is None or len(text) > LONGEST_PHRASE:
        return ""
    phrase = _kind(text, *phrases)
    if phrase == OPENING:
        return "" if last else "courtesy"
    return phrase or ("" if last else _label(text, kind == HEADING, language))


def _is_question(text: str) -> bool:
    """Whether it ends with a question mark of any script, and the text was divided before it."""
    ending = text.rstrip("!！ ")
    name = unicodedata.name(ending[-1:] or " ", "")
    is_marked = "QUESTION" in name and "MARK" in name and "INVERTED" not in name
    return is_marked and not re.search(r"[^\s.]{5,}[.。।۔][\"'”’»]?\s+\S", ending)


def _label(text: str, heading: bool, language: Language) -> str:
    """`label` or `heading`: of a short line that ends with a colon, and of a heading that is no sentence.

    Neither has a colon within.
    """
    body = text.rstrip(":： ")
    introduces = heading or body != text
    if not introduces or re.search("[:：]", body) or body[-1:] in ".!。！।":
        return ""
    is_short = len(body.split()) <= LABEL_WORDS if language.spaced else len(body) <= LABEL_LETTERS
    return "label" if is_short else HEADING if heading else ""


def _kind(text: str, divides: re.Pattern[str], kinds: dict[str, re.Pattern[str]]) -> str:
    """The kind of a sentence of which every clause is a phrase; that of the last one counts. Empty: of none."""
    clauses = (clause.strip(AROUND) for clause in divides.split(plain_words(text)))
    found = [
        next((kind for kind, pattern in kinds.items() if pattern.fullmatch(clause)), "")
        for clause in clauses
        if any(map(str.isalnum, clause))
    ]
    if "" in found:
        return ""
    return next((kind for kind in reversed(found) if kind != OPENING), OPENING)


@cache
def _phrases(language: str) -> tuple[re.Pattern[str], dict[str, re.Pattern[str]]] | None:
    """What is between two clauses, and what a whole clause of each kind matches; None where no phrases are known."""
    rows = _rows().get(language)
    if rows is None:
        return None
    word = r"(?<!\S)(?:{})(?![^\s,;:،؛])" if LANGUAGES[language].spaced else "{}"
    joins = word.format("|".join(rows["joins"]))
    comma = rf",(?!\s*(?:{'|'.join(rows['tails'])})\b)" if "tails" in rows else ","
    divides = re.compile("|".join([comma, DIVIDES, joins, *rows.get("breaks", ())]))
    opening = f"(?:(?:{'|'.join(rows[OPENING])})\\s*)"
    kinds = {kind: re.compile(f"{opening}{{0,2}}(?:{'|'.join(rows[kind])})") for kind in KINDS}
    return divides, {**kinds, OPENING: re.compile(f"{opening}{{1,2}}")}


@cache
def _rows() -> dict[str, dict[str, Sequence[str]]]:
    """language -> kind -> patterns, from `counted.jsonl`: regular expressions in small letters.

    Beside `KINDS`: `opening`, which a phrase may begin with; `documents`, for which `{documents}` stands; `joins`,
    words between two clauses; `breaks`, other places between two; `tails`, words before which no comma divides.
    """
    rows: defaultdict[str, dict[str, Sequence[str]]] = defaultdict(dict)
    for line in (PACKAGE / "verifiers" / "counted.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        rows[row["language"]][row["kind"]] = row["patterns"]
    for kinds in rows.values():
        documents = f"(?:{'|'.join(kinds['documents'])})"
        for kind, patterns in kinds.items():
            kinds[kind] = [alike(pattern.replace("{documents}", documents)) for pattern in patterns]
    return rows


def plain_words(text: str) -> str:
    """As patterns have it: small letters, single spaces, one form of each letter."""
    return " ".join(alike(text.lower()).split())


def alike(text: str) -> str:
    """One form of accents, apostrophes and Arabic letters, without vowel signs; of a pattern as of a text."""
    return HARAKAT.sub("", unicodedata.normalize("NFC", text)).translate(APOSTROPHES).translate(ALIKE)


def claims_of(sentences: Sequence[Sentence], column: str) -> list[Sentence]:
    """Those that count, of the sentences of a column. Raises `NotApplicableError` where there is none."""
    claims = [sentence for sentence in sentences if sentence.counts]
    if not claims:
        why = ", ".join(dict.fromkeys(sentence.why for sentence in sentences)) or "it is empty"
        raise NotApplicableError(f"the {column} has no sentence that counts as a claim: {why}")
    return claims


def not_counted(sentences: Sequence[Sentence]) -> dict[str, object]:
    """What a record says of those that do not count; empty where all do."""
    left_out = [{"sentence": sentence.text, "why": sentence.why} for sentence in sentences if not sentence.counts]
    return {NOT_COUNTED: left_out} if left_out else {}
