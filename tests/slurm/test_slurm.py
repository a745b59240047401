"""Arrays, kills, requeues and lost nodes under a real Slurm: the results are those of one undisturbed process."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster import CPUS, LOST_AFTER, Cluster, can_run, wait_until
from folders import results_of, write_lines

from rag_evaluator.results import FILES
from rag_evaluator.run import Journal

ROOT = Path(__file__).parent.parent.parent
ROWS = 400
CHUNK = 10
pytestmark = [pytest.mark.slurm, pytest.mark.skipif(not can_run(), reason="needs Slurm and root; see install.sh")]


Undisturbed = dict[str, dict[str, bytes]]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("slurm"))
    try:
        made.up()
        yield made
    finally:
        made.down()


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Rows that take some ten milliseconds each."""
    tmp_path.chmod(0o755)
    text = "He was born in Tesk, on the river Om, on day {} of the year, and built the bridge of Harn. "
    rows = [{"response": text.format(n % 9) * 12, "reference": text.format(n % 7) * 12, "n": n} for n in range(ROWS)]
    write_lines(tmp_path / "rows.jsonl", rows)
    config = tmp_path / "config.yaml"
    config.write_text(f"dataset: rows.jsonl\nmetrics: [chrf_score, bleu_score]\nchunk_size: {CHUNK}\n", "utf-8")
    return config


@pytest.fixture(scope="module")
def undisturbed() -> Undisturbed:
    """What one process without Slurm makes of a dataset, once for all tests."""
    return {}


def command(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, str(ROOT / "main.py"), *arguments], capture_output=True, text=True, env=environment()
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHON": sys.executable, "PROJECT": str(ROOT)}


def submit(config: Path, workers: int, *sbatch_options: str) -> str:
    """The number of the array."""
    told = command(
        "submit", str(config), "--workers", str(workers), "--", "--cpus-per-task=1", *sbatch_options
    ).splitlines()
    [line] = [line for line in told if line.startswith("array ")]
    return line.split()[1]


def sbatch(*arguments: str) -> str:
    done = subprocess.run(["sbatch", "--parsable", *arguments], capture_output=True, text=True, env=environment())
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def wait_for_parts(config: Path, count: int) -> None:
    wait_until(f"test $(ls {results_of(config)}/journal/g1/parts 2>/dev/null | wc -l) -ge {count}")


def wait_for_job(job: str, seconds: float = 180.0) -> str:
    """The state in which a job ended."""
    wait_until(f"scontrol -o show job {job} | grep -qvE 'JobState=(PENDING|RUNNING|CONFIGURING|COMPLETING)'", seconds)
    wait_until(f"! squeue -h -j {job} -o %T | grep -q .", seconds)
    shown = subprocess.run(["scontrol", "-o", "show", "job", job], capture_output=True, text=True).stdout
    return shown.split("JobState=")[1].split()[0]


def a_worker(config: Path, number: int) -> int:
    """The process id of a worker, once it has begun."""
    pattern = f"{results_of(config)}/journal/g1/workers/w{number}of*"
    wait_until(f"ls {pattern}")
    [path] = (results_of(config) / "journal" / "g1" / "workers").glob(f"w{number}of*")
    return int(path.stem.split(".")[-1])


def check(config: Path, undisturbed: Undisturbed) -> None:
    """The bytes of one undisturbed process, and every score once."""
    if not undisturbed:
        command(str(config), "--set", f"output_dir={config.parent / 'alone'}")
        alone = config.parent / "alone" / "run"
        undisturbed["alone"] = {name: (alone / name).read_bytes() for name in FILES}
    for name in set(FILES) - {"manifest.json"}:  # it names the folders
        assert (results_of(config) / name).read_bytes() == undisturbed["alone"][name], name
    details = (results_of(config) / "details.jsonl").read_text("utf-8").splitlines()
    keys = [(line["row"], line["metric"]) for line in map(json.loads, details)]
    assert keys == [(row, name) for row in range(ROWS) for name in ("chrf_score", "bleu_score")]


def logs_of(config: Path) -> str:
    return "\n".join(path.read_text("utf-8") for path in (results_of(config) / "slurm").glob("*.log"))


@pytest.mark.usefixtures("cluster")
def test_an_array_of_which_one_task_is_killed(config: Path, undisturbed: Undisturbed) -> None:
    array = submit(config, 3)
    pid = a_worker(config, 1)
    wait_for_parts(config, 3)
    os.kill(pid, signal.SIGKILL)
    wait_for_job(array)
    states = subprocess.run(["scontrol", "-o", "show", "job", array], capture_output=True, text=True).stdout
    assert states.count("JobState=FAILED") == 1
    assert states.count("JobState=COMPLETED") == 2
    check(config, undisturbed)
    journal = Journal(results_of(config))
    workers = {journal.read_footer(chunk)["worker"] for chunk in range(ROWS // CHUNK)}
    assert {"0/3", "2/3"} <= workers <= {"0/3", "1/3", "2/3"}


@pytest.mark.usefixtures("cluster")
def test_elements_that_ask_for_whole_nodes_share_none(config: Path, undisturbed: Undisturbed) -> None:
    array = submit(config, 3, "--exclusive", "--mem=0")
    wait_for_parts(config, 1)
    running = subprocess.run(["squeue", "-h", "-t", "R", "-j", array, "-o", "%N %C"], capture_output=True, text=True)
    nodes = [line.split() for line in running.stdout.splitlines()]
    assert nodes and len({node for node, _ in nodes}) == len(nodes)
    assert {cpus for _, cpus in nodes} == {str(CPUS)}
    assert wait_for_job(array) == "COMPLETED", logs_of(config)
    check(config, undisturbed)


@pytest.mark.usefixtures("cluster")
def test_a_job_that_is_requeued_continues(config: Path, undisturbed: Undisturbed) -> None:
    os.chdir(config.parent)
    job = sbatch("--cpus-per-task=1", "--output=log", str(ROOT / "launcher.sh"), str(config))
    wait_for_parts(config, 4)
    subprocess.run(["scontrol", "requeue", job], check=True)
    known = {path.name: path.stat().st_ino for path in (results_of(config) / "journal" / "g1" / "parts").iterdir()}
    assert len(known) < ROWS // CHUNK
    wait_until(f"scontrol -o show job {job} | grep -q Restarts=1")
    assert wait_for_job(job) == "COMPLETED", Path("log").read_text("utf-8")
    check(config, undisturbed)
    parts = results_of(config) / "journal" / "g1" / "parts"
    assert {name: (parts / name).stat().st_ino for name in known} == known  # what was finished is not made again


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_a_job_that_is_warned_of_its_time_limit_stops_and_continues(config: Path, undisturbed: Undisturbed) -> None:
    os.chdir(config.parent)
    job = sbatch("--cpus-per-task=1", "--output=log", str(ROOT / "launcher.sh"), str(config))
    wait_for_parts(config, 4)
    subprocess.run(["scancel", "--signal=USR1", job], check=True)  # as --signal=USR1@120 does
    wait_until(f"scontrol -o show job {job} | grep -q Restarts=1")
    assert wait_for_job(job) == "COMPLETED", Path("log").read_text("utf-8")
    log = Path("log").read_text("utf-8")
    assert "stopped by SIGUSR1: what was scored is kept, the same command continues." in log
    assert "continues: requeued" in log
    check(config, undisturbed)


@pytest.mark.lost_node
def test_a_lost_node(cluster: Cluster, config: Path, undisturbed: Undisturbed) -> None:
    """The job of a lost node begins again on the other one while its first copy still runs."""
    exclusive = ["--cpus-per-task=4", "--gres=gpu:2", f"--output={config.parent}/log-%a", "--array=0-1"]
    hold = config.parent / "hold"
    hold.touch()
    slow = config.parent / "slow.sh"  # the first copy on the lost node waits, so that it outlives its job
    slow.write_text(
        "#!/bin/bash\n#SBATCH --requeue\n#SBATCH --open-mode=append\n"
        f'if [ "$SLURMD_NODENAME" = n2 ] && [ "${{SLURM_RESTART_COUNT:-0}}" = 0 ]; then\n'
        f"  setsid {sys.executable} {ROOT}/main.py {config} > {config.parent}/zombie 2>&1 &\n"
        f"  while [ -e {hold} ]; do sleep 0.2; done\n"
        "fi\n"
        f"exec {ROOT}/launcher.sh {config}\n",
        "utf-8",
    )
    job = sbatch(*exclusive, str(slow))
    wait_until(f"squeue -h -w n2 -t RUNNING -j {job} | grep -q .")
    wait_for_parts(config, 2)
    cluster.lose("n2")
    try:
        wait_until("sinfo -h -N -n n2 -o %t | grep -q down", LOST_AFTER * 4)
        wait_until("scontrol -o show job | grep -q Restarts=1", 60)
        assert wait_for_job(job, 240) == "COMPLETED"
    finally:
        hold.unlink()
        cluster.bring_back("n2")
    check(config, undisturbed)
