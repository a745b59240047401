"""`disagreements.jsonl` of a panel: the rows on which its judges disagree most, with what each of them said."""

import heapq
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rag_evaluator.files.jsonl import json_line
from rag_evaluator.results.judgement import explained, few_lines
from rag_evaluator.results.panel_names import column_of, judges_of
from rag_evaluator.results.rows import Add, Heading, Score, Scored
from rag_evaluator.trust.scale import TIE

MOST = 20  # rows of each metric
SHOWN = ("id", "user_input", "response", "reference")
Heap = list[tuple[float, int, dict[str, Any]]]  # (difference, -place of the row, line); Any: JSON


@contextmanager
def disagreements_jsonl(path: Path, heading: Heading) -> Iterator[Add]:
    """Most different first, metric by metric; rows without a difference are left out."""
    judges = judges_of(heading.manifest)
    kept: dict[str, Heap] = {
        metric: [] for metric in heading.metrics if all(column_of(metric, judge) in heading.metrics for judge in judges)
    }

    def add(scored: Scored) -> None:
        for metric, rows in kept.items():
            columns = {judge: column_of(metric, judge) for judge in judges}
            difference = _difference(scored.scores[column] for column in columns.values())
            key = (difference, -scored.sample.index)
            if difference > TIE and (len(rows) < MOST or key > rows[0][:2]):
                push = heapq.heappush if len(rows) < MOST else heapq.heapreplace
                push(rows, (*key, _line(scored, metric, difference, columns)))

    yield add
    with path.open("wb") as file:
        for rows in kept.values():
            file.writelines(json_line(line) for _, _, line in sorted(rows, reverse=True))


def _line(scored: Scored, metric: str, difference: float, columns: Mapping[str, str]) -> dict[str, Any]:
    records = [json.loads(line) for line in scored.details()]
    verdicts = {
        judge: explained(record for record in records if record["metric"] == column)
        for judge, column in columns.items()
    }
    scores = {judge: scored.scores[column] for judge, column in columns.items()}
    row = {**scored.sample.row, **scored.sample.columns}
    return {
        "row": scored.sample.index,
        "metric": metric,
        "difference": difference,
        "scores": {judge: None if score.missing else score.value for judge, score in scores.items()},
        "said": {
            judge: few_lines(of_judge, [line for other in verdicts if other != judge for line in verdicts[other]])
            for judge, of_judge in verdicts.items()
        },
        **{column: row[column] for column in SHOWN if column in row},
    }


def _difference(scores: Iterable[Score]) -> float:
    """The highest score of any judge less the lowest; NaN where fewer than two judges gave one."""
    values = [score.value for score in scores if not score.missing]
    return max(values) - min(values) if len(values) > 1 else math.nan
