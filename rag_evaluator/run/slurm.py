"""Hands a run to Slurm: an array of workers, and a merge that waits for its end."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rag_evaluator.errors import ConfigError, RagEvaluatorError
from rag_evaluator.files.atomic import write_text
from rag_evaluator.resources import packaged

LAUNCHER = "launcher.sh"
PROJECT = packaged(LAUNCHER).parent
NOT_FOR_MERGE = re.compile(
    r"#SBATCH\s+--?(gres|gpus?|gpus-per-\w+|array|ntasks\S*|nodes|mem\S*|signal|cpus-per-task)\b"
)
MERGE_HOURS = "01:00:00"
WAIT = ("--wait", "-W")  # of `sbatch`: it returns when the job has ended


class SubmitError(RagEvaluatorError):
    """Slurm did not take a job."""


class JobError(RagEvaluatorError):
    """Slurm took a job, and it failed."""


@dataclass(frozen=True)
class Submission:
    """The two jobs: their scripts, and the `sbatch` arguments of each; `{array}` stands for the number of the array.

    Attributes:
        launcher: the file that both scripts were made of.
    """

    launcher: Path
    scripts: Mapping[Path, str]
    array: Sequence[str]
    merge: Sequence[str]
    environment: Mapping[str, str]


def prepare(
    config: Path,
    results: Path,
    workers: int,
    overrides: Sequence[str],
    sbatch: Sequence[str],
    launcher: Path | None,
    task: str = "evaluate",
    inputs: Sequence[str] | None = None,
) -> Submission:
    """Scripts and commands of a run of `workers` array elements.

    Args:
        results: results folder of the run; scripts and logs go to `slurm/` in it.
        overrides: `--set` values of the run.
        sbatch: more arguments of `sbatch` for the array; the merge has account, partition and QOS of them. `--wait`
            waits for the merge.
        task: command that each element runs.
        inputs: its arguments before the `--set` values; None: the configuration.
        launcher: the launcher of the site; None looks in the current folder, beside the configuration, in the package.

    Raises `ConfigError` if there is no launcher.
    """
    folder = results / "slurm"
    launcher = _find_launcher(launcher, config)
    text = launcher.read_text(encoding="utf-8")
    scripts = {folder / "array.sh": text, folder / "merge.sh": _merge_script(text)}
    sets = [part for override in overrides for part in ("--set", override)]
    log = [f"--output={folder}/%x-%A_%a.log", f"--array=0-{workers - 1}"]
    arguments = [str(config.resolve())] if inputs is None else inputs
    of_array, waits = [part for part in sbatch if part not in WAIT], [part for part in sbatch if part in WAIT]
    array = ["--parsable", *log, *of_array, f"{folder}/array.sh", task, *arguments, *sets]
    after = ["--dependency=afterany:{array}", "--job-name=rag-evaluator-merge", f"--output={folder}/%x-%j.log"]
    merge = ["--parsable", *after, *_place(sbatch), *waits, f"{folder}/merge.sh", "merge", str(results)]
    environment = {"PROJECT": str(PROJECT), "PYTHON": sys.executable}
    return Submission(
        launcher, scripts, array, merge, {**environment, **{k: os.environ[k] for k in environment if k in os.environ}}
    )


PLACE = ("--account", "--partition", "--qos", "-A", "-p", "-q")


def _place(sbatch: Sequence[str]) -> list[str]:
    """Those arguments of `sbatch` that say who pays and where a job runs, with their values."""
    place: list[str] = []
    for number, part in enumerate(sbatch):
        if part.partition("=")[0] in PLACE:
            place += [part] if "=" in part else sbatch[number : number + 2]
    return place


def submit(submission: Submission) -> tuple[str, str]:
    """Write the scripts, submit both jobs; returns their numbers. Raises `SubmitError`."""
    if shutil.which("sbatch") is None:
        raise SubmitError("sbatch is not here: submit from a login node of a Slurm cluster, or see --dry-run.")
    for path, text in submission.scripts.items():
        write_text(path, text)
    array = _sbatch(submission.array, submission.environment)
    try:
        merge = _sbatch([part.format(array=array) for part in submission.merge], submission.environment)
    except SubmitError as error:
        raise SubmitError(f"{error} The array {array} is submitted; merge by hand when it has ended.") from error
    return array, merge


def commands(submission: Submission, array: str = "<array job>") -> list[str]:
    """Both commands as they would be typed."""
    merge = [part.format(array=array) for part in submission.merge]
    variables = " ".join(f"{name}={shlex.quote(value)}" for name, value in submission.environment.items())
    return [f"{variables} {shlex.join(['sbatch', *arguments])}" for arguments in (submission.array, merge)]


def _sbatch(arguments: Sequence[str], environment: Mapping[str, str]) -> str:
    """The number of the job."""
    command = ["sbatch", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, check=False)
    job = done.stdout.strip().partition(";")[0]
    if done.returncode and job:  # with `--wait` it is the job's exit status
        logs = next(Path(part).parent for part in arguments if part.endswith(".sh"))
        raise JobError(f"job {job} ended with exit status {done.returncode}. Its log: {logs}/*-{job}.log")
    if done.returncode:
        raise SubmitError(f"{shlex.join(command)} failed: {done.stderr.strip()}")
    return job


def _find_launcher(launcher: Path | None, config: Path) -> Path:
    places = [launcher] if launcher else [folder / LAUNCHER for folder in (Path.cwd(), config.parent, PROJECT)]
    for place in places:
        if place.is_file():
            return place
    looked = ", ".join(str(place) for place in places)
    raise ConfigError(f"no launcher.sh found (looked at {looked}). Give the launcher of your site with --launcher.")


def _merge_script(text: str) -> str:
    """The launcher for one process without a GPU that is not requeued by itself."""
    lines = [line for line in text.splitlines() if not NOT_FOR_MERGE.match(line)]
    lines = [f"#SBATCH --time={MERGE_HOURS}" if line.startswith("#SBATCH --time") else line for line in lines]
    begin = next(place for place, line in enumerate(lines) if line.strip() and not line.startswith("#"))
    return "\n".join([*lines[:begin], "RESTARTS=0", *lines[begin:]]) + "\n"  # #SBATCH lines come before commands
