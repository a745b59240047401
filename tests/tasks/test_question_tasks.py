"""`sort` and `generate` as tasks: workers, kills, resume, status, merge, changed settings."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from aliases import Capture, ModelFolder
from command_starter import Zygote
from folders import error_of, output_of, results_of, run_command, write_config

from rag_evaluator.cli.main import main
from rag_evaluator.run import journals_in

FILES = {
    "sort": ("sorted_indices.json", "sort_summary.json"),
    "generate": ("dataset_with_reference.jsonl",),
}


def begin(folder: Path, model: Path, count: int) -> Path:
    rows = [
        {
            "question": f"Where was person {number} born?",
            "contexts": [f"Person {number} lived in town {rank}." for rank in range(3)],
        }
        for number in range(count)
    ]
    judge = f"judge: {{model: {model}, dtype: float32, max_new_tokens: 24, batch_size: 4}}"
    return write_config(folder, rows, f"metrics: [faithfulness]\nsort: {{fast: false}}\nchunk_size: 7\n{judge}")


def alike(one: Any, other: Any) -> bool:
    """Whether JSON is the same, but for the last digits of probabilities, which depend on the batch: docs/hpc.md."""
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) < 1e-4
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(alike(one[name], other[name]) for name in one)
    return bool(one == other)


def read(folder: Path, command: str) -> list[Any]:
    texts = [(folder / name).read_text("utf-8") for name in FILES[command]]
    if command == "sort":
        return [json.loads(text) for text in texts]
    answers = sorted((folder / "gt").iterdir())
    return [texts, [json.loads(path.read_bytes()) for path in answers]]


@pytest.mark.processes
@pytest.mark.parametrize("command", ["sort", pytest.param("generate", marks=pytest.mark.slow)])
def test_three_workers_killed_five_times_give_what_one_process_gives(
    command: str, tmp_path: Path, model_folder: ModelFolder, zygote: Zygote
) -> None:
    model = model_folder("llama-bytelevel")
    config, alone = (begin(tmp_path / name, model, 60) for name in ("shared", "alone"))
    record = tmp_path / "record"
    killed = 0
    assert zygote.run(record, {"arguments": [command, str(alone)]}) in ([0], [1])
    while killed < 5:
        workers = [{"arguments": [command, str(config), "--worker", f"{number}/3"]} for number in range(3)]
        victim = {**workers[killed % 3], "signals": [[0.02 * killed, signal.SIGKILL]]}
        [code] = zygote.run(record, victim)
        assert code == -9, "the worker ended before it could be killed"
        killed += 1
    runs = [{"arguments": [command, str(config), "--worker", f"{number}/3"]} for number in range(3)]
    codes = zygote.run(record, *runs)
    assert set(codes) <= {0, 1}
    assert alike(read(results_of(config), command), read(results_of(alone), command))


@pytest.mark.parametrize("command", ["sort", "generate"])
def test_status_and_merge_know_sort_and_generate(
    command: str, tmp_path: Path, model_folder: ModelFolder, capsys: Capture
) -> None:
    config = begin(tmp_path, model_folder("llama-bytelevel"), 4)
    main([command, str(config)])
    shown = output_of(capsys, "status", results_of(config))
    assert f"{command}: chunks 1/1, questions 4/4 (100.0 %)" in shown
    assert "results written" in shown
    before = {name: (results_of(config) / name).read_bytes() for name in FILES[command]}
    for name in FILES[command]:
        (results_of(config) / name).unlink()
    run_command("merge", results_of(config))
    assert {name: (results_of(config) / name).read_bytes() for name in FILES[command]} == before


def test_the_three_tasks_share_a_results_folder(tmp_path: Path, model_folder: ModelFolder, capsys: Capture) -> None:
    config = begin(tmp_path, model_folder("llama-bytelevel"), 2)
    arguments = [str(config), "--set", "metrics=[context_relevance]"]
    for command in ("sort", "generate", "evaluate"):
        assert main([command, *arguments]) in (0, 1), capsys.readouterr().err
    assert [journal.plan.task for journal in journals_in(results_of(config))] == ["sort", "generate", "evaluate"]
    places = {journal.place.name for journal in journals_in(results_of(config))}
    assert places == {"journal", "sort.orders", "generate.references"}


def test_changed_settings_are_refused_and_updated_without_asking_anything_again(
    tmp_path: Path, model_folder: ModelFolder, capsys: Capture
) -> None:
    config = begin(tmp_path, model_folder("llama-bytelevel"), 3)
    run_command("sort", config)
    assert "Changed: order: k 10 before, 2 now" in error_of(capsys, "sort", config, "--set", "sort.k=2")
    assert "of them 0 now" in output_of(capsys, "sort", config, "--set", "sort.k=2", "--update")
    rows = json.loads((results_of(config) / "sorted_indices.json").read_bytes())
    assert [row["k"] for row in rows] == [2, 2, 2]
    shown = output_of(capsys, "sort", config, "--set", "sort.k=2")
    assert "was complete already: nothing was scored or written" in shown
