"""`probe`: can this judge judge? A check of the judge that needs no labels."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rag_evaluator.config.schema import Config
from rag_evaluator.config.sections import refuse_panel
from rag_evaluator.evaluator import RAGEvaluator
from rag_evaluator.features.probe.figures import probe_overview
from rag_evaluator.features.probe.stage import ProbeStage, probe_stage, read_report
from rag_evaluator.files.progress import ACTIVITY, CHECKING, Progress, automatic, silent
from rag_evaluator.files.signals import Stop
from rag_evaluator.metrics.chosen import refuse_without_probabilities
from rag_evaluator.metrics.table import about_metrics
from rag_evaluator.results.overview import Overview, WithOverview
from rag_evaluator.run.journal import Journal
from rag_evaluator.run.stages import run_stage
from rag_evaluator.run.status import outcome
from rag_evaluator.run.worker_journal import Start
from rag_evaluator.run.workers import ALONE, Worker, now
from rag_evaluator.tasks.manifest import describe, refresh_report
from rag_evaluator.tasks.question import shown


class ProbeReport(WithOverview, dict[str, Any]):
    """What `probe/probe.json` says; printed, and in a notebook, as a table. Any: JSON."""

    def overview(self) -> Overview:
        return Overview(list(probe_overview(self)))


def probe(
    config: Config | Mapping[str, Any] | str | Path,
    data: Any = None,
    folder: str | Path | None = None,
    judge: Any = None,
    embeddings: Any = None,
    progress: Progress = automatic,
    start: Start = "continue",
) -> "ProbeReport":
    """Change rows for the worse, by rules, and look whether the judge notices.

    Args:
        config, judge, embeddings: as `RAGEvaluator` takes them.
        data: path or rows; None takes `dataset` of the configuration.
        folder: results folder; None takes that of the configuration. What was found goes to `probe/` in it.
        progress: called with (scores made, scores to make); see docs/progress.md. By default a bar in notebooks.
        start: what to do with a folder that has been used, see `RAGEvaluator.run`.

    Returns:
        What `probe/probe.json` says: for each metric and probe falls, ties, rises, the win share with its interval,
        and a word: `always worst`, `too few`, `reliable`, `wrong way`, `weak`, `no better than chance`, `undecided`.

    Raises `RagEvaluatorError` for bad input before a model is loaded.
    """
    evaluator = RAGEvaluator(config, judge, embeddings)
    place = evaluator.config.results_dir if folder is None else Path(folder).expanduser()
    with shown(progress, "scores") as at:
        run_probe(evaluator, place, data, progress=at, start=start)
    return ProbeReport(read_report(place))


def run_probe(
    evaluator: RAGEvaluator,
    folder: Path,
    data: Any = None,
    worker: Worker = ALONE,
    progress: Progress = silent,
    stop: Stop | None = None,
    start: Start = "continue",
) -> Journal:
    """Do one worker's part of a probe in a results folder; the arguments are those of `RAGEvaluator.run`."""
    began = now()
    journal = run_stage(probing(evaluator, data), folder, worker, progress, stop, start)
    if outcome(journal, began)[0]:
        refresh_report(folder)
    return journal


@ACTIVITY.phase(CHECKING)
def probing(evaluator: RAGEvaluator, data: Any = None) -> ProbeStage:
    """What a probe is to do: rows changed for the worse, each side scored by the metrics that it concerns.

    Raises `RagEvaluatorError` for bad input, and where no probe concerns any of the metrics.
    """
    config, metrics = evaluator.config, evaluator.metrics
    refuse_panel(config.judges, "probe", config.place)
    rows, signatures = evaluator.rows(data), evaluator.signatures_once()
    refuse_without_probabilities(metrics, evaluator.judge, config.place)
    about = describe(config, signatures, evaluator.prompts, len(rows), about_metrics(metrics), rows.part)
    return probe_stage(rows, config, metrics, about, evaluator.scorer)
