"""`certify`: how far the scores of a run agree with people's labels, and the certificate that says so."""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_evaluator.api.saved_scores import scales_for
from rag_evaluator.errors import ConfigError, DatasetError, did_you_mean
from rag_evaluator.files.atomic import check_replaceable, write_json
from rag_evaluator.labels.certification import Disagreement, LabelSource, Settings, as_json, compared
from rag_evaluator.labels.scale import parse_scales
from rag_evaluator.labels.sheet import read_draw
from rag_evaluator.labels.table import labels_in_column, read_labels, together
from rag_evaluator.metrics.table import canonical_name
from rag_evaluator.progress import ACTIVITY
from rag_evaluator.results.certificate import CERTIFICATE, FORMAT, MARK, label_figures, with_labels, write_labels
from rag_evaluator.results.manifest import PROGRAM
from rag_evaluator.results.run import Run
from rag_evaluator.run.finished import note_rewritten
from rag_evaluator.tasks.open_run import open_run
from rag_evaluator.tasks.own_report import refresh_report
from rag_evaluator.trust.scale import Scale

LEVEL = 0.95


@dataclass(frozen=True)
class Certification:
    """What `certify` found.

    Attributes:
        certificate: what `certificate.json` says; Any: JSON.
        disagreements: the rows on which people and the judge differ most, of each metric the worst first.
        path: where the certificate was written.
    """

    certificate: Mapping[str, Any]
    disagreements: Sequence[Disagreement]
    path: Path

    def to_json(self) -> dict[str, Any]:
        """The certificate with the disagreements."""
        return {**self.certificate, "disagreements": as_json(self.disagreements)}


@ACTIVITY.phase("comparing scores with labels")
def certify(
    results: str | Path,
    labels: str | Path | Sequence[str | Path] = (),
    *,
    label: Mapping[str, str] | None = None,
    threshold: Mapping[str, float] | None = None,
    scale: Sequence[str] = (),
    on: str | None = None,
    random: bool = False,
    out: str | Path | None = None,
    force: bool = False,
    date: datetime.date | None = None,
) -> Certification:
    """Compare the scores of a finished run with people's labels, and write `certificate.json`.

    Args:
        results: results folder.
        labels: a table of labels, docs/judging-the-judge.md has its forms; or several, each of one annotator.
        label: metric -> a column of the run's own rows that holds its labels.
        threshold: metric -> the score from which on the judge accepts, fixed before the labels were seen. Else that of
            `thresholds` in the configuration of the run; else it is chosen on the labels, by cross-fitting.
        scale: of labels that are grades, such as `faithfulness=1..5`.
        on: the key column of the table; None takes `row`, `sample`, `id` or the question.
        random: whether the labelled rows, of a table that no sheet was drawn for, are a random sample of all rows.
        out: where the certificate goes. None: into the results folder; then `summary.json` gets the mean labels, too.
        force: replace a file of another kind that is there under the name `out`.
        date: of the certificate; None: today.

    Raises `RagEvaluatorError` for labels that cannot be used, before anything is written.
    """
    folder = Path(results).expanduser()
    paths = [Path(file).expanduser() for file in ([labels] if isinstance(labels, str | Path) else labels)]
    path = folder / CERTIFICATE if out is None else Path(out).expanduser()
    if out is not None:
        check_replaceable(path, MARK, force, [folder, *paths])
    run = open_run(folder)
    sources = [_in_column(run, *pair) for pair in (label or {}).items()]
    if paths:
        _check_files(paths, folder)
        table = together([read_labels(path, run, run.digests, canonical_name, on) for path in paths], paths)
        if random and not table.sampled:
            raise ConfigError(
                f"--random: {table.name} says of its rows that they are no sample ('sampled' is false): somebody chose "
                "them. Leave out --random: agreement is then that of these rows."
            )
        draw = None if table.draw is None else read_draw(folder, table.draw, run.data)
        sources.append(LabelSource(table, draw))
    if not sources:
        raise ConfigError("no labels: give a table (--labels FILE) or a column of the rows (--label METRIC=COLUMN).")
    scales = scales_for(list(run.scores), [run])[0]
    label_scales = _named(run, parse_scales(scale), "--scale")
    level = run.config.get("ci_level") or LEVEL
    settings = Settings(scales, label_scales, _thresholds(run, threshold or {}, scales), random, level)
    figures, disagreements, kept = compared(run, sources, settings)
    certificate = _certificate(run, sources, figures, date or datetime.datetime.now(datetime.UTC).date())
    write_json(path, certificate)
    if out is None:
        write_labels(folder, run.data, kept)
        _add_to_summary(certificate, run)
    return Certification(certificate, disagreements, path)


def _check_files(paths: Sequence[Path], folder: Path) -> None:
    """Raises `ConfigError` for a file that is named twice, `DatasetError` for the run's own scores."""
    for place, path in enumerate(paths):
        if path.resolve() in [other.resolve() for other in paths[:place]]:
            raise ConfigError(f"--labels {path}: {path.name} is named twice. Name the file of each annotator once.")
        if path.stem == "scores" and path.resolve().parent == folder.resolve():
            raise DatasetError(f"{path}: a file of the run itself, with its scores. Name people's labels.")


def _in_column(run: Run, metric: str, column: str) -> LabelSource:
    [name] = _named(run, {metric: column}, "--label")
    return LabelSource(labels_in_column(run, name, column, canonical_name))


def _named(run: Run, values: Mapping[str, Any], option: str) -> dict[str, Any]:
    """Values by the names that metrics have in the run. Raises `ConfigError` for a metric that it has not."""
    named: dict[str, Any] = {}
    for metric, value in values.items():
        name = metric if metric in run.scores else canonical_name(metric) or metric
        if name not in run.scores:
            hint = did_you_mean(metric, run.scores)
            raise ConfigError(f"{option} {metric}: {run.name} has no scores of '{metric}'.{hint}")
        named[name] = value
    return named


def _thresholds(run: Run, thresholds: Mapping[str, float], scales: Mapping[str, Scale]) -> dict[str, float]:
    about = run.manifest.get("metrics", {})
    configured = {name: part["threshold"] for name, part in about.items() if part.get("threshold") is not None}
    named = _named(run, thresholds, "--threshold")
    for metric, limit in named.items():
        if not scales[metric].holds(limit):
            low, high = scales[metric].low, scales[metric].high
            raise ConfigError(f"--threshold {metric}={limit:g}: expected a number from {low:g} to {high:g}.")
    return {**configured, **named}


def _certificate(
    run: Run,
    sources: Sequence[LabelSource],
    figures: Mapping[str, Mapping[str, Any]],
    date: datetime.date,
) -> dict[str, Any]:
    """What holds of the judge: on which rows, in which language, with which prompts."""
    signatures, prompts = run.manifest.get("signatures", {}), run.manifest.get("prompts", {})
    return {
        "program": PROGRAM,
        "certificate": FORMAT,
        "date": date.isoformat(),
        "run": run.manifest.get("name"),
        "rows": len(run.samples),
        "data": run.data,
        "language": run.config.get("language"),
        "labels": [source.table.name for source in sources],
        "draws": [source.draw.name for source in sources if source.draw is not None],
        "metrics": {
            metric: {
                "signature": signatures.get(metric),
                "judge": _part(signatures.get(metric, ""), "judge"),
                "prompts": {name: digest for name, digest in prompts.items() if name.startswith(f"{metric}.")},
                **part,
            }
            for metric, part in figures.items()
        },
    }


def _part(signature: str, name: str) -> str | None:
    """A part of a signature: `judge:ab12`."""
    return next((part.partition(":")[2] for part in signature.split("|") if part.startswith(f"{name}:")), None)


def _add_to_summary(certificate: Mapping[str, Any], run: Run) -> None:
    figures = label_figures(certificate, run.manifest.get("signatures", {}), run.data)
    write_json(run.folder / "summary.json", with_labels(run.summary, figures))
    note_rewritten(run.folder, ["summary.json"])
    refresh_report(run.folder)
