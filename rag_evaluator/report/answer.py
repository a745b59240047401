"""The beginning of a run's page: the sentences that answer what a reader came for, and the worst rows."""

from collections.abc import Sequence
from dataclasses import dataclass

from rag_evaluator.report.pages import render
from rag_evaluator.results.evaluated import conclude_run
from rag_evaluator.results.judgement import Tone
from rag_evaluator.results.run import Run
from rag_evaluator.results.worst import RANK_RULE, WorstRow, worst_rows

MOST_SCORES = 3  # of a row; all are in the row itself
ShownScore = tuple[str, float, Tone]  # metric, score, tone


@dataclass(frozen=True)
class ShownRow:
    """A row among the worst; `scores`: the first of its bad ones, `more`: how many there are beside them."""

    row: WorstRow
    scores: Sequence[ShownScore]
    more: int


def answer_html(run: Run) -> str:
    """Sentences and worst rows as a fragment of a page; rows lead to `#row=N`. Raises `ResultsError`."""
    worst = [_shown(row) for row in worst_rows(run)]
    return render(
        "answer.html",
        conclusion=conclude_run(run),
        worst=worst,
        rule=RANK_RULE,
        references=any(shown.row.reference for shown in worst),
    )


def _shown(row: WorstRow) -> ShownRow:
    scores = [(metric, value, tone) for metric, value, _, tone in row.scores]
    bad = [score for score in scores if score[2] == "bad"] or [score for score in scores if score[2] != "good"]
    return ShownRow(row, bad[:MOST_SCORES], len(bad[MOST_SCORES:]))
