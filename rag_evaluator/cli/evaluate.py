"""`rag-evaluator config.yaml`: score the dataset, write the results, print the table."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rag_evaluator.cli.panel import evaluate_panel
from rag_evaluator.cli.start import LIBRARIES, OK, beginning, read_config, refuse_no_judge_of_metrics
from rag_evaluator.config import Config
from rag_evaluator.errors import ResultsError
from rag_evaluator.progress import ACTIVITY
from rag_evaluator.run.journal import Journal
from rag_evaluator.run.notes import now
from rag_evaluator.run.worker_journal import Start
from rag_evaluator.run.workers import Worker
from rag_evaluator.signals import Stop

NOTHING_SCORED = 1


def evaluate(options: argparse.Namespace, stop: Stop) -> int:
    """`rag-evaluator config.yaml`."""
    config = read_config(options)
    worker, start = beginning(options)
    if config.judges:
        evaluate_panel(config, start, lambda: _run(config, worker, start, stop), options.json)
        return _reported(config, options.json)
    from rag_evaluator.cli.console import print_summary
    from rag_evaluator.results.manifest import rows_of
    from rag_evaluator.results.summary import read_summary
    from rag_evaluator.run.finished import outcome
    from rag_evaluator.tasks.run_digest import find_finished

    began = now()
    journal = (None if start == "fresh" else find_finished(config)) or _run(config, worker, start, stop)
    summary = read_summary(config.results_dir)
    if not options.json:
        print_summary(summary, rows_of(journal.about), config, *outcome(journal, began))
    return _reported(config, options.json)


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
    from rag_evaluator.api.gate import gate as check
    from rag_evaluator.cli.console import print_json
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
    from rag_evaluator.api.gate import gate as verdicts_of
    from rag_evaluator.cli.console import say

    for verdict in verdicts_of(results):
        if not verdict.passed:
            say(f"requirement failed: {verdict}")


def _run(config: Config, worker: Worker, start: Start, stop: Stop) -> Journal:
    refuse_no_judge_of_metrics(config)
    with ACTIVITY.phase(LIBRARIES):
        from rag_evaluator.api.evaluator import RAGEvaluator

    evaluator = RAGEvaluator(config)
    with ACTIVITY.counted("scores") as progress:
        return evaluator.run(config.results_dir, worker=worker, progress=progress, stop=stop, start=start)
