"""In what two runs were judged differently: then their scores tell of judges, not of systems."""

from collections.abc import Iterator, Mapping
from typing import Any

UNNAMED = ":(unnamed)"  # in the signature of a score whose model has no name
PARTS = {  # part of a signature -> what it is called
    "language": "language",
    "prompts": "prompts",
    "rag-evaluator": "versions",
    "ragas": "versions",
    **dict.fromkeys(("embeddings", "embed", "encode"), "embeddings"),
}
OWN = {"options": "options", "source": "functions"}
"""Parts that each metric has of its own -> what they are called."""
JUDGE = "judge"  # what every other part of a signature belongs to
HARMLESS = {"python", "rag-evaluator", "ragas"}  # versions that change no number, or that signatures name
NOISE = "repeats"  # how often, by the same judge: the mean of more scores is the same but for its noise
Values = Mapping[str, Any]  # Any: JSON


def differing_conditions(a: Values, b: Values, metrics: list[str]) -> dict[str, dict[str, tuple[str, str]]]:
    """What differs between two manifests: judge, embeddings, prompts, language, versions -> part -> both values.

    Of options and functions the parts are the metrics that have them.
    """
    differing: dict[str, dict[str, tuple[str, str]]] = {}
    for metric in metrics:
        for part, values in _differing(*(_parts(manifest, metric) for manifest in (a, b))):
            condition = OWN.get(part) or PARTS.get(part, JUDGE)
            differing.setdefault(condition, {})[metric if part in OWN else part] = values
    packages = ({**manifest.get("versions", {})} for manifest in (a, b))
    for package, values in _differing(*packages):
        if package not in HARMLESS:
            differing.setdefault("versions", {})[package] = values
    return differing


def has_unnamed_model(manifest: Values, metrics: list[str]) -> bool:
    """Whether a model behind these metrics has no name, so that nobody can say whether two are the same."""
    return any(UNNAMED in manifest.get("signatures", {}).get(metric, "") for metric in metrics)


def _parts(manifest: Values, metric: str) -> dict[str, str]:
    """A signature, `metric:faithfulness|ragas:0.4.3|...`, by its parts."""
    line = manifest.get("signatures", {}).get(metric, "")
    parts = dict(part.split(":", 1) for part in line.split("|") if ":" in part)
    return {name: value for name, value in parts.items() if name != NOISE}


def _differing(a: Mapping[str, str], b: Mapping[str, str]) -> Iterator[tuple[str, tuple[str, str]]]:
    for part in dict.fromkeys((*a, *b)):
        values = a.get(part, "none"), b.get(part, "none")
        if values[0] != values[1]:
            yield part, values
