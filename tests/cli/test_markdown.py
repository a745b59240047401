"""`--markdown` of `report`, `compare` and `gate`: rendered, the texts of rows are texts and nothing else."""

from pathlib import Path

import pytest
from aliases import Capture
from bs4 import BeautifulSoup
from folders import error_of
from markdown_it import MarkdownIt

from rag_evaluator import RAGEvaluator
from rag_evaluator.cli.main import main
from rag_evaluator.results import as_markdown

JOINER = "\N{WORD JOINER}"
OURS = {"h3", "h4", "p", "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "code"}
HOSTILE = [
    "<script>alert(1)</script><details open><!-- x -->",
    "a | b || c \\| d `code` ``x``` ~~~",
    "[here](javascript:alert(1)) ![i](http://e.com/x.png) <http://e.com> https://e.com www.e.com [x]: /y",
    "@octocat @org/team a@b.com fix #12 GH-12 :smile: $x$ $`y`$",
    "**b** _i_ ~~s~~ ![^1] &lt;b&gt; &amp; 1. one",
    *("- item", "1. one", "12) two", "+ plus", "# head", "> quote", "---", "| a |\n|---|", "===", "* * *"),
    "two\nlines\r\n\n\n# and a head",
]


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Two runs; in `b` no answer is right."""
    monkeypatch.chdir(tmp_path)
    for name, response in (("a", "yes"), ("b", "no")):
        rows = [{"user_input": text, "response": response, "reference": "yes", "a|b": text} for text in HOSTILE]
        settings = {"metrics": ["exact_match"], "name": name, "group_by": ["a|b"], "report": False}
        RAGEvaluator(settings).evaluate(rows, folder=tmp_path / name)
    return ["a", "b"]


def rendered(text: str) -> BeautifulSoup:
    return BeautifulSoup(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text), "html.parser")


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_text_is_shown_as_it_is(text: str) -> None:
    page = rendered(as_markdown("runs", [text, text, f"  {text}"]))
    assert {tag.name for tag in page.find_all()} <= OURS
    shown = " ".join(text.split())
    assert [tag.get_text().replace(JOINER, "") for tag in page.find_all(["p", "li"])][:2] == [shown, shown]
    for link in ("@octocat", "@org", "a@b", "#12", "GH-12", ":smile:", "://", "www."):
        assert link not in page.get_text()


@pytest.mark.parametrize(
    "arguments", [["report", "a"], ["report", "a", "b"], ["compare", "a", "b"], ["gate", "b", "--fail-if-worse", "a"]]
)
def test_commands_print_markdown_alone_or_add_it_to_a_file(
    runs: list[str], arguments: list[str], capsys: Capture
) -> None:
    main([*arguments, "--markdown"])
    text = capsys.readouterr().out
    page = rendered(text)
    assert text.startswith("### ")
    assert page.table is not None
    assert {tag.name for tag in page.find_all()} <= OURS
    widths = [{len(row.find_all(["td", "th"])) for row in table.find_all("tr")} for table in page.find_all("table")]
    assert all(len(width) == 1 for width in widths)
    summary = Path("summary.md")
    summary.write_text("before")
    main([*arguments, "--markdown", str(summary)])
    assert summary.read_text("utf-8") == f"before\n{text}"
    assert "###" not in capsys.readouterr().out


def test_a_run_is_not_taken_for_the_file(runs: list[str], capsys: Capture) -> None:
    Path("scores.csv").write_text("id\n1\n")
    for path in ("a", "scores.csv"):
        with pytest.raises(SystemExit):
            main(["compare", "--markdown", path, *runs])
        assert f"{path} is no file of Markdown" in capsys.readouterr().err
    assert "new/x.md: cannot be written" in error_of(capsys, "compare", *runs, "--markdown", "new/x.md")
