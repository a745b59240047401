"""`rag-evaluator config.yaml`, `sort` and `generate`; and how a command begins that asks the judge."""

import argparse
import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_evaluator.config import DEMO, Config, disable_network, hooks, load_config
from rag_evaluator.dataset import existing
from rag_evaluator.errors import ConfigError, ResultsError
from rag_evaluator.files import ACTIVITY, Stop, check_replaceable, gguf_of, loading_libraries, read_header
from rag_evaluator.hub import refuse_no_folder
from rag_evaluator.metrics import Metrics, check_reported, chosen_metrics
from rag_evaluator.resources import near
from rag_evaluator.results import PART, Conclusion, Run, means, rows_of
from rag_evaluator.run import (
    ALONE,
    DEVICES,
    Journal,
    Stage,
    Start,
    Table,
    Worker,
    find_worker,
    is_restart,
    now,
    outcome,
    parse_worker,
    run_stage,
    share_devices,
)
from rag_evaluator.tasks import REPORT, is_scored, open_run, run_digest_of, seal
from rag_evaluator.verifiers import model_folder

from .console import parts_of, print_end, print_json, print_parts, print_task, say
from .options import FAILED, OK, ROWS, typed_words

if TYPE_CHECKING:
    from rag_evaluator.comparison import GateVerdicts

COMPARISON = "comparison.html"  # in the results folder of the run that is compared


def read_config(options: argparse.Namespace) -> Config:
    """The configuration, its metrics checked before ragas and torch are imported, which takes seconds."""
    return read_run(options)[0]


def read_run(options: argparse.Namespace) -> tuple[Config, Metrics]:
    """The configuration and its metrics, checked."""
    config = load_config(options.config, options.set)
    chosen = chosen_metrics(config)
    check_reported(config, chosen)
    if config.offline:
        disable_network()
    return config, chosen


def refuse_wrong_paths(config: Config, chosen: Metrics | None = None, reads_rows: bool = True) -> None:
    """Raises `ModelError` or `DatasetError` for a path at which nothing is, before ragas and torch are imported.

    Args:
        chosen: metrics, whose models are looked for; None: only the judge is asked.
        reads_rows: whether the dataset is read.
    """
    if reads_rows and config.dataset is not None:
        existing(config.dataset)
    metrics = list((chosen or {}).values())
    if chosen is None or any(metric.judge for metric in metrics):
        if (file := gguf_of(config.judge.model)) is not None:
            read_header(file)
        else:
            refuse_no_folder(config.judge.model, "judge.model")
    if any(metric.embeddings for metric in metrics):
        refuse_no_folder(config.embeddings.model, "embeddings.model")
    if config.verifier.has_folder and any(metric.verifier == "model" for metric in metrics):
        model_folder(config.verifier.model, "verifier.model")


def beginning(options: argparse.Namespace) -> tuple[Worker, Start]:
    """Which worker this process is, with GPUs of its own, and how it starts in a folder that has been used.

    A job that Slurm runs again continues: it must not throw away what it did.
    """
    worker = parse_worker(options.worker) if options.worker else find_worker()
    start: Start = "fresh" if options.fresh else "update" if options.update else "continue"
    if start != "continue" and worker.count > 1:
        raise ConfigError(
            f"--{start} with {worker.count} workers: each would throw away what the others did. Run it once alone, "
            "with --worker 0/1, or give the run another name."
        )
    devices = share_devices(worker if options.worker else ALONE)
    if devices is not None:
        os.environ[DEVICES] = devices
    return worker, "continue" if is_restart() else start


def evaluate(options: argparse.Namespace, stop: Stop) -> int:
    """`rag-evaluator config.yaml`: score the dataset, write the results, print the table."""
    config, chosen = read_run(options)
    if options.against is not None:
        open_run(options.against)  # is refused before a model is loaded
    worker, start = beginning(options)
    # before the work: what changes meanwhile is no part of it
    began = now()
    digest = run_digest_of(config, chosen)
    if start == "fresh" or not is_scored(config, digest):
        refuse_wrong_paths(config, chosen)
        with loading_libraries():
            from rag_evaluator.evaluator import RAGEvaluator
        evaluator = RAGEvaluator(config, chosen=chosen)
        with ACTIVITY.counted("scores") as progress:
            evaluator.run(config.results_dir, worker=worker, progress=progress, stop=stop, start=start)
        seal(config.results_dir, digest)
    run = Run(config.results_dir)
    _print_run(run, config, chosen, options, began)
    if options.against is not None:
        _compare_with(options.against, config.results_dir, is_shown=not options.json)
    return OK if any(row["scored"] for row in run.summary.values()) else FAILED


def _conclusion(run: Run, words: Sequence[object]) -> Conclusion:
    """What the finished run says, see `conclude_run`; why nothing can be said of files that somebody has changed."""
    from rag_evaluator.results import conclude_run

    try:
        return conclude_run(run, words=words)
    except ResultsError as error:
        return Conclusion([f"No conclusion: {error}"])


def _requirements(folder: Path) -> "GateVerdicts":
    from rag_evaluator.comparison import gate

    return gate(folder)


def _print_run(run: Run, config: Config, chosen: Metrics, options: argparse.Namespace, began: float) -> None:
    """All that is known of the finished run; `gate` makes an exit code of the requirements that it does not keep."""
    replaced = ("judge.model=", "name=") if config.judge.model_name == DEMO else ()  # by a model of the user's
    folder = config.results_dir
    conclusion = _conclusion(run, typed_words(options, *ROWS, *replaced))
    verdicts = _requirements(folder) if config.require else ()
    ends = {key: lines for end in hooks("end") for key, lines in end(config, folder).items()}
    if options.json:
        about = {"name": config.name, "results": str(folder), "part": run.manifest.get(PART)}
        reported = {"requirements": [verdict.to_json() for verdict in verdicts], "conclusion": conclusion.to_json()}
        print_json({**about, **reported, **ends, "metrics": run.summary})
        return
    journal = Journal(folder)
    asks_judge = any(metric.judge for metric in chosen.values())
    print_parts([*conclusion.lines(), *parts_of(f"{config.name}: {rows_of(journal.about)}", run.summary)])
    print_end(config, asks_judge, *outcome(journal, began))
    if (page := folder / REPORT).is_file():
        say(f"report: {page}. Open it in a browser.")
    for line in chain.from_iterable(filter(None, ends.values())):
        say(line)
    for verdict in verdicts:
        if not verdict.passed:
            say(f"requirement failed: {verdict}")


def _compare_with(baseline: Path, results: Path, is_shown: bool) -> None:
    """Write the page of a run beside a baseline; shown: and say what it says."""
    from rag_evaluator.comparison import compare
    from rag_evaluator.report import MARK, write_document

    results = Path(near(results))  # runs are named as `compare` names them
    page = results / COMPARISON
    folders = [baseline, results]
    check_replaceable(page, MARK, False, folders)
    comparison = compare(*folders)
    write_document(folders, page, comparison)
    if is_shown:
        beside = replace(comparison, conclusion=replace(comparison.conclusion, next=""))  # that page is written here
        print_parts([f"against {baseline}:", *beside.sentences(), f"written: {page}. Open it in a browser."])


def sort(options: argparse.Namespace, stop: Stop) -> int:
    """`rag-evaluator sort config.yaml`: the judge's order of every row's contexts."""
    config = read_config(options)
    begun = beginning(options)
    refuse_wrong_paths(config)
    with loading_libraries():
        from rag_evaluator.tasks import SUMMARY, Sort, TaskJudge, read_rows, sort_conclusion

    stage = Sort(read_rows(config, "sort"), config.sort, TaskJudge("sort", config))
    table, seconds, wrote, changed = run_task(stage, config, *begun, stop)
    summary: dict[str, Any] = json.loads((config.results_dir / SUMMARY).read_bytes())
    conclusion = sort_conclusion(stage.rankings(table), stage.about["config"], typed_words(options))
    orders = means(f"{config.name}: order of contexts", "measure", summary["measures"], "none", reasons=None)
    asked = (
        f"{config.sort.strategy}: {summary['comparisons']} comparisons, {summary['ties']} ties, "
        f"{summary['judge_calls']} judge calls, of them {stage.asked} now in {seconds:.1f} s"
    )
    print_task(options, config, stage.plan, conclusion, summary, [*orders, asked], wrote, changed)
    return OK if summary["sorted"] else FAILED


def generate(options: argparse.Namespace, stop: Stop) -> int:
    """`rag-evaluator generate config.yaml`: a reference answer for every row that has none."""
    config = read_config(options)
    begun = beginning(options)
    refuse_wrong_paths(config)
    with loading_libraries():
        from rag_evaluator.tasks import Generate, TaskJudge, generate_conclusion, read_rows

    samples = read_rows(config, "generate")
    stage = Generate(samples, config.generate, config.results_dir, TaskJudge("generate", config))
    table, seconds, wrote, changed = run_task(stage, config, *begun, stop)
    reasons = Counter(reference.reason for reference in stage.references(table))
    answered = reasons.pop(None, 0)
    asked = len(stage.units)
    kept = len(samples) - asked
    words = typed_words(options, "dataset=")
    conclusion = generate_conclusion(asked, answered, kept, stage.about["config"], words, config.results_dir)
    counts = {"questions": asked, "answered": answered, "kept": kept, "reasons": dict(reasons)}
    lines = [f"  {count} without an answer: {reason}" for reason, count in reasons.items()]
    lines.append(f"{stage.asked} judge calls now in {seconds:.1f} s")
    print_task(options, config, stage.plan, conclusion, {**counts, "judge_calls": stage.asked}, lines, wrote, changed)
    return OK if answered or not asked else FAILED


def run_task(
    stage: Stage, config: Config, worker: Worker, start: Start, stop: Stop
) -> tuple[Table, float, bool, list[str]]:
    """The finished cells, seconds, whether the result files were written now, and which were changed if not."""
    folder = config.results_dir
    began = now()
    with ACTIVITY.counted(stage.plan.cell_noun) as progress:
        table = run_stage(stage, folder, worker, progress, stop, start)
    return table, now() - began, *outcome(table.journal, began)
