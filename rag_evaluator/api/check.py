"""`check`: whether a run would work, and what it would be like: everything a run checks, and one row that is judged."""

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from rag_evaluator.api.evaluator import RAGEvaluator
from rag_evaluator.config import Config
from rag_evaluator.config_sections import DEMO
from rag_evaluator.dataset import Sample
from rag_evaluator.dataset.choice import RowChoice, part_of
from rag_evaluator.errors import RagEvaluatorError, ResultsError
from rag_evaluator.judge.engine.transformers.estimate import Memory, memory_of
from rag_evaluator.languages import find_language
from rag_evaluator.metrics.table import owners_of, questions_of
from rag_evaluator.models.event_loop import run
from rag_evaluator.progress import ACTIVITY
from rag_evaluator.prompts.loading import PACKAGED, PackSet
from rag_evaluator.prompts.pack import ENGLISH
from rag_evaluator.results.manifest import refuse_foreign
from rag_evaluator.run.journal import Journal, place_of, read_manifest
from rag_evaluator.run.plan import refuse_changes, refuse_fewer_rows
from rag_evaluator.run.trial import cells_of, key_of, known_records

State = Literal["ok", "warning", "failed", "skipped"]
IN_THIS_MACHINE = ("transformers", "vllm")  # engines that load the weights themselves
TIGHT = 0.8  # of the free memory may be weights; the rest is for keys and values
UNITS = ("bytes", "kB", "MB", "GB", "TB")
LITTLE_SPACE = 200_000_000  # bytes on disk


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    Attributes:
        name: `rows`, `prompts`, `model`, ...
        text: what was found, for people.
        details: the same as JSON.
        judge: which one of a panel.
        error: why it failed; None where the finding itself is the failure.
    """

    name: str
    state: State
    text: str
    details: Mapping[str, Any] = field(default_factory=dict)
    judge: str | None = None
    error: RagEvaluatorError | None = None

    def to_json(self) -> dict[str, Any]:
        known = {"name": self.name, "state": self.state, "judge": self.judge, "text": self.text}
        return {**known, "details": dict(self.details)}


Shown = Callable[[Check], object]


@dataclass(frozen=True)
class CheckReport:
    """All that was looked at, in order.

    Attributes:
        passed: whether nothing failed; there may be warnings.
    """

    checks: Sequence[Check]

    @property
    def passed(self) -> bool:
        return all(check.state != "failed" for check in self.checks)

    def to_json(self) -> dict[str, Any]:
        return {"passed": self.passed, "checks": [check.to_json() for check in self.checks]}


class Checks:
    """Collects checks.

    Args:
        shown: called with each.
        judge: which one of a panel they are about.
    """

    def __init__(self, shown: Shown, judge: str | None = None) -> None:
        self.checks: list[Check] = []
        self.shown, self.judge = shown, judge

    def add(
        self,
        name: str,
        state: State,
        text: str,
        details: Mapping[str, Any] | None = None,
        error: RagEvaluatorError | None = None,
    ) -> None:
        self.checks.append(Check(name, state, text, details or {}, self.judge, error))
        self.shown(self.checks[-1])

    def attempt(self, name: str, look: Callable[[], None]) -> bool:
        """Whether `look`, which adds its check itself, raised no error that users can cause."""
        try:
            with ACTIVITY.phase(f"checking {name}"):
                look()
        except RagEvaluatorError as error:
            self.add(name, "failed", str(error), error=error)
            return False
        return True

    def has(self, name: str, state: State) -> bool:
        return any(check.name == name and check.state == state for check in self.checks)


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
    configuration that cannot be read raises an error, `ConfigError`. Judges of a panel are looked at one after the
    other.
    """
    evaluator = RAGEvaluator(config, judge, embeddings)
    found = Checks(shown)
    _look_at_config(evaluator, found)
    rows = _rows(evaluator, data, found)
    judges = {None: evaluator} if evaluator.panel is None else dict(evaluator.panel.evaluators)
    checks = list(found.checks)
    for name, own in judges.items():
        checks += _of_judge(own, data, rows, Checks(shown, name))
    return CheckReport(checks)


def _look_at_config(evaluator: RAGEvaluator, found: Checks) -> None:
    config = evaluator.config
    metrics = ", ".join(evaluator.metrics)
    details = {"name": config.name, "language": config.language, "metrics": list(evaluator.metrics)}
    found.add("configuration", "ok", f"{config.source}: run '{config.name}', {config.language}: {metrics}", details)


def _rows(evaluator: RAGEvaluator, data: Any, found: Checks) -> Sequence[Sample]:
    """The rows; none where they are not fit for the metrics."""
    rows: list[Sequence[Sample]] = []

    def look() -> None:
        rows.append(evaluator.rows(data))
        lacking = {name: _lacking(rows[0], metric.needs) for name, metric in evaluator.metrics.items()}
        without = [f"{count} without what {name} needs" for name, count in lacking.items() if count]
        part = part_of(rows[0])
        chosen = str(RowChoice.from_json(part)) if part else f"{len(rows[0])} rows"
        text = "; ".join([chosen, *without])
        found.add("rows", "warning" if without else "ok", text, {"rows": len(rows[0]), "missing": lacking})

    found.attempt("rows", look)
    return rows[0] if rows else ()


def _lacking(rows: Sequence[Sample], needs: Callable[[Callable[[str], bool]], Sequence[str]]) -> int:
    """How many rows lack a column without which there is no score."""
    return sum(not all(map(row.has, needs(row.has))) for row in rows)


def _of_judge(own: RAGEvaluator, data: Any, rows: Sequence[Sample], found: Checks) -> Sequence[Check]:
    from rag_evaluator.api.check_judge import look_at_judge

    ready = found.attempt("prompts", lambda: _look_at_prompts(own, found)) and not found.has("prompts", "warning")
    asks = any(metric.judge for metric in own.metrics.values())
    if asks:
        ready &= found.attempt("model", lambda: _look_at_model(own, found))
        ready &= not found.has("memory", "failed")
    if any(metric.embeddings for metric in own.metrics.values()):
        ready &= found.attempt("embeddings", lambda: _look_at_embeddings(own, found))
    if ready and rows:
        found.attempt("results", lambda: _look_at_results(own, data, found))
        try:
            run(look_at_judge(own, rows, found))
        finally:
            own.judge.release()
    elif rows:
        found.add("row", "skipped", "no row was judged, because of the failed checks above")
    found.attempt("disk", lambda: _look_at_disk(own.config.results_dir, len(rows), found))
    return found.checks


def _look_at_prompts(own: RAGEvaluator, found: Checks) -> None:
    config = own.config
    packs = PackSet(owners_of(own.metrics), config.language, config.prompts_dir, questions_of(own.metrics))
    missing = packs.find(PACKAGED)[1]
    if config.prompts.adapt and missing:
        text = f"{len(missing)} packs are missing; a run makes them with the judge first (prompts.adapt)"
        found.add("prompts", "warning", text, {"missing": [path.name for path in missing.values()]})
        return
    own.set_prompts()
    found.add("prompts", "ok", f"{len(own.prompts)} in {packs.spoken.name}", {"prompts": len(own.prompts)})


def _look_at_model(own: RAGEvaluator, found: Checks) -> None:
    judge = own.config.judge
    own.judge.check()
    model = "given as an object" if own.judge.is_object else judge.model
    found.add("model", "ok", model, {"model": model, "engine": judge.engine})
    if judge.engine in IN_THIS_MACHINE and not own.judge.is_object:
        found.add(*_memory(memory_of(judge, own.config.offline)))


def _look_at_embeddings(own: RAGEvaluator, found: Checks) -> None:
    model, spoken = own.config.embeddings.model, find_language(own.config.language).name
    identity = own._embeddings.identity  # looks for the model and loads nothing
    details = {"model": model, "identity": identity}
    if model == DEMO and spoken != ENGLISH:
        text = f"{model} is for English only, the rows are {spoken}: set embeddings.model"
        found.add("embeddings", "warning", text, details)
        return
    found.add("embeddings", "ok", "given as an object" if own._embeddings.is_object else model, details)


def _memory(memory: Memory) -> tuple[str, State, str, Mapping[str, Any]]:
    """Whether the weights fit: on GPUs if there are some."""
    where, free = ("on the GPUs", memory.gpus) if memory.gpus else ("in main memory", memory.main)
    text = f"weights {size(memory.weights)}, free {where} {size(free)}"
    details = {"weights": memory.weights, "free_gpus": memory.gpus, "free_main": memory.main}
    if not memory.weights:
        return "memory", "ok", f"the size of the weights is not known; free {where} {size(free)}", details
    if memory.weights > memory.gpus + memory.main:
        return (
            "memory",
            "failed",
            f"{text}: the model cannot be loaded. Take a smaller one, or quantised weights",
            details,
        )
    if memory.weights > TIGHT * free:
        return "memory", "warning", f"{text}: little is left for batches; a part may be kept elsewhere, slowly", details
    return "memory", "ok", text, details


def _look_at_results(own: RAGEvaluator, data: Any, found: Checks) -> None:
    """What is there already of this run. Raises `ResultsError` where a run would be refused."""
    folder, stage = own.config.results_dir, own.stage(data)
    refuse_foreign(folder, stage.files)
    begun = read_manifest(place_of(folder, stage.plan.task, stage.plan.stage))
    if begun is not None and not Journal(folder).is_empty:
        refuse_changes(folder, stage.plan.changes(begun.plan, unnamed=False))
        refuse_fewer_rows(folder, stage.plan, begun.plan)
    with ACTIVITY.phase("counting what is done"), closing(known_records(folder, stage.plan)) as known:
        done = sum(known.has(key_of(stage, cell)) for cell in cells_of(stage, range(len(stage.units))))
    total = stage.plan.cells
    left = "a run goes on there" if done < total else "a run would judge nothing"
    text = f"{done} of {total} scores are there, {left}" if done else f"nothing there yet, {total} scores to make"
    found.add("results", "ok", f"{folder}: {text}", {"done": done, "cells": total})


def _look_at_disk(folder: Path, rows: int, found: Checks) -> None:
    """Whether the results can be written, as far as that can be told without writing."""
    place = next(parent for parent in (folder, *folder.parents) if parent.exists())
    if not (place.is_dir() and os.access(place, os.W_OK)):
        raise ResultsError(f"{place}: cannot be written. Choose another output_dir.")
    free = shutil.disk_usage(place).free
    per_row = next((c.details["bytes"] for c in found.checks if c.name == "row" and "bytes" in c.details), 0)
    needed = per_row * rows
    state: State = "warning" if free < max(LITTLE_SPACE, 2 * needed) else "ok"
    about = f", about {size(needed)} are needed" if needed else ""
    found.add("disk", state, f"{size(free)} free in {place}{about}", {"free": free, "needed": needed})


def size(number: float) -> str:
    """Bytes as people read them."""
    place = 0
    while number >= 1000 and place < len(UNITS) - 1:
        number, place = number / 1000, place + 1
    return f"{number:.1f} {UNITS[place]}" if place else f"{number:.0f} {UNITS[0]}"
