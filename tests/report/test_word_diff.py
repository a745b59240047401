import pytest

from rag_evaluator.report.texts import FOLDED, WORDS, difference, shown, tokens


def marked(pieces):
    return "".join({"": "{}", "ins": "[+{}]", "del": "[-{}]"}[piece.mark].format(piece.text) for piece in pieces)


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
def test_words_that_differ_are_marked_also_in_scripts_without_spaces(response, reference, first, second):
    found = difference(response, reference)
    assert (marked(found.first), marked(found.second)) == (first, second)
    assert found.equal == (response == reference)


@pytest.mark.parametrize("text", ["", "a  b\r\n c\x00\ud800", "3776メートルで、한국어", "ก็ดี", "👩‍👧 x"])
def test_tokens_together_are_the_text(text):
    assert "".join(tokens(text)) == text


def test_texts_of_too_many_words_are_not_compared():
    text = "word " * (WORDS // 5 + 1)
    found = difference(text, "other " * 9)
    assert found.too_long
    assert "".join(piece.text for piece in found.first) == text


@pytest.mark.parametrize("length", [0, FOLDED, FOLDED + 1, 2_000_000])
@pytest.mark.parametrize("sign", ["x", " ", "語 "])
def test_a_long_text_is_folded_without_losing_a_character(length, sign):
    text = (sign * length)[:length]
    found = shown(text)
    assert "".join(piece.text for piece in (*found.start, *found.rest)) == text
    assert sum(len(piece.text) for piece in found.start) <= FOLDED
    assert (found.folded > 0) == (length > FOLDED)
