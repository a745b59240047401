"""A job whose judge is a real vLLM of its own, signalled, requeued and killed: `make test-slurm VLLM_PYTHON=...`."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from cluster import Cluster, can_run, wait_until

from rag_evaluator.demo import DEMO_JUDGE
from tests.judge.engine.vllm.test_life import Processes, gone, processes, tree, wait

ROOT = Path(__file__).parent.parent.parent
PYTHON = os.environ.get("VLLM_PYTHON", "")
METRICS = ["faithfulness", "context_recall", "context_relevance"]
ROWS = 16
ENVIRONMENT = {
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_NUM_THREADS": "1",
    "TORCHINDUCTOR_CACHE_DIR": f"/tmp/torchinductor_{os.getuid()}",
    "PYTHON": sys.executable,
    "PROJECT": str(ROOT),
}
START = 1800.0  # seconds in which a job must have begun and scored something
pytestmark = [
    pytest.mark.slurm,
    pytest.mark.vllm,
    pytest.mark.skipif(not can_run(), reason="needs Slurm and root; see install.sh"),
    pytest.mark.skipif(not PYTHON, reason="VLLM_PYTHON names no Python with vLLM"),
]
__all__ = ["processes"]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("slurm"))
    try:
        made.up()
        yield made
    finally:
        made.down()


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    sample = (ROOT / "examples" / "dataset.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(sample[number % len(sample)]) for number in range(ROWS)]
    rows = [{**row, "user_input": f"{number}. {row['user_input']}"} for number, row in enumerate(rows)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    vllm = {"python": PYTHON, "args": ["--enforce-eager", "--distributed-executor-backend", "uni"]}
    judge = {"model": str(DEMO_JUDGE), "dtype": "float32", "engine": "vllm", "batch_size": 2, "vllm": vllm}
    settings = {"dataset": "rows.jsonl", "metrics": METRICS, "judge": judge, "chunk_size": 4}
    (tmp_path / "config.yaml").write_text(json.dumps(settings), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "config.yaml"


def submitted(config: Path) -> str:
    command = ["sbatch", "--parsable", "--cpus-per-task=1", "--output=log", str(ROOT / "launcher.sh"), str(config)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def records(config: Path) -> dict[tuple[int, str], str]:
    """Cells that are on disk, each with its line."""
    place = config.parent / "results" / "run" / "journal" / "g1"
    lines: list[str] = []
    for path in (path for kind in ("scores", "parts") for path in place.glob(f"{kind}/*.jsonl")):
        with suppress(FileNotFoundError):  # the chunk is done meanwhile: its lines are among the parts, read later
            lines += path.read_text(encoding="utf-8").splitlines(keepends=True)
    whole = [(json.loads(line), line) for line in lines if line.endswith("\n")]
    return {(record["index"], record["column"]): line for record, line in whole if "index" in record}


def ended(job: str) -> str:
    """The state in which a job ended."""
    wait_until(f"scontrol -o show job {job} | grep -qvE 'JobState=(PENDING|RUNNING|CONFIGURING|COMPLETING)'", START)
    shown = subprocess.run(["scontrol", "-o", "show", "job", job], capture_output=True, text=True).stdout
    return shown.split("JobState=")[1].split()[0]


@pytest.mark.usefixtures("cluster")
def test_a_job_with_a_server_of_its_own_continues_and_leaves_no_process(config: Path, processes: Processes) -> None:
    def decoding() -> tuple[set[int], dict[tuple[int, str], str]]:
        """Processes of the job once it has scored something, and what is on disk by then."""
        before = records(config)
        assert wait(lambda: len(records(config)) > len(before), START), (config.parent / "log").read_text()
        job = processes()  # of which the script runs on until it has requeued the job
        return tree(*job).keys() - {one for one, line in job.items() if "slurm_script" in line}, records(config)

    job = submitted(config)
    living, known = decoding()
    subprocess.run(["scancel", "--signal=TERM", job], check=True)  # to all processes of the job, the server's too
    assert gone(living, 60), processes()  # it has 20 seconds for what is in the making
    wait_until(f"scontrol -o show job {job} | grep -q Restarts=1")
    log = (config.parent / "log").read_text(encoding="utf-8")
    assert "stopped by SIGTERM: what was scored is kept" in log and "continues: requeued" in log
    assert known.items() <= records(config).items()

    living, known = decoding()
    subprocess.run(["scontrol", "requeue", job], check=True)  # as after preemption
    assert gone(living, 30), processes()  # Slurm sends SIGTERM, and after 5 seconds SIGKILL
    wait_until(f"scontrol -o show job {job} | grep -q Restarts=2")
    assert known.items() <= records(config).items()

    living, known = decoding()
    subprocess.run(["scancel", "--signal=KILL", f"{job}.0"], check=True)  # all processes of the step, at once
    assert gone(living), processes()
    assert ended(job) == "FAILED"
    assert known.items() <= records(config).items() and len(known) < ROWS * len(METRICS)

    assert ended(submitted(config)) == "COMPLETED", (config.parent / "log").read_text()
    assert records(config).keys() == {(row, name) for row in range(ROWS) for name in METRICS}
    assert known.items() <= records(config).items()  # not a cell was scored again
    scores = (config.parent / "results" / "run" / "scores.jsonl").read_text(encoding="utf-8").splitlines()
    assert all(json.loads(line)[name] is not None for line in scores for name in METRICS)
    assert gone(processes()), processes()
    assert not list(Path(os.environ["TMPDIR"]).glob("rag-evaluator-*"))
