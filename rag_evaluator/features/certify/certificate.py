"""`certify`: how far the scores of a run agree with people's labels, and the certificate that says so."""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from rag_evaluator.comparison import scales_for
from rag_evaluator.config import find_language
from rag_evaluator.errors import ConfigError, DatasetError, ResultsError, did_you_mean
from rag_evaluator.files import ACTIVITY, Json, JsonDict, check_replaceable, short_digest, write_json, write_whole
from rag_evaluator.metrics import SUPPORT
from rag_evaluator.results import (
    FLAGGED,
    PROGRAM,
    Conclusion,
    Run,
    counted,
    flagged_share,
    is_judged,
    judged_config,
    kept_labels,
    many_flagged,
    match,
    parts_of,
    units_of,
    write_labels,
)
from rag_evaluator.run import note_rewritten
from rag_evaluator.statistics import Scale
from rag_evaluator.tasks import open_run, refresh_report
from rag_evaluator.verifiers import Calibration

from .calibrating import calibration_of
from .certification import Disagreement, by_metric, compared
from .conclusion import certify_conclusion
from .draws import DrawRecord, draw_stratified, draws_in, read_draw, write_draw
from .figures import parse_scales
from .reliability import CALIBRATION, calibration_sentence, calibration_use
from .sheet import sheet_of_rows, sheet_of_sentences, write_book
from .standing import CERTIFICATE, FORMAT, MARK, THRESHOLDS, sealed, with_labels
from .table import LabelTable, labels_in_column, name_in, read_labels, together
from .verdict import LEAST

LEVEL = 0.95


@dataclass(frozen=True)
class Certification:
    """What `certify` found.

    Attributes:
        certificate: what `certificate.json` says; Any: JSON.
        disagreements: the rows on which people and the judge differ most, of each metric the worst first.
        path: where the certificate was written.
        conclusion: what it says of the judge, in sentences.
    """

    certificate: Json
    disagreements: Sequence[Disagreement]
    path: Path
    conclusion: Conclusion

    def to_json(self) -> JsonDict:
        """Return the certificate with the sentences and the disagreements, as JSON."""
        disagreements = list(map(asdict, self.disagreements))
        return {**self.certificate, "conclusion": self.conclusion.to_json(), "disagreements": disagreements}


@ACTIVITY.phase("comparing scores with labels")
def certify(
    results: str | Path,
    labels: str | Path | Sequence[str | Path] = (),
    *,
    label: Mapping[str, str] | None = None,
    threshold: Mapping[str, float] | None = None,
    scale: Sequence[str] = (),
    random: bool = False,
    out: str | Path | None = None,
    force: bool = False,
    calibrate: bool = False,
) -> Certification:
    """Compare the scores of a finished run with people's labels, and write `certificate.json`.

    Args:
        results: results folder.
        labels: a table of labels, docs/labels.md has its forms; or several, each of one annotator.
        label: metric -> a column of the run's own rows that holds its labels.
        threshold: metric -> the score from which on the judge accepts, fixed before the labels were seen. Else that of
            `thresholds` in the configuration of the run; else it is chosen on the labels, by cross-fitting.
        scale: of labels that are grades, such as `faithfulness=1..5`.
        random: whether the labelled rows, of a table that no sheet was drawn for, are a random sample of all rows.
        out: where the certificate goes. None: into the results folder; then `summary.json` gets the mean labels, too.
        force: replace a file of another kind that is there under the name `out`.
        calibrate: write `calibration.json` beside it, for `verifier.calibration`, from labels of sentences.

    Raises `RagEvaluatorError` for labels that cannot be used, before anything is written.
    """
    folder = Path(results).expanduser()
    paths = [Path(file).expanduser() for file in ([labels] if isinstance(labels, str | Path) else labels)]
    path = folder / CERTIFICATE if out is None else Path(out).expanduser()
    if out is not None:
        check_replaceable(path, MARK, force, [folder, *paths])
    run = open_run(folder)
    tables = [labels_in_column(run, _name(run, metric, "--label"), column) for metric, column in (label or {}).items()]
    for file in paths:
        if file.stem == "scores" and file.resolve().parent == folder.resolve():  # scores of 0 and 1 look like labels
            raise DatasetError(f"{file}: a file of the run itself, with its scores. Name people's labels.")
    if paths:
        tables.append(together([read_labels(path, run) for path in paths], paths))
    if not tables:
        raise ConfigError("no labels: give a table (--labels FILE) or a column of the rows (--label METRIC=COLUMN).")
    tables, left_out = _not_calibrated(run, tables)
    scales = scales_for(list(run.scores), [run])[0]
    label_scales = {_name(run, metric, "--scale"): grades for metric, grades in parse_scales(scale).items()}
    level = run.config.get("ci_level") or LEVEL
    limits = _thresholds(run, threshold or {}, scales)
    figures, thresholds, disagreements, kept = compared(run, tables, scales, label_scales, limits, random, level)
    calibration = _calibration(run, tables, level) if calibrate else None
    certificate = sealed(_certificate(run, tables, figures, thresholds))
    write_json(path, certificate)
    calibrated = path.with_name(CALIBRATION)
    if calibration:
        write_json(calibrated, calibration)
    if out is None:
        write_labels(folder, run.data, kept)
        write_json(folder / "summary.json", with_labels(run, certificate))
        note_rewritten(folder, ["summary.json"])
        refresh_report(folder)
    is_like = any(table.draw is not None and table.draw.like for table in tables)
    conclusion = certify_conclusion(certificate, judged_config(run.manifest), folder, is_like)
    flagged = many_flagged({metric: run.summary[metric] for metric in figures})
    more = [f"{calibration_sentence(calibration)} {calibration_use(calibration, calibrated)}"] if calibration else []
    if left_out:
        more.append(f"Not counted: {counted(left_out, 'label')} of clusters by which the run was calibrated.")
    conclusion = replace(conclusion, sentences=[*conclusion.sentences, *flagged, *more])
    return Certification(certificate, disagreements, path, conclusion)


def _not_calibrated(run: Run, tables: Sequence[LabelTable]) -> tuple[list[LabelTable], int]:
    """The labels without those of clusters that the run's own calibration has seen, and how many these are."""
    path = (run.config.get("verifier") or {}).get("calibration")
    if not path:
        return list(tables), 0
    seen = Calibration.read(Path(path)).clusters
    rows = {row for row, unit in enumerate(units_of(run)) if short_digest(unit) in seen}
    kept = [replace(table, labels=[label for label in table.labels if label.row not in rows]) for table in tables]
    return kept, sum(len(table.labels) for table in tables) - sum(len(table.labels) for table in kept)


def _calibration(run: Run, tables: Sequence[LabelTable], level: float) -> JsonDict:
    """The calibration of the one metric whose sentences have labels. Raises `DatasetError`."""
    tables_of = by_metric(tables)
    metrics = [name for name, table in tables_of.items() if any(label.statement for label in table.labels)]
    metrics = [name for name in metrics if name in SUPPORT]
    if len(metrics) != 1:
        raise DatasetError(
            f"--calibrate: expected labels of the sentences of one metric of {', '.join(SUPPORT)}, received those of "
            f"{' and '.join(metrics) or 'none'}. `certify sheet RESULTS --sentences` draws them."
        )
    [metric] = metrics
    table = tables_of[metric]
    lines = run.records({(label.row, metric) for label in table.labels})
    return calibration_of(run, metric, table, {row: records for (row, _), records in lines.items()}, level)


def _name(run: Run, metric: str, option: str) -> str:
    """The name that a metric has in the run. Raises `ConfigError` for a metric that it has not."""
    name = name_in(run, metric) or metric
    if name not in run.scores:
        hint = did_you_mean(metric, run.scores)
        raise ConfigError(f"{option} {metric}: {run.name} has no scores of '{metric}'.{hint}")
    return name


def _thresholds(run: Run, thresholds: Mapping[str, float], scales: Mapping[str, Scale]) -> dict[str, float]:
    about = run.manifest.get("metrics", {})
    configured = {name: part["threshold"] for name, part in about.items() if part.get("threshold") is not None}
    named = {_name(run, metric, "--threshold"): limit for metric, limit in thresholds.items()}
    for metric, limit in named.items():
        if not scales[metric].holds(limit):
            low = scales[metric].low
            high = scales[metric].high
            raise ConfigError(f"--threshold {metric}={limit:g}: expected a number from {low:g} to {high:g}.")
    return {**configured, **named}


def _certificate(
    run: Run,
    tables: Sequence[LabelTable],
    figures: Mapping[str, Json],
    thresholds: Mapping[str, Json],
) -> JsonDict:
    """What holds of the judge: on which rows, in which language, with which prompts."""
    signatures = run.manifest.get("signatures", {})
    prompts = run.manifest.get("prompts", {})
    return {
        "program": PROGRAM,
        "certificate": FORMAT,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "run": run.manifest.get("name"),
        "rows": len(run.samples),
        "data": run.data,
        "language": run.config.get("language"),
        "labels": [table.name for table in tables],
        "draws": [table.draw.name for table in tables if table.draw is not None],
        "metrics": {
            metric: {
                "signature": signatures.get(metric),
                "judge": parts_of(signatures.get(metric) or "").get("judge"),
                FLAGGED: flagged_share(run.summary.get(metric)),
                "prompts": {name: digest for name, digest in prompts.items() if name.startswith(f"{metric}.")},
                **part,
            }
            for metric, part in figures.items()
        },
        **({THRESHOLDS: thresholds} if thresholds else {}),
    }


def draw_like(run: Run, folder: Path) -> DrawRecord:
    """The draw of another run, with its rows found in this one. Raises `ResultsError` if the rows are not the same."""
    other = open_run(folder)
    names = draws_in(folder)
    certified = [kept.draw for kept in kept_labels(other).values() if kept.draw is not None]
    if not certified and len(names) != 1:
        raise ResultsError(f"--like {folder}: it has {len(names)} draws; certify the labels of one of them first.")
    theirs = read_draw(folder, (certified or names)[0], other.data)
    on, (a, b) = match([other, run])
    if a.keys() != b.keys() or len(a) < len(other.samples) or len(b) < len(run.samples):
        raise ResultsError(f"--like {folder}: both runs need the same rows, each with a '{on}' of its own.")
    ours = {rows[0]: b[key][0] for key, rows in a.items()}  # their row -> ours
    order = sorted(ours, key=lambda their: ours[their])
    return replace(
        theirs,
        rows=[ours[row] for row in theirs.rows],
        probabilities=[theirs.probabilities[row] for row in order],
        strata=[theirs.strata[row] for row in order],
        like=theirs.like or theirs.name,
    )


def _names(run: Run, metrics: Sequence[str], sentences: bool) -> list[str]:
    """The metrics to be labelled: of these, or all, those that a judge scored, or a verifier sentence by sentence."""
    lacking = "no judge made its scores, and labels are drawn to compare a judge with people"
    possible = [name for name in run.scores if is_judged(run.manifest, name)]
    if sentences:
        lacking = f"it does not look at single sentences with a verifier; {', '.join(SUPPORT)} do"
        possible = [name for name in run.scores if name in SUPPORT]
    names = list(dict.fromkeys(_name(run, metric, "--metric") for metric in metrics))
    if others := [name for name in names if name not in possible]:
        raise ConfigError(f"--metric {others[0]}: {lacking}. Leave it out.")
    if not possible:
        raise ResultsError(f"{run.name}: {lacking}.")
    return names or possible


def draw_rows(results: Path, size: int) -> DrawRecord:
    """Draw rows of a finished run at random, to be labelled elsewhere than in a sheet, and keep the draw.

    Raises `RagEvaluatorError`; then nothing is written.
    """
    record = _drawn(open_run(results), size)
    write_draw(results, record)
    return record


def _drawn(run: Run, size: int, metrics: Sequence[str] = (), seed: int = 0, sentences: bool = False) -> DrawRecord:
    """A draw that is not kept yet, see `label_sheet`."""
    names = _names(run, metrics, sentences)
    if size < LEAST or len(run.samples) < LEAST:
        raise ConfigError(
            f"--size {size}: {LEAST} labels are needed at least, of {len(run.samples)} rows of {run.name}."
        )
    draw = draw_stratified(run.scores[names[0]], size, seed)
    return DrawRecord(run.data, names, "stratified", size, seed, *(part.tolist() for part in draw))


def label_sheet(
    results: str | Path,
    out: str | Path,
    size: int = 100,
    metrics: Sequence[str] = (),
    seed: int = 0,
    like: str | Path | None = None,
    force: bool = False,
    sentences: bool = False,
) -> DrawRecord:
    """Draw rows of a finished run at random and write a workbook in which people label them without seeing a score.

    The probabilities are kept in the folder `labels` of the results; `certify` finds them by the sheet's column `draw`.
    Rows that one person has labelled already, in what was certified last, have their labels.

    Args:
        results: results folder.
        out: the workbook, `.xlsx`.
        size: rows to draw.
        metrics: to be labelled; none: all of the run that a judge scored. From groups of
            similar scores of the first as many rows are drawn as their share is.
        seed: of the draw.
        like: results folder of another run over the same questions: its rows are drawn again, so that labels of both
            runs can be compared; `size` and `seed` are then those of that draw.
        force: replace a workbook that is there.
        sentences: a line for each sentence that a verifier looked at, in place of one a row; the metrics are then those
            of sentences. Their labels give `verifier.threshold`.

    Raises `RagEvaluatorError`; then nothing is written.
    """
    folder = Path(results).expanduser()
    path = Path(out).expanduser()
    other = None if like is None else Path(like).expanduser()
    if path.suffix.lower() != ".xlsx":
        raise ConfigError(f"{path}: expected a name that ends in .xlsx.")
    check_replaceable(path, None, force, [run / "scores.xlsx" for run in (folder, other) if run is not None])
    run = open_run(folder)
    record = _drawn(run, size, metrics, seed, sentences)
    if other is not None:
        record = replace(draw_like(run, other), data=run.data, metrics=record.metrics)
    language = find_language(str(run.config.get("language") or "english")).name
    sheet = (sheet_of_sentences if sentences else sheet_of_rows)(run, record, language)
    write_draw(folder, record)  # before the sheet: without its draw nobody can use what people fill in
    write_whole(path, lambda to: write_book(to, sheet, run, record, language))
    return record
