"""The pages of docs/ are short."""

from tools.docs.words import listing, words


def test_the_pages_have_no_more_words_than_they_may() -> None:
    text, code = listing(words())
    assert code == 0, text
