"""`rag-evaluator config.yaml`: score the dataset, write the results, print the table."""

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rag_evaluator.cli.start import LIBRARIES, OK, beginning, read_run, refuse_no_judge_of_metrics
from rag_evaluator.config.schema import Config
from rag_evaluator.errors import ResultsError
from rag_evaluator.files.progress import ACTIVITY
from rag_evaluator.files.signals import Stop
from rag_evaluator.metrics.metric import Metric
from rag_evaluator.run.journal import Journal
from rag_evaluator.run.worker_journal import Start
from rag_evaluator.run.workers import Worker, now

NOTHING_SCORED = 1


def evaluate(options: argparse.Namespace, stop: Stop) -> int:
    """`rag-evaluator config.yaml`."""
    config, chosen = read_run(options)
    worker, start = beginning(options)
    if config.judges:
        _evaluate_panel(config, chosen, start, lambda: _run(config, chosen, worker, start, stop), options.json)
        return _reported(config, options.json)
    from rag_evaluator.cli.console import print_summary
    from rag_evaluator.results.manifest import rows_of
    from rag_evaluator.results.summary import read_summary
    from rag_evaluator.run.status import outcome
    from rag_evaluator.tasks.manifest import find_finished

    began = now()
    journal = (None if start == "fresh" else find_finished(config, chosen)) or _run(config, chosen, worker, start, stop)
    summary = read_summary(config.results_dir)
    if not options.json:
        asks_judge = any(metric.judge for metric in chosen.values())
        print_summary(summary, rows_of(journal.about), config, asks_judge, *outcome(journal, began))
    return _reported(config, options.json)


def _evaluate_panel(
    config: Config, chosen: Mapping[str, Metric], start: Start, run: Callable[[], object], silent: bool
) -> None:
    """Have all judges score the rows and print the tables; nothing is judged or written where all is there already."""
    from rag_evaluator.cli.console import print_summary
    from rag_evaluator.results.manifest import read_manifest, rows_of
    from rag_evaluator.results.summary import read_summary
    from rag_evaluator.tasks.scoring import Panel, is_finished

    began = now()
    if start == "fresh" or not is_finished(config, chosen):
        run()
    if silent:
        return
    panel, summary = Panel(config, config.results_dir, chosen), read_summary(config.results_dir)
    print_summary(summary, rows_of(read_manifest(config.results_dir)), config, True, *panel.outcome(began))


def _reported(config: Config, as_json: bool) -> int:
    """Print what the certificate says, and the requirements that the scores do not keep; the exit code.

    Args:
        as_json: print all that is known of the run instead, as one document.
    """
    from rag_evaluator.results.summary import read_summary

    summary = read_summary(config.results_dir)
    if as_json:
        _print_as_json(config, summary)
        return _code(summary)
    if config.certificate is not None:
        _print_standing(config.certificate, config.results_dir)
    if config.require:
        _print_failed(config.results_dir)
    return _code(summary)


def _code(summary: Mapping[str, Mapping[str, Any]]) -> int:
    return OK if any(row["scored"] for row in summary.values()) else NOTHING_SCORED


def _print_as_json(config: Config, summary: Mapping[str, Any]) -> None:
    from rag_evaluator.cli.console import print_json
    from rag_evaluator.comparison.gate import gate as check
    from rag_evaluator.results.manifest import PART, read_manifest

    verdicts = [verdict.to_json() for verdict in check(config.results_dir)] if config.require else []
    standing = None if config.certificate is None else _standing(config.certificate, config.results_dir)
    part = read_manifest(config.results_dir).get(PART)
    about = {"name": config.name, "results": str(config.results_dir), "part": part, "requirements": verdicts}
    print_json({**about, "certificate": standing, "metrics": summary})


def _print_standing(certificate: Path, results: Path) -> None:
    """What a certificate says of these scores; whatever has happened to the certificate meanwhile, they are there."""
    from rag_evaluator.cli.console import say

    for line in _standing(certificate, results):
        say(line)


def _standing(certificate: Path, results: Path) -> list[str]:
    from rag_evaluator.results.certificate import standing_lines

    try:
        return list(standing_lines(certificate, results))
    except ResultsError as error:
        return [f"certificate: {error}"]


def _print_failed(results: Path) -> None:
    """The requirements of the configuration that the scores do not keep; `gate` makes them an exit code."""
    from rag_evaluator.cli.console import say
    from rag_evaluator.comparison.gate import gate as verdicts_of

    for verdict in verdicts_of(results):
        if not verdict.passed:
            say(f"requirement failed: {verdict}")


def _run(config: Config, chosen: Mapping[str, Metric], worker: Worker, start: Start, stop: Stop) -> Journal:
    refuse_no_judge_of_metrics(config, chosen)
    with ACTIVITY.phase(LIBRARIES):
        from rag_evaluator.evaluator import RAGEvaluator

    evaluator = RAGEvaluator(config, chosen=chosen)
    with ACTIVITY.counted("scores") as progress:
        return evaluator.run(config.results_dir, worker=worker, progress=progress, stop=stop, start=start)
