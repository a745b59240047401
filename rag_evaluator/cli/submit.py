"""`rag-evaluator submit`: hand a run to Slurm."""

import argparse
from pathlib import Path

from rag_evaluator.cli.start import OK, read_config
from rag_evaluator.config.features import load
from rag_evaluator.config.schema import Config
from rag_evaluator.errors import ConfigError
from rag_evaluator.resources import command
from rag_evaluator.tasks import all_tasks


def submit(options: argparse.Namespace) -> int:
    """`rag-evaluator submit config.yaml --workers 16`: hand a run to Slurm."""
    from rag_evaluator.cli.console import print_json
    from rag_evaluator.run import slurm

    config = read_config(options)
    if options.workers < 1:
        raise ConfigError(f"--workers {options.workers}: expected 1 or more.")
    if options.runs and not all_tasks()[options.task].takes_runs:
        raise ConfigError(f"--runs is for --task duel, received --task {options.task}.")
    task, results, inputs = _submitted(options, config)
    node = slurm.whole_node(config.judges or [config.judge]) if options.whole_nodes else []
    submission = slurm.prepare(
        options.config,
        results,
        options.workers,
        options.set,
        [*node, *options.sbatch],
        options.launcher,
        task,
        inputs,
    )
    array, merge = (None, None) if options.dry_run else slurm.submit(submission)
    commands = slurm.commands(submission, *([array] if array else []))
    if options.json:
        scripts = {str(path): text for path, text in submission.scripts.items()}
        about = {"task": options.task, "results": str(results), "workers": options.workers, "array": array}
        print_json({**about, "merge": merge, "submitted": bool(array), "commands": commands, "scripts": scripts})
    elif array is None:
        print(*(f"# {path}\n{text}" for path, text in submission.scripts.items()), *commands, sep="\n")
    else:
        print(*(f"wrote {path}" for path in submission.scripts), *commands, sep="\n")
        print(f"array {array} with {options.workers} workers, merge {merge} when it has ended")
        print(f"watch it: {command('status', results)}")
    return OK


def _submitted(options: argparse.Namespace, config: Config) -> tuple[str, Path, list[str] | None]:
    """The command of each worker, the results folder, and the command's arguments; None: the configuration."""
    task = all_tasks()[options.task]
    results, inputs = load(task.inputs)(options, config) if task.inputs else (config.results_dir, None)
    return task.command or options.task, results, inputs
