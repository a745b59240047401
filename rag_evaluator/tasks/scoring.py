"""`Scoring`: rows scored by one judge after the other, in memory or in a folder; a single judge is a panel of one.

A panel has a complete run of each judge in `judges/<name>/` of its results folder, and one table made of them:

<name>/judges/panel.json        the configuration of the panel: by it the folder is known as one
<name>/judges/<judge>/          the run of a judge, with journal and result files
<name>/judges/written.json      from what the panel's own files have been written
<name>/scores.jsonl, ...        the panel's own files
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_evaluator.config.schema import Config, make_config, with_arguments
from rag_evaluator.config.sections import JudgeConfig, PanelJudge, name_judges
from rag_evaluator.errors import ConfigError, ResultsError, way
from rag_evaluator.files.atomic import write_json
from rag_evaluator.files.digest import short_digest
from rag_evaluator.files.progress import ACTIVITY, Progress
from rag_evaluator.files.signals import Stop
from rag_evaluator.metrics.chosen import chosen_metrics, for_metrics
from rag_evaluator.metrics.metric import Metric
from rag_evaluator.metrics.table import about_metrics, canonical_name
from rag_evaluator.results.manifest import read_manifest
from rag_evaluator.results.results import PanelTable, Results
from rag_evaluator.results.rows import FOLDER, NOTE, Table, is_panel
from rag_evaluator.results.writers import PANEL_WRITERS, write_table
from rag_evaluator.run.journal import MAIN_TASK, STAGES, Journal, place_of
from rag_evaluator.run.journal import read_manifest as read_plan
from rag_evaluator.run.stages import run_stage
from rag_evaluator.run.status import changed_files, describe_files, differing_files, is_complete, outcome, read_finished
from rag_evaluator.run.task import Plan, refuse_fewer_rows
from rag_evaluator.run.worker_journal import Start
from rag_evaluator.run.workers import ALONE, Worker, now
from rag_evaluator.tasks.evaluation import (
    Evaluation,
    ScoredTable,
    of_journal,
    results_of,
    score_in_memory,
    scored_table,
)
from rag_evaluator.tasks.manifest import REPORT, is_scored, run_digest_of, write_own_report

WRITTEN = "written.json"


def configs_of(config: Config, metrics: Mapping[str, Metric]) -> dict[str, Config]:
    """The configuration of each judge's run, by its name.

    The first judge's run has all metrics, the others those that ask a judge. Raises `ConfigError` if none does.
    """
    judged = [name for name, metric in metrics.items() if metric.judge]
    if not judged:
        raise ConfigError(f"{config.place('judges')}: 'judges': none of the metrics asks a judge. Remove 'judges'.")
    folder = config.results_dir / FOLDER
    return {
        judge.name or "": (config if place == 0 else _with_metrics(config, judged)).model_copy(
            update={
                "require": [],  # of the panel's means
                "report": False,  # the panel has one
                "judge": judge.alone,
                "judges": [],
                "output_dir": folder,
                "name": judge.name,
            }
        )
        for place, judge in enumerate(config.judges)
    }


def only_of(config: Config, chosen: Mapping[str, Metric]) -> dict[str, Metric]:
    """Those of a panel's metrics that the run of one judge has."""
    names = {canonical_name(name) or name for name in config.metrics}
    return {name: metric for name, metric in chosen.items() if name in names}


def _with_metrics(config: Config, metrics: list[str]) -> Config:
    """The configuration with some of its metrics only."""
    limits = {name: limit for name, limit in config.thresholds.items() if (canonical_name(name) or name) in metrics}
    return for_metrics(config, metrics, metrics).model_copy(update={"thresholds": limits})


def begin(config: Config, folder: Path, start: Start) -> None:
    """Note in a results folder that it is a panel's.

    Raises `ResultsError` if a run with one judge, or a panel of other judges, has been there.
    """
    if (folder / "journal" / "manifest.json").is_file():
        raise ResultsError(
            f"{folder} holds scores of a run with one judge, and 'judges' has several. Choose another name or "
            "output_dir."
        )
    names, note = [judge.name for judge in config.judges], folder / FOLDER / NOTE
    if is_panel(folder) and start == "continue":
        before = read_config(folder)
        names_before = [judge.name for judge in before.judges]
        if names_before != names:
            raise ResultsError(
                f"{folder} holds scores of another panel. Changed: judges: {', '.join(map(str, names_before))} before, "
                f"{', '.join(map(str, names))} now. Choose another name or output_dir, {way('update')}, or "
                f"{way('fresh')}."
            )
    note.parent.mkdir(parents=True, exist_ok=True)
    write_json(note, {"config": config.model_dump(mode="json")})


def read_config(folder: Path) -> Config:
    """The configuration of a panel. Raises `ResultsError` if it cannot be read."""
    path = folder / FOLDER / NOTE
    try:
        data = json.loads(path.read_bytes())["config"]
        return make_config(data)
    except (OSError, ValueError, KeyError, TypeError, ConfigError) as error:
        raise ResultsError(
            f"{path}: cannot be read: {error!r}. The command that began the run writes it again."
        ) from None


@dataclass(frozen=True)
class Panel:
    """The runs of a panel's judges in a results folder.

    Attributes:
        config: of the panel.
        folder: its results folder.
        metrics: as the panel has them.
    """

    config: Config
    folder: Path
    metrics: Mapping[str, Metric]

    @property
    def folders(self) -> dict[str, Path]:
        """The results folder of each judge, in order."""
        return {judge.name or "": self.folder / FOLDER / (judge.name or "") for judge in self.config.judges}

    def journals(self) -> dict[str, Journal]:
        """The journal of each judge. Raises `ResultsError` for one that has not begun."""
        return {name: Journal(folder) for name, folder in self.folders.items()}

    def refuse_fewer_rows(self, plans: Mapping[str, Plan]) -> None:
        """Raises `ResultsError` if the run of a judge holds rows that its new plan leaves out."""
        for name, folder in self.folders.items():
            begun = read_plan(place_of(folder, MAIN_TASK, STAGES[MAIN_TASK]))
            if begun is not None and not plans[name].changes(begun.plan, unnamed=False):
                refuse_fewer_rows(self.folder, plans[name], begun.plan)

    def tables(self, stages: Mapping[str, Evaluation] | None = None) -> dict[str, ScoredTable]:
        """The finished scores of the judges, by name. Raises `MissingChunksError` if they are not complete.

        Args:
            stages: of the judges; None makes them from what their journals say.
        """
        tables = {}
        for name, journal in self.journals().items():
            tables[name] = scored_table(journal, of_journal(journal) if stages is None else stages[name])
        return tables

    @ACTIVITY.phase("writing results of the panel")
    def write(self, stages: Mapping[str, Evaluation] | None = None) -> None:
        """Write the panel's own files, all or none; several workers may do so at once, they write the same bytes.

        Args:
            stages: see `tables`.

        Raises `ResultsError` if they cannot be written.
        """
        table = panel_table(self.config, self.metrics, self.tables(stages))
        source = self.source()
        write_table(table, self.folder)
        reported = [REPORT] if self.config.report and write_own_report(self.folder) else []
        files = describe_files(self.folder, [*PANEL_WRITERS, *reported])
        write_json(self.folder / FOLDER / WRITTEN, {"source": source, "ended": now(), "files": files})

    def is_written(self) -> bool:
        """Whether the panel's files are there, and were made from the scores that its judges have now."""
        note = self.note
        files = note.get("files", {})
        whole = all((self.folder / name).is_file() for name in files) and (REPORT in files or not self.config.report)
        return whole and note.get("source") == self.source() is not None

    def outcome(self, began: float) -> tuple[bool, list[str]]:
        """Whether the files were written since a moment; if not, those that are not as they were written."""
        note = self.note
        wrote = note.get("ended", 0.0) >= began
        return wrote, [] if wrote else differing_files(self.folder, note.get("files", {}))

    def source(self) -> str | None:
        """16 hexadecimal digits of what the panel's files are made from; None while a judge has not finished."""
        parts: list[Any] = [self.config.model_dump(mode="json")]
        if not all((folder / "journal" / "manifest.json").is_file() for folder in self.folders.values()):
            return None
        for name, journal in self.journals().items():
            note = read_finished(journal)
            if note is None or not is_complete(journal):
                return None
            parts.append([name, {file: seen[2:] for file, seen in note.files.items()}])
        return short_digest(json.dumps(parts, sort_keys=True))

    @property
    def note(self) -> dict[str, Any]:
        """From what the files were written, when, and what they were; empty where nobody knows. Any: JSON."""
        try:
            note = json.loads((self.folder / FOLDER / WRITTEN).read_bytes())
        except (OSError, ValueError):
            return {}
        return note if isinstance(note, dict) else {}


def panel_of(folder: Path) -> Panel:
    """The panel in a results folder. Raises `ResultsError` if it cannot be read."""
    config = read_config(folder)
    return Panel(config, folder, chosen_metrics(config))


def is_finished(config: Config, chosen: Mapping[str, Metric]) -> bool:
    """Whether exactly this configuration has been scored and written: told in a moment, see `is_scored`."""
    if not config.judges:
        return is_scored(config, chosen)
    if not is_panel(config.results_dir):
        return False
    configs = configs_of(config, chosen).values()
    if not all(is_scored(alone, only_of(alone, chosen)) for alone in configs):
        return False
    return Panel(config, config.results_dir, chosen).is_written()


def end_of_run(
    config: Config, chosen: Mapping[str, Metric], began: float
) -> tuple[Mapping[str, Any], bool, Sequence[str]]:
    """The manifest, whether the files were written since a moment, and if not those that are not as written."""
    folder = config.results_dir
    if config.judges:
        return read_manifest(folder), *Panel(config, folder, chosen).outcome(began)
    journal = Journal(folder)
    return journal.about, *outcome(journal, began)


def panel_table(config: Config, metrics: Mapping[str, Metric], judges: Mapping[str, Table]) -> PanelTable:
    """The results of judges as one table."""
    return PanelTable(judges, config.model_dump(mode="json"), about_metrics(metrics, config.thresholds))


logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class JudgeWork:
    """What one judge does.

    Attributes:
        stage: rows, metrics and plan.
        release: frees the memory of its model; the next judge needs it.
        config: by which a later start knows that nothing has changed; None where an object takes part.
    """

    stage: Evaluation
    release: Callable[[], None]
    config: Config | None

    def run_digest(self) -> str | None:
        """See `run_digest_of`."""
        return None if self.config is None else run_digest_of(self.config, self.stage.plan.data, self.stage.metrics)


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
            tables[name] = score_in_memory(judge.stage, self._progress_of(name, progress))
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
        return run_stage(judge.stage, folder, worker, progress, stop, start, judge.run_digest)

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


def with_judges(config: Config, judges: Mapping[str, Any]) -> Config:
    """The configuration of a panel whose judges were given from Python, by name. Any: what a judge can be."""
    from rag_evaluator.judge.judge import source_of  # ragas: seconds, which readers of runs need not

    settings = {name: source_of(judge, config.judge, config.offline).config for name, judge in judges.items()}
    panel = [
        with_arguments(PanelJudge.model_validate(judge.model_dump()), name=name) for name, judge in settings.items()
    ]
    named = name_judges(panel, lambda *key: "judge")
    return config.model_copy(update={"judges": named, "judge": JudgeConfig()})
