"""The catalogue of texts: what pages show is in it, and what is in it some page shows."""

import re
from pathlib import Path

import pytest

from rag_evaluator.report.texts import TEXTS

PACKAGE = Path(__file__).parents[2] / "rag_evaluator"
SOURCES = {
    path: path.read_text(encoding="utf-8")
    for folder in ("report", "view", "reviews")
    for path in sorted((PACKAGE / folder).rglob("*"))
    if path.suffix in (".py", ".html", ".js") and path.name != "texts.py"
}
TEMPLATES = [path for path in SOURCES if path.suffix == ".html"]
FILLED = re.compile(r"[$]?\{[^{}\s\"]*\}")  # f"review.{part}", `review.${part}`
JOINED = re.compile(r"""["']\s*~\s*[\w.\[\]()]+(\s*~\s*["'])?""")  # "review." ~ part, "review." ~ part ~ ".why"
QUOTED = re.compile(r"""["'`]([a-z]+\.[\w.*]*)(?=["'`*])""")
CALLED = re.compile(r"""\b(?:t|text|page_text)\(["']([\w.*]+)["']""")
PARTS = re.compile(r"\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}", re.DOTALL)
NAMES = re.compile(r'\s(?:aria-label|title|placeholder|alt)="([^"]*)"')
WHYS = {key for key in TEXTS if re.fullmatch(r"review\.queue\.\w+\.why", key)}


def patterns(text: str) -> str:
    """A source whose keys have `*` where a part is filled in."""
    return JOINED.sub(lambda found: "*" if found[1] else '*"', FILLED.sub("*", text))


def named_by(text: str) -> set[str]:
    """The keys of the catalogue that a source names."""
    wanted = set(QUOTED.findall(patterns(text)))
    return {key for key in TEXTS for one in wanted if re.fullmatch(one.replace(".", r"\.").replace("*", r"\w*"), key)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('page_text("run.rows")', {"run.rows"}),
        ('{{ t("page.theme." ~ name) }}', {"page.theme.light", "page.theme.dark", "page.theme.auto"}),
        ("text(`page.theme.${name}`)", {"page.theme.light", "page.theme.dark", "page.theme.auto"}),
        ('page_text(f"page.theme.{name}", a=1)', {"page.theme.light", "page.theme.dark", "page.theme.auto"}),
        (
            '{{ t("review.queue." ~ name ~ ".why") }}',
            {key for key in TEXTS if re.match(r"review\.queue\.\w+\.why", key)},
        ),
        ('SCRIPTED = ("review.",)', set()),
    ],
)
def test_a_key_is_found_however_it_is_put_together(text: str, expected: set[str]) -> None:
    assert named_by(text) == expected


def test_every_text_of_the_catalogue_is_shown_somewhere() -> None:
    named = set().union(*map(named_by, SOURCES.values()))
    assert sorted(set(TEXTS) - named) == []


def test_every_text_that_a_page_asks_for_is_in_the_catalogue() -> None:
    asked = {(path.name, key) for path, text in SOURCES.items() for key in CALLED.findall(patterns(text))}
    assert len(asked) > 200
    assert sorted((name, key) for name, key in asked if "*" not in key and key not in TEXTS) == []


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_a_template_has_no_text_of_its_own(template: Path) -> None:
    html = PARTS.sub("", SOURCES[template])
    shown = re.sub(r"<(script|style|code|kbd|pre).*?</\1>|<[^>]*>|&\w+;", " ", html, flags=re.DOTALL)
    assert re.findall(r"[A-Za-z]{2,}", shown + " ".join(set(NAMES.findall(html)) - {"document_score"})) == []
