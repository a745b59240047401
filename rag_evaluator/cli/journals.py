"""`rag-evaluator merge` and `rag-evaluator status`: what is in a results folder, without any model."""

import argparse
from typing import Any

from rag_evaluator.cli.panel import all_journals, merge_panel, print_panel_status
from rag_evaluator.cli.start import OK
from rag_evaluator.errors import MissingChunksError
from rag_evaluator.results.panel_names import is_panel
from rag_evaluator.run.workers import ALONE, process_name, run_id


def merge(options: argparse.Namespace) -> int:
    """`rag-evaluator merge results/<name>`: write the result files of a run whose workers have finished."""
    from rag_evaluator.cli.console import print_json, print_part, say
    from rag_evaluator.run.merge import merge
    from rag_evaluator.run.worker_journal import MERGE, WorkerJournal
    from rag_evaluator.tasks import stage_of

    incomplete: list[MissingChunksError] = []
    merged: list[dict[str, Any]] = []
    for journal in all_journals(options.folder):
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
    judges = merge_panel(options.folder) if is_panel(options.folder) else None
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
        return print_panel_status(options.folder, options.json)
    stages = read_status(options.folder)
    if options.json:
        print_json({"stages": [stage.to_json() for stage in stages]})
        return OK
    for stage in stages:
        print_status(stage)
    return OK
