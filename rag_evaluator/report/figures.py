"""The upper part of a run's page, and the means of several runs beside each other, as HTML."""

from collections.abc import Sequence

from rag_evaluator.files.json_text import json_text
from rag_evaluator.report.compared import comparison_html as comparison_html
from rag_evaluator.report.distributions import lengths_of, ranks_of, spreads_of
from rag_evaluator.report.facts import certified, facts, probed, shown_config
from rag_evaluator.report.groups import groups_of
from rag_evaluator.report.means import line, scales_of, stages
from rag_evaluator.report.pages import render
from rag_evaluator.report.run_files import RunFiles
from rag_evaluator.report.tally import tally
from rag_evaluator.results.panel_names import BETWEEN
from rag_evaluator.results.reporting import reporting_of
from rag_evaluator.trust.scale import Scale


def figures_html(run: RunFiles, links: bool = True) -> str:
    """The figures of a run as a fragment of a page. Raises `ResultsError` for files that cannot be read.

    Args:
        links: whether bars and counts lead to their rows, by `#metric=faithfulness&min=0.2&max=0.3`.
    """
    rows, scales = tally(run), scales_of(run.manifest, run.summary)
    thresholds = reporting_of(run.manifest).thresholds
    return render(
        "figures.html",
        run=run,
        facts=facts(run),
        signatures=run.manifest.get("signatures") or {},
        prompts=run.manifest.get("prompts") or {},
        config=json_text(shown_config(run.config)),
        level=f"{100 * rows.level:g} %",
        stages=stages(run.summary, scales, thresholds),
        certificate=certified(run),
        probes=probed(run),
        groups=list(groups_of(run.summary, scales)),
        spreads=list(spreads_of(rows, scales, links)),
        ranks=list(ranks_of(run, rows)),
        lengths=list(lengths_of(run.summary, rows, scales)),
        links=links,
    )


def runs_html(runs: Sequence[RunFiles]) -> str:
    """The means of several runs beside each other, each on the range of its metric."""
    metrics = dict.fromkeys(metric for run in runs for metric in run.metrics if BETWEEN not in metric)
    known: dict[str, Scale] = {}
    for run in runs:
        known = {**scales_of(run.manifest, run.summary), **known}
    table = [
        (
            metric,
            [(run.name, line(metric, run.summary[metric], known[metric])) for run in runs if metric in run.summary],
        )
        for metric in metrics
    ]
    return render("runs.html", table=table)
