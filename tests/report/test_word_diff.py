"""The words in which a response differs from its reference, and long texts, as the page of a row shows them."""

from pathlib import Path

import pytest
from bs4 import BeautifulSoup, Tag
from report.made_files import made_run

from rag_evaluator.report import row_html
from rag_evaluator.results import Run


def shown(folder: Path, response: str, reference: str = "") -> Tag:
    rows = [{"user_input": "Where?", "response": response, "reference": reference}]
    line = {"row": 0, "sample": "0", "metric": "faithfulness", "value": 1.0, "judgements": []}
    run = Run(made_run(folder / "run", {"faithfulness": [1.0]}, rows=rows, details=[line]))
    return BeautifulSoup(row_html(run, 0), "html.parser")


def marked(page: Tag, name: str) -> str:
    """A text with the words that only it has in brackets."""
    [data] = page.select(f".{name} .data")
    signs = {"ins": "[+{}]", "del": "[-{}]"}
    return "".join(signs.get(part.name or "", "{}").format(part.get_text()) for part in data.children)


@pytest.mark.parametrize(
    ("response", "reference", "first", "second"),
    [
        ("a b c", "a x c", "a [+b] c", "a [-x] c"),
        ("same", "same", "same", "same"),
        ("It is 10.5 m.", "It is 12.5 m.", "It is [+10].5 m.", "It is [-12].5 m."),
        ("高さは3776米です", "標高は3776米です", "高[+さ]は3776米です", "[-標]高は3776米です"),
        ("แมวกินปลา", "แมวกินข้าว", "แมวกิน[+ปล]า", "แมวกิน[-ข้]า[-ว]"),
        ("كِتاب كبير", "كِتاب صغير", "كِتاب [+كبير]", "كِتاب [-صغير]"),
        ("one two three", "four five six", "[+one two three]", "[-four five six]"),
    ],
)
def test_words_that_differ_are_marked_also_in_scripts_without_spaces(
    response: str, reference: str, first: str, second: str, tmp_path: Path
) -> None:
    page = shown(tmp_path, response, reference)
    assert (marked(page, "response"), marked(page, "reference")) == (first, second)
    assert ("are the same" in page.get_text()) == (response == reference)


@pytest.mark.parametrize("text", ["a  b\r\n c", "3776メートルで、한국어", "ก็ดี", "👩‍👧 x"])
def test_a_text_that_is_compared_loses_no_character(text: str, tmp_path: Path) -> None:
    [data] = shown(tmp_path, text, "another").select(".response .data")
    assert data.get_text() == text


def test_texts_of_too_many_words_are_not_compared(tmp_path: Path) -> None:
    page = shown(tmp_path, "word " * 4_001, "other " * 9)
    assert "The texts are too long to be compared." in page.get_text()
    assert not page.select("ins, del")


@pytest.mark.parametrize("length", [3_000, 3_001, 200_000])
@pytest.mark.parametrize("sign", ["x", "語 "])
def test_a_long_text_is_folded_without_losing_a_character(length: int, sign: str, tmp_path: Path) -> None:
    text = (sign * length)[:length]
    start, *rest = (part.get_text() for part in shown(tmp_path, text).select(".response .data"))
    assert "".join([start, *rest]) == text
    assert len(start) <= 3_000
    assert len(rest) == (length > 3_000)
