"""What was run, what is known of the judge by certificate and probe, and the table of means."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any
from urllib.parse import urlencode

from rag_evaluator.errors import ResultsError
from rag_evaluator.files.atomic import json_text
from rag_evaluator.report.pages import number, render, with_interval
from rag_evaluator.results.certificate import CERTIFICATE, read_certificate, standing_of
from rag_evaluator.results.manifest import judge_of, partial_rows, parts_of
from rag_evaluator.results.overview import by_stage
from rag_evaluator.results.rows import LABELS
from rag_evaluator.results.run import Run
from rag_evaluator.results.summary import reporting_of
from rag_evaluator.results.tally import scales_of
from rag_evaluator.statistics.formulas import Scale

Json = Mapping[str, Any]  # Any in this module: JSON
PROBE = "probe/probe.json"
DOT = "\u00a0· "  # between parts of a line, never at its beginning
ALWAYS = ("python", "rag-evaluator", "ragas")  # versions that every run depends on


def means_html(run: Run) -> str:
    """The table of means as a fragment of a page; counts of missing scores lead to rows. Raises `ResultsError`."""
    reporting = reporting_of(run.manifest)
    return render(
        "means.html",
        level=f"{100 * reporting.ci_level:g} %",
        stages=stages(run.summary, scales_of(run.manifest, run.summary), reporting.thresholds),
    )


def what_html(run: Run, of: str = "", place: str = "what") -> str:
    """What was run, with signatures, digests and configuration, as a fragment of a page. Raises `ResultsError`.

    Args:
        of: the name of the run, where several are shown.
        place: the id of this part of the page.
    """
    return render(
        "what.html",
        of=of,
        place=place,
        facts=facts_of(run),
        signatures=run.manifest.get("signatures") or {},
        prompts=run.manifest.get("prompts") or {},
        config=json_text(shown_config(run.config)),
    )


@dataclass(frozen=True)
class RunFact:
    """A line of what was run; `note` is read only by who wants to know more."""

    name: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Certified:
    """What a certificate says of a metric; texts as shown."""

    metric: str
    standing: str
    labels: str
    label_mean: str
    judge_mean: str
    agreement: str


def facts_of(run: Run) -> list[RunFact]:
    """The facts that matter, in the order shown."""
    config = run.config
    shown = [
        RunFact("Dataset", _dataset(config)),
        RunFact("Rows", partial_rows(run.manifest) or f"{run.manifest.get('rows', 0):,}"),
        RunFact("Language", str(config.get("language") or "not known")),
        *_judges(run),
        *_other_models(run),
        RunFact("Intervals", *_intervals(config)),
        RunFact("Versions", *_versions(run.manifest.get("versions") or {})),
    ]
    if (config.get("repeats") or 1) > 1:
        shown.append(RunFact("Repeats of each score", str(config["repeats"])))
    return [fact for fact in shown if fact.value]


def shown_config(value: Any) -> Any:
    """A configuration without the folders of the machine it ran on: a report is given to others.

    Of an absolute path the last part is left, `…/dataset.jsonl`.
    """
    if isinstance(value, Mapping):
        return {name: shown_config(part) for name, part in value.items()}
    if isinstance(value, list):
        return [shown_config(part) for part in value]
    return f"…/{_short(value)}" if isinstance(value, str) and _is_absolute(value) else value


def _dataset(config: Json) -> str:
    path = config.get("dataset")
    return _short(str(path)) if path else "rows given in Python"


def _judges(run: Run) -> Iterator[RunFact]:
    model = judge_of(run.manifest)
    if model is None:
        yield RunFact("Judge", "none: no metric asks one")
    elif isinstance(model, str):
        yield RunFact("Judge", model)
    else:
        yield RunFact("Judge", *_judge(model))


def _judge(judge: Json) -> tuple[str, str]:
    shown = [f"{key} {judge[key]}" for key in ("engine", "dtype", "temperature", "seed") if judge.get(key) is not None]
    model = str(judge.get("model") or "not known")
    return _short(model), DOT.join(shown)


def _other_models(run: Run) -> Iterator[RunFact]:
    """Embeddings and verifier, where a metric of the run used them."""
    for name in ("embeddings", "verifier"):
        used = [parts for line in (run.manifest.get("signatures") or {}).values() if name in (parts := parts_of(line))]
        model = str((run.config.get(name) or {}).get("model") or "not known")
        if used:
            yield RunFact(name.capitalize(), _short(model), used[0].get("kind", ""))


def _short(path: str) -> str:
    """A dataset or model without the folders of this machine; a name on a hub stays whole."""
    if PureWindowsPath(path).is_absolute():
        return PureWindowsPath(path).name
    return PurePosixPath(path).name if _is_absolute(path) or path.count("/") > 1 else path


def _is_absolute(path: str) -> bool:
    return path.startswith(("/", "~")) or PureWindowsPath(path).is_absolute()


def _intervals(config: Json) -> tuple[str, str]:
    level = f"{100 * (config.get('ci_level') or 0.95):g} %"
    return level, f"clustered by {config['cluster']}" if config.get("cluster") else ""


def _versions(versions: Json) -> tuple[str, str]:
    shown = [f"{name} {version}" for name, version in versions.items()]
    first = [line for line in shown if line.split()[0] in ALWAYS[1:]]
    return DOT.join(first), DOT.join(line for line in shown if line not in first)


def certified(run: Run) -> tuple[str, list[Certified]]:
    """When people's labels were compared, and a line for each metric that the certificate speaks of; empty: never.

    A certificate that cannot be read is said to be so.
    """
    path = run.folder / CERTIFICATE
    if not path.is_file():
        return "", []
    try:
        certificate = read_certificate(path)
        words = standing_of(certificate, run)
        lines = [
            _certified(metric, words[metric], certificate["metrics"][metric], run.summary.get(metric, {}))
            for metric in words
            if metric in certificate["metrics"]
        ]
    except (ResultsError, KeyError, TypeError, AttributeError) as error:
        return f"The certificate cannot be read: {error}", []
    labels = ", ".join(map(_short, map(str, certificate["labels"])))
    return f"Certificate of {certificate.get('date')}, labels: {labels}.", lines


def _certified(metric: str, words: str, part: Json, row: Json) -> Certified:
    mean = row.get(LABELS) or {}
    agreed = part.get("binary") or part.get("graded") or {}
    return Certified(
        metric,
        words,
        str(part.get("compared", part.get("labels", ""))),
        _shown(mean, "label_mean"),
        number(mean.get("judge_mean")),
        part.get("reason") or ", ".join(_coefficients(agreed)),
    )


def _coefficients(agreed: Json) -> Iterator[str]:
    for name, value in agreed.items():
        if isinstance(value, Mapping) and isinstance(value.get("value"), int | float):
            yield f"{name.replace('_', ' ')} {_shown(value, 'value')}"


def _shown(row: Json, key: str = "mean") -> str:
    return with_interval(row.get(key), row.get("ci_low"), row.get("ci_high"))


def probed(run: Run) -> list[dict[str, Any]]:
    """What a probe of this judge found, a line for each metric and change; empty where there is no probe."""
    try:
        probe_json = json.loads((run.folder / PROBE).read_bytes())
        return [
            {
                "metric": metric,
                "probe": probe,
                "change": probe_json["probes"][probe]["change"],
                "counts": f"{cell['falls']:,}/{cell['ties']:,}/{cell['rises']:,}",
                "share": cell["share"],
                "shown": _shown(cell["share"]),
                "word": str(cell["word"]),
            }
            for metric, cells in probe_json["metrics"].items()
            for probe, cell in cells.items()
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []


REASONS = 50  # that are shown of a metric; all are in `summary.json`
Figures = Mapping[str, Any]  # those of a metric, as in `summary.json`; Any in this module: JSON


@dataclass(frozen=True)
class IntervalMark:
    """Where the parts of a mark are, in percent of its width; None: there is no such part.

    Attributes:
        mean, low, high: mean and interval.
        bound_low, bound_high: what the mean would be, were all missing scores the worst, or the best.
        zero: the place of 0 within a range that goes below it.
        threshold: from which a row passes.
        ends: the range, as shown where it is not 0 to 1.
    """

    mean: str | None
    low: str | None
    high: str | None
    bound_low: str | None = None
    bound_high: str | None = None
    zero: str | None = None
    threshold: str | None = None
    ends: tuple[str, str] | None = None

    @property
    def band(self) -> str | None:
        """The width of the bounds; None where nothing is missing."""
        if self.bound_low is None or self.bound_high is None or self.bound_low == self.bound_high:
            return None
        return _rounded(float(self.bound_high[:-1]) - float(self.bound_low[:-1]))


@dataclass(frozen=True)
class MetricLine:
    """A metric as the table shows it.

    Attributes:
        row: its figures, as in `summary.json`.
        notes: sentences below it.
        reasons: why scores are missing, with counts.
    """

    metric: str
    better: str
    row: Figures
    mark: IntervalMark
    notes: Sequence[str]
    reasons: Sequence[tuple[str, int]]
    missing_href: str

    @property
    def missing(self) -> int:
        return int(self.row["count"] - self.row["scored"])


def stages(
    summary: Mapping[str, Figures], scales: Mapping[str, Scale], thresholds: Mapping[str, float]
) -> list[tuple[str, list[MetricLine]]]:
    """The tables, in the order shown: a stage, `retrieval`, `generation` or `other`, with its metrics."""
    return [
        (name, [line(metric, row, scales[metric], thresholds.get(metric)) for metric, row in part.items()])
        for name, part in by_stage(summary)
    ]


def line(metric: str, row: Figures, scale: Scale, threshold: float | None = None) -> MetricLine:
    """A metric's line."""
    return MetricLine(
        metric=metric,
        better=scale.better,
        row=row,
        mark=mark(row, scale, threshold),
        notes=list(_notes(row)),
        reasons=list(row["reasons"].items())[:REASONS],
        missing_href=f"#{urlencode({'metric': metric, 'missing': 1}, errors='replace')}",
    )


def mark(row: Figures, scale: Scale, threshold: float | None = None) -> IntervalMark:
    """The mark of figures on the range of their metric."""

    def place(value: float | None) -> str | None:
        return None if value is None else _rounded(100 * (min(max(value, scale.low), scale.high) - scale.low) / width)

    width = scale.width or 1.0
    return IntervalMark(
        place(row["mean"]),
        place(row.get("ci_low")),
        place(row.get("ci_high")),
        place(row.get("bound_low")),
        place(row.get("bound_high")),
        place(0.0) if scale.low < 0 < scale.high else None,
        place(threshold),
        None if (scale.low, scale.high) == (0.0, 1.0) else _ends(scale),
    )


def _ends(scale: Scale) -> tuple[str, str]:
    return f"{scale.low:g}".replace("-", "−"), f"{scale.high:g}".replace("-", "−")


def _rounded(percent: float) -> str:
    return f"{percent:.1f}%"


def _notes(row: Figures) -> Iterator[str]:
    """What else is known of a metric, a sentence each."""
    if warning := row.get("ci_warning"):
        yield f"warning: {warning}"
    if rate := row.get("pass_rate"):
        sign = "≤" if row.get("better") == "lower" else "≥"
        yield f"passes {sign} {rate['threshold']:g}: {_shown(rate)}"
    if outcomes := row.get("outcomes"):
        yield "outcomes: " + ", ".join(f"{name} {count:,}" for name, count in outcomes.items())
    if row.get("scored", 0) < row.get("count", 0) and row.get("bound_low") is not None:
        yield f"bounds {number(row['bound_low'])} to {number(row['bound_high'])}"
    if row.get("dropped"):
        yield f"{row['dropped']:,} rows with contexts left out, as they did not fit the judge's window"
    if row.get("repeats"):
        noise, icc = number(row.get("stderr_rerun"), 4), number(row.get("icc"))
        yield f"{row['repeats']} repeats: the mean varies by {noise} (sd) between runs, ICC {icc}"
    if labels := row.get("labels"):
        yield f"mean of people's labels: {_shown(labels, 'label_mean')}"
