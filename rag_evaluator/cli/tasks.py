"""`rag-evaluator sort` and `rag-evaluator generate`: the rows of a dataset in, files and a short report out."""

import argparse
import json
import time
from collections import Counter
from typing import Any

from rag_evaluator.cli.console import about_run, print_end, print_json, print_part, print_parts, say
from rag_evaluator.cli.start import OK, beginning, read_config, refuse_no_judge
from rag_evaluator.config.schema import Config
from rag_evaluator.embeddings.event_loop import run
from rag_evaluator.files.progress import ACTIVITY
from rag_evaluator.files.signals import Stop
from rag_evaluator.results.overview import means
from rag_evaluator.run.merge import ChunkTable
from rag_evaluator.run.stages import run_stage
from rag_evaluator.run.status import outcome
from rag_evaluator.run.worker_journal import Start
from rag_evaluator.run.workers import Worker, now
from rag_evaluator.tasks import references as generating
from rag_evaluator.tasks import sort as sorting
from rag_evaluator.tasks.question import QuestionStage, TaskJudge, read_rows

NOTHING_MADE = 1


def sort(options: argparse.Namespace, stop: Stop) -> int:
    """`rag-evaluator sort config.yaml`: the judge's order of every row's contexts."""
    config, begun = read_config(options), beginning(options)
    refuse_no_judge(config)
    stage = sorting.of_samples(read_rows(config, "sort"), TaskJudge("sort", config))
    _, seconds, wrote, changed = run_task(stage, config, *begun, stop)
    summary: dict[str, Any] = json.loads((config.results_dir / sorting.SUMMARY).read_bytes())
    code = OK if summary["sorted"] else NOTHING_MADE
    if options.json:
        print_json({**about_run(config, stage.plan), **summary})
        return code
    print_parts(means(f"{config.name}: order of contexts", "measure", summary["measures"], "none", reasons=None))
    say(
        f"{config.sort.strategy}: {summary['comparisons']} comparisons, {summary['ties']} ties, "
        f"{summary['judge_calls']} judge calls, of them {stage.asked} now in {seconds:.1f} s"
    )
    print_part(stage.plan)
    print_end(config, True, wrote, changed)
    return code


def generate(options: argparse.Namespace, stop: Stop) -> int:
    """`rag-evaluator generate config.yaml`: a reference answer for every row that has none."""
    config, begun = read_config(options), beginning(options)
    refuse_no_judge(config)
    samples = read_rows(config, "generate")
    stage = generating.of_samples(samples, TaskJudge("generate", config))
    table, seconds, wrote, changed = run_task(stage, config, *begun, stop)
    reasons = Counter(reference.reason for reference in stage.references(table))
    answered, asked = reasons.pop(None, 0), len(stage.units)
    kept, code = len(samples) - asked, OK if answered or not asked else NOTHING_MADE
    if options.json:
        counts = {"questions": asked, "answered": answered, "kept": kept, "reasons": dict(reasons)}
        print_json({**about_run(config, stage.plan), **counts, "judge_calls": stage.asked})
        return code
    say(f"{config.name}: {answered} of {asked} questions answered, {kept} rows had a reference already")
    for reason, count in reasons.items():
        say(f"  {count} without an answer: {reason}")
    say(f"{stage.asked} judge calls now in {seconds:.1f} s")
    print_part(stage.plan)
    print_end(config, True, wrote, changed)
    return code


def run_task(
    stage: QuestionStage[Any], config: Config, worker: Worker, start: Start, stop: Stop
) -> tuple[ChunkTable, float, bool, list[str]]:
    """The finished cells, seconds, whether the result files were written now, and which were changed if not."""
    folder, began = config.results_dir, now()
    clock = time.perf_counter()
    with ACTIVITY.counted(stage.plan.cell_noun) as progress:
        journal = run_stage(stage, folder, worker, run, progress, stop, start)
    return ChunkTable(journal, stage), time.perf_counter() - clock, *outcome(journal, began)
