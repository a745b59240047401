"""The pages of docs/ are short, and say nothing twice."""

import re
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path

from docs_commands import FENCE

from tools.docs.words import listing, pages, words

LONG = 8  # words from which a sentence may not be repeated
WORD = re.compile(r"[^\W\d_]+")  # numbers and signs are none, and code is not counted
CODE = re.compile(r"`[^`]*`")
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
ITEM = re.compile(r"^\s*(?:[-*>]|\d+\.|#+)\s+")
END = re.compile(r"(?<=[.!?:;])\s+")


def sentences(page: str) -> Iterator[str]:
    """What a page says, without code: sentences of paragraphs, of items of lists and of cells of tables."""
    lines: list[str] = []
    for line in [*LINK.sub(r"\1", FENCE.sub("\n", page)).splitlines(), ""]:
        if lines and (not line.strip() or ITEM.match(line) or line.lstrip().startswith("|")):
            yield from END.split(" ".join(lines))
            lines = []
        if line.lstrip().startswith("|"):
            yield from (part for cell in line.split("|") for part in END.split(cell.strip()))
        elif line.strip():
            lines.append(ITEM.sub("", line).strip())


def repeated(texts: Mapping[str, str]) -> dict[str, list[str]]:
    """Sentence of at least `LONG` words -> the pages that say it, where it is said more than once."""
    found = sorted(
        (" ".join(sentence.lower().rstrip(".!?:;").split()), name)
        for name, text in texts.items()
        for sentence in sentences(text)
        if len(WORD.findall(CODE.sub("", sentence))) >= LONG
    )
    places = {sentence: [name for _, name in group] for sentence, group in groupby(found, key=lambda pair: pair[0])}
    return {sentence: names for sentence, names in places.items() if len(names) > 1}


def test_no_long_sentence_is_on_two_pages_or_twice_on_one() -> None:
    assert repeated({page.name: page.read_text(encoding="utf-8") for page in pages()}) == {}


def test_a_repeated_sentence_is_found_across_lines_links_lists_and_cells() -> None:
    said = "A missing score has a reason and is never counted as zero"
    texts = {
        "paragraph": f"First. {said}.\n\nLast.",
        "lines": f"{said.replace(' and', chr(10) + 'and')}: so it is.",
        "link": f"{said.replace('a reason', '[a reason](data.md#reasons)')}.",
        "list": f"- Other\n- {said}; more",
        "cell": f"| a | b |\n|---|---|\n| x | {said.upper()} |",
        "code": f"```\n{said}\n```",
        "command": "| `rag-evaluator a b c d e f g h` | `rag-evaluator a b c d e f g h` |",
        "part": f"Every row says {said.lower()} and more.",
    }
    assert repeated(texts) == {said.lower(): ["cell", "lines", "link", "list", "paragraph"]}
    assert repeated({"a": "Four words are few. Four words are few."}) == {}


def test_the_pages_have_no_more_words_than_they_may() -> None:
    text, code = listing(words())
    assert code == 0, text


def test_words_are_counted_of_pages_that_people_write_in_english(tmp_path: Path) -> None:
    for name in ("a.md", "deep/b.md", "design/c.md", "es/a.md", "deep/b.ja.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("# Three\n\nwords here\n", encoding="utf-8")
    counted = words(tmp_path)
    assert counted == {tmp_path / "a.md": 4, tmp_path / "deep" / "b.md": 4}
    assert listing(counted, 8)[1] == 0
    text, code = listing(counted, 7)
    assert code == 1
    assert text.splitlines()[-1] == "     8  words, 1 more than 7: shorten pages"
