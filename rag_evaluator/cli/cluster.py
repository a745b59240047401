"""`rag-evaluator submit`, `status` and `merge`: a run that workers share, without any model."""

import argparse
import logging
import shlex

from rag_evaluator.config import Config
from rag_evaluator.dataset import checked_rows
from rag_evaluator.errors import ConfigError, MissingChunksError
from rag_evaluator.metrics import Metrics
from rag_evaluator.resources import command
from rag_evaluator.results import toy_sentence
from rag_evaluator.run import journals_in, read_status, run_id, sbatch_call, submit_job
from rag_evaluator.run import merge as merge_chunks
from rag_evaluator.tasks import stage_of

from .console import print_json, print_part, print_status, say
from .evaluate import read_run, refuse_wrong_paths
from .options import OK

logger = logging.getLogger(__name__)
OF_ROWS = ("sort", "generate")  # tasks that take rows without metrics


def merge(options: argparse.Namespace) -> int:
    """`rag-evaluator merge results/<name>`: write the result files of a run whose workers have finished."""
    incomplete: list[MissingChunksError] = []
    for journal in journals_in(options.folder):
        stage = stage_of(journal)
        plan = journal.plan
        try:
            merge_chunks(journal, stage, run_id())
        except MissingChunksError as error:  # of one task; the others may be complete
            incomplete.append(error)
        else:
            say(f"{plan.units} {plan.unit_noun} from {plan.chunks} chunks written to {journal.results}")
            print_part(plan)
    if incomplete:
        raise MissingChunksError(" ".join(map(str, incomplete)))
    return OK


def status(options: argparse.Namespace) -> int:
    """`rag-evaluator status results/<name>`: how far a run is."""
    stages = read_status(options.folder)
    if options.json:
        print_json({"stages": [stage.to_json() for stage in stages]})
        return OK
    for stage in stages:
        print_status(stage)
    return OK


def submit(options: argparse.Namespace) -> int:
    """`rag-evaluator submit config.yaml --workers 16`: hand a run to Slurm."""
    config, chosen = read_run(options)
    if options.workers < 1:
        raise ConfigError(f"--workers {options.workers}: expected 1 or more.")
    results = config.results_dir
    of_run = options.config, results, options.workers, options.set, options.sbatch, options.launcher
    sbatch, environment = sbatch_call(*of_run, options.task)
    call = " ".join([*(f"{name}={shlex.quote(value)}" for name, value in environment.items()), shlex.join(sbatch)])
    if options.dry_run:
        print(call, flush=True)
    _refuse_in_vain(options.task, config, chosen)
    asks_judge = options.task in OF_ROWS or any(metric.judge for metric in chosen.values())
    if asks_judge and (toy := toy_sentence(config.judge.model_name, config.language)):
        logger.warning(toy)
    if not options.dry_run:
        job = submit_job(sbatch, environment, results)
        print(call)
        print(f"array {job} with {options.workers} workers")
        print(f"watch it: {command('status', results)}")
    return OK


def _refuse_in_vain(task: str, config: Config, chosen: Metrics) -> None:
    """Raises `RagEvaluatorError` for paths and rows that each worker of the array would refuse."""
    from rag_evaluator.tasks import read_rows

    of_rows = task in OF_ROWS
    refuse_wrong_paths(config, None if of_rows else chosen)
    if of_rows:
        read_rows(config, task)
    else:
        checked_rows(config.dataset, config, chosen, are_scored=True)
