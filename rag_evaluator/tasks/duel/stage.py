"""`duel` as a task: pairs x one column, each cell the judge's preference for one of two answers."""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from rag_evaluator.config import Config, make_config
from rag_evaluator.dataset.checked import choice_of
from rag_evaluator.dataset.choice import choose
from rag_evaluator.errors import ConfigError, PromptTooLongError, ResultsError, way
from rag_evaluator.files.atomic import write_wide_json, write_wide_json_list
from rag_evaluator.judge.protocol import JudgeProtocol
from rag_evaluator.origin import Origin, apply_overrides
from rag_evaluator.results.manifest import PART
from rag_evaluator.results.run import Run, ScoredRows
from rag_evaluator.run.journal import Journal
from rag_evaluator.run.plan import Plan
from rag_evaluator.run.task import Record, Table
from rag_evaluator.tasks.duel.judging import AnswerComparison, MatchedRows, Outcome, Pair, pairs_of
from rag_evaluator.tasks.duel.summary import PairResult, summarise
from rag_evaluator.tasks.open_run import open_run
from rag_evaluator.tasks.question import Make, QuestionStage, TaskJudge, manifest_of, plan_of

CHOICE = ("limit", "sample", "sample_seed")  # which rows were judged, and no part of how
TASK, STAGE, COLUMN = "duel", "preferences", "preference"
ROWS, SUMMARY, MANIFEST = "duel.json", "duel_summary.json", "duel_manifest.json"


class DuelStage(QuestionStage[Pair]):
    """The stage of `duel`.

    Args:
        pairs: of the two runs.
        level: of the win rate's interval.
    """

    files = (ROWS, SUMMARY, MANIFEST)

    def __init__(
        self, pairs: MatchedRows, plan: Plan, about: Mapping[str, Any], level: float, asking: TaskJudge | None = None
    ) -> None:
        super().__init__(pairs.units, plan, about, asking)
        self.pairs, self.level = pairs, level

    def make(self, judge: JudgeProtocol) -> Make[Pair]:
        assert self.asking is not None
        comparison = AnswerComparison(judge, self.asking.prompts["duel", "prompt"])

        async def compare(unit: Pair) -> Record:
            if unit.fault is not None:
                return Record(None, unit.fault)
            try:
                return Record((await comparison.compare(unit)).to_json())
            except PromptTooLongError as error:  # asking again does not change that
                return Record(None, str(error))

        return compare

    def check(self, column: str, value: Any) -> None:
        if not isinstance(value, dict) or set(value) != set(Outcome.__dataclass_fields__):
            raise ValueError(f"{value!r:.40} is no {column}")

    def outcomes(self, table: Table[Pair]) -> Iterator[tuple[Pair, Outcome | None, str | None]]:
        """Each pair with its outcome, or why there is none."""
        for unit, records in table:
            [record] = records[COLUMN]
            yield unit, None if record.missing else Outcome(**record.value), record.reason

    def rows(self, table: Table[Pair]) -> Iterator[dict[str, Any]]:
        """What `duel.json` holds."""
        for unit, outcome, reason in self.outcomes(table):
            yield _row(unit, outcome, reason)

    def summary(self, table: Table[Pair]) -> dict[str, Any]:
        """What `duel_summary.json` holds."""
        ended = [PairResult.of(*outcome) for outcome in self.outcomes(table)]
        part = {PART: dict(self.plan.part)} if self.plan.part else {}
        return {**names_of(table.about), "rows": asdict(self.pairs.counts), **part, **summarise(ended, self.level)}

    def write(self, table: Table[Pair], folder: Path) -> None:
        write_wide_json_list(folder / ROWS, self.rows(table))
        write_wide_json(folder / SUMMARY, self.summary(table))
        write_wide_json(folder / MANIFEST, manifest_of(table))


def names_of(about: Mapping[str, Any]) -> dict[str, str]:
    """What the two runs are called, and the column that their rows were matched on."""
    compared = about[TASK]
    sides = {side: Path(compared[side]).name if compared[side] else side for side in ("a", "b")}
    return {**sides, "on": compared["on"]}


def _row(unit: Pair, outcome: Outcome | None, reason: str | None) -> dict[str, Any]:
    shown = {
        "key": unit.key,
        "question": unit.question,
        "contexts": list(unit.contexts),
        "reference": unit.reference,
        "answer_a": unit.answers[0],
        "answer_b": unit.answers[1],
    }
    known = dict.fromkeys(Outcome.__dataclass_fields__) if outcome is None else outcome.to_json()
    return {**shown, **known, "missing": reason}


def of_runs(runs: Sequence[ScoredRows], on: str | None, asking: TaskJudge, places: Sequence[str | None]) -> DuelStage:
    """The stage for two runs.

    Args:
        places: the folders of the runs; None for one that was given from Python.

    Raises `ResultsError` where there is nothing to compare.
    """
    config = asking.config
    whole = pairs_of(runs, on, config)
    part = choice_of(config, len(whole.units)).to_json()
    pairs = whole.choose(choose(whole.units, part))
    plan = replace(
        plan_of(TASK, STAGE, pairs.units, COLUMN, asking.signature(), config.chunk_size, whole.digest, part),
        unit_noun="rows",
        cell_noun="rows",
        options=_reported_by(config),
    )
    about = {**asking.about(TASK, len(pairs.units), part), TASK: {"a": places[0], "b": places[1], "on": pairs.on}}
    return DuelStage(pairs, plan, about, config.ci_level, asking)


def _reported_by(config: Config) -> dict[str, str]:
    """What the win rate and its interval depend on beside the judge's answers."""
    columns = {"cluster": config.cluster, "weight": config.weight}
    return {
        "interval": f"{config.ci_level:g}",
        **{name: column for name, column in columns.items() if column is not None},
    }


def of_journal(journal: Journal) -> DuelStage:
    """The stage of a journal, to write its results. Raises `ResultsError` if its rows are not what was compared."""
    compared = journal.about[TASK]
    config = make_config({**journal.about["config"], "name": TASK})  # any folder can be named with --out
    places = [compared[side] for side in ("a", "b")]
    if None in places:
        raise ResultsError(f"{journal.results}: its rows were given from Python: call duel again.")
    runs = [read_run(Path(place)) for place in places]
    pairs = pairs_of(runs, compared["on"], config)
    if pairs.digest != journal.plan.data:
        raise ResultsError(
            f"{' and '.join(places)}: not the rows that were compared: they have changed since. To go on with what "
            f"still holds, {way('update')}."
        )
    pairs = pairs.choose(choose(pairs.units, journal.plan.part))
    return DuelStage(pairs, journal.plan, journal.about, config.ci_level)


def read_run(folder: Path) -> Run:
    """A run by its results folder. Raises `ResultsError` if it is none, or the run is not finished."""
    if not folder.is_dir():
        raise ResultsError(f"{folder}: no such folder. Give the results folder of an evaluation, <output_dir>/<name>.")
    return open_run(folder)


def recorded_config(run: ScoredRows, overrides: Sequence[str] = ()) -> Config:
    """The configuration of a run with `key.sub=value` overrides. Raises `ConfigError` if it is not known."""
    data = {key: value for key, value in deepcopy(dict(run.config)).items() if key not in CHOICE}
    if not data:
        raise ConfigError(
            f"{run.name}: nobody knows how it was judged (manifest.json has no configuration). Give the configuration "
            "with --config (config= in Python)."
        )
    return make_config(data, Origin(f"{run.name}/manifest.json", overrides=apply_overrides(data, overrides)))


def for_duel(config: Config, folder: Path) -> Config:
    """The configuration as `duel` needs it: its results go to a folder, and its rows are those of the runs."""
    return config.model_copy(update={"output_dir": folder.parent, "name": folder.name, "dataset": None})


def beside(a: Path, b: Path) -> Path:
    """Where results go if nobody says: beside a."""
    return a.parent / f"duel-{a.name}-{b.name}"
