"""How a command begins: its configuration, which worker this process is, what to do with a folder that was used."""

import argparse
import os
from collections.abc import Mapping
from pathlib import Path

from rag_evaluator.config.offline import disable_network
from rag_evaluator.config.schema import Config, load_config
from rag_evaluator.embeddings.hub import refuse_no_folder
from rag_evaluator.errors import ConfigError
from rag_evaluator.metrics.chosen import check_reported, chosen_metrics
from rag_evaluator.metrics.metric import Metric
from rag_evaluator.run.worker_journal import Start
from rag_evaluator.run.workers import ALONE, DEVICES, Worker, find_worker, is_restart, parse_worker, share_devices

OK = 0
LIBRARIES = "loading libraries"  # ragas, torch: seconds


def read_config(options: argparse.Namespace) -> Config:
    """The configuration, its metrics checked before ragas and torch are imported, which takes seconds."""
    return read_run(options)[0]


def read_run(options: argparse.Namespace) -> tuple[Config, Mapping[str, Metric]]:
    """The configuration and its metrics, checked."""
    config = load_config(options.config, options.set)
    chosen = chosen_metrics(config)
    check_reported(config, chosen)
    if config.offline:
        disable_network()
    return config, chosen


def refuse_no_judge(config: Config) -> None:
    """Raises `ModelError` for a judge at whose path nothing is, before ragas and torch are imported."""
    keys = {f"judges[{place}] ({judge.name}): judge.model": judge.model for place, judge in enumerate(config.judges)}
    for key, model in (keys or {"judge.model": config.judge.model}).items():
        if not Path(model).is_file():  # a GGUF file gets a message of its own
            refuse_no_folder(model, key)


def refuse_no_judge_of_metrics(config: Config, chosen: Mapping[str, Metric]) -> None:
    """The same, where a metric asks the judge."""
    if any(metric.judge for metric in chosen.values()):
        refuse_no_judge(config)


def beginning(options: argparse.Namespace) -> tuple[Worker, Start]:
    """Which worker this process is, with GPUs of its own, and how it starts."""
    worker = parse_worker(options.worker) if options.worker else find_worker()
    start = _start(options, worker)
    devices = share_devices(worker=worker if options.worker else ALONE)
    if devices is not None:
        os.environ[DEVICES] = devices
    return worker, start


def _start(options: argparse.Namespace, worker: Worker) -> Start:
    """How to begin in a folder that has been used; a job that Slurm runs again must not throw away what it did."""
    start: Start = "fresh" if options.fresh else "update" if options.update else "continue"
    if start != "continue" and worker.count > 1:
        raise ConfigError(
            f"--{start} with {worker.count} workers: each would throw away what the others did. Run it once alone, "
            "with --worker 0/1, or give the run another name."
        )
    return "continue" if is_restart() else start
