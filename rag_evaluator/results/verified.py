"""What a verifier said of sentences, as the details of a score hold it; and the threshold that labels gave it."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rag_evaluator.dataset.columns import as_key
from rag_evaluator.errors import ResultsError
from rag_evaluator.resources import command
from rag_evaluator.results.certificate import read_certificate
from rag_evaluator.results.judgement import VERIFIED
from rag_evaluator.results.manifest import UNNAMED, parts_of

Json = Mapping[str, Any]  # Any in this module: JSON
THRESHOLDS = "verifier"  # the part of a certificate that holds thresholds
SENTENCES = "sentences"  # what a threshold is of; earlier versions also had some of `rows`
PARTS = ("verifier", "kind", "base", "evidence", "judge", "prompts")
"""Parts of a signature on which a probability depends."""


def verified(judgements: Iterable[Json]) -> Json:
    """The `sentences` of a score, and the number of `pieces` of evidence; empty where no verifier made it."""
    said = (judgement["response"] for judgement in judgements if judgement.get("prompt") == VERIFIED)
    return next(said, None) or {}


def probabilities_of(record: Json) -> dict[str, float]:
    """Sentence -> the probability that the evidence supports it, of a record of the details; in order."""
    sentences = verified(record.get("judgements") or ()).get("sentences", ())
    known = {as_key(sentence["statement"]): float(sentence["probability"]) for sentence in sentences}
    return {text: probability for text, probability in known.items() if text is not None}


def parts_of_verifier(signature: str) -> dict[str, str]:
    """What the probabilities of a metric depend on, by name, from its signature; the judge's evidence is an option."""
    parts = parts_of(signature)
    options = json.loads(parts.get("options", "{}"))
    of_options = {name: str(value) for name, value in options.items() if name in PARTS}
    return {**of_options, **{name: value for name, value in parts.items() if name in PARTS}}


def certified_threshold(path: Path, metric: str) -> float:
    """The threshold of a metric's sentences that a certificate has. Raises `ResultsError` where it has none."""
    return float(_threshold(path, metric)["threshold"])


def check_verifier(path: Path, metric: str, signature: str) -> None:
    """Raises `ResultsError` if a certificate's threshold is of another verifier than a signature names."""
    theirs, ours = dict(_threshold(path, metric)["signature"]), parts_of_verifier(signature)
    for part in PARTS:
        was, now = theirs.get(part, "none"), ours.get(part, "none")
        if was != now:
            raise ResultsError(
                f"{path}: its threshold of {metric} is of another verifier: {part} {was} there, {now} here. Label "
                "sentences of a run with this verifier, or give verifier.threshold a number."
            )
        if UNNAMED in now:
            raise ResultsError(
                f"{path}: this verifier has no name, so that nobody knows whether its threshold of {metric} is of it. "
                "Give the object an attribute signature_parts, or give verifier.threshold a number."
            )


def _threshold(path: Path, metric: str) -> Json:
    found = (read_certificate(path).get(THRESHOLDS) or {}).get(metric)
    sheet = command("certify sheet", "RESULTS", "--sentences", "--out", "sentences.xlsx")
    if found is None or found["by"] != SENTENCES:
        raise ResultsError(
            f"{path}: it has no threshold of {metric}, because nobody has labelled its sentences, or too few. "
            f"'{sheet}' writes a sheet for that; or give verifier.threshold a number."
        )
    return dict(found)
