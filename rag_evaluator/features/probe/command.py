"""`rag-evaluator probe`: what the judge notices, in sentences and as a table."""

import argparse
from typing import TYPE_CHECKING, Any

from rag_evaluator.cli.options import FAILED, OK, add_count, add_task_command, typed_words
from rag_evaluator.files.imports import loading_libraries
from rag_evaluator.files.progress import ACTIVITY

if TYPE_CHECKING:
    from rag_evaluator.files.signals import Stop


def add_probe_command(commands: Any) -> None:
    """Add `probe` to the parser. Any: argparse has no public name for a group of subcommands."""
    help_text = "change rows for the worse, by rules, and see whether the judge notices; needs no labels"
    command = add_task_command(commands, "probe", help_text, "--sample 50", rows=("limit",))
    add_count(command, "--sample", "probe.sample", "only N rows are changed; default: 50")


def probe(options: argparse.Namespace, stop: "Stop") -> int:
    """`rag-evaluator probe config.yaml`: change rows for the worse, and look whether the judge notices."""
    from rag_evaluator.cli.evaluate import beginning, read_run, refuse_wrong_paths

    (config, chosen), (worker, start) = read_run(options), beginning(options)
    refuse_wrong_paths(config, chosen)
    with loading_libraries():
        from rag_evaluator.evaluator import RAGEvaluator
        from rag_evaluator.features.probe.stage import run_probe
    from rag_evaluator.cli.console import about_run, print_json, print_part, print_parts, say
    from rag_evaluator.features.probe.figures import probe_overview
    from rag_evaluator.features.probe.stage import FOLDER

    with ACTIVITY.counted("scores") as progress:
        evaluator = RAGEvaluator(config, chosen=chosen)
        report = run_probe(evaluator, config.results_dir, None, worker, progress, stop, start)
    conclusion = report.conclusion(typed_words(options, "probe."))
    code = OK if any(cell["share"]["n"] for cells in report["metrics"].values() for cell in cells.values()) else FAILED
    if options.json:
        print_json({**about_run(config, report.plan), "conclusion": conclusion.to_json(), **report})
        return code
    print_parts(conclusion.lines())
    print_parts(probe_overview(report, config.name))
    print_part(report.plan)
    say(f"changed rows with both scores: {config.results_dir / FOLDER}")
    return code
