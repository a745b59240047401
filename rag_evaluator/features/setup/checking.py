"""`check`: whether a run would work, and what it would be like: everything a run checks, and one row that is judged."""

import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from rich.filesize import decimal

from rag_evaluator.config import BY_WORDS, DEMO, Config, find_language
from rag_evaluator.dataset import CheckedRows
from rag_evaluator.errors import ResultsError
from rag_evaluator.evaluator import RAGEvaluator
from rag_evaluator.files import ACTIVITY
from rag_evaluator.judge import Memory, memory_of, parameters_of, run
from rag_evaluator.metrics import Metric, prompts_asked
from rag_evaluator.prompts import ENGLISH, PACKAGED, PackSet
from rag_evaluator.results import refuse_foreign, toy_sentence
from rag_evaluator.run import Journal, KnownRecords, place_of, read_manifest, refuse_changes, refuse_fewer_rows
from rag_evaluator.verifiers import SystemOne, Verifier, WordCounter, reranker_of

from .check_judge import look_at_judge
from .checks import OF_LISTS, CheckReport, Shown, State, about_size
from .versions import look_at_versions

IN_THIS_MACHINE = ("transformers", "vllm")  # engines that load the weights themselves
TIGHT = 0.8  # of the free memory may be weights; the rest is for keys and values
LITTLE_SPACE = 200_000_000  # bytes on disk


def check(
    config: Config | Mapping[str, Any] | str | Path,
    judge: Any = None,
    embeddings: Any = None,
    data: Any = None,
    shown: Shown = lambda check: None,
) -> CheckReport:
    """Look at everything that a run needs, and judge one row; nothing is written.

    Args:
        config, judge, embeddings: as `RAGEvaluator` takes them.
        data: as `RAGEvaluator.evaluate` takes it; None takes `dataset` of the configuration.
        shown: called with each check as soon as it is made.

    What is found wrong is in the report, and the checks that do not depend on it are made all the same. Only a
    configuration that cannot be read raises an error, `ConfigError`.
    """
    evaluator = RAGEvaluator(config, judge, embeddings)
    report = CheckReport(shown)
    config = evaluator.config
    metrics = list(evaluator.metrics)
    text = f"{config.place()}: run '{config.name}', {config.language}: {', '.join(metrics)}"
    report.add("configuration", "ok", text, {"name": config.name, "language": config.language, "metrics": metrics})
    look_at_versions(report)
    rows = report.attempt("rows", lambda: _look_at_rows(evaluator, data, report))
    for name, (is_for, look) in LOOKS.items():
        if any(map(is_for, evaluator.metrics.values())):
            report.attempt(name, partial(look, evaluator, report))
    made_first = ("prompts", "warning") in [(entry.name, entry.state) for entry in report.checks]
    if rows is not None and report.passed and not made_first:
        report.attempt("results", lambda: _look_at_results(evaluator, rows, report))
        try:
            run(look_at_judge(evaluator, rows, report))
        finally:
            evaluator.judge.release()
    elif rows is not None:
        report.add("row", "skipped", "no row was judged, because of the failed checks above")
    report.attempt("disk", lambda: _look_at_disk(config.results_dir, report))
    return report


def _look_at_rows(evaluator: RAGEvaluator, data: Any, report: CheckReport) -> CheckedRows:
    rows = evaluator.rows(data)
    lacking = {
        name: sum(bool(row.missing(metric.needs(row.has))) for row in rows)
        for name, metric in evaluator.metrics.items()
    }
    without = [f"{count} without what {name} needs" for name, count in lacking.items() if count]
    chosen = f"{len(rows)} rows" if rows.choice.is_whole else str(rows.choice)
    text = "; ".join([chosen, *without])
    report.add("rows", "warning" if without else "ok", text, {"rows": len(rows), "missing": lacking})
    for doubt in rows.doubts:
        report.add("columns", "warning", f"{doubt}.")
    return rows


def _look_at_prompts(evaluator: RAGEvaluator, report: CheckReport) -> None:
    config = evaluator.config
    metrics = evaluator.metrics
    packs = PackSet(prompts_asked(metrics), config.language, config.prompts_dir)
    present, missing = packs.find(*PACKAGED)
    if config.prompts.adapt and missing:
        text = f"{len(missing)} packs are missing; a run makes them with the judge first (prompts.adapt)"
        report.add("prompts", "warning", text, {"missing": [path.name for path in missing.values()]})
        return
    evaluator.set_prompts()
    own = sum(path.is_relative_to(packs.folder) for path in present.values())
    source = f"{own} of them from {packs.folder}" if own else "from the package"
    text = f"{len(evaluator.prompts)} in {packs.spoken.name}, {source}"
    report.add("prompts", "ok", text, {"prompts": len(evaluator.prompts)})


def _look_at_model(evaluator: RAGEvaluator, report: CheckReport) -> None:
    judge = evaluator.config.judge
    evaluator.judge.check()
    model = judge.model_name
    toy = toy_sentence(model, evaluator.config.language)
    is_here = judge.engine in IN_THIS_MACHINE and not evaluator.judge.is_object
    parameters = parameters_of(judge, evaluator.config.offline) if is_here and not toy else 0
    small = about_size(parameters) if OF_LISTS in evaluator.metrics else ""
    size = f"{model}, {parameters / 1e9:.2g} billion parameters" if parameters else model
    text = f"{model}: {small}" if small else toy or size
    details = {"model": model, "engine": judge.engine, "parameters": parameters}
    report.add("model", "warning" if toy or small else "ok", text, details)
    if is_here:
        _look_at_memory(memory_of(judge, evaluator.config.offline), report)


def _look_at_embeddings(evaluator: RAGEvaluator, report: CheckReport) -> None:
    model = evaluator.config.embeddings.model
    spoken = find_language(evaluator.config.language).name
    identity = evaluator.models.embeddings.identity  # looks for the model and loads nothing
    is_unfit = model == DEMO and spoken != ENGLISH
    text = f"{model} is for English only, the rows are {spoken}: set embeddings.model" if is_unfit else model
    report.add("embeddings", "warning" if is_unfit else "ok", text, {"model": model, "identity": identity})


def _look_at_verifier(evaluator: RAGEvaluator, report: CheckReport) -> None:
    """Reads config.json and the names of files; asks a server."""
    verifier = evaluator.models.verifier.model
    if isinstance(verifier, WordCounter):
        text = verifier.note or "words: it counts the words of a sentence that the evidence has; it does not read"
        report.add("verifier", "warning" if verifier.note else "ok", text, {"model": BY_WORDS})
        return
    if isinstance(verifier, SystemOne):
        text = f"{verifier.served}, which a server answers for at {verifier.address}"
        report.add("verifier", "ok", text, {"model": verifier.served, **verifier.signature_parts})
        return
    if not isinstance(verifier, Verifier):
        report.add("verifier", "ok", f"given as an object, {type(verifier).__name__}", {})
        return
    family = verifier.family
    languages = ", ".join(family.languages) or "of many languages"
    reads = f"{family.piece} {family.unit} at once"
    text = f"{verifier.folder}, {verifier.name}; languages: {languages}; reads: {reads}"
    details = {"model": str(verifier.folder), "kind": verifier.name, "languages": languages, "reads": reads}
    report.add("verifier", "ok", text, details)


def _look_at_reranker(evaluator: RAGEvaluator, report: CheckReport) -> None:
    """Reads config.json and the names of files."""
    config = next(metric.reranker for metric in evaluator.metrics.values() if metric.reranker)
    reranker = reranker_of(config)
    details = {"model": str(reranker.folder), "kind": reranker.name}
    report.add("reranker", "ok", f"{reranker.folder}, {reranker.name}", details)


LOOKS: Mapping[str, tuple[Callable[[Metric], object], Callable[[RAGEvaluator, CheckReport], None]]] = {
    "prompts": (lambda metric: True, _look_at_prompts),
    "model": (lambda metric: metric.judge, _look_at_model),
    "embeddings": (lambda metric: metric.embeddings, _look_at_embeddings),
    "verifier": (lambda metric: metric.verifier == "model", _look_at_verifier),
    "reranker": (lambda metric: metric.reranker, _look_at_reranker),
}
"""Check -> which metrics it is for, and what makes it."""


def _look_at_memory(memory: Memory, report: CheckReport) -> None:
    """Whether the weights fit: on GPUs if there are some."""
    where, free = ("on the GPUs", memory.gpus) if memory.gpus else ("in main memory", memory.main)
    unpacked = f" (unpacked; the file has {decimal(memory.file)})" if memory.file else ""
    weights = f"weights {decimal(memory.weights)}{unpacked}"
    weights = weights if memory.weights else "the size of the weights is not known"
    state: State = "ok"
    more = ""
    if memory.weights > memory.gpus + memory.main:
        state = "failed"
        more = ": the model cannot be loaded. Take a smaller one, or quantised weights"
    elif memory.weights > TIGHT * free:
        state = "warning"
        more = ": little is left for batches; a part may be kept elsewhere, slowly"
    details = {"weights": memory.weights, "free_gpus": memory.gpus, "free_main": memory.main}
    report.add("memory", state, f"{weights}, free {where} {decimal(free)}{more}", details)


def _look_at_results(evaluator: RAGEvaluator, rows: CheckedRows, report: CheckReport) -> None:
    """What is there already of this run. Raises `ResultsError` where a run would be refused."""
    folder = evaluator.config.results_dir
    stage = evaluator.stage(rows)
    plan = stage.plan
    place = place_of(folder, stage.plan.task, stage.plan.stage)
    refuse_foreign(folder, stage.files)
    journal = None if read_manifest(place) is None else Journal(folder, place)
    if journal is not None and not journal.is_empty:
        refuse_changes(folder, plan.changes(journal.plan, unnamed=False))
        refuse_fewer_rows(folder, plan, journal.plan)
    with ACTIVITY.phase("counting what is done"), closing(KnownRecords(journal)) as known:
        cells = (cell for chunk in range(plan.chunks) for cell in stage.cells(plan, chunk))
        done = sum(known.find(key) is not None for _, key in cells)
    total = plan.cells
    left = "a run goes on there" if done < total else "a run would judge nothing"
    text = f"{done} of {total} scores are there, {left}" if done else f"nothing there yet, {total} scores to make"
    report.add("results", "ok", f"{folder}: {text}", {"done": done, "cells": total})


def _look_at_disk(folder: Path, report: CheckReport) -> None:
    """Whether the results can be written, as far as that can be told without writing."""
    place = next(parent for parent in (folder, *folder.parents) if parent.exists())
    if not (place.is_dir() and os.access(place, os.W_OK)):
        raise ResultsError(f"{place}: cannot be written. Choose another output_dir.")
    free = shutil.disk_usage(place).free
    report.add("disk", "warning" if free < LITTLE_SPACE else "ok", f"{decimal(free)} free in {place}", {"free": free})
