"""`rag-evaluator probe`: what the judge notices, in sentences and as a table."""

import argparse
from typing import Any

from rag_evaluator.cli import FAILED, OK, add_count, add_task_command, print_task, typed_words
from rag_evaluator.files import Stop, loading_libraries


def add_probe_command(commands: Any) -> None:
    """Add `probe` to the parser. Any: argparse has no public name for a group of subcommands."""
    help_text = "change rows for the worse, by rules, and see whether the judge notices; needs no labels"
    command = add_task_command(commands, "probe", help_text, "--sample 50", rows=("limit",))
    add_count(command, "--sample", "probe.sample", "only N rows are changed; default: 50")


def probe(options: argparse.Namespace, stop: Stop) -> int:
    """`rag-evaluator probe config.yaml`: change rows for the worse, and look whether the judge notices."""
    from rag_evaluator.cli import beginning, read_run, refuse_wrong_paths, run_task

    (config, chosen) = read_run(options)
    begun = beginning(options)
    refuse_wrong_paths(config, chosen)
    with loading_libraries():
        from rag_evaluator.evaluator import RAGEvaluator

        from .figures import probe_overview
        from .stage import FOLDER, ProbeReport, probe_stage

    stage = probe_stage(RAGEvaluator(config, chosen=chosen))
    table, _, wrote, changed = run_task(stage, config, *begun, stop)
    report = ProbeReport(stage, table)
    conclusion = report.conclusion(typed_words(options, "probe."))
    rows = f"changed rows with both scores: {config.results_dir / FOLDER}"
    parts = [*probe_overview(report, config.name), rows]
    print_task(options, config, stage.plan, conclusion, report, parts, wrote, changed, bool(report.judges))
    return OK if any(cell["share"]["n"] for cells in report["metrics"].values() for cell in cells.values()) else FAILED
