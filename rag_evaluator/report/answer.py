"""The beginning of a run's page: the sentences that answer what a reader came for, and the worst rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from rag_evaluator.report.pages import render
from rag_evaluator.resources import NAME, program
from rag_evaluator.results.run import Run
from rag_evaluator.results.run_conclusion import conclude_run
from rag_evaluator.results.tally import tally
from rag_evaluator.results.worst import RowScore, WorstRow, worst_rows

LINES = 3  # of scores, or of how many more there are: all are in the row itself


@dataclass(frozen=True)
class ShownRow:
    """A row among the worst; `scores`: the first of its bad ones, `more`: how many there are beside them."""

    row: WorstRow
    scores: Sequence[RowScore]
    more: int


def answer_html(run: Run) -> str:
    """Sentences and worst rows as a fragment of a page; rows lead to `#row=N`. Raises `ResultsError`."""
    rows = tally(run)
    worst, conclusion = worst_rows(run, rows), conclude_run(run, rows, shown_folder(run))
    return render(
        "answer.html",
        conclusion=conclusion,
        next=conclusion.next.replace(program(), NAME, 1),  # not how it was started here: a page goes to others
        worst=[_shown(row) for row in worst],
        references=any(row.reference for row in worst),
    )


def shown_folder(run: Run) -> str:
    """The folder of a run as it was called where it ran, such as `results/demo`; never the folders of that machine."""
    output_dir, name = PurePath(run.config.get("output_dir") or "."), run.manifest.get("name") or run.folder.name
    return str(PurePath(output_dir.name if output_dir.is_absolute() else output_dir, name))


def _shown(row: WorstRow) -> ShownRow:
    """Where none of its scores is bad, those in the middle."""
    bad = [score for score in row.scores if score.tone == "bad"]
    chosen = bad or [score for score in row.scores if score.tone == "middle"]
    shown = len(chosen) if len(chosen) <= LINES else LINES - 1
    return ShownRow(row, chosen[:shown], len(chosen) - shown)
