"""What a verifier said of sentences, as the details of a score hold it; and the threshold that labels gave it."""

import json
from collections.abc import Iterable

from rag_evaluator.dataset import as_key
from rag_evaluator.files import Json

from .judgement import VERIFIED
from .manifest import parts_of

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
