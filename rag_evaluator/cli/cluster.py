"""`rag-evaluator submit`, `status` and `merge`: a run that workers share, without any model."""

import argparse
from pathlib import Path
from typing import Any

from rag_evaluator.cli.options import OK
from rag_evaluator.config.features import load
from rag_evaluator.config.schema import Config
from rag_evaluator.errors import ConfigError, MissingChunksError
from rag_evaluator.resources import command
from rag_evaluator.results.rows import is_panel
from rag_evaluator.run.journal import Journal, journals_in
from rag_evaluator.run.workers import ALONE, process_name, run_id
from rag_evaluator.tasks import all_tasks


def merge(options: argparse.Namespace) -> int:
    """`rag-evaluator merge results/<name>`: write the result files of a run whose workers have finished."""
    from rag_evaluator.cli.console import print_json, print_part, say
    from rag_evaluator.run.merge import merge
    from rag_evaluator.run.worker_journal import MERGE, WorkerJournal
    from rag_evaluator.tasks import stage_of

    incomplete: list[MissingChunksError] = []
    merged: list[dict[str, Any]] = []
    for journal in _journals(options.folder):
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
    judges = _merge_panel(options.folder) if is_panel(options.folder) else None
    if options.json:
        print_json({"results": str(options.folder), "merged": merged, "judges": judges})
    elif judges:
        say(f"the panel of {', '.join(judges)} written to {options.folder}")
    return OK


def status(options: argparse.Namespace) -> int:
    """`rag-evaluator status results/<name>`: how far a run is."""
    from rag_evaluator.cli.console import print_json, print_status
    from rag_evaluator.run.status import read_status

    if is_panel(options.folder):
        return _print_panel_status(options.folder, options.json)
    stages = read_status(options.folder)
    if options.json:
        print_json({"stages": [stage.to_json() for stage in stages]})
        return OK
    for stage in stages:
        print_status(stage)
    return OK


def _journals(folder: Path) -> list[Journal]:
    """The journals in a results folder; in that of a panel those of its judges first."""
    if not is_panel(folder):
        return journals_in(folder)
    from rag_evaluator.tasks.scoring import panel_of

    remaining = journals_in(folder) if any((folder / "journal").glob("*.*/manifest.json")) else []
    return [*panel_of(folder).journals().values(), *remaining]


def _merge_panel(folder: Path) -> list[str]:
    """Write the panel's own files from the scores of its judges; their names."""
    from rag_evaluator.tasks.scoring import panel_of

    panel = panel_of(folder)
    panel.write()
    return list(panel.folders)


def _print_panel_status(folder: Path, as_json: bool) -> int:
    """How far each judge is."""
    from rag_evaluator.cli.console import print_json, print_status, say
    from rag_evaluator.run.status import read_status
    from rag_evaluator.tasks.scoring import panel_of

    panel = panel_of(folder)
    begun = {name: (place / "journal" / "manifest.json").is_file() for name, place in panel.folders.items()}
    stages = {name: read_status(place) if begun[name] else [] for name, place in panel.folders.items()}
    if as_json:
        judges = {name: [stage.to_json() for stage in part] for name, part in stages.items()}
        print_json({"judges": judges, "written": panel.is_written()})
        return OK
    for name, part in stages.items():
        say(f"judge {name}:" if begun[name] else f"judge {name}: not begun")
        for stage in part:
            print_status(stage)
    say("panel written" if panel.is_written() else "panel not written yet")
    return OK


def submit(options: argparse.Namespace) -> int:
    """`rag-evaluator submit config.yaml --workers 16`: hand a run to Slurm."""
    from rag_evaluator.cli.console import print_json
    from rag_evaluator.cli.evaluate import read_config
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


def _submitted(options: argparse.Namespace, config: Config) -> tuple[str, Path, list[str] | None]:
    """The command of each worker, the results folder, and the command's arguments; None: the configuration."""
    task = all_tasks()[options.task]
    results, inputs = load(task.inputs)(options, config) if task.inputs else (config.results_dir, None)
    return task.command or options.task, results, inputs
