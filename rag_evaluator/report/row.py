"""A stand-in."""

from collections.abc import Mapping, Sequence
from html import escape

from rag_evaluator.report.pages import clean
from rag_evaluator.report.run_files import RunFiles


def row_html(run: RunFiles, row: int, questions: bool = True) -> str:
    lines = "".join(f"<pre>{escape(clean(str(line)))}</pre>" for line in run.details(row))
    return f'<article class="row" data-row="{row}"><p>{escape(clean(str(run.row(row))))}</p>{lines}</article>'


def frames_of(run: RunFiles) -> Mapping[str, str]:
    return {}


def pair_html(runs: Sequence[RunFiles], rows: Sequence[int | None]) -> str:
    return "".join(row_html(run, row) for run, row in zip(runs, rows, strict=True) if row is not None)
