"""`Scoring`: rows scored by one judge after the other, in memory or in a folder; a single judge is a panel of one."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rag_evaluator.config.schema import Config
from rag_evaluator.embeddings.event_loop import run
from rag_evaluator.errors import ResultsError
from rag_evaluator.files.progress import Progress
from rag_evaluator.files.signals import Stop
from rag_evaluator.metrics.metric import Metric
from rag_evaluator.results.panel_names import is_panel
from rag_evaluator.results.results import Results
from rag_evaluator.results.rows import Table
from rag_evaluator.run.finished import changed_files
from rag_evaluator.run.journal import Journal
from rag_evaluator.run.stages import run_stage
from rag_evaluator.run.worker_journal import Start
from rag_evaluator.run.workers import ALONE, Worker
from rag_evaluator.tasks.evaluation import Evaluation, results_of, score_in_memory, scored_table
from rag_evaluator.tasks.panel import Panel, begin, panel_table

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class JudgeWork:
    """What one judge does.

    Attributes:
        stage: rows, metrics and plan.
        release: frees the memory of its model; the next judge needs it.
        run_digest: by which a later start knows that nothing has changed; gives None where an object takes part.
    """

    stage: Evaluation
    release: Callable[[], None]
    run_digest: Callable[[], str | None]


@dataclass(frozen=True)
class Scoring:
    """An evaluation, checked and ready to start.

    Attributes:
        config: of the evaluation.
        metrics: those that the configuration chooses.
        judges: name -> its work, in order; the only judge has no name.
    """

    config: Config
    metrics: Mapping[str, Metric]
    judges: Mapping[str, JudgeWork]

    def in_memory(self, progress: Progress) -> Results:
        """The scores, with all judgements; nothing is written."""
        tables = {}
        for name, judge in self.judges.items():
            tables[name] = score_in_memory(judge.stage, run, self._progress_of(name, progress))
            if self.config.judges:
                judge.release()
        return self._results(tables, on_disk=False)

    def in_folder(self, folder: Path, progress: Progress, start: Start) -> Results:
        """The scores, whose judgements stay in a results folder."""
        journal = self.run(folder, ALONE, progress, None, start)
        if self.config.judges:
            return self._results(self._panel(folder).tables(self._stages), on_disk=True)
        table = scored_table(journal, self._stages[""])
        if changed := changed_files(journal):
            logger.warning("%s: not as written, somebody has changed %s", folder, ", ".join(changed))
        return self._results({"": table}, on_disk=True)

    def run(self, folder: Path, worker: Worker, progress: Progress, stop: Stop | None, start: Start) -> Journal:
        """One worker's part, see `RAGEvaluator.run`; the journal of the first judge, which has all metrics."""
        if not self.config.judges:
            return self._run_judge("", folder, worker, progress, stop, start)
        panel = self._panel(folder)
        if start == "continue":
            panel.refuse_fewer_rows({name: stage.plan for name, stage in self._stages.items()})
        begin(self.config, folder, start)
        for name, place in panel.folders.items():
            self._run_judge(name, place, worker, self._progress_of(name, progress), stop, start)
            self.judges[name].release()
        if not panel.is_written():
            panel.write(self._stages)
        return next(iter(panel.journals().values()))

    def _run_judge(
        self, name: str, folder: Path, worker: Worker, progress: Progress, stop: Stop | None, start: Start
    ) -> Journal:
        if is_panel(folder):
            raise ResultsError(
                f"{folder} holds scores of a panel, and this run has one judge. Choose another name or output_dir."
            )
        judge = self.judges[name]
        return run_stage(judge.stage, folder, worker, run, progress, stop, start, judge.run_digest)

    def _results(self, tables: Mapping[str, Table], on_disk: bool) -> Results:
        table = panel_table(self.config, self.metrics, tables) if self.config.judges else tables[""]
        return results_of(table, next(iter(self._stages.values())).units, on_disk)

    def _progress_of(self, judge: str, progress: Progress) -> Progress:
        """Counts the cells of a judge behind those of the judges before it."""
        cells = {name: stage.plan.cells for name, stage in self._stages.items()}
        names = list(cells)
        before = sum(cells[name] for name in names[: names.index(judge)])
        return lambda done, total: progress(before + done, sum(cells.values()))

    def _panel(self, folder: Path) -> Panel:
        return Panel(self.config, folder, self.metrics)

    @property
    def _stages(self) -> dict[str, Evaluation]:
        return {name: judge.stage for name, judge in self.judges.items()}
