"""Hands a run to Slurm: an array of workers, of which the last one to finish writes the results."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from rag_evaluator.errors import ConfigError, RagEvaluatorError
from rag_evaluator.resources import packaged

LAUNCHER = "launcher.sh"
LOGS = "slurm"
PROJECT = packaged(LAUNCHER).parent


class SubmitError(RagEvaluatorError):
    """Slurm did not take a job, or it failed."""


def sbatch_call(
    config: Path,
    results: Path,
    workers: int,
    overrides: Sequence[str],
    sbatch: Sequence[str],
    launcher: Path | None,
    task: str = "evaluate",
) -> tuple[list[str], dict[str, str]]:
    """The command that hands an array of workers to Slurm, and the variables that the launcher reads.

    Args:
        results: results folder of the run; logs go to `slurm/` in it.
        overrides: `--set` values of the run.
        sbatch: more arguments of `sbatch`.
        launcher: the launcher of the site; None looks in the current folder, beside the configuration, in the package.
        task: command that each element runs.

    Raises `ConfigError` if there is no launcher.
    """
    launcher = _find_launcher(launcher, config)
    sets = [part for override in overrides for part in ("--set", override)]
    output = f"--output={results / LOGS}/%x-%A_%a.log"
    array = f"--array=0-{workers - 1}"
    environment = {"PROJECT": str(PROJECT), "PYTHON": sys.executable}
    environment |= {name: os.environ[name] for name in environment if name in os.environ}
    call = ["sbatch", "--parsable", output, array, *sbatch, str(launcher), task, str(config.resolve()), *sets]
    return call, environment


def submit_job(command: Sequence[str], environment: Mapping[str, str], results: Path) -> str:
    """The number of the job. Raises `SubmitError`, also where `sbatch` waits for a job that fails."""
    if shutil.which("sbatch") is None:
        raise SubmitError("sbatch is not here: submit from a login node of a Slurm cluster, or see --dry-run.")
    (results / LOGS).mkdir(parents=True, exist_ok=True)  # Slurm makes no folders
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, check=False)
    job = done.stdout.strip().partition(";")[0]
    if done.returncode and job:  # with `--wait` it is the highest exit status of a worker
        raise SubmitError(f"job {job} ended with status {done.returncode}. Its logs: {results / LOGS}/*-{job}_*.log")
    if done.returncode:
        raise SubmitError(f"{shlex.join(command)} failed: {done.stderr.strip()}")
    return job


def _find_launcher(launcher: Path | None, config: Path) -> Path:
    places = [launcher] if launcher else [folder / LAUNCHER for folder in (Path.cwd(), config.parent, PROJECT)]
    for place in places:
        if place.is_file():
            return place.resolve()
    looked = ", ".join(str(place) for place in places)
    raise ConfigError(f"no launcher.sh found (looked at {looked}). Give the launcher of your site with --launcher.")
