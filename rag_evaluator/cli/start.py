"""How a command begins: its configuration, which worker this process is, what to do with a folder that was used."""

import argparse
import os

from rag_evaluator.config import Config, load_config
from rag_evaluator.errors import ConfigError
from rag_evaluator.metrics.chosen import chosen_metrics
from rag_evaluator.metrics.reported import check_reported
from rag_evaluator.offline import disable_network
from rag_evaluator.run.worker_journal import Start
from rag_evaluator.run.workers import ALONE, DEVICES, Worker, find_worker, is_restart, parse_worker, share_devices

OK = 0
LIBRARIES = "loading libraries"  # ragas, torch: seconds


def read_config(options: argparse.Namespace) -> Config:
    """The configuration, its metrics checked before ragas and torch are imported, which takes seconds."""
    config = load_config(options.config, options.set)
    check_reported(config, chosen_metrics(config))
    if config.offline:
        disable_network()
    return config


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
