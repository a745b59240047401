"""`rag-evaluator submit`, `status` and `merge`: a run that workers share, without any model."""

import argparse
from collections.abc import Mapping
from typing import Any

from rag_evaluator.cli.options import OK
from rag_evaluator.config.features import load
from rag_evaluator.config.schema import Config
from rag_evaluator.config.sections import USUAL
from rag_evaluator.errors import ConfigError, MissingChunksError
from rag_evaluator.files.imports import loading_libraries
from rag_evaluator.metrics.metric import Metric
from rag_evaluator.resources import command
from rag_evaluator.run.journal import MAIN_TASK, journals_in
from rag_evaluator.run.workers import ALONE, process_name, run_id
from rag_evaluator.tasks import all_tasks

OF_ROWS = ("sort", "generate")  # tasks that take rows without metrics


def merge(options: argparse.Namespace) -> int:
    """`rag-evaluator merge results/<name>`: write the result files of a run whose workers have finished."""
    from rag_evaluator.cli.console import print_json, print_part, say
    from rag_evaluator.run.merge import merge
    from rag_evaluator.run.worker_journal import MERGE, WorkerJournal
    from rag_evaluator.tasks import stage_of

    incomplete: list[MissingChunksError] = []
    merged: list[dict[str, Any]] = []
    for journal in journals_in(options.folder):
        stage, plan = stage_of(journal), journal.plan
        try:
            merge(WorkerJournal(journal.results, stage, process_name(ALONE), MERGE), stage, run_id(), None)
        except MissingChunksError as error:  # of one task; the others may be complete
            incomplete.append(error)
            continue
        counts = {"units": plan.units, "noun": plan.unit_noun, "chunks": plan.chunks}
        merged.append({"task": plan.task, "results": str(journal.results), **counts, "part": dict(plan.part) or None})
        if not options.json:
            say(f"{plan.units} {plan.unit_noun} from {plan.chunks} chunks written to {journal.results}")
            print_part(plan)
    if incomplete:
        raise MissingChunksError(" ".join(map(str, incomplete)))
    if options.json:
        print_json({"results": str(options.folder), "merged": merged})
    return OK


def status(options: argparse.Namespace) -> int:
    """`rag-evaluator status results/<name>`: how far a run is."""
    from rag_evaluator.cli.console import print_json, print_status
    from rag_evaluator.run.status import read_status

    stages = read_status(options.folder)
    if options.json:
        print_json({"stages": [stage.to_json() for stage in stages]})
        return OK
    for stage in stages:
        print_status(stage)
    return OK


def submit(options: argparse.Namespace) -> int:
    """`rag-evaluator submit config.yaml --workers 16`: hand a run to Slurm."""
    from rag_evaluator.cli.console import print_json
    from rag_evaluator.cli.evaluate import read_run
    from rag_evaluator.run import slurm

    config, chosen = read_run(options)
    if options.workers < 1:
        raise ConfigError(f"--workers {options.workers}: expected 1 or more.")
    task = all_tasks()[options.task]
    if options.runs and not task.takes_runs:
        raise ConfigError(f"--runs is for --task duel, received --task {options.task}.")
    results, inputs = load(task.inputs)(options, config) if task.inputs else (config.results_dir, None)
    submission = slurm.prepare(
        options.config,
        results,
        options.workers,
        options.set,
        options.sbatch,
        options.launcher,
        task.command or options.task,
        inputs,
    )
    if not options.dry_run:
        _refuse_in_vain(options.task, config, chosen)
    array, merge = (None, None) if options.dry_run else slurm.submit(submission)
    commands = slurm.commands(submission, *([array] if array else []))
    if options.json:
        scripts = {str(path): text for path, text in submission.scripts.items()}
        about = {"task": options.task, "results": str(results), "workers": options.workers, "array": array}
        about["launcher"] = str(submission.launcher)
        print_json({**about, "merge": merge, "submitted": bool(array), "commands": commands, "scripts": scripts})
    elif array is None:
        scripts_shown = (
            f"# {path}, made of {submission.launcher}\n{text}" for path, text in submission.scripts.items()
        )
        print(*scripts_shown, *commands, sep="\n")
    else:
        print(*(f"wrote {path}, made of {submission.launcher}" for path in submission.scripts), *commands, sep="\n")
        print(f"array {array} with {options.workers} workers, merge {merge} when it has ended")
        print(f"watch it: {command('status', results)}")
    return OK


def _refuse_in_vain(task: str, config: Config, chosen: Mapping[str, Metric]) -> None:
    """Raises `RagEvaluatorError` for what each worker of the array would refuse; loads no model and asks no server."""
    from rag_evaluator.cli.evaluate import refuse_wrong_paths

    if all_tasks()[task].inputs is not None:  # it has looked at its inputs
        return
    refuse_wrong_paths(config, None if task in OF_ROWS else chosen)
    with loading_libraries():
        from rag_evaluator.evaluator import RAGEvaluator
        from rag_evaluator.run.stages import refuse_used
        from rag_evaluator.tasks.question import TaskJudge, read_rows

    makes_packs = config.prompts.adapt  # with the judge
    if task in OF_ROWS:
        read_rows(config, task)
        if not makes_packs:
            TaskJudge(task, config)
        return
    evaluator = RAGEvaluator(config, chosen=chosen)
    rows = evaluator.rows()
    if makes_packs:
        return
    evaluator.set_prompts()
    is_known = config.judge.engine == USUAL and not config.judge.because
    if task == MAIN_TASK and is_known and (config.results_dir / "journal" / "manifest.json").is_file():
        refuse_used(config.results_dir, evaluator.stage(rows))
