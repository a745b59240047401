"""The pages of docs/ are short."""

from pathlib import Path

from tools.docs.words import listing, words


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
