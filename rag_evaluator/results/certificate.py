"""`certificate.json`: what people's labels say of a judge, and for which runs that holds."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from rag_evaluator.errors import ResultsError
from rag_evaluator.files.digest import short_digest
from rag_evaluator.files.json_text import json_text
from rag_evaluator.program import command
from rag_evaluator.results.conditions import differing_conditions, has_unnamed_model
from rag_evaluator.results.manifest import read_manifest
from rag_evaluator.results.summary import read_summary

CERTIFICATE, FORMAT = "certificate.json", 2
MARK = b'{\n  "program": "rag_evaluator",\n  "certificate": '  # how the file begins
LABELS = "labels"  # of a metric in `summary.json`
HEAD = re.compile(rb'\{"row": (\d+), "sample": "(\w*)"')
Certificate = Mapping[str, Any]  # Any in this module: JSON


def read_certificate(path: Path) -> dict[str, Any]:
    """What a certificate says. Raises `ResultsError` if it cannot be read, or is none."""
    certify = command("certify", path.parent, "--labels", "FILE")
    try:
        certificate = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise ResultsError(f"{path}: cannot be read as a certificate: {error}. '{certify}' writes one.") from error
    if not isinstance(certificate, dict) or certificate.get("certificate") != FORMAT or not _is_whole(certificate):
        raise ResultsError(f"{path}: no certificate of this version. '{certify}' writes one.")
    return certificate


def _is_whole(certificate: Certificate) -> bool:
    """Whether it has a verdict and a signature for each metric."""
    metrics = certificate.get("metrics")
    return isinstance(metrics, dict) and all(
        isinstance(part, dict)
        and {"word", "reason"} <= set(part.get("verdict") or {})
        and isinstance(part.get("signature"), str | None)
        for part in metrics.values()
    )


def digests_in(folder: Path) -> list[str]:
    """The digest of each row that was judged, in order. Raises `ResultsError`."""
    path, digests = folder / "details.jsonl", dict[int, str]()
    try:
        with path.open("rb") as file:
            for line in file:
                if head := HEAD.match(line):
                    digests[int(head[1])] = head[2].decode()
    except OSError as error:
        raise ResultsError(
            f"{path}: cannot be read: {error}. '{command('merge', path.parent)}' writes it again."
        ) from error
    return [digests[row] for row in sorted(digests)]


def data_of(digests: Iterable[str]) -> str:
    """The digest of all rows of a run."""
    return short_digest(digest.encode() + b"\n" for digest in digests)


def label_figures(certificate: Certificate, signatures: Mapping[str, str], data: str) -> dict[str, Any]:
    """Metric -> its mean label, as `summary.json` says it; only where the scores are those that were compared."""
    if certificate.get("data") != data:
        return {}
    return {
        metric: part["label_mean"]
        for metric, part in certificate["metrics"].items()
        if part.get("label_mean") and part["signature"] == signatures.get(metric)
    }


def with_labels(summary: Mapping[str, Mapping[str, Any]], labels: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """A summary with the mean labels of some metrics, and without any others."""
    return {
        metric: {**{key: part for key, part in row.items() if key != LABELS}, **_if_there(labels.get(metric))}
        for metric, row in summary.items()
    }


def keep_labels(folder: Path, written: Path, signatures: Mapping[str, str], digests: Sequence[str]) -> None:
    """Add to a summary that was written anew what the certificate in a results folder says, if it is of these scores.

    Args:
        written: where the new `summary.json` is.
    """
    with suppress(ResultsError):  # there is none, or it is of another version
        labels = label_figures(read_certificate(folder / CERTIFICATE), signatures, data_of(digests))
        if labels:
            (written / "summary.json").write_text(
                json_text(with_labels(read_summary(written), labels)), encoding="utf-8"
            )


def _if_there(labels: Any) -> dict[str, Any]:
    return {} if labels is None else {LABELS: labels}


def standing_lines(path: Path, folder: Path) -> list[str]:
    """What a certificate says of the scores in a results folder, a line for each metric. Raises `ResultsError`."""
    certificate, signatures = read_certificate(path), read_manifest(folder).get("signatures", {})
    found = standing(certificate, signatures, data_of(digests_in(folder)))
    first = f"certificate {path} of {certificate.get('date')}:"
    return [first, *(f"  {metric}: {said}" for metric, said in found.items())]


def own_standing(folder: Path | None) -> dict[str, str]:
    """Metric -> what the certificate in a results folder says of its scores; none where nobody gave labels.

    Raises `ResultsError` if it cannot be read.
    """
    if folder is None or not (folder / CERTIFICATE).is_file():
        return {}
    certificate, signatures = read_certificate(folder / CERTIFICATE), read_manifest(folder).get("signatures", {})
    found = standing(certificate, signatures, data_of(digests_in(folder)))
    return {metric: words for metric, words in found.items() if metric in certificate["metrics"]}


def standing(certificate: Certificate, signatures: Mapping[str, str], data: str) -> dict[str, str]:
    """Metric of a run -> what a certificate says of its scores, in words: `certified` only of a useful judge."""
    return {metric: _standing(certificate, metric, signatures, data) for metric in signatures}


def _standing(certificate: Certificate, metric: str, signatures: Mapping[str, str], data: str) -> str:
    part = certificate["metrics"].get(metric)
    if part is None:
        return "no labels"
    sides = [{"signatures": {metric: line}} for line in (part["signature"], signatures[metric])]
    differing = differing_conditions(sides[0], sides[1], [metric])
    if has_unnamed_model(sides[0], [metric]) or has_unnamed_model(sides[1], [metric]):
        return "the certificate does not apply: a judge without a name cannot be recognised"
    others = [name for name in differing if name not in ("language", "prompts", "versions")]
    if others:
        return f"the certificate does not apply: it is of {_shown(differing, others)}"
    remarks = []
    if "language" in differing:
        remarks.append(f"in another language ({differing['language']['language'][0]})")
    elif "prompts" in differing:
        return "the certificate does not apply: it is of other prompts"
    if certificate.get("data") != data:
        remarks.append("on other data")
    if "versions" in differing:
        remarks.append(f"with {_shown(differing, ['versions'])}")
    return _said(part["verdict"], ", ".join(remarks) or "on these rows")


def _said(verdict: Mapping[str, str], where: str) -> str:
    """A verdict with the rows that it is of."""
    word, reason = verdict["word"], verdict["reason"]
    return f"certified {where}: {word}, {reason}" if word == "useful" else f"{word} {where}: {reason}"


def _shown(differing: Mapping[str, Mapping[str, tuple[str, str]]], names: Sequence[str]) -> str:
    parts = [f"{part} {was} instead of {now}" for name in names for part, (was, now) in differing[name].items()]
    return ", ".join(parts[:3])
