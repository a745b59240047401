"""What was run, and the table of means."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from rag_evaluator.config import DEMO
from rag_evaluator.files import Json, json_text
from rag_evaluator.results import (
    MANY_FLAGGED,
    Run,
    Tone,
    answered_note,
    by_stage,
    counted,
    flagged_share,
    is_judged,
    judge_of,
    partial_rows,
    parts_of,
    refusal_table,
    scales_of,
    tone_of,
)
from rag_evaluator.statistics import Scale

from .pages import number, render, rows_link

DOT = "\u00a0· "  # between parts of a line, never at its beginning
REASONS = 50  # that are shown of a metric; all are in `summary.json`


def means_html(run: Run) -> str:
    """The table of means as a fragment of a page; counts of missing scores lead to rows. Raises `ResultsError`."""
    scales = scales_of(run.manifest, run.summary)
    stages = [
        (name, [MetricLine(metric, row, scales[metric]) for metric, row in part.items()])
        for name, part in by_stage(run.summary)
    ]
    level = f"{100 * (run.config.get('ci_level') or 0.95):g} %"
    return render("means.html", level=level, stages=stages, refusals=refusal_table(run.summary))


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


def facts_of(run: Run) -> list[tuple[str, str, str]]:
    """The facts that matter, in the order shown: name, value, and a note for those who want to know more."""
    config = run.config
    repeats = run.config.get("repeats") or 1
    dataset = config.get("dataset")
    cluster = config.get("cluster")
    versions = [f"{name} {version}" for name, version in (run.manifest.get("versions") or {}).items()]
    first = [line for line in versions if line.split()[0] in ("rag-evaluator", "ragas")]
    shown = [
        ("Dataset", short_path(str(dataset)) if dataset else "rows given in Python", ""),
        ("Rows", partial_rows(run.manifest) or f"{run.manifest.get('rows', 0):,}", ""),
        ("Language", str(config.get("language") or "not known"), ""),
        ("Judge", *_judge(judge_of(run.manifest))),
        *_other_models(run),
        ("Intervals", f"{100 * (config.get('ci_level') or 0.95):g} %", f"clustered by {cluster}" if cluster else ""),
        ("Versions", DOT.join(first), DOT.join(line for line in versions if line not in first)),
        ("Repeats of each score", str(repeats) if repeats > 1 else "", ""),
    ]
    return [fact for fact in shown if fact[1]]


def line_of(run: Run) -> list[str]:
    """Name, judge, rows and language of a run; when it was finished, how long it took, its tokens, as far as known."""
    facts = {name: value for name, value, _ in facts_of(run)}
    rows = partial_rows(run.manifest) or counted(int(run.manifest.get("rows") or 0), "row")
    judge = f"judge {facts['Judge']}{', a toy' if facts['Judge'] == DEMO else ''}"
    return [run.title, judge, rows, facts["Language"], *run.times.words()]


def shown_config(value: Any) -> Any:
    """A configuration without the folders of the machine it ran on: a report is given to others.

    Of an absolute path the last part is left, `…/dataset.jsonl`.
    """
    if isinstance(value, Mapping):
        return {name: shown_config(part) for name, part in value.items()}
    if isinstance(value, list):
        return [shown_config(part) for part in value]
    return f"…/{short_path(value)}" if isinstance(value, str) and _is_absolute(value) else value


def _judge(judge: Json | str | None) -> tuple[str, str]:
    """The name of the judge, and how it was asked."""
    if not isinstance(judge, Mapping):
        return judge or "none: no metric asks one", ""
    shown = [f"{key} {judge[key]}" for key in ("engine", "dtype", "temperature", "seed") if judge.get(key) is not None]
    return short_path(str(judge.get("model") or "not known")), DOT.join(shown)


def _other_models(run: Run) -> Iterator[tuple[str, str, str]]:
    """Embeddings and verifier, where a metric of the run used them."""
    for name in ("embeddings", "verifier"):
        used = [parts for line in (run.manifest.get("signatures") or {}).values() if name in (parts := parts_of(line))]
        if used:
            model = str((run.config.get(name) or {}).get("model") or "not known")
            yield name.capitalize(), short_path(model), used[0].get("kind", "")


def short_path(path: str) -> str:
    """Return a dataset or model without the folders of this machine; a name on a hub stays whole."""
    if PureWindowsPath(path).is_absolute():
        return PureWindowsPath(path).name
    return PurePosixPath(path).name if _is_absolute(path) or path.count("/") > 1 else path


def _is_absolute(path: str) -> bool:
    return path.startswith(("/", "~")) or PureWindowsPath(path).is_absolute()


def judged_by(run: Run) -> str:
    """Who decided on the rows: judge, verifier, or both."""
    kinds = [
        kind for kind in ("judge", "verifier") if any(is_judged(run.manifest, name, [kind]) for name in run.metrics)
    ]
    return " and ".join(kinds or ["judge"])


def with_interval(row: Json, key: str = "mean") -> str:
    """Return a mean with its interval, where it has one: `0.81 [0.74, 0.86]`."""
    mean = row.get(key)
    low = row.get("ci_low")
    return number(mean) if mean is None or low is None else f"{number(mean)} [{number(low)}, {number(row['ci_high'])}]"


@dataclass(frozen=True)
class MetricLine:
    """A metric as the table shows it.

    Attributes:
        row: its figures, as in `summary.json`.
    """

    metric: str
    row: Json
    scale: Scale

    @property
    def missing(self) -> int:
        return int(self.row["count"] - self.row["scored"])

    @property
    def tone(self) -> Tone:
        """Where its mean is on its range."""
        mean = self.row.get("mean")
        scale = self.scale
        return "plain" if mean is None else tone_of(mean, scale.low, scale.high, scale.better)

    @property
    def doubtful(self) -> int:
        """Rows in which the judge's work is doubtful, where these are many; else 0."""
        return int(self.row["flagged"]) if flagged_share(self.row) > MANY_FLAGGED else 0

    @property
    def missing_href(self) -> str:
        return rows_link(metric=self.metric, missing=1)

    @property
    def reasons(self) -> list[tuple[str, int]]:
        """Why scores are missing, with counts."""
        return list(self.row["reasons"].items())[:REASONS]

    @property
    def notes(self) -> list[str]:
        """Sentences below it."""
        return list(_notes(self.row))

    @property
    def ends(self) -> list[str]:
        """The range, as shown where it is not 0 to 1."""
        low = self.scale.low
        high = self.scale.high
        return [] if (low, high) == (0.0, 1.0) else [f"{end:g}".replace("-", "−") for end in (low, high)]

    @property
    def mark(self) -> dict[str, str | None]:
        """Where figures are on the range of the metric, in percent of its width; None: that is not known.

        `zero` is within a range that goes below it; `band` is the width between the bounds of the mean.
        """
        low = self.scale.low
        high = self.scale.high
        values = {name: self.row.get(name) for name in ("mean", "ci_low", "ci_high", "bound_low", "bound_high")}
        values |= {"zero": 0.0 if low < 0 < high else None, "threshold": self.row.get("pass_rate", {}).get("threshold")}
        places = {
            name: None
            if value is None
            else round(100 * (min(max(value, low), high) - low) / (self.scale.width or 1), 1)
            for name, value in values.items()
        }
        first = places["bound_low"]
        last = places["bound_high"]
        places["band"] = None if first is None or last is None or first == last else last - first
        return {name: None if place is None else f"{place:.1f}%" for name, place in places.items()}


def _notes(row: Json) -> Iterator[str]:
    """What else is known of a metric, a sentence each."""
    if warning := row.get("ci_warning"):
        yield f"warning: {warning}"
    if rate := row.get("pass_rate"):
        sign = "≤" if row.get("better") == "lower" else "≥"
        yield f"passes {sign} {rate['threshold']:g}: {with_interval(rate)}"
    if outcomes := row.get("outcomes"):
        yield "outcomes: " + ", ".join(f"{name} {count:,}" for name, count in outcomes.items())
    if row.get("scored", 0) < row.get("count", 0) and row.get("bound_low") is not None:
        yield f"bounds {number(row['bound_low'])} to {number(row['bound_high'])}"
    if row.get("dropped"):
        yield f"{row['dropped']:,} rows with contexts left out, as they did not fit the judge's window"
    if row.get("repeats"):
        noise = number(row.get("stderr_rerun"), 4)
        icc = number(row.get("icc"))
        yield f"{row['repeats']} repeats: the mean varies by {noise} (sd) between runs, ICC {icc}"
    if note := answered_note(row):
        yield note
    if labels := row.get("labels"):
        yield f"mean of people's labels: {with_interval(labels, 'label_mean')}"
