"""A stand-in."""

from collections.abc import Sequence

from rag_evaluator.report.run_files import RunFiles
from rag_evaluator.results.comparison import Comparison


def figures_html(run: RunFiles) -> str:
    return '<p><a href="#metric=faithfulness&amp;min=0.2&amp;max=0.6">some</a></p>'


def comparison_html(comparison: Comparison) -> str:
    return "<p>compared</p>"


def runs_html(runs: Sequence[RunFiles]) -> str:
    return "<p>runs</p>"
