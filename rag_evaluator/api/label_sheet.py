"""`label_sheet`: rows drawn from a finished run, and the workbook in which people label them."""

from collections.abc import Sequence
from pathlib import Path

from rag_evaluator.api.label_draw import draw_rows
from rag_evaluator.errors import ConfigError
from rag_evaluator.files.atomic import write_whole
from rag_evaluator.files.replacing import check_replaceable
from rag_evaluator.labels.draw import DrawRecord, write_draw
from rag_evaluator.labels.sheet import write_sheet

SCORES = "scores.xlsx"  # the workbook of a run


def label_sheet(
    results: str | Path,
    out: str | Path,
    size: int = 100,
    metrics: Sequence[str] = (),
    uncertain: bool = False,
    seed: int = 0,
    like: str | Path | None = None,
    force: bool = False,
) -> DrawRecord:
    """Draw rows of a finished run at random and write a workbook in which people label them without seeing a score.

    The probabilities are kept in the folder `labels` of the results; `certify` finds them by the sheet's column `draw`.

    Args:
        results: results folder.
        out: the workbook, `.xlsx`.
        size: rows to draw.
        metrics: to be labelled; none: all of the run. Rows are drawn by the scores of the first.
        uncertain: half of the chance uniform and half in proportion to the judge's uncertainty; else from groups of
            similar scores as many as their share is.
        seed: of the draw.
        like: results folder of another run over the same questions: its rows are drawn again, so that labels of both
            runs can be compared; `size`, `uncertain` and `seed` are then those of that draw.
        force: replace a workbook that is there.

    Raises `RagEvaluatorError`; then nothing is written.
    """
    folder, path = Path(results).expanduser(), Path(out).expanduser()
    if path.suffix.lower() != ".xlsx":
        raise ConfigError(f"{path}: expected a name that ends in .xlsx.")
    check_replaceable(
        path, None, force, [Path(run).expanduser() / SCORES for run in (results, like) if run is not None]
    )
    sheet = draw_rows(folder, size, metrics, uncertain, seed, None if like is None else Path(like).expanduser())
    write_draw(folder, sheet.record)
    write_whole(path, lambda to: write_sheet(sheet, to))
    return sheet.record
