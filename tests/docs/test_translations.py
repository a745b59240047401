"""README and first tutorial in other languages show the same commands, outputs and figures as the English pages.

test_commands.py runs equal blocks once (`without_repetitions`). Those of a translation equal the English ones, so they
are run for the English page only.
"""

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
from docs_commands import FENCE, ROOT, Block, page_blocks

from tools.docs.words import TRANSLATIONS

ENGLISH: Mapping[str, Path] = {
    "README.md": ROOT / "README.md",
    "first-run.md": ROOT / "docs" / "tutorial" / "1-first-run.md",
}
"""Name of a page in the folder of a language -> the page that it translates."""
COUNTS: Mapping[str, Mapping[str, int]] = {
    "en": {"two": 2, "four": 4, "six": 6, "ten": 10, "twelve": 12},
    "es": {"dos": 2, "cuatro": 4, "seis": 6, "diez": 10, "doce": 12},
    "ja": {},  # digits throughout
    "zh": {"两": 2},
}
"""Language -> numbers that its pages write as words. `one` is none: it has too many other meanings."""
WITHOUT_SPACES = ("ja", "zh")
LIMITS = ("judge.model", "embeddings.model", "](../languages.md)")  # named where the limits of the demo are
LINK = re.compile(r"\]\(([^)]*)\)")
NUMBER = re.compile("[0-9]+(?:[.,\u00a0][0-9]+)*", re.ASCII)
TRANSLATED = [pytest.param(language, name, id=f"{language}/{name}") for language in TRANSLATIONS for name in ENGLISH]


def blocks(text: str) -> list[str]:
    """The fenced blocks of a page, with their fences."""
    return [match[0] for match in FENCE.finditer(text)]


def numbers(text: str, language: str) -> Counter[str]:
    """The numbers that a page says, also those in words, without blocks and the paths of links."""
    said = LINK.sub("]", FENCE.sub("\n", text)).lower()
    for word, number in COUNTS[language].items():
        said = re.sub(word if language in WITHOUT_SPACES else rf"\b{word}\b", str(number), said)
    return Counter(re.sub("[,\u00a0]", "", number) for number in NUMBER.findall(said))


def links(text: str) -> list[str]:
    """What a page links to, also pictures, in order."""
    return LINK.findall(FENCE.sub("\n", text))


def targets(page: Path, text: str) -> Counter[Path | str]:
    """The files and addresses that a page links to; a page of its own language counts as the English one."""
    own = {page.parent / name: original for name, original in ENGLISH.items()}
    found: Counter[Path | str] = Counter()
    for link in links(text):
        path = (page.parent / link.partition("#")[0]).resolve()
        found[link if link.startswith("https://") else own.get(path, path)] += 1
    return found


def translation(language: str, name: str) -> Path:
    return ROOT / "docs" / language / name


@pytest.mark.parametrize(("language", "name"), TRANSLATED)
def test_a_translation_shows_the_blocks_of_the_english_page(language: str, name: str) -> None:
    expected = blocks(ENGLISH[name].read_text(encoding="utf-8"))
    assert expected
    assert blocks(translation(language, name).read_text(encoding="utf-8")) == expected


@pytest.mark.parametrize(("language", "name"), TRANSLATED)
def test_a_translation_says_the_numbers_of_the_english_page(language: str, name: str) -> None:
    expected = numbers(ENGLISH[name].read_text(encoding="utf-8"), "en")
    assert expected
    assert numbers(translation(language, name).read_text(encoding="utf-8"), language) == expected


@pytest.mark.parametrize(("language", "name"), TRANSLATED)
def test_a_translation_links_to_what_the_english_page_links_to(language: str, name: str) -> None:
    page, original = translation(language, name), ENGLISH[name]
    found = targets(page, page.read_text(encoding="utf-8"))
    assert [path for path in found if isinstance(path, Path) and not path.is_file()] == []
    expected = targets(original, original.read_text(encoding="utf-8"))
    assert {translation(other, name) for other in TRANSLATIONS} <= set(expected)
    more: list[Path | str] = [original, ROOT / "docs" / "languages.md"]  # in the first line, with the limits
    assert found == expected - Counter([page]) + Counter(more)


@pytest.mark.parametrize(("language", "name"), TRANSLATED)
def test_a_translation_names_the_limits_of_the_demo_in_one_paragraph(language: str, name: str) -> None:
    paragraphs = translation(language, name).read_text(encoding="utf-8").split("\n\n")
    [limits] = [paragraph for paragraph in paragraphs if all(mark in paragraph for mark in LIMITS)]
    assert numbers(limits, language) == Counter()


@pytest.mark.parametrize("language", TRANSLATIONS)
def test_both_pages_say_the_same_of_the_limits_of_the_demo(language: str) -> None:
    said = [set(translation(language, name).read_text(encoding="utf-8").split("\n\n")) for name in ENGLISH]
    assert [paragraph for paragraph in set.intersection(*said) if all(mark in paragraph for mark in LIMITS)]


def test_every_command_of_a_translation_is_run_for_an_english_page() -> None:
    translated = tuple(f"docs/{language}/" for language in TRANSLATIONS)
    shown = list(page_blocks())

    def is_translated(block: Block) -> bool:
        return block.place.startswith(translated)

    run = {block.commands for block in shown if not is_translated(block)}
    assert [block for block in shown if is_translated(block) and block.commands not in run] == []
    assert any(map(is_translated, shown))


def test_a_changed_figure_block_or_link_is_found() -> None:
    page = "Two rows, 39,611 tokens, 3.11.\n\n```\nrun 12\n```\n\n[a 0](b/1.md)\n"
    assert numbers(page, "en") == Counter({"2": 1, "39611": 1, "3.11": 1, "0": 1})
    assert numbers("Dos filas, 39\u00a0611 tokens, 3.11; todos: [a 0](c/7.md)", "es") == numbers(page, "en")
    assert numbers("两行，39,611个token，3.11，0", "zh") == numbers("2行、39,611、3.11、0", "ja") == numbers(page, "en")
    assert numbers(page.replace("39,611", "39.611"), "en") != numbers(page, "en")
    assert numbers(page.replace("39,611", "39,612"), "en") != numbers(page, "en")
    assert numbers(page.replace("Two rows", "Rows"), "en") != numbers(page, "en")
    assert blocks(page) == ["```\nrun 12\n```"]
    assert blocks(page.replace("run 12", "run 13")) != blocks(page)
    assert links(page) == ["b/1.md"]
