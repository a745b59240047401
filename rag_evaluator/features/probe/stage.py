"""`probe` as a task: texts and changed texts, each scored by one metric."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_evaluator.config import Config, find_language, make_config
from rag_evaluator.dataset import CheckedRows, data_digest, rows_again
from rag_evaluator.errors import ConfigError, ResultsError
from rag_evaluator.evaluator import RAGEvaluator
from rag_evaluator.files import (
    ACTIVITY,
    CHECKING,
    Json,
    JsonDict,
    Progress,
    automatic,
    short_digest,
    write_json,
    write_lines,
)
from rag_evaluator.hub import is_unnamed
from rag_evaluator.metrics import Metrics, about_metrics, chosen_metrics
from rag_evaluator.results import Conclusion, Grid, WithOverview, as_written, the_judge
from rag_evaluator.run import (
    ALONE,
    Answers,
    Journal,
    Plan,
    Record,
    Stage,
    Start,
    Table,
    Work,
    auto_chunk_size,
    run_stage,
)
from rag_evaluator.tasks import describe, refresh_report, scoring, shown, with_rewrites

from .conclusion import probe_conclusion
from .facts import EVASIVE
from .feature import ProbeConfig
from .figures import (
    PROBES,
    ProbeUnit,
    changed,
    probe_overview,
    probed,
    report,
    rows_for_reading,
    units_of,
)

if TYPE_CHECKING:
    from rag_evaluator.scorer import Scorer

TASK = "probe"
STAGE = "scores"
COLUMN = "score"
FOLDER = Path("probe")
ROWS, REPORT, MANIFEST = (str(FOLDER / name) for name in ("rows.jsonl", "probe.json", "manifest.json"))
Load = Callable[[], "Scorer"]


class ProbeStage(Stage):
    """The stage of `probe`.

    Args:
        rows: of the dataset.
        metrics: those of the configuration.
        about: what the manifest says, with the signature of each metric.
        load: loads the models; None where nothing is left to be scored.

    Raises `ConfigError` where no probe concerns any of the metrics, or none can be made of any row.
    """

    files = (ROWS, REPORT, MANIFEST)

    def __init__(
        self,
        rows: CheckedRows,
        config: Config,
        metrics: Metrics,
        about: Json,
        load: Load | None = None,
    ) -> None:
        self.metrics = probed(metrics)
        self.about = about
        self._load = load
        self.settings = config.section(ProbeConfig)
        self.language = find_language(config.language)
        if not self.metrics:
            known = dict.fromkeys(name for probe in PROBES.values() for name in probe.metrics)
            raise ConfigError(
                f"{config.place('metrics')}: no probe concerns any of the metrics {', '.join(metrics)}. Add one of "
                f"{', '.join(known)}."
            )
        self.all = len(rows)
        self.drawn = changed(rows, self.settings.sample, self.language, self.settings.seed)
        self.units = units_of(self.drawn, self.metrics)
        if not self.units:
            raise ConfigError(
                f"{config.place()}: no probe can be made of any of {len(self.drawn.rows)} rows: they need a question "
                "and a response or reference, and contexts for what is measured in contexts."
            )
        lines = [about["signatures"][name] for name in self.metrics]  # that of a text's own metric is in its digest
        self.plan = Plan(
            task=TASK,
            stage=STAGE,
            units=len(self.units),
            unit_noun="texts",
            column_noun="columns",
            cell_noun="scores",
            data=rows.digest,
            options={
                "sample": str(self.settings.sample),
                "seed": str(self.settings.seed),
                "metrics": ", ".join(self.metrics),
                "texts": short_digest("\n".join(unit.sample.digest for unit in self.units)),
                "signatures": short_digest("\n".join(map(str, lines))),
            },
            columns={COLUMN: None if any(map(is_unnamed, lines)) else "probe"},
            chunk_size=config.chunk_size if isinstance(config.chunk_size, int) else auto_chunk_size(len(self.units)),
            part=rows.part,
        )

    def digest(self, unit: ProbeUnit, column: str) -> str:
        read = unit.sample.digest_of(self.metrics[unit.metric].reads)
        return short_digest(f"{read}\0{unit.metric}\0{self.about['signatures'][unit.metric]}")

    def check(self, column: str, value: Any) -> None:
        if not isinstance(value, int | float):
            raise ValueError(f"{value!r:.40} is no score")

    @asynccontextmanager
    async def open(self, answers: Answers | None) -> AsyncIterator[Work]:
        assert self._load is not None
        yield scoring(self._load(), lambda unit, _: (unit.sample, unit.metric))

    def write(self, table: Table, folder: Path) -> Sequence[str]:
        write_lines(folder / ROWS, rows_for_reading(self.drawn, self.metrics, self._records(table)))
        write_json(folder / REPORT, self.report(table))
        write_json(folder / MANIFEST, as_written(table.about))
        refresh_report(folder)
        return self.files

    def report(self, table: Table) -> JsonDict:
        """What `probe.json` says."""
        figures = report(self.drawn, self.metrics, self._records(table), self.settings, self.language)
        return {"rows": len(self.drawn.rows), "of": self.all, **figures, "notes": self._notes(figures)}

    @staticmethod
    def _records(table: Table) -> dict[tuple[int, str, str], Record]:
        return {(unit.row, unit.side, unit.metric): records[COLUMN][0] for unit, records in table}

    def _notes(self, figures: Json) -> list[str]:
        """What was not probed, and why."""
        left = [name for name in self.about["signatures"] if name not in figures["metrics"]]
        notes = (
            [f"not probed: {', '.join(left)}: no probe concerns them, or the rows lack what they need"] if left else []
        )
        if self.language.name not in EVASIVE and "answer_relevancy" in figures["metrics"]:
            notes.append(f"evasive: no evasive answer is known in {self.language.name}")
        return notes


def of_journal(journal: Journal) -> ProbeStage:
    """The stage of a journal, to write its results. Raises `ResultsError` if its rows are not what was changed."""
    config = make_config(journal.about["config"])
    if config.dataset is None:
        raise ResultsError(f"{journal.results}: its rows were given from Python: call probe again.")
    if not config.dataset.exists() or data_digest(config.dataset) != journal.plan.data:
        raise ResultsError(
            f"{config.dataset}: these are not the rows that were probed: the file has changed since, or is gone."
        )
    rows = with_rewrites(rows_again(config.dataset, dict(config), journal.plan.part), config.questions_from)
    return ProbeStage(rows, config, chosen_metrics(config), journal.about)


class ProbeReport(WithOverview, JsonDict):
    """What `probe.json` says; printed, and in a notebook, as sentences and a table. Any: JSON."""

    def __init__(self, stage: ProbeStage, table: Table) -> None:
        super().__init__(stage.report(table))
        judge = the_judge(stage.about["config"])
        self.judges = {name: judge for name, metric in stage.metrics.items() if metric.judge}

    def conclusion(self, words: Sequence[object] = ()) -> Conclusion:
        """Return its sentences and the next command; `words` as in `probe_conclusion`."""
        return probe_conclusion(self, self.judges, words)

    def overview(self) -> list[Grid | str]:
        """Return what a terminal shows: the conclusion, then tables."""
        return [*self.conclusion().lines(), *probe_overview(self)]


def probe(
    config: Config | Json | str | Path,
    data: Any = None,
    folder: str | Path | None = None,
    judge: Any = None,
    embeddings: Any = None,
    progress: Progress = automatic,
    start: Start = "continue",
    verifier: Any = None,
) -> ProbeReport:
    """Change rows for the worse, by rules, and look whether the judge notices.

    Args:
        config, judge, embeddings, verifier: as `RAGEvaluator` takes them.
        data: path or rows; None takes `dataset` of the configuration.
        folder: results folder; None takes that of the configuration. What was found goes to `probe/` in it.
        progress: called with (scores made, scores to make); see docs/progress.md. By default lines.
        start: what to do with a folder that has been used, see `RAGEvaluator.run`.

    Returns:
        What `probe/probe.json` says: for each metric and probe falls, ties, rises, the win share with its interval,
        and a word: `always worst`, `too few`, `reliable`, `wrong way`, `weak`, `not above the control`,
        `no better than chance`, `undecided`; `above_control` is the share less that of `same_text`.

    Raises `RagEvaluatorError` for bad input before a model is loaded.
    """
    evaluator = RAGEvaluator(config, judge, embeddings, verifier=verifier)
    place = evaluator.config.results_dir if folder is None else Path(folder).expanduser()
    with shown(progress, "scores") as at:
        stage = probe_stage(evaluator, data)
        return ProbeReport(stage, run_stage(stage, place, ALONE, at, start=start))


def probe_stage(evaluator: RAGEvaluator, data: Any = None) -> ProbeStage:
    """The stage for the rows of a configuration, or of `data`."""
    config = evaluator.config
    metrics = evaluator.metrics
    with ACTIVITY.phase(CHECKING):
        rows = evaluator.rows(data)
        lines = evaluator.signatures_once()
        about = describe(rows.named_in(config), lines, evaluator.prompts, len(rows), about_metrics(metrics), rows.part)
        load = partial(evaluator.models.scorer, metrics, evaluator.prompts)
        return ProbeStage(rows, config, metrics, about, load)
