"""`duel` as a task: pairs x one column, each cell the judge's preference for one of two answers."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import asdict, replace
from pathlib import Path

from rag_evaluator.config import Config, Origin, apply_overrides, make_config
from rag_evaluator.dataset import choice_of
from rag_evaluator.errors import UPDATE, ConfigError, PromptTooLongError, ResultsError
from rag_evaluator.files import Json, JsonDict, write_wide_json
from rag_evaluator.judge import JudgeProtocol
from rag_evaluator.results import PART, Grid, ScoredRows, as_written, means
from rag_evaluator.run import Journal, Plan, Record, Table
from rag_evaluator.statistics import Scale, mean_interval
from rag_evaluator.tasks import Make, QuestionStage, TaskJudge, open_run, plan_of

from .conclusion import DECISIVE, WIN_RATE
from .judging import AnswerComparison, MatchedRows, Outcome, Pair, pairs_of

POINTS = {"a": 1.0, "tie": 0.5, "b": 0.0}
Ended = tuple[Pair, Outcome | None, str | None]
"""A pair with its outcome, or without one and with the reason."""
CHOICE = ("limit", "sample", "sample_seed")  # which rows were judged, and no part of how
TASK = "duel"
STAGE = "preferences"
COLUMN = "preference"
ROWS = "duel.json"
SUMMARY = "duel_summary.json"
MANIFEST = "duel_manifest.json"


def duel_overview(summary: Json) -> Iterator[Grid | str]:
    """What became of the rows, and the win rate."""
    a = summary["a"]
    b = summary["b"]
    rows = summary["rows"]
    yield f"{rows['compared']} rows that {a} and {b} both answered, matched by '{summary['on']}'"
    left = {
        f"rows of {a} without a partner": rows["unmatched_a"],
        f"rows of {b} without a partner": rows["unmatched_b"],
        "rows that one of them, or both, did not answer": rows["unanswered"],
    }
    yield from (f"  left out: {what}: {count}" for what, count in left.items() if count)
    yield from means(f"{a} (a) against {b} (b)", "measure", summary["measures"], "none", reasons=None)
    yield f"{summary['wins']} wins, {summary['ties']} ties, {summary['losses']} losses of a, by the judge"
    if summary["same"]:
        yield f"{summary['same']} ties without asking the judge: both answers are the same text"


def _win_rate(ended: Sequence[Ended], level: float) -> JsonDict:
    values = [math.nan if outcome is None else POINTS[outcome.winner] for _, outcome, _ in ended]
    labels = [pair.cluster for pair, _, _ in ended]
    clusters = labels if any(label is not None for label in labels) else None
    estimate = asdict(mean_interval(values, Scale(), level, clusters))
    decisive = mean_interval(values, Scale(), clusters=clusters)
    if level != decisive.ci_level:
        estimate[DECISIVE] = [decisive.ci_low, decisive.ci_high]
    reasons = Counter(reason for _, outcome, reason in ended if outcome is None)
    return {"scored": estimate.pop("n"), "count": len(ended), **estimate, "reasons": dict(reasons.most_common())}


def _position_bias(outcomes: Iterable[Outcome]) -> JsonDict:
    """How often a place won whatever stood there, and the mean log odds of the first place; null without pairs."""
    odds = [(outcome.log_odds_a_first or 0.0, -(outcome.log_odds_b_first or 0.0)) for outcome in outcomes]
    pairs = len(odds)
    if not pairs:
        return {"pairs": 0, "first_won_twice": None, "second_won_twice": None, "log_odds_of_first": None}
    return {
        "pairs": pairs,
        "first_won_twice": sum(min(pair) > 0 for pair in odds) / pairs,
        "second_won_twice": sum(max(pair) < 0 for pair in odds) / pairs,
        "log_odds_of_first": round(math.fsum(map(math.fsum, odds)) / (2 * pairs), 6) + 0.0,
    }


class DuelStage(QuestionStage):
    """The stage of `duel`; its units are the pairs of two runs."""

    files = (ROWS, SUMMARY, MANIFEST)

    def __init__(self, pairs: MatchedRows, plan: Plan, about: Json, asking: TaskJudge | None = None) -> None:
        super().__init__(pairs.units, plan, about, asking)
        self.pairs = pairs

    def make(self, judge: JudgeProtocol) -> Make:
        assert self.asking is not None
        comparison = AnswerComparison(judge, self.asking.prompts["duel", "prompt"])

        async def compare(unit: Pair) -> Record:
            if unit.fault is not None:
                return Record(None, unit.fault)
            try:
                return Record(asdict(await comparison.compare(unit)))
            except PromptTooLongError as error:  # asking again does not change that
                return Record(None, str(error))

        return compare

    def outcomes(self, table: Table) -> Iterator[Ended]:
        for unit, records in table:
            [record] = records[COLUMN]
            yield unit, None if record.missing else Outcome(**record.value), record.reason

    def summary(self, table: Table) -> JsonDict:
        """What `duel_summary.json` holds: the runs, the column they were matched on, the figures.

        Win rate of a (a tie is half a win), wins, ties, losses, position bias, calls.
        """
        compared = table.about[TASK]
        ended = list(self.outcomes(table))
        outcomes = [outcome for _, outcome, _ in ended if outcome is not None]
        asked = [outcome for outcome in outcomes if not outcome.same]
        winners = Counter(outcome.winner for outcome in asked)
        return {
            **{side: Path(compared[side]).name for side in ("a", "b")},
            "on": compared["on"],
            "rows": dict(self.pairs.counts),
            **({PART: dict(self.plan.part)} if self.plan.part else {}),
            "measures": {WIN_RATE: _win_rate(ended, self.about["config"]["ci_level"])},
            "wins": winners["a"],
            "ties": winners["tie"],
            "losses": winners["b"],
            "same": len(outcomes) - len(asked),
            "position_bias": _position_bias(asked),
            "judge_calls": sum(outcome.judge_calls for outcome in outcomes),
        }

    def write(self, table: Table, folder: Path) -> Sequence[str]:
        rows = [
            {
                "key": unit.key,
                "question": unit.question,
                "contexts": list(unit.contexts),
                "reference": unit.reference,
                "answer_a": unit.answers[0],
                "answer_b": unit.answers[1],
                **(dict.fromkeys(Outcome.__dataclass_fields__) if outcome is None else asdict(outcome)),
                "missing": reason,
            }
            for unit, outcome, reason in self.outcomes(table)
        ]
        write_wide_json(folder / ROWS, rows)
        write_wide_json(folder / SUMMARY, self.summary(table))
        write_wide_json(folder / MANIFEST, as_written(table.about))
        return self.files


def of_runs(runs: Sequence[ScoredRows], on: str | None, asking: TaskJudge, places: Sequence[Path]) -> DuelStage:
    """The stage for two runs in folders. Raises `ResultsError` where there is nothing to compare."""
    config = asking.config
    whole = pairs_of(runs, on, config)
    part = choice_of(config, len(whole.units)).to_json()
    pairs = whole.choose(part)
    plan = replace(
        plan_of(TASK, STAGE, pairs.units, COLUMN, asking.signature(), config.chunk_size, whole.digest, part),
        unit_noun="rows",
        cell_noun="rows",
        options={"interval": f"{config.ci_level:g}", **({} if config.cluster is None else {"cluster": config.cluster})},
    )
    about = {
        **asking.about(TASK, len(pairs.units), part),
        TASK: {"a": str(places[0]), "b": str(places[1]), "on": pairs.on},
    }
    return DuelStage(pairs, plan, about, asking)


def of_journal(journal: Journal) -> DuelStage:
    """The stage of a journal, to write its results. Raises `ResultsError` if its rows are not what was compared."""
    compared = journal.about[TASK]
    config = make_config({**journal.about["config"], "name": TASK})  # any folder can be named with --out
    places = [compared[side] for side in ("a", "b")]
    pairs = pairs_of([open_run(Path(place)) for place in places], compared["on"], config)
    if pairs.digest != journal.plan.data:
        raise ResultsError(
            f"{' and '.join(places)}: these are not the rows that were compared: they have changed since. To go on "
            f"with what still holds, {UPDATE}."
        )
    return DuelStage(pairs.choose(journal.plan.part), journal.plan, journal.about)


def recorded_config(run: ScoredRows, overrides: Sequence[str] = ()) -> Config:
    """The configuration of a run with `key.sub=value` overrides. Raises `ConfigError` if it is not known."""
    data = {key: value for key, value in deepcopy(dict(run.config)).items() if key not in CHOICE}
    if not data:
        raise ConfigError(
            f"{run.name}: nobody knows how it was judged (manifest.json has no configuration). Give the configuration "
            "with --config."
        )
    return make_config(data, Origin(f"{run.name}/manifest.json", overrides=apply_overrides(data, overrides)))
