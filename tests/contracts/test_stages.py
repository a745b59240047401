"""What every stage keeps to: each task runs once with a tiny model, then its stage is made from its journal.

A new task has a row in `ROWS_OF_TASKS`: the command that runs it in the project of these tests.
"""

import re
from pathlib import Path
from typing import Any

import pytest
from aliases import ModelFolder, Patch
from folders import run_command, write_lines

from rag_evaluator.cli.main import main
from rag_evaluator.run import Journal, journals_in
from rag_evaluator.tasks import all_tasks, stage_of

ROWS_OF_TASKS = {  # task -> command, folder of its results
    "evaluate": ("evaluate config.yaml", "results/run"),
    "sort": ("sort config.yaml --set name=sorted", "results/sorted"),
    "generate": ("generate config.yaml --set generate.replace=true --set name=answered", "results/answered"),
    "probe": ("probe config.yaml --set name=probed", "results/probed"),
    "duel": ("duel results/run results/other --config config.yaml --out results/duel", "results/duel"),
    "testset": ("testset make config.yaml --set name=made", "results/made"),
    "testset_check": ("testset check rows.jsonl --config config.yaml --set name=checked", "results/checked"),
}
COMMANDS = {task: row for task, row in ROWS_OF_TASKS.items() if task in all_tasks()}  # a feature may be deleted
CONFIG = """\
dataset: rows.jsonl
metrics: [context_relevance, exact_match]
chunk_size: 2
judge: {{model: {model}, dtype: float32, max_new_tokens: 32, batch_size: 8}}
"""
OF_TESTSET = "testset: {documents: [documents], size: 2, candidates: 3, neighbours: 2}\n"
ROWS = [
    {
        "user_input": f"In which year was bridge {number} built, and by whom?",
        "retrieved_contexts": [f"Bridge {number} was built in {1200 + number} by Lira.", "Tesk lies by a river."],
        "reference_contexts": [f"Bridge {number} was built in {1200 + number} by Lira."],
        "response": f"It was built in {1200 + number}.",
        "reference": f"Lira built it in {1200 + number}.",
    }
    for number in range(3)
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, model_folder: ModelFolder) -> Path:
    """A folder in which every task was run once."""
    folder = tmp_path_factory.mktemp("project")
    write_lines(folder / "rows.jsonl", ROWS)
    text = CONFIG.format(model=model_folder("llama-bytelevel"))
    if "testset" in COMMANDS:
        from tests.features.testset.testset_world import write_documents

        write_documents(folder / "documents", "english")
        text += OF_TESTSET
    (folder / "config.yaml").write_text(text, "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr("rag_evaluator.report.document.figures_html", lambda run: "")  # as in the tests
        run_command("evaluate", "config.yaml", "--set", "name=other")
        for task, (command, _) in COMMANDS.items():
            assert main(command.split()) in (0, 1), task  # random weights give few questions
    return folder


@pytest.fixture(params=all_tasks())
def journal(request: pytest.FixtureRequest, project: Path, monkeypatch: Patch) -> Journal:
    """The journal of a task."""
    monkeypatch.chdir(project)
    [journal] = [one for one in journals_in(project / COMMANDS[request.param][1]) if one.plan.task == request.param]
    return journal


def files_of(stage: Any, folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in stage.files if (folder / name).is_file()}


def test_every_task_is_run_here() -> None:
    assert set(COMMANDS) == set(all_tasks())


def test_units_are_those_of_the_plan_in_order(journal: Journal) -> None:
    stage = stage_of(journal)
    assert len(stage.units) == journal.plan.units > 0
    assert [unit.index for unit in stage.units] == list(range(journal.plan.units))
    assert stage.plan.digest == journal.plan.digest


def test_a_digest_is_16_hexadecimal_digits_and_the_same_each_time(journal: Journal) -> None:
    one, other = (
        {(unit.index, column): stage.digest(unit, column) for unit in stage.units for column in stage.plan.columns}
        for stage in (stage_of(journal), stage_of(journal))
    )
    assert one == other
    assert all(re.fullmatch("[0-9a-f]{16}", digest) for digest in one.values())
    assert len(set(one.values())) > 1, "units differ"


def test_kept_values_are_those_that_their_columns_can_have_and_others_are_refused(journal: Journal) -> None:
    stage = stage_of(journal)
    checked = 0
    for chunk in journal.published():
        for _, line in journal.read_records(journal.part_path(chunk)):
            if not line.record.missing:
                stage.check(line.key.column, line.record.value)
                with pytest.raises(ValueError, match=r"\w"):
                    stage.check(line.key.column, "text" if isinstance(line.record.value, float) else 7.5)
                checked += 1
    assert checked > 0


def test_merge_writes_the_same_bytes_again_without_a_model(journal: Journal, monkeypatch: Patch) -> None:
    stage = stage_of(journal)
    before = files_of(stage, journal.results)
    assert before
    monkeypatch.delattr("rag_evaluator.judge.judge.Judge.from_config")
    for name in before:
        (journal.results / name).unlink()
    run_command("merge", journal.results)
    assert files_of(stage, journal.results) == before


def test_a_finished_task_is_complete_and_makes_nothing_again(
    journal: Journal, project: Path, monkeypatch: Patch
) -> None:
    parts = {path: path.stat().st_mtime_ns for path in journal.folder.rglob("parts/*")}
    assert len(parts) == journal.plan.chunks > 1
    monkeypatch.delattr("rag_evaluator.judge.judge.Judge.from_config")
    assert main(COMMANDS[journal.plan.task][0].split()) in (0, 1)
    assert {path: path.stat().st_mtime_ns for path in journal.folder.rglob("parts/*")} == parts
