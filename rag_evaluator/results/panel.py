"""The scores of a panel: those of each judge beside their mean, and how far the judges agree."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from rag_evaluator.results.manifest import PROMPT_TEXTS
from rag_evaluator.results.panel_names import BETWEEN, PANEL, column_of
from rag_evaluator.results.results import Row
from rag_evaluator.results.rows import DROPPED, Score, Scored, Table


@dataclass(frozen=True)
class PanelTable:
    """The results of a panel's judges as one table.

    Attributes:
        judges: name -> its results, over the same rows; the first one's also have the metrics that ask no judge.
        config: of the panel, as JSON.
        about: what the manifest says of the panel's metrics.
    """

    judges: Mapping[str, Table]
    config: Mapping[str, Any]
    about: Mapping[str, Any]

    @property
    def judged(self) -> list[str]:
        """The metrics that every judge was asked for."""
        return [metric for metric in self._first.metrics if all(metric in table.metrics for table in self._tables)]

    @property
    def metrics(self) -> list[str]:
        """Each metric, then what each judge says of it."""
        judged = self.judged
        return [
            column
            for metric in self._first.metrics
            for column in (metric, *(column_of(metric, judge) for judge in self.judges if metric in judged))
        ]

    @property
    def signatures(self) -> dict[str, str]:
        lines = {name: table.manifest.get("signatures", {}) for name, table in self.judges.items()}
        signatures: dict[str, str] = dict(self._first.manifest.get("signatures", {}))
        for metric in self.judged:
            of_judges = {name: line[metric] for name, line in lines.items()}
            signatures[metric] = panel_signature(of_judges)
            signatures |= {column_of(metric, name): line for name, line in of_judges.items()}
        return {column: signatures[column] for column in self.metrics}

    @property
    def manifest(self) -> dict[str, Any]:
        first = {name: part for name, part in self._first.manifest.items() if name != "judge_paths"}
        metrics, texts = dict(self.about), dict(first.get(PROMPT_TEXTS, {}))
        for metric in self.judged:
            columns = [column_of(metric, judge) for judge in self.judges]
            metrics |= {column: {**self.about[metric], "threshold": None} for column in columns}
            if metric in texts:
                texts |= dict.fromkeys(columns, texts[metric])
        judges = {name: {"judge_paths": t.manifest.get("judge_paths", [])} for name, t in self.judges.items()}
        return {
            **first,
            "name": self.config["name"],
            "signatures": self.signatures,
            "metrics": {column: metrics[column] for column in self.metrics},
            "config": self.config,
            PROMPT_TEXTS: texts,
            PANEL: {"judges": judges},
        }

    def columns(self) -> list[str]:
        """Every column of any row: those of the input, the metrics, the dropped contexts if there are any."""
        of_judges = [table.columns() for table in self._tables]
        dropped = [DROPPED] if any(DROPPED in columns for columns in of_judges) else []
        last = [*self.metrics, *dropped]
        return [column for column in of_judges[0] if column not in {*last, *self._first.metrics}] + last

    def __iter__(self) -> Iterator[Row]:
        metrics, judged, signatures = self.metrics, self.judged, self.signatures
        for rows in zip(*self._tables, strict=True):
            scores = self._scores(dict(zip(self.judges, rows, strict=True)), judged)
            yield Row(rows[0].sample, {column: scores[column] for column in metrics}, signatures)

    def _scores(self, rows: Mapping[str, Scored], judged: Sequence[str]) -> dict[str, Score]:
        of_judges = {name: row.judged_scores() for name, row in rows.items()}
        scores = dict(next(iter(of_judges.values())))
        for metric in judged:
            of_metric = {name: of_row[metric] for name, of_row in of_judges.items()}
            scores[metric] = panel_score(of_metric)
            scores |= {column_of(metric, name): score for name, score in of_metric.items()}
        return scores

    @property
    def _first(self) -> Table:
        return self._tables[0]

    @property
    def _tables(self) -> list[Table]:
        return list(self.judges.values())


def panel_score(scores: Mapping[str, Score]) -> Score:
    """The mean over the judges. It is missing where one judge gave no score: a mean over fewer is another number.

    Its contexts are the fewest that any judge was given.
    """
    contexts = min((score.contexts for score in scores.values() if score.contexts is not None), key=len, default=None)
    missing = {name: score for name, score in scores.items() if score.missing}
    if missing:
        reason = "; ".join(f"{name}: {score.reason}" for name, score in missing.items())
        lasting = any(score.lasting for score in missing.values())
        return Score(math.nan, reason, contexts, lasting=lasting)
    outcomes = {score.outcome for score in scores.values()}
    outcome = outcomes.pop() if len(outcomes) == 1 else None
    return Score(fmean(score.value for score in scores.values()), None, contexts, outcome=outcome)


def panel_signature(lines: Mapping[str, str]) -> str:
    """The signatures of all judges in one line: what they share once, the rest as `judge@qwen:...`."""
    parts = {name: [tuple(part.partition(":")[::2]) for part in line.split("|")] for name, line in lines.items()}
    shared = [part for part in next(iter(parts.values())) if all(part in rest for rest in parts.values())]
    rest = [
        f"{key}{BETWEEN}{name}:{value}"
        for name, pairs in parts.items()
        for key, value in pairs
        if (key, value) not in shared
    ]
    return "|".join([*(f"{key}:{value}" for key, value in shared), f"{PANEL}:{', '.join(lines)}", *rest])
