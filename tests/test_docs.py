"""What README, docs and config.yaml list is what the program has."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from folders import WHOLE

from rag_evaluator import METRICS, RAGEvaluator
from rag_evaluator.config import JudgeConfig, make_config
from rag_evaluator.dataset import ALIASES, READERS
from rag_evaluator.results import LABELS
from rag_evaluator.statistics import rerun_noise
from tools.docs import configuration
from tools.docs.links import DELETED

THINKING = "thinking"  # of judges that think
WARNING = "ci_warning"  # where an interval is too narrow
ROOT = Path(__file__).parent.parent
TEXTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FREE = {"name", "dataset", "metrics"}  # what each run has of its own


def table(path: Path, heading: str) -> list[list[str]]:
    """The cells of the table that begins with this heading."""
    lines = path.read_text("utf-8").split(f"| {heading} |", 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def quoted(cell: str) -> tuple[str, ...]:
    return tuple(re.findall(r"`([^`]+)`", cell))


def test_the_docs_list_the_names_of_columns_that_are_read() -> None:
    rows = table(ROOT / "docs" / "data.md", "column")
    assert {quoted(name)[0]: quoted(others) for name, others, _ in rows} == dict(ALIASES)


def test_the_docs_list_every_engine_with_its_own_keys() -> None:
    path = ROOT / "docs" / "engines.md"
    rows = table(path, "engine")
    assert [quoted(name)[0] for name, *_ in rows] == ["transformers", "server", "vllm"]
    assert all(set(quoted(keys)) <= {f"judge.{key}" for key in JudgeConfig.model_fields} for *_, keys in rows)
    for *_, settings in table(ROOT / "docs" / "servers.md", "server"):
        judge = yaml.safe_load(quoted(settings)[0])
        assert make_config({"metrics": ["faithfulness"], "judge": judge}).judge.url == judge["url"]


def test_the_docs_list_the_kinds_of_files_that_are_read() -> None:
    text = (ROOT / "docs" / "data.md").read_text("utf-8")
    listed = text.split("Readable are", 1)[1].split("a folder", 1)[0]
    assert set(quoted(listed)) == set(READERS)


def test_the_docs_list_every_metric_with_what_it_needs() -> None:
    listed: dict[str, list[str]] = {}
    for names, others, needs, asks in table(ROOT / "docs" / "metrics.md", "name"):
        assert set(quoted(others)) == {alias for name in quoted(names) for alias in METRICS[name].aliases}
        listed |= {name: [needs, asks] for name in quoted(names)}
    assert list(listed) == list(METRICS)
    for name, (needs, asks) in listed.items():
        columns, _, embeddings = needs.partition("; ")
        assert set(columns.split(", ")) == set(METRICS[name].columns)
        assert (embeddings == "embeddings") == METRICS[name].embeddings
        assert (asks != "0") == METRICS[name].judge


def test_the_docs_list_every_figure_of_the_summary_and_every_key_that_changes_it() -> None:
    row = {"user_input": "Q?", "answer": "yes", "reference": "yes", "topic": "sea"}
    keys = {"metrics": ["exact_match"], "thresholds": {"exact_match": 1}, "group_by": ["topic"]}
    figures = RAGEvaluator(keys).evaluate([row]).summary()["exact_match"]
    listed = [name for names, _ in table(ROOT / "docs" / "results.md", "key | meaning") for name in quoted(names)]
    noise = {"repeats", *vars(rerun_noise([]))}  # with repeats above 1
    some = {LABELS, THINKING, WARNING, "probabilities", "responses"}  # where there is such a thing
    assert sorted(listed) == sorted({*figures, *noise, *some})
    keys_shown = [quoted(cell)[0] for cell, _ in table(ROOT / "docs" / "results.md", "key | effect")]
    shown = {name: value for key in keys_shown for name, value in yaml.safe_load(key).items()}
    assert set(shown) == {"ci_level", "cluster", "group_by", "thresholds", "require", "report"}
    assert make_config({"metrics": ["faithfulness"], **shown}).require == ["faithfulness >= 0.8"]


def test_the_project_s_configuration_shows_defaults() -> None:
    shown: dict[str, Any] = yaml.safe_load((ROOT / "config.yaml").read_text("utf-8"))
    defaults = make_config({"metrics": ["bleu"]}, base=Path("/")).model_dump(mode="json")
    paths = {name: f"/{shown[name]}" for name in ("output_dir", "prompts_dir")}
    sections = {name: {**defaults[name], **value} for name, value in shown.items() if isinstance(value, dict)}
    expected = {**defaults, **{name: shown[name] for name in FREE}}
    assert {**defaults, **shown, **sections, **paths} == expected


def test_the_page_of_all_keys_is_that_of_the_program() -> None:
    page = configuration.PAGE.read_text("utf-8")
    keys_there = set(configuration.page().splitlines()) <= set(page.splitlines())
    assert page == configuration.page() or (not WHOLE and keys_there), "run: python -m tools.docs.configuration"


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_links_lead_to_files_that_exist(path: Path) -> None:
    targets = re.findall(r"\]\((?!http)([^)#]*)(?:#[^)]*)?\)", path.read_text("utf-8"))
    gone = [target for target in targets if target and not (path.parent / target).exists()]
    assert [target for target in gone if Path(target).name not in DELETED] == []


def test_make_test_docs_runs_every_file_with_tests_of_the_docs() -> None:
    [line] = re.findall(r"-m pytest (.*) -m docs ", (ROOT / "Makefile").read_text("utf-8"))
    marked = [path for path in (ROOT / "tests").rglob("test_*.py") if "pytest.mark.docs\n" in path.read_text("utf-8")]
    assert [path for path in marked if not any(path.is_relative_to(ROOT / name) for name in line.split())] == []
