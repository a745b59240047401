"""The page of one row of a run, and of a row in two runs: fragments of HTML for the report and the app."""

from rag_evaluator.report.pages import render
from rag_evaluator.report.row_pair import pair_html
from rag_evaluator.report.row_questions import frames_of
from rag_evaluator.report.row_view import RowView, row_view
from rag_evaluator.report.run_files import RunFiles

__all__ = ["RowView", "frames_of", "pair_html", "row_html", "row_view"]


def row_html(run: RunFiles, row: int, questions: bool = True) -> str:
    """A row as `<article class="row" id="row-17" data-row="17">`.

    Args:
        questions: whether it holds the prompts as they were sent; what is equal in every row is in `frames_of`.

    Raises `IndexError` if there is no row of this number, `ResultsError` for damaged files.
    """
    return render("row.html", row=row_view(run, row, questions))
