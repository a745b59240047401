"""Hands a run to Slurm: an array of workers, of which the last one to finish writes the results."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rag_evaluator.errors import ConfigError, RagEvaluatorError
from rag_evaluator.resources import packaged

LAUNCHER = "launcher.sh"
PROJECT = packaged(LAUNCHER).parent


class SubmitError(RagEvaluatorError):
    """Slurm did not take a job, or it failed."""


@dataclass(frozen=True)
class Submission:
    """A call of `sbatch`.

    Attributes:
        logs: folder of its logs, one for each worker.
        command: `sbatch` with its arguments, the launcher and what that runs.
        environment: variables that the launcher reads.
    """

    logs: Path
    command: Sequence[str]
    environment: Mapping[str, str]

    def __str__(self) -> str:
        """As it would be typed."""
        variables = " ".join(f"{name}={shlex.quote(value)}" for name, value in self.environment.items())
        return f"{variables} {shlex.join(self.command)}"


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
    """The call of `sbatch` for an array of workers.

    Args:
        results: results folder of the run; logs go to `slurm/` in it.
        overrides: `--set` values of the run.
        sbatch: more arguments of `sbatch`.
        launcher: the launcher of the site; None looks in the current folder, beside the configuration, in the package.
        task: command that each element runs.
        inputs: its arguments before the `--set` values; None: the configuration.

    Raises `ConfigError` if there is no launcher.
    """
    launcher, logs = _find_launcher(launcher, config), results / "slurm"
    sets = [part for override in overrides for part in ("--set", override)]
    array = ["--parsable", f"--output={logs}/%x-%A_%a.log", f"--array=0-{workers - 1}", *sbatch, str(launcher)]
    arguments = [str(config.resolve())] if inputs is None else inputs
    environment = {"PROJECT": str(PROJECT), "PYTHON": sys.executable}
    environment |= {name: os.environ[name] for name in environment if name in os.environ}
    return Submission(logs, ["sbatch", *array, task, *arguments, *sets], environment)


def submit(submission: Submission) -> str:
    """The number of the job. Raises `SubmitError`, also where `sbatch` waits for a job that fails."""
    if shutil.which("sbatch") is None:
        raise SubmitError("sbatch is not here: submit from a login node of a Slurm cluster, or see --dry-run.")
    submission.logs.mkdir(parents=True, exist_ok=True)  # Slurm makes no folders
    environment = {**os.environ, **submission.environment}
    done = subprocess.run(submission.command, capture_output=True, text=True, env=environment, check=False)
    job = done.stdout.strip().partition(";")[0]
    if done.returncode and job:  # with `--wait` it is the highest exit status of a worker
        raise SubmitError(
            f"job {job} ended with exit status {done.returncode}. Its logs: {submission.logs}/*-{job}_*.log"
        )
    if done.returncode:
        raise SubmitError(f"{shlex.join(submission.command)} failed: {done.stderr.strip()}")
    return job


def _find_launcher(launcher: Path | None, config: Path) -> Path:
    places = [launcher] if launcher else [folder / LAUNCHER for folder in (Path.cwd(), config.parent, PROJECT)]
    for place in places:
        if place.is_file():
            return place.resolve()
    looked = ", ".join(str(place) for place in places)
    raise ConfigError(f"no launcher.sh found (looked at {looked}). Give the launcher of your site with --launcher.")
