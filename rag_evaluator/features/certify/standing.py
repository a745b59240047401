"""`certificate.json`: what people's labels say of a judge, and for which runs that holds."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from rag_evaluator.config import Config
from rag_evaluator.errors import ConfigError, ResultsError
from rag_evaluator.files import Json, JsonDict, json_text, short_digest
from rag_evaluator.resources import command
from rag_evaluator.results import (
    FLAGGED,
    LABELS,
    MUCH,
    Run,
    ScoredRows,
    differing_conditions,
    flagged_share,
    has_unnamed_model,
)

from .counting import besides
from .feature import SHEET, CertificateKey

CERTIFICATE = "certificate.json"
THRESHOLDS = "verifier"  # the part that holds thresholds
FORMAT = 2
DIGEST = "digest"
# begin what is said of a useful judge, and of a harmful one
CERTIFIED = "certified"
WORSE = "worse than chance"
MARK = b'{\n  "program": "rag_evaluator",\n  "certificate": '  # how the file begins
Certificate = Json  # Any in this module: JSON


def read_certificate(path: Path) -> JsonDict:
    """What a certificate says. Raises `ResultsError` if it cannot be read, or is none."""
    certify = command("certify", path.parent, "--labels", "FILE")
    try:
        certificate = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise ResultsError(f"{path}: cannot be read as a certificate: {error}. '{certify}' writes one.") from error
    if not isinstance(certificate, dict) or certificate.get("certificate") != FORMAT:
        raise ResultsError(f"{path}: no certificate of this version. '{certify}' writes one.")
    return certificate


def sealed(certificate: Certificate) -> JsonDict:
    """A certificate with the digest of all that it says."""
    told = {key: part for key, part in certificate.items() if key != DIGEST}
    return {**told, DIGEST: short_digest(json.dumps(told, sort_keys=True))}


def was_changed(certificate: Certificate) -> bool:
    """Return whether somebody has edited it."""
    return sealed(certificate) != certificate


def with_labels(run: Run, certificate: Certificate) -> dict[str, JsonDict]:
    """The summary of a run with the mean labels that a certificate has of these very scores, and without any others."""
    holds = certificate.get("data") == run.data and not was_changed(certificate)
    labelled = certificate["metrics"] if holds else {}
    signatures = run.manifest.get("signatures", {})
    summary = {}
    for metric, row in run.summary.items():
        part = labelled.get(metric) or {}
        summary[metric] = {key: value for key, value in row.items() if key != LABELS}
        if part.get("label_mean") and part["signature"] == signatures.get(metric):
            summary[metric][LABELS] = part["label_mean"]
    return summary


def keep_labels(folder: Path, written: Path) -> None:
    """Add to a summary that was written anew what the certificate in a results folder says, if it is of these scores.

    Args:
        written: where the new files are.
    """
    with suppress(ResultsError):  # there is no certificate, or it is of another version
        summary = with_labels(Run(written), read_certificate(folder / CERTIFICATE))
        (written / "summary.json").write_text(json_text(summary), encoding="utf-8")


def standing_lines(path: Path, folder: Path) -> list[str]:
    """What a certificate says of the scores in a results folder, a line for each metric. Raises `ResultsError`."""
    certificate = read_certificate(path)
    run = Run(folder)
    first = f"certificate {path} of {certificate.get('date')}:"
    by_metric = standing_of(certificate, run)
    return [first, *(f"  {metric}: {words}" for metric, words in by_metric.items())]


def check_certificate(config: Config) -> None:
    """Raise `ConfigError` if the certificate of the configuration cannot be read."""
    if (path := config.section(CertificateKey).certificate) is not None:
        try:
            read_certificate(path)
        except ResultsError as error:
            raise ConfigError(f"{config.place('certificate')}: 'certificate': {error}") from None


def said_of_run(config: Config, folder: Path) -> dict[str, list[str] | None]:
    """Return what that certificate says of a finished run; what happened to it meanwhile costs no score."""
    path = config.section(CertificateKey).certificate
    try:
        return {"certificate": None if path is None else standing_lines(path, folder)}
    except ResultsError as error:
        return {"certificate": [f"certificate: {error}"]}


def useful_metrics(run: ScoredRows) -> set[str]:
    """The metrics of which a certificate says that the judge is useful: the run's own, or that of its configuration."""
    return {metric for metric, words in _held(run) if words.startswith(CERTIFIED)}


def certified(run: ScoredRows, metrics: Sequence[str]) -> dict[str, tuple[bool, str]]:
    """Metric -> whether such a certificate says that its judge is useful; what it says, or what is missing."""
    folder = run.folder or "RESULTS"
    draw = command(*SHEET.split(), folder, "--out", "to_label.xlsx")
    how = f"label rows, '{draw}', then '{command('certify', folder, '--labels', 'to_label.xlsx')}'"
    found = dict[str, tuple[bool, str]]()
    for metric in metrics:
        said = [words for name, words in _held(run) if name == metric]
        useful = [words for words in said if words.startswith(CERTIFIED)]
        lacking = f"not certified: {'; '.join(said) or 'there is no certificate'}; {how}"
        found[metric] = bool(useful), (useful or [lacking])[0]
    return found


def do_not_rely(run: ScoredRows, metrics: Collection[str]) -> list[str]:
    """A sentence for each of these metrics for which such a certificate says worse than chance."""
    worse = {name: words for name, words in _held(run) if name in metrics and words.startswith(WORSE)}
    return [f"Do not rely on {metric}: a certificate says {words}." for metric, words in worse.items()]


def _held(run: ScoredRows) -> Iterator[tuple[str, str]]:
    """Metrics with what the certificates of a run say of them, its own first. One that cannot be read says nothing."""
    if not isinstance(run, Run):
        return
    configured = run.config.get("certificate")
    for path in (run.folder / CERTIFICATE, *([Path(configured)] if configured else [])):
        if path.is_file():
            with suppress(ResultsError):
                yield from standing_of(read_certificate(path), run).items()


def standing_of(certificate: Certificate, run: Run) -> dict[str, str]:
    """Metric of a run -> what a certificate says of its scores, in words: `certified` only of a useful judge."""
    return {
        metric: standing(certificate, metric, signature, run.data, flagged_share(run.summary.get(metric)))
        for metric, signature in (run.manifest.get("signatures") or {}).items()
    }


def standing(certificate: Certificate, metric: str, signature: str, data: str, flagged: float = 0.0) -> str:
    """The same of one metric.

    Args:
        data: the digest of all rows.
        flagged: the share of flagged rows.
    """
    part = certificate["metrics"].get(metric)
    if was_changed(certificate):
        return "the certificate does not apply: its file was changed after certify wrote it, which can write it again"
    if part is None:
        return "no labels"
    sides = [{"signatures": {metric: line}} for line in (part["signature"], signature)]
    differing = differing_conditions(sides[0], sides[1], [metric])
    if has_unnamed_model(sides[0], [metric]) or has_unnamed_model(sides[1], [metric]):
        return "the certificate does not apply: a judge without a name cannot be recognised"
    refused = [name for name in differing if name not in ("prompts", "versions")]
    if refused:
        return f"the certificate does not apply: it is of {_shown(differing, refused)}"
    if "prompts" in differing:
        return "the certificate does not apply: it is of other prompts"
    remarks = []
    if abs(flagged - part.get(FLAGGED, 0.0)) > MUCH:
        return f"the certificate does not apply: the judge's work is doubtful in {flagged:.0%} of the rows here"
    if certificate.get("data") != data:
        remarks.append("on other data")
    if "versions" in differing:
        remarks.append(f"with {_shown(differing, ['versions'])}")
    word = part["verdict"]["word"]
    reason = part["verdict"]["reason"]
    where = ", ".join(remarks) or "on these rows"
    beside = "".join(f"; {each.said}" for each in besides(metric, part))
    return f"{f'{CERTIFIED} {where}: {word},' if word == 'useful' else f'{word} {where}:'} {reason}{beside}"


def _shown(differing: Mapping[str, Mapping[str, tuple[str, str]]], names: Sequence[str]) -> str:
    parts = [f"{part} {was} instead of {now}" for name in names for part, (was, now) in differing[name].items()]
    return ", ".join(parts[:3])
