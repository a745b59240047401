"""README and tutorials in other languages show the same commands, outputs and figures as the English pages.

test_commands.py runs equal blocks once (`without_repetitions`). Those of a translation equal the English ones, so they
are run for the English page only.
"""

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
from docs_commands import FENCE, ROOT

from tools.docs.links import DELETED
from tools.docs.words import TRANSLATIONS

ENGLISH: Mapping[str, Path] = {
    "README.md": ROOT / "README.md",
    "first-run.md": ROOT / "docs" / "tutorial" / "1-first-run.md",
    "own-data.md": ROOT / "docs" / "tutorial" / "2-own-data.md",
    "cluster.md": ROOT / "docs" / "tutorial" / "4-cluster.md",
}
"""Name of a page in the folder of a language -> the page that it translates."""
OWN: Mapping[str, Path] = {
    "own-language.md": ROOT / "docs" / "tutorial" / "3-own-language.md",
    "report.md": ROOT / "docs" / "report.md",
}
"""Name of a page that is written for readers of a language -> the English page about the same."""
MORE: Mapping[str, list[str]] = {
    "README.md": [
        "docs/languages.md",
        "docs/tutorial/3-own-language.md",
        "docs/tutorial/4-cluster.md",
        "docs/report.md",
    ],
    "first-run.md": ["docs/languages.md"],
}
"""Name of a page -> links that its English page lacks: the limits of the demo judge, pages in the same language."""
COUNTS: Mapping[str, Mapping[str, int]] = {
    "en": {"two": 2, "four": 4, "six": 6, "ten": 10, "twelve": 12, "twenty": 20},
    "es": {"dos": 2, "cuatro": 4, "seis": 6, "diez": 10, "doce": 12, "veinte": 20},
    "ja": {},  # digits throughout
    "zh": {"两": 2},
}
"""Language -> numbers that its pages write as words. `one` is none: it has too many other meanings."""
WITHOUT_SPACES = ("ja", "zh")
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


def targets(page: Path, text: str) -> Counter[Path | str]:
    """The files and addresses that a page links to; a page of its own language counts as the English one."""
    own = {page.parent / name: original for name, original in {**ENGLISH, **OWN}.items()}
    found: Counter[Path | str] = Counter()
    for link in LINK.findall(FENCE.sub("\n", text)):
        path = (page.parent / link.partition("#")[0]).resolve()
        found[link if link.startswith("https://") else own.get(path, path)] += 1
    return found


@pytest.mark.parametrize(("language", "name"), TRANSLATED)
def test_a_translation_has_the_blocks_the_numbers_and_the_links_of_the_english_page(language: str, name: str) -> None:
    page = ROOT / "docs" / language / name
    original = ENGLISH[name]
    text, english = (path.read_text("utf-8") for path in (page, original))
    assert blocks(text) == blocks(english) != []
    assert numbers(text, language) == numbers(english, "en")
    found = targets(page, text)
    expected = targets(original, english)
    gone = [path for path in found if isinstance(path, Path) and not path.is_file()]
    assert {path.name for path in gone} <= set(DELETED)
    assert {ROOT / "docs" / other / name for other in TRANSLATIONS} <= set(expected)
    more: list[Path | str] = [original, *(ROOT / link for link in MORE.get(name, []))]
    assert found == expected - Counter([page]) + Counter(more)
