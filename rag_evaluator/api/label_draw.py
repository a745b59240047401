"""`label_sheet` and `draw_rows`: the rows of a finished run that people label, in a workbook or in the app."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from rag_evaluator.api.saved_scores import scales_for
from rag_evaluator.errors import ConfigError, ResultsError, did_you_mean
from rag_evaluator.files.atomic import check_replaceable, write_whole
from rag_evaluator.labels.sheet import TEXTS, DrawRecord, LabelSheet, read_draw, write_draw, write_sheet
from rag_evaluator.languages import find_language
from rag_evaluator.metrics.table import METRICS, canonical_name
from rag_evaluator.results.aligned import match
from rag_evaluator.results.certificate import FOLDER, NAME, kept_labels
from rag_evaluator.results.judgement import doubt
from rag_evaluator.results.run import Run
from rag_evaluator.tasks.open_run import open_run
from rag_evaluator.trust.draws import Draw, draw_stratified, draw_uncertain
from rag_evaluator.trust.formulas import Array
from rag_evaluator.trust.judge_verdict import LEAST
from rag_evaluator.trust.scale import Scale


def draw_rows(
    folder: Path,
    size: int = 100,
    metrics: Sequence[str] = (),
    uncertain: bool = False,
    seed: int = 0,
    like: Path | None = None,
) -> LabelSheet:
    """Draw rows of a finished run at random, see `label_sheet`; nothing is written.

    Raises `RagEvaluatorError` for a metric that the run does not have, and for too few rows.
    """
    run = open_run(folder)
    names = _names(run, metrics)
    _check_size(run, size)
    scales = scales_for(names, [run])[0]
    if like is None:
        draw = _draw(run, names[0], scales[names[0]], size, uncertain, seed)
        record = DrawRecord(
            data=run.data,
            metrics=names,
            kind="uncertain" if uncertain else "stratified",
            size=size,
            seed=seed,
            rows=draw.rows.tolist(),
            probabilities=draw.probabilities.tolist(),
            strata=draw.strata.tolist(),
        )
    else:
        record = replace(draw_like(run, like), data=run.data, metrics=names)
    return sheet_of(run, record)


def sheet_of(run: Run, record: DrawRecord) -> LabelSheet:
    """What people are shown of a draw, and in which language they are asked."""
    language = find_language(str(run.config.get("language") or "english")).name
    scales = scales_for(record.metrics, [run])[0]
    columns = {column for sample in run.samples for column in sample.columns}
    return LabelSheet(record, run.samples, run.digests, columns_read(record.metrics, columns), scales, language)


def draw_like(run: Run, folder: Path) -> DrawRecord:
    """The draw of another run, with its rows found in this one. Raises `ResultsError` if the rows are not the same."""
    other = open_run(folder)
    names = [path.stem for path in sorted((folder / FOLDER).glob("*.json")) if path.name != NAME]
    certified = [kept.draw for kept in kept_labels(other).values() if kept.draw is not None]
    if not certified and len(names) != 1:
        raise ResultsError(f"--like {folder}: it has {len(names)} draws; certify the labels of one of them first.")
    theirs = read_draw(folder, (certified or names)[0], other.data)
    on, (a, b) = match([other, run])
    if (
        a.places.keys() != b.places.keys()
        or a.without
        or b.without
        or len(a.places) < len(other.samples)
        or len(b.places) < len(run.samples)
    ):
        raise ResultsError(f"--like {folder}: both runs need the same rows, each with a '{on}' of its own.")
    ours = {rows[0]: b.places[key][0] for key, rows in a.places.items()}  # their row -> ours
    back = {our: their for their, our in ours.items()}
    order = [back[row] for row in range(len(run.samples))]
    return replace(
        theirs,
        rows=[ours[row] for row in theirs.rows],
        probabilities=[theirs.probabilities[row] for row in order],
        strata=[theirs.strata[row] for row in order],
        like=theirs.like or theirs.name,
    )


def _names(run: Run, metrics: Sequence[str]) -> list[str]:
    names = [metric if metric in run.scores else canonical_name(metric) or metric for metric in metrics]
    for metric, name in zip(metrics, names, strict=True):
        if name not in run.scores:
            raise ConfigError(f"--metric {metric}: {run.name} has no scores of it.{did_you_mean(metric, run.scores)}")
    return list(dict.fromkeys(names)) or list(run.scores)


def _check_size(run: Run, size: int) -> None:
    if size < LEAST:
        raise ConfigError(f"--size {size}: {LEAST} labels are needed at least, 100 say much more.")
    if len(run.samples) < LEAST:
        raise ResultsError(f"{run.name} has {len(run.samples)} rows; {LEAST} labels are needed at least.")


def _draw(run: Run, metric: str, scale: Scale, size: int, uncertain: bool, seed: int) -> Draw:
    scores = np.asarray(run.scores[metric], dtype=np.float64)
    if not uncertain:
        return draw_stratified(scores, size, seed)
    return draw_uncertain(scores, _uncertainty(run, metric, scores, scale), size, seed)


def _uncertainty(run: Run, metric: str, scores: Array, scale: Scale) -> Array:
    """1 less the judge's mean confidence in a row; without confidences the nearness of the score to the middle."""
    details = run.records({(row, metric) for row in range(len(scores))})
    doubts = [doubt(details.get((row, metric), ())) for row in range(len(scores))]
    if all(each is None for each in doubts):
        return np.asarray(1 - np.abs(2 * (np.nan_to_num(scores, nan=scale.low) - scale.low) / scale.width - 1))
    return np.array([0.0 if each is None else each for each in doubts])


def columns_read(names: Sequence[str], available: Collection[str]) -> list[str]:
    """What some metrics read of the texts that are there; of a metric of the user's own, all texts."""
    read = {column for name in names if name in METRICS for column in (*METRICS[name].columns, *METRICS[name].optional)}
    every = any(name not in METRICS for name in names)
    return [column for column in TEXTS if column in available and (every or column in read)]


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
