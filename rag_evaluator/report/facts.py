"""What was run: dataset, judge, language, versions; and what is known of the judge: certificate and probe."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from rag_evaluator.errors import ResultsError
from rag_evaluator.report.pages import number
from rag_evaluator.results.certificate import CERTIFICATE, LABELS, read_certificate, standing
from rag_evaluator.results.manifest import config_of, partial_rows
from rag_evaluator.results.panel_names import judges_of
from rag_evaluator.results.run import Run

Json = Mapping[str, Any]  # Any in this module: JSON
PROBE = "probe/probe.json"
FINGERPRINT = re.compile("[0-9a-f]{16}")  # of a model's files
DOT = "\u00a0· "  # between parts of a line, never at its beginning
ALWAYS = ("python", "rag-evaluator", "ragas")  # versions that every run depends on


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


def facts(run: Run) -> list[RunFact]:
    """The facts that matter, in the order shown."""
    config = run.config
    shown = [
        RunFact("Dataset", _dataset(config)),
        RunFact("Rows", partial_rows(run.manifest) or f"{run.manifest.get('rows', 0):,}"),
        RunFact("Language", str(config.get("language") or "not known")),
        *_judges(run),
        *_embeddings(run),
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


def judge_of(manifest: Json) -> Json | str | None:
    """The judge that judged, by the signatures: its configuration; the name of one given in Python; None: none."""
    lines = (manifest.get("signatures") or {}).values()
    identity = next((parts["judge"] for line in lines if "judge" in (parts := parts_of(line))), None)
    judge: Json = config_of(manifest).get("judge") or {}
    is_configured = identity is None or FINGERPRINT.fullmatch(identity) or str(judge.get("model")) in identity
    return None if identity is None and "signatures" in manifest else judge if is_configured else identity


def _judges(run: Run) -> Iterator[RunFact]:
    panel = {str(about.get("name")): about for about in run.config.get("judges") or () if isinstance(about, Mapping)}
    for name in judges_of(run.manifest):
        yield RunFact(f"Judge {name}", *_judge(panel.get(name) or {}))
    if judges_of(run.manifest):
        return
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


def _embeddings(run: Run) -> Iterator[RunFact]:
    used = any("embeddings" in parts_of(line) for line in (run.manifest.get("signatures") or {}).values())
    model = str((run.config.get("embeddings") or {}).get("model") or "not known")
    if used:
        yield RunFact("Embeddings", _short(model))


def _short(path: str) -> str:
    """A dataset or model without the folders of this machine; a name on a hub stays whole."""
    if PureWindowsPath(path).is_absolute():
        return PureWindowsPath(path).name
    return PurePosixPath(path).name if _is_absolute(path) or path.count("/") > 1 else path


def _is_absolute(path: str) -> bool:
    return path.startswith(("/", "~")) or PureWindowsPath(path).is_absolute()


def _intervals(config: Json) -> tuple[str, str]:
    level = f"{100 * (config.get('ci_level') or 0.95):g} %"
    words = {"cluster": "clustered", "weight": "weighted"}
    by = [f"{word} by {config[key]}" for key, word in words.items() if config.get(key)]
    return level, DOT.join(by)


def _versions(versions: Json) -> tuple[str, str]:
    shown = [f"{name} {version}" for name, version in versions.items()]
    first = [line for line in shown if line.split()[0] in ALWAYS[1:]]
    return DOT.join(first), DOT.join(line for line in shown if line not in first)


def parts_of(signature: str) -> dict[str, str]:
    """A signature, `metric:faithfulness|ragas:0.4.3|...`, by its parts."""
    return dict(part.split(":", 1) for part in signature.split("|") if ":" in part)


def certified(run: Run) -> tuple[str, list[Certified]]:
    """When people's labels were compared, and a line for each metric that the certificate speaks of; empty: never.

    A certificate that cannot be read is said to be so.
    """
    path = run.folder / CERTIFICATE
    if not path.is_file():
        return "", []
    try:
        certificate = read_certificate(path)
        words = standing(certificate, run.manifest.get("signatures") or {}, run.data)
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
        _with_interval(mean, "label_mean"),
        number(mean.get("judge_mean")),
        part.get("reason") or ", ".join(_coefficients(agreed)),
    )


def _coefficients(agreed: Json) -> Iterator[str]:
    for name, value in agreed.items():
        if isinstance(value, Mapping) and isinstance(value.get("value"), int | float):
            yield f"{name.replace('_', ' ')} {_with_interval(value, 'value')}"


def _with_interval(row: Json, key: str) -> str:
    if row.get(key) is None:
        return number(None)
    ends = f" [{number(row['ci_low'])}, {number(row['ci_high'])}]" if row.get("ci_low") is not None else ""
    return number(row[key]) + ends


def probed(run: Run) -> list[dict[str, Any]]:
    """What a probe of this judge found, a line for each metric and change; empty where there is no probe."""
    try:
        probe_json = json.loads((run.folder / PROBE).read_bytes())
        return [
            {
                "metric": metric,
                "probe": probe,
                "change": probe_json["probes"][probe]["change"],
                "counts": f"{cell['falls']}/{cell['ties']}/{cell['rises']}",
                "share": cell["share"],
                "shown": _with_interval(cell["share"], "mean"),
                "word": str(cell["word"]),
            }
            for metric, cells in probe_json["metrics"].items()
            for probe, cell in cells.items()
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []
