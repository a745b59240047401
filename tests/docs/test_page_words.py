"""The pages of docs/ are short."""

from tools.docs.links import DOCS
from tools.docs.words import DESIGN, MOST_OF_A_PAGE, listing, words


def test_the_pages_have_no_more_words_than_they_may() -> None:
    text, code = listing(words())
    assert code == 0, text


def test_a_page_with_more_words_than_it_may_have_is_named() -> None:
    text, code = listing({DOCS / "long.md": MOST_OF_A_PAGE + 7, DOCS / "short.md": MOST_OF_A_PAGE})
    assert f"{DOCS / 'long.md'}: 7 more than 900" in text
    assert f"{DOCS / 'short.md'}:" not in text
    assert code == 1


def test_a_design_note_is_at_most_a_page() -> None:
    notes = {path.name: len(path.read_text("utf-8").split()) for path in (DOCS / DESIGN).glob("*.md")}
    assert len(notes) > 20
    assert {name: count for name, count in notes.items() if count > MOST_OF_A_PAGE} == {}
