"""What is kept of a run is counted, and refused where it is damaged or of something else."""

import json
import shutil
from pathlib import Path

import pytest
from aliases import Capture
from chunk_runs import half_done, make_rows, parts_of
from folders import output_of, printed, results_of, run_command, write_config

from rag_evaluator import ConfigError, RAGEvaluator
from rag_evaluator.cli.main import main
from rag_evaluator.results import FILES


def test_merge_counts_what_is_missing_and_exits_with_75(config: Path, capsys: Capture) -> None:
    half_done(config)
    told = printed(capsys, 75, "merge", results_of(config))
    assert "4 of 10 chunks are missing (16 rows)." in told
    assert not [name for name in FILES if (results_of(config) / name).exists()]


def test_a_chunk_of_another_run_or_place_is_refused(tmp_path: Path, config: Path, capsys: Capture) -> None:
    other = write_config(tmp_path / "other", make_rows(41), "metrics: [bleu_score, exact_match]\nchunk_size: 4")
    assert main([str(config)]) == main([str(other)]) == 0
    shutil.copy(parts_of(other) / "000002.jsonl", parts_of(config))
    told = printed(capsys, 2, "merge", results_of(config))
    assert f"{parts_of(config) / '000002.jsonl'}: foreign: it is chunk 2 of the plan " in told
    shutil.copy(parts_of(config) / "000003.jsonl", parts_of(config) / "000001.jsonl")
    told = printed(capsys, 2, "merge", results_of(config))
    assert f"{parts_of(config) / '000001.jsonl'}: foreign: it is chunk 3 of the plan" in told


def test_a_chunk_whose_rows_are_not_those_of_the_dataset_is_refused(config: Path, capsys: Capture) -> None:
    run_command(config)
    (config.parent / "rows.jsonl").write_text(json.dumps(make_rows(1)[0]), "utf-8")
    told = printed(capsys, 2, "merge", results_of(config))
    assert "rows.jsonl: not the rows that were scored: the file has changed since." in told


def test_a_damaged_manifest_is_reported(config: Path, capsys: Capture) -> None:
    half_done(config)
    manifest = results_of(config) / "journal" / "manifest.json"
    whole = manifest.read_text("utf-8")
    without = json.dumps({**json.loads(whole), "about": None})
    for text in ("", "{}", whole.replace('"units": 40', '"units": 39'), without):
        manifest.write_text(text, "utf-8")
        assert f"{manifest}: damaged (" in printed(capsys, 2, config)
    run_command(config, "--fresh")


def test_status_shows_what_is_done_and_what_is_missing(config: Path, capsys: Capture) -> None:
    half_done(config)
    shown = output_of(capsys, "status", results_of(config))
    assert "chunks 6/10, scores 48/80 (60.0 %)" in shown
    assert "missing: 000006, 000007, 000008, 000009" in shown
    assert "nobody works" in shown
    assert "results not written yet" in shown
    run_command(config)
    shown = output_of(capsys, "status", results_of(config))
    assert "chunks 10/10, scores 80/80 (100.0 %)" in shown
    assert "results written" in shown
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in shown.splitlines() if "finished" in line]
    assert sorted(row[2:4] for row in rows) == [["4", "32"], ["6", "48"]] or [row[2:4] for row in rows] == [
        ["10", "80"]
    ]


def test_fresh_is_refused_where_it_would_throw_away_the_work_of_others(
    config: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    half_done(config)
    for flag in ("--fresh", "--update"):
        told = printed(capsys, 2, config, flag, "--worker", "0/2")
        assert "each would throw away what the others did" in told
    inodes = {path.name: path.stat().st_ino for path in parts_of(config).iterdir()}
    monkeypatch.setenv("SLURM_RESTART_COUNT", "1")  # the same command, run again by Slurm
    run_command(config, "--fresh")
    assert {name: (parts_of(config) / name).stat().st_ino for name in inodes} == inodes


def test_rows_that_were_given_from_python_are_not_merged_by_a_command(tmp_path: Path, capsys: Capture) -> None:
    RAGEvaluator({"metrics": ["exact_match"]}).evaluate(make_rows(1), folder=tmp_path)
    assert "its rows were given from Python" in printed(capsys, 2, "merge", tmp_path)


def test_a_start_of_another_name_is_refused(config: Path) -> None:
    with pytest.raises(ConfigError, match="start is 'anew': expected one of continue, fresh, update"):
        RAGEvaluator.from_config(config).run(results_of(config), start="anew")  # type: ignore[arg-type]
