"""`evaluate` as a task: rows x metrics, each cell a score."""

import json
import math
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_evaluator.config import find_language, make_config
from rag_evaluator.dataset import REWRITTEN, CheckedRows, Sample, rows_again
from rag_evaluator.errors import UPDATE, ConfigError, ResultsError
from rag_evaluator.files import file_digest, write_json
from rag_evaluator.hub import is_unnamed
from rag_evaluator.metrics import (
    Metrics,
    about_metrics,
    check_reported,
    checked_times,
    chosen_metrics,
    with_repeats,
)
from rag_evaluator.results import (
    ADDED,
    APPLICABLE,
    DROPPED,
    FILES,
    PROBABILITIES,
    REFUSED,
    SCORES,
    TIMES,
    Heading,
    Results,
    Row,
    Run,
    Score,
    verified,
    write_table,
)
from rag_evaluator.run import (
    MAIN_STAGE,
    MAIN_TASK,
    Answers,
    Journal,
    MadeInMemory,
    Plan,
    Record,
    Stage,
    Table,
    Work,
    auto_chunk_size,
    times_of,
)

from .finished import with_rewrites
from .manifest import REPORT, describe, write_own_report
from .refusals import refuses_by_words, with_refusal

if TYPE_CHECKING:
    from rag_evaluator.models import Models
    from rag_evaluator.prompts import Prompts
    from rag_evaluator.scorer import Scorer

REPORTED_BY = ("ci_level", "cluster", "group_by", "thresholds", "require", "report")
"""Keys of the configuration that are no part of a run's identity."""


class Evaluation(Stage):
    """The stage of `evaluate`.

    Args:
        rows: in order.
        metrics: the chosen rows of `METRICS`.
        plan: as all workers have it.
        about: what `manifest.json` of the results says.
        report: whether a report is written, too.
        load: loads the models; None where nothing is left to be scored.
    """

    def __init__(
        self,
        rows: CheckedRows,
        metrics: Metrics,
        plan: Plan,
        about: Mapping[str, Any],
        report: bool,
        load: "Callable[[], Scorer] | None" = None,
    ) -> None:
        self.units: CheckedRows = rows
        self.metrics = metrics
        self.plan = plan
        self.about = about
        self._load = load
        self.language = find_language(about["config"].get("language", "english"))
        self.files = (*FILES, REPORT) if report else FILES

    def digest(self, unit: Sample, column: str) -> str:
        return unit.digest_of(self.metrics[column].reads)

    def marks(self, unit: Sample, record: Record) -> Iterable[str]:
        """What adds a column to the result files: contexts left out, probabilities, a refusal, a rewritten question."""
        contexts = record.details["contexts"]
        contexts_of_row = len(unit.columns.get("retrieved_contexts", ()))
        has_dropped = contexts is not None and len(contexts) < contexts_of_row
        has_sentences = not record.missing and bool(verified(record.details["judgements"]))
        refuses = any(metric.judges_response for metric in self.metrics.values()) and (
            str(record.details.get("outcome")).endswith("refused") or refuses_by_words(unit, self.language)
        )
        marks = {
            DROPPED: has_dropped,
            PROBABILITIES: has_sentences,
            REFUSED: refuses,
            REWRITTEN: "question" in record.details,
        }
        return [name for name, there in marks.items() if there]

    def check(self, column: str, value: Any) -> None:
        scale = self.metrics[column].scale
        if not isinstance(value, int | float) or not scale.holds(value):
            raise ValueError(f"{value!r:.40} is no {column}, which lies between {scale.low} and {scale.high}")

    @asynccontextmanager
    async def open(self, answers: Answers | None) -> AsyncIterator[Work]:
        assert self._load is not None
        scorer = self._load()
        with ExitStack() as stack:
            if scorer.rewrites is not None and answers is not None:
                scorer.rewrites.keep(kept := answers())
                stack.callback(kept.close)
            yield scoring(scorer, lambda unit, column: (unit, column))

    def is_written(self, folder: Path) -> bool:
        with suppress(ResultsError):
            run = Run(folder)
            is_reported = bool(run.summary) and run.manifest == reported_as(run.manifest, run.config, self.about)
            return is_reported and (REPORT not in self.files or (folder / REPORT).is_file())
        return False

    def write(self, table: Table, folder: Path) -> Sequence[str]:
        scored = ScoredTable(table, self)
        write_table(Heading(scored.columns(table.marks), scored.metrics, scored.manifest), scored, folder)
        write_json(folder / TIMES, asdict(times_of(table.journal)))
        is_shown = REPORT not in self.files or write_own_report(folder)
        return self.files if is_shown else FILES


def evaluation_of(rows: CheckedRows, metrics: Metrics, models: "Models", prompts: "Prompts") -> Evaluation:
    """Return what is to be done, checked as far as that needs no loaded model. Raises `RagEvaluatorError`."""
    config = models.config
    signatures = models.signatures(metrics, prompts)
    times = checked_times(metrics, models.judge, config)
    options = {"columns": json.dumps(config.columns, ensure_ascii=False)} if config.columns else {}
    if config.questions_from is not None:
        options["questions_from"] = file_digest(config.questions_from / SCORES)
    repeats = max(times.values())
    plan = Plan(
        task=MAIN_TASK,
        stage=MAIN_STAGE,
        units=len(rows),
        unit_noun="rows",
        column_noun="metrics",
        cell_noun="scores",
        data=rows.digest,
        options=options,
        columns={name: None if is_unnamed(line) else line for name, line in signatures.items()},
        chunk_size=auto_chunk_size(len(rows)) if config.chunk_size == "auto" else config.chunk_size,
        repeats=repeats,
        once=[name for name, number in times.items() if number < repeats],
        part=rows.part,
    )
    about = describe(
        rows.named_in(config),
        with_repeats(signatures, times),
        prompts,
        plan.units,
        about_metrics(metrics, config.thresholds),
        plan.part,
    )
    return Evaluation(rows, metrics, plan, about, config.report, partial(models.scorer, metrics, prompts))


def scoring(scorer: "Scorer", cell: Callable[[Any, str], tuple[Sample, str]]) -> Work:
    """Scores rows with ragas metrics, each with a judge and embeddings that all share.

    Args:
        cell: the row and the metric of a unit and its column. Any: the stage's own kind of unit.
    """

    async def make(unit: Any, column: str, repeat: int) -> Record:
        return to_record(await scorer.score(*cell(unit, column), repeat))

    judge = scorer.judge
    if judge is None:
        return Work(make, scorer.in_flight)
    return Work(make, scorer.in_flight, judge.about, judge.capabilities.at_first)


class ScoredTable:
    """The finished cells of an evaluation as the writers take them: row by row, none kept."""

    def __init__(self, table: Table | MadeInMemory, stage: Evaluation) -> None:
        self.table = table
        self.rows = stage.units
        self.stage = stage
        self.refusals = stage.about["config"].get("refusals", "as_scored")
        self.metrics = list(table.plan.columns)
        about = reported_as(table.about, table.about.get("config", {}), stage.about)
        self.manifest = with_engines(about, table.engines)

    def columns(self, marks: Collection[str]) -> list[str]:
        """Every column of any row: those of the input, the metrics, those of `ADDED` that any row has."""
        input_columns = self.rows.whole.names
        last = dict.fromkeys((*self.metrics, *(name for name in ADDED if name in {*marks, *input_columns})))
        return [column for column in input_columns if column not in last] + list(last)

    def __iter__(self) -> Iterator[Row]:
        signatures = self.manifest.get("signatures", {})
        for sample, records in self.table:
            scores = {name: to_score(repeats) for name, repeats in records.items()}
            stage = self.stage
            scores = with_refusal(scores, sample, stage.metrics, self.refusals, stage.language)
            yield Row(sample, scores, signatures)


def of_journal(journal: Journal) -> Evaluation:
    """The stage of a journal, to write its results. Raises `ResultsError` if its rows are not what was scored."""
    config = journal.about.get("config", {})
    source = config.get("dataset")
    if not source:
        raise ResultsError(f"{journal.results}: its rows were given from Python: merge with RAGEvaluator.evaluate.")
    rows = rows_again(Path(source), config, journal.plan.part)
    rows = with_rewrites(rows, config.get("questions_from"))
    if rows.digest != journal.plan.data:
        raise ResultsError(
            f"{source}: not the rows that were scored: the file has changed since. To go on with what still holds, "
            f"{UPDATE}."
        )
    metrics = chosen_metrics(make_config(config))
    about = _about(journal, metrics)
    return Evaluation(rows, metrics, journal.plan, about, bool(about["config"].get("report")))


def _about(journal: Journal, metrics: Metrics) -> Mapping[str, Any]:
    """What a journal says of its run, reported as the results were last, if they are those of this run."""
    about = journal.about
    with suppress(ResultsError, ConfigError):  # there are no results yet, or somebody has edited the manifest
        last = Run(journal.results)
        if last.manifest.get("signatures") == about.get("signatures"):
            keys = {key: value for key, value in last.config.items() if key in REPORTED_BY}
            check_reported(make_config({"metrics": list(metrics), **keys}), metrics)
            about = {**about, "config": {**about.get("config", {}), **keys}}
    return {**about, "metrics": about_metrics(metrics, about.get("config", {}).get("thresholds"))}


def reported_as(manifest: Mapping[str, Any], config: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """A manifest, of a run of this configuration, with what another one says of how results are reported."""
    keys = {key: value for key, value in other["config"].items() if key in REPORTED_BY}
    return {**manifest, "config": {**config, **keys}, "metrics": other.get("metrics", {})}


def with_engines(about: Mapping[str, Any], engines: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The manifest with how the judge was run, each way once: the same whoever the workers were."""
    ways = sorted({json.dumps(engine, sort_keys=True) for engine in engines if engine})
    return {**about, "judge_paths": [json.loads(way) for way in ways]} if ways else dict(about)


def results_of(table: Table | MadeInMemory, stage: Evaluation) -> Results:
    """The results of a finished run; judgements that are on disk stay there until they are asked for."""
    rows = ScoredTable(table, stage)
    on_disk = isinstance(table, Table)
    scores: dict[str, list[Score]] = {name: [] for name in rows.metrics}
    for row in rows:
        for name, score in row.scores.items():
            scores[name].append(score.without_judgements() if on_disk else score)
    judged = rows.__iter__ if on_disk else None
    return Results(stage.units, scores, rows.manifest.get("signatures", {}), rows.manifest, judged)


def to_record(score: Score) -> Record:
    """A score as a journal keeps it."""
    details = score.to_json()
    value = details.pop("value")
    reason = details.pop("reason")
    return Record(value, reason, score.missing and not score.lasting, details)


def to_score(records: Sequence[Record]) -> Score:
    """A row's score from the records of its repeats."""
    scores = list(map(_to_score, records))
    return scores[0] if len(scores) == 1 else Score.mean_of(scores)


def _to_score(record: Record) -> Score:
    """The inverse of `to_record`."""
    value = math.nan if record.missing else float(record.value)
    lasting = record.missing and not record.retry
    details = record.details
    return Score(
        value,
        record.reason,
        details["contexts"],
        details["judgements"],
        lasting,
        outcome=details.get("outcome"),
        flags=details.get("flags", {}),
        is_applicable=details.get(APPLICABLE, True),
        question=details.get("question"),
    )
