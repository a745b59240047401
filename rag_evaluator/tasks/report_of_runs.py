"""`write_report`: one HTML file that shows a run, or several beside each other."""

from pathlib import Path

from rag_evaluator.comparison.compare import compare
from rag_evaluator.errors import ConfigError, ResultsError
from rag_evaluator.files.atomic import check_replaceable
from rag_evaluator.report import document
from rag_evaluator.run.finished import note_rewritten
from rag_evaluator.tasks.open_run import open_run
from rag_evaluator.tasks.own_report import REPORT


def write_report(*runs: str | Path, out: str | Path | None = None, on: str | None = None, force: bool = False) -> Path:
    """Write the report of finished runs: figures, a table of the rows, and all that the judge said of each row.

    Args:
        runs: results folders; of several the baseline first, with which the others are compared.
        out: the file. None: `report.html` in the folder of the run; of several runs in the current folder.
        on: the column by which rows of several runs belong together, see `compare`.
        force: replace a file that is there and is no report.

    Returns:
        The file. It needs no other file and no network.

    Raises `RagEvaluatorError` for results that are not there, not finished or have no row in common, before it is
    written.
    """
    if not runs:
        raise ConfigError("report: expected a results folder, received none.")
    folders = [Path(run).expanduser() for run in runs]
    for folder in folders:
        if folder.is_file():
            raise ResultsError(f"{folder}: is a file, expected the results folder of a run, <output_dir>/<name>.")
        open_run(folder)
    default = folders[0] / REPORT
    path = Path(out).expanduser() if out is not None else default if len(folders) == 1 else Path(REPORT)
    if path.is_dir():
        raise ConfigError(f"--out {path}: is a folder, expected a file such as {path / REPORT}.")
    if path != default or len(folders) > 1:
        check_replaceable(path, document.MARK, force, folders)
    document.write_report(folders, path, compare(*folders, on=on) if len(folders) > 1 else None)
    if path == default and len(folders) == 1:
        note_rewritten(folders[0], [REPORT])
    return path
