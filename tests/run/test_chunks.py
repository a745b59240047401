"""Nothing is lost and nothing is done twice: kills, workers, merge, damage, disks."""

import asyncio
import gc
import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from aliases import Capture, Json, ModelFolder, Patch
from chunk_runs import PLAIN, half_done, make_rows, parts_of
from command_starter import Zygote
from folders import bytes_of, contents_of, printed, results_of, run_command, write_config

from rag_evaluator import RAGEvaluator, ResultsError, ScriptedJudge
from rag_evaluator.results import FILES
from rag_evaluator.run import Journal, Worker, find_worker
from rag_evaluator.run.worker_journal import WorkerJournal
from rag_evaluator.tasks import stage_of

pytestmark = pytest.mark.processes

ROOT = Path(__file__).parents[2]
KINDS = "context_relevance, semantic_similarity, bleu_score"  # by the judge, by embeddings, by neither


def begun(record: Path) -> list[str]:
    """`row metric repeat` of every score that was begun so far."""
    return record.read_text().splitlines() if record.exists() else []


def kept(config: Path) -> set[str]:
    """`row metric repeat` of every score on disk; a line torn by the kill is none."""
    found = set()
    for path in (results_of(config) / "journal").glob("g*/[ps]*s/*.jsonl"):
        for line in path.read_bytes().split(b"\n")[:-1]:
            record = json.loads(line)
            if record.get("value") is not None:
                found.add(f"{record['index']} {record['column']} {record['repeat']}")
    return found


def kill_and_continue(zygote: Zygote, config: Path, kills: int, longest: float, seed: int) -> None:
    """Kill runs at random moments; what is on disk at a kill must never be begun again."""
    moments = random.Random(seed)
    killed = 0
    record = config.parent / "record"
    run = {"arguments": [str(config)]}
    while killed < kills:
        known = kept(config)
        before = len(begun(record))
        [code] = zygote.run(record, {**run, "signals": [[moments.uniform(0, longest), signal.SIGKILL]]})
        assert not known & set(begun(record)[before:])
        if code != -9:  # it was done before: begin anew, to be killed at another moment
            assert code == 0
            shutil.rmtree(results_of(config))
            continue
        killed += 1
    known = kept(config)
    before = len(begun(record))
    assert zygote.run(record, run) == [0]
    last = begun(record)[before:]
    assert not known & set(last)
    assert all(count == 1 for count in Counter(last).values())


@pytest.mark.parametrize(
    ("count", "kills", "metrics", "sampling", "settings"),
    [
        (24, 4, KINDS, "", ""),
        pytest.param(48, 12, KINDS, "", "", marks=pytest.mark.slow, id="many kills"),
        (12, 2, "context_relevance, bleu_score", ", temperature: 0.7", "repeats: 3"),
    ],
    ids=["greedy", None, "repeats"],
)
def test_a_run_killed_at_random_moments_gives_the_same_bytes_and_judges_nothing_twice(
    count: int,
    kills: int,
    metrics: str,
    sampling: str,
    settings: str,
    tmp_path: Path,
    model_folder: ModelFolder,
    zygote: Zygote,
) -> None:
    rows = [
        {
            "user_input": f"Where was number {number} born?",
            "retrieved_contexts": [f"Number {number} was born in Tesk.", "Tesk lies on the Om."][: number % 2 + 1],
            "response": f"In Tesk, said number {number}. " * (number % 3 + 1),
            "reference": "In Tesk.",
        }
        for number in range(count)
    ]
    judge = f"model: {model_folder('llama-bytelevel')}, dtype: float32, max_new_tokens: 32, batch_size: 2{sampling}"
    text = f"metrics: [{metrics}]\nchunk_size: 6\njudge: {{{judge}}}\n{settings}"
    config = write_config(tmp_path / "killed", rows, text)
    whole = write_config(tmp_path / "whole", rows, text)
    undisturbed_run = {"arguments": [str(whole), "--set", f"output_dir={tmp_path / 'undisturbed'}"]}
    assert zygote.run(tmp_path / "record", undisturbed_run) == [0]
    kill_and_continue(zygote, config, kills, 0.4, seed=1)
    undisturbed = bytes_of(tmp_path / "undisturbed" / "run")
    killed = bytes_of(results_of(config))
    for name in set(FILES) - {"manifest.json", "details.jsonl"}:  # the manifest names the folders
        assert killed[name] == undisturbed[name], name
    lines = [[json.loads(line) for line in text["details.jsonl"].splitlines()] for text in (killed, undisturbed)]
    assert [without_confidence(line) for line in lines[0]] == [without_confidence(line) for line in lines[1]]
    numbers = [[confidence for line in part for confidence in confidences(line)] for part in lines]
    assert numbers[0] == pytest.approx(numbers[1], abs=1e-5)  # docs/hpc.md: the last digits depend on the batch


def confidences(line: Json) -> list[float]:
    return [number for judgement in line["judgements"] for number in judgement["confidence"]]


def without_confidence(line: Json) -> Json:
    return {**line, "judgements": [{**judgement, "confidence": ()} for judgement in line["judgements"]]}


@pytest.mark.parametrize("count", [1, 2, 4])
def test_any_number_of_workers_gives_the_same_bytes(count: int, tmp_path: Path, zygote: Zygote, config: Path) -> None:
    runs = [{"arguments": [str(config), "--worker", f"{number}/{count}"]} for number in range(count)]
    assert zygote.run(tmp_path / "record", *runs) == [0] * count
    same_as_alone(config, tmp_path)


@pytest.mark.parametrize(("first", "then"), [(4, 2), (1, 3), (2, 1)])
def test_the_number_of_workers_may_change_after_a_kill(
    first: int, then: int, tmp_path: Path, zygote: Zygote, config: Path
) -> None:
    runs = [
        {"arguments": [str(config), "--worker", f"{number}/{first}"], "signals": [[0.005, signal.SIGKILL]]}
        for number in range(first)
    ]
    assert -9 in zygote.run(tmp_path / "record", *runs)
    known = kept(config)
    before = len(begun(tmp_path / "record"))
    runs = [{"arguments": [str(config), "--worker", f"{number}/{then}"]} for number in range(then)]
    assert zygote.run(tmp_path / "record", *runs) == [0] * then
    assert not known & set(begun(tmp_path / "record")[before:])
    same_as_alone(config, tmp_path)


@pytest.mark.parametrize(
    ("signals", "grace", "code"),
    [
        ([[0.1, signal.SIGTERM]], 0.5, 75),  # the batch in flight is given up
        ([[0.1, signal.SIGTERM], [0.2, signal.SIGTERM]], 0.5, 75),  # an echo of the first
        ([[0.1, signal.SIGINT], [1.5, signal.SIGINT]], 60, 130),
        ([[0.1, signal.SIGUSR1], [1.5, signal.SIGTERM]], 60, 143),
    ],
)
def test_a_batch_that_does_not_end_is_given_up_and_a_second_signal_stops_at_once(
    signals: list[list[float]], grace: float, code: int, zygote: Zygote, config: Path
) -> None:
    run = {"arguments": [str(config), "--grace", str(grace)], "environment": {"SLOW": "30"}, "signals": signals}
    began = time.monotonic()
    assert zygote.run(config.parent / "record", run) == [code]
    assert time.monotonic() - began < 20


def test_what_is_in_the_making_is_finished_within_the_grace_time(zygote: Zygote, config: Path) -> None:
    record = config.parent / "record"
    run = {"arguments": [str(config)], "environment": {"SLOW": "0.01"}, "signals": [[0.05, signal.SIGTERM]]}
    assert zygote.run(record, run) == [75]
    assert 0 < len(begun(record)) < 80
    assert kept(config) == set(begun(record))
    [note] = (results_of(config) / "journal" / "g1" / "workers").iterdir()
    assert json.loads(note.read_bytes())["ended"] == "stopped by SIGTERM"


def same_as_alone(config: Path, tmp_path: Path) -> None:
    """The results are those of one undisturbed process, with every score exactly once."""
    run_command(config, "--set", f"output_dir={tmp_path / 'alone'}")
    alone = bytes_of(tmp_path / "alone" / "run")
    shared = bytes_of(results_of(config))
    for name in set(FILES) - {"manifest.json"}:
        assert shared[name] == alone[name], name
    details = (results_of(config) / "details.jsonl").read_text("utf-8").splitlines()
    keys = [(line["row"], line["metric"]) for line in map(json.loads, details)]
    assert keys == [(row, name) for row in range(40) for name in PLAIN]


def test_merge_writes_what_one_undisturbed_process_writes(config: Path, capsys: Capture) -> None:
    run_command(config)
    before = bytes_of(results_of(config))
    for name in FILES:
        (results_of(config) / name).unlink()
    run_command("merge", results_of(config))
    assert bytes_of(results_of(config)) == before
    assert f"40 rows from 10 chunks written to {results_of(config)}" in capsys.readouterr().out


DAMAGED: list[tuple[Callable[[bytes], bytes], str]] = [
    (lambda data: data[:-20], "damaged ("),
    (lambda data: data.replace(b'"value": 0.0', b'"value": 1.0', 1), "damaged (its checksum does not fit)"),
    (lambda data: data.split(b"\n", 1)[1], "damaged (its checksum does not fit)"),
    (lambda data: b"", "damaged ("),
]


@pytest.mark.parametrize(("harm", "told"), DAMAGED)
def test_a_damaged_chunk_is_refused_by_name_and_made_again_once_removed(
    harm: Callable[[bytes], bytes], told: str, config: Path, capsys: Capture
) -> None:
    run_command(config)
    before = bytes_of(results_of(config))
    path = parts_of(config) / "000003.jsonl"
    path.write_bytes(harm(path.read_bytes()))
    message = printed(capsys, 2, "merge", results_of(config))
    assert f"error: {path}: {told}" in message
    assert "Remove it, and the same command makes it again." in message
    assert bytes_of(results_of(config)) == before
    path.unlink()
    (results_of(config) / "scores.csv").unlink()
    run_command(config)
    assert bytes_of(results_of(config)) == before


def test_two_configurations_on_one_folder_are_reported_and_nothing_is_lost(
    tmp_path: Path, config: Path, capsys: Capture
) -> None:
    half_done(config)
    before = contents_of(parts_of(config).iterdir())
    other = write_config(tmp_path / "other", make_rows(40), "metrics: [bleu_score, chrf_score]\nchunk_size: 4")
    told = printed(capsys, 2, other, "--set", f"output_dir={config.parent / 'results'}")
    assert "Changed: metrics: bleu_score, exact_match before, bleu_score, chrf_score now" in told
    assert contents_of(parts_of(config).iterdir()) == before
    run_command(config)


def test_a_run_whose_folder_was_taken_over_by_a_fresh_one_publishes_nothing(tmp_path: Path) -> None:
    judge = ScriptedJudge({"ContextRelevanceOutput": {"rating": 2}}, model_id="two")
    rows = [{"user_input": f"question {number}", "retrieved_contexts": ["Nolu"]} for number in range(8)]
    first = RAGEvaluator({"metrics": ["context_relevance"], "judge": {"batch_size": 1}}, judge=judge)
    second = RAGEvaluator({"metrics": ["context_relevance"]}, judge=judge)

    def take_over(done: int, total: int) -> None:
        if done == 2:
            second.evaluate(rows[:4], folder=tmp_path, start="fresh")

    with pytest.raises(ResultsError, match="another run that started over or updated took this folder over"):
        first.evaluate(rows, take_over, tmp_path)
    assert len((tmp_path / "scores.jsonl").read_text("utf-8").splitlines()) == 4
    second.evaluate(rows[:4], folder=tmp_path)


class Counting(ScriptedJudge):
    """Answers after a moment, and counts the rows that are asked about at the same time."""

    def __init__(self) -> None:
        super().__init__(lambda prompt, model: {"rating": 2}, model_id="counting")
        self.open: Counter[str] = Counter()
        self.most = 0

    async def agenerate(self, prompt: str, response_model: Any) -> Any:
        [row] = re.findall(r"question \d+", prompt)
        self.open[row] += 1
        self.most = max(self.most, len(+self.open))
        await asyncio.sleep(0.001)
        self.open[row] -= 1
        return self.generate(prompt, response_model)


ASKED = [{"user_input": f"question {number}", "retrieved_contexts": ["Nolu"]} for number in range(40)]


def test_no_more_scores_than_two_batches_of_the_judge_are_in_the_making() -> None:
    judge = Counting()
    scores = RAGEvaluator({"metrics": ["context_relevance"]}, judge=judge).evaluate(ASKED).scores["context_relevance"]
    assert [score.value for score in scores] == [1.0] * 40
    assert judge.most == 32, "two batches of the judge"


def test_a_run_that_fails_in_many_scores_at_once_raises_one_error_and_prints_none(
    caplog: pytest.LogCaptureFixture, monkeypatch: Patch, tmp_path: Path
) -> None:
    def full(*_: Any) -> Any:
        raise OSError("no space left")

    monkeypatch.setattr("rag_evaluator.run.worker_journal.WorkerJournal.record", full)
    with pytest.raises(OSError, match="no space left"):
        RAGEvaluator({"metrics": ["context_relevance"]}, judge=Counting()).evaluate(ASKED[:16], folder=tmp_path)
    gc.collect()  # asyncio tells of an error that nobody read when its task is collected
    assert caplog.messages == []


@contextmanager
def small_disk(folder: Path, size: str, options: str = "") -> Iterator[Path]:
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}{options}", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("needs the right to mount a tmpfs")
    try:
        yield folder
    finally:
        gc.collect()  # a workbook that met a full disk leaves its files to the collector
        subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_reported_and_nothing_is_lost(tmp_path: Path, config: Path, capsys: Capture) -> None:
    with small_disk(tmp_path / "disk", "64k") as disk:
        told = printed(capsys, 2, config, "--set", f"output_dir={disk}")
        assert "cannot be written: " in told
        assert "No space left on device" in told
        lines = [line for path in disk.glob("run/journal/g1/[ps]*s/*.jsonl") for line in path.read_bytes().splitlines()]
        assert len(lines) > 8
        subprocess.run(["mount", "-o", "remount,size=4m", str(disk)], check=True)
        known = {path: path.stat().st_ino for path in disk.glob("run/journal/g1/parts/*.jsonl")}
        assert known
        run_command(config, "--set", f"output_dir={disk}")
        assert {path: path.stat().st_ino for path in known} == known  # finished chunks were not made again
        run_command(config, "--set", f"output_dir={tmp_path / 'other'}")
        full = bytes_of(disk / "run")
        other = bytes_of(tmp_path / "other" / "run")
        for name in set(FILES) - {"manifest.json"}:
            assert full[name] == other[name]


def test_a_folder_that_is_read_only_is_reported_and_a_finished_run_in_it_can_be_shown(
    tmp_path: Path, config: Path, capsys: Capture
) -> None:
    with small_disk(tmp_path / "disk", "4m") as disk:
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        told = printed(capsys, 2, config, "--set", f"output_dir={disk}")
        assert f"{disk}/run" in told
        assert "cannot be written: Read-only file system" in told
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
        run_command(config, "--set", f"output_dir={disk}")
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        run_command(config, "--set", f"output_dir={disk}")
        assert "Read-only" in printed(capsys, 2, "merge", disk / "run")


def test_where_hard_links_are_missing_files_are_renamed(tmp_path: Path, config: Path, monkeypatch: Patch) -> None:
    def refuse(source: Path, target: Path) -> None:
        raise PermissionError(1, "Operation not permitted")

    run_command(config, "--set", f"output_dir={tmp_path / 'linked'}")
    monkeypatch.setattr("rag_evaluator.run.journal.os.link", refuse)
    run_command(config)
    linked = bytes_of(tmp_path / "linked" / "run")
    renamed = bytes_of(results_of(config))
    assert all(linked[name] == renamed[name] for name in set(FILES) - {"manifest.json"})


def test_the_first_to_publish_a_chunk_wins(config: Path) -> None:
    half_done(config, done=0)
    found = Journal(results_of(config))
    one, two = (WorkerJournal(results_of(config), stage_of(found), name) for name in ("one", "two"))
    assert one.publish(0, [b"{}\n"], {"made": 1})
    assert not two.publish(0, [b"{}\n"], {"made": 2})
    assert found.read_footer(0)["made"] == 1
    assert not list((results_of(config) / "journal" / "g1" / "tmp").iterdir())


@pytest.mark.parametrize("torn", [b'{"row": 1, "sa', b"\x00" * 30, b"\xff\xfe"])
def test_a_torn_last_line_of_unfinished_scores_is_dropped(torn: bytes, config: Path) -> None:
    run_command(config)
    before = bytes_of(results_of(config))
    part = parts_of(config) / "000002.jsonl"
    lines = part.read_bytes().splitlines(keepends=True)[:3]
    half = results_of(config) / "journal" / "g1" / "scores" / "000002.dead.jsonl"
    half.write_bytes(b"".join(lines) + torn)
    part.unlink()
    (results_of(config) / "scores.csv").unlink()
    run_command(config)
    assert bytes_of(results_of(config)) == before
    assert Journal(results_of(config)).read_footer(2)["made"] == 8 - 3


@pytest.mark.parametrize("damage", [b"{broken}\n", b"\n", b"[]\n", b'{"sample": "a", "value": 1}\n', b"\xff\n"])
def test_other_damage_of_unfinished_scores_is_reported_with_its_line(
    damage: bytes, config: Path, capsys: Capture
) -> None:
    run_command(config)
    part = parts_of(config) / "000002.jsonl"
    first, second, *_ = part.read_bytes().splitlines(keepends=True)
    half = results_of(config) / "journal" / "g1" / "scores" / "000002.dead.jsonl"
    half.write_bytes(first + damage + second)
    part.unlink()
    (results_of(config) / "scores.csv").unlink()
    told = printed(capsys, 2, config)
    assert f"{half}, line 2: damaged (" in told
    assert "Remove the line, or start over with --fresh" in told
    assert half.read_bytes() == first + damage + second
    run_command(config, "--fresh")


def test_elements_of_an_array_that_run_again_only_help(config: Path) -> None:
    again = {"SLURM_ARRAY_TASK_COUNT": "2", "SLURM_ARRAY_TASK_MIN": "3", "SLURM_ARRAY_TASK_ID": "7"}
    with patch.dict(os.environ, again):
        assert find_worker() == Worker(4, 2)
    evaluator = RAGEvaluator.from_config(config)
    evaluator.run(results_of(config), worker=Worker(4, 2))
    assert len(list(parts_of(config).iterdir())) == 10


def test_missing_scores_are_not_tried_again_by_the_late_workers_of_the_same_job(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    rows = [{"user_input": f"question {number}", "retrieved_contexts": ["Nolu"]} for number in range(4)]
    judge = ScriptedJudge({}, model_id="silent")
    evaluator = RAGEvaluator({"metrics": ["context_relevance"]}, judge=judge)
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    evaluator.run(tmp_path, rows)
    asked = len(judge.prompts)
    evaluator.run(tmp_path, rows, worker=Worker(1, 2))
    assert len(judge.prompts) == asked
    monkeypatch.setenv("SLURM_JOB_ID", "2")
    evaluator.run(tmp_path, rows)
    assert len(judge.prompts) == 2 * asked


def test_results_are_written_though_a_worker_of_another_machine_died_while_it_wrote_them(
    config: Path, monkeypatch: Patch
) -> None:
    half_done(config, done=10)
    (results_of(config) / "journal" / "g1" / "tmp" / "merging").write_text("1\nanother-machine\n")
    monkeypatch.setattr("rag_evaluator.run.merging.LONGEST_SECONDS", 0.5)
    run_command(config)
    assert set(FILES) <= {path.name for path in results_of(config).iterdir()}
