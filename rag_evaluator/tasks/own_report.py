"""`report.html` beside the scores of a run: written last, so that whatever happens to it the scores are there."""

import logging
from pathlib import Path

from rag_evaluator.errors import ResultsError
from rag_evaluator.resources import command
from rag_evaluator.results.manifest import read_manifest
from rag_evaluator.results.panel_names import is_panel
from rag_evaluator.run.finished import note_rewritten

REPORT = "report.html"
QUICK = 1000  # rows; a longer report is not written again by the way
logger = logging.getLogger(__name__)


def write_own_report(folder: Path) -> bool:
    """Write the report of a run into its results folder; False, with a warning, where that was not possible."""
    from rag_evaluator.report.document import write_report  # templates and charts: not for commands that write none

    try:
        write_report([folder], folder / REPORT)
    except Exception as error:  # whatever it is: the scores are written, and hours of work
        again = command("report", folder)
        logger.warning(
            "%s: the scores are written, the report is not: %s. To try again: %s",
            folder,
            error if isinstance(error, ResultsError) else repr(error),
            again,
        )
        return False
    return True


def refresh_report(folder: Path) -> None:
    """Write a report anew that is there, after figures were added to its run; not if that would take long."""
    is_quick = (folder / REPORT).is_file() and int(read_manifest(folder).get("rows") or 0) <= QUICK
    if is_quick and not is_panel(folder) and write_own_report(folder):
        note_rewritten(folder, [REPORT])
