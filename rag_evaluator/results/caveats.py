"""What must be known before two runs are compared: in what they were judged differently, and of which rows."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

from rag_evaluator.dataset.columns import as_key, value_of
from rag_evaluator.results.aligned import QUESTION, Matched, keys_of
from rag_evaluator.results.manifest import partial_rows
from rag_evaluator.results.run import ScoredRows

UNNAMED = ":(unnamed)"  # in the signature of a score whose model has no name
CONDITIONS = {  # part of a signature -> what it is called
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
            condition = OWN.get(part) or CONDITIONS.get(part, JUDGE)
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


EXPECTED = ("reference", "reference_contexts")
EQUAL = 0.01  # share of rows that may be equal to another before it is said
LETTERS, PARTS = 60, 3  # of a value, and parts of a condition, shown at most


def caveats(
    a: ScoredRows, b: ScoredRows, matched: tuple[Matched, Matched], on: str, metrics: Sequence[str]
) -> list[str]:
    """What makes scores of the two runs differ beside the systems."""
    partial = [sentence for run in (a, b) if (sentence := partial_run(run)) is not None]
    return [*partial, *_of_judging(a, b, list(metrics)), *_of_weights(a, b), *_of_rows(a, b, matched, on)]


def partial_run(run: ScoredRows) -> str | None:
    """That a run did not take all rows of its dataset; None: it did."""
    rows = partial_rows(run.manifest)
    return None if rows is None else f"{run.name} is partial: {rows}."


def _of_judging(a: ScoredRows, b: ScoredRows, metrics: list[str]) -> list[str]:
    silent = [run.name for run in (a, b) if not run.manifest.get("signatures")]
    if silent:
        verb, was = ("does", "it was") if len(silent) == 1 else ("do", "they were")
        return [
            f"{' and '.join(silent)} {verb} not say how {was} judged: if judge, prompts, language or versions differ, "
            "judges are compared, not systems."
        ]
    differing = differing_conditions(a.manifest, b.manifest, metrics)
    if differing:
        listed = "; ".join(f"{condition}: {_shown(parts)}" for condition, parts in differing.items())
        return [f"{a.name} and {b.name} were judged differently ({listed}), so judges are compared, not systems."]
    if has_unnamed_model(a.manifest, metrics):
        return [f"The models that judged {a.name} and {b.name} have no names: that they are the same is not known."]
    return []


def _of_weights(a: ScoredRows, b: ScoredRows) -> list[str]:
    weights = [run.config.get("weight") for run in (a, b)]
    if weights[0] == weights[1] or not b.config:
        return []
    columns = ["all the same" if column is None else f"by '{column}'" for column in weights]
    return [f"{a.name} counts its rows {columns[0]}, {b.name} {columns[1]}: here they count as in {a.name}."]


def equal_rows(run: ScoredRows, labels: Sequence[str | None] | None) -> str | None:
    """That rows are equal in all that a metric reads, and yet count as independent; None: not so, or hardly any.

    Args:
        labels: of the clusters in which rows are; None: each row is one of its own.
    """
    clusters: dict[str, set[Hashable]] = {}
    for place, sample in enumerate(run.samples):
        if sample.has(QUESTION):
            label = None if labels is None else labels[place]
            clusters.setdefault(sample.digest, set()).add(("row", place) if label is None else label)
    copies = sum(len(apart) - 1 for apart in clusters.values())
    if copies == 0 or copies < EQUAL * len(run.samples):
        return None
    return (
        f"{copies} of {len(run.samples)} rows of {run.name} are equal to another row and count as independent of it: "
        "put equal rows together with a cluster, such as --cluster question"
    )


def other_questions(a: ScoredRows, b: ScoredRows, matched: tuple[Matched, Matched], on: str) -> tuple[int, int]:
    """How many keys have other questions in the two runs, of how many that have one in both."""
    if on == QUESTION:
        return 0, 0
    texts = [
        {key: {questions[place] for place in rows} - {None} for key, rows in side.places.items()}
        for side, questions in zip(matched, (keys_of(run.samples, QUESTION) for run in (a, b)), strict=True)
    ]
    known = [key for key, text in texts[0].items() if text and texts[1].get(key)]
    return sum(texts[0][key] != texts[1][key] for key in known), len(known)


def _shown(parts: Mapping[str, tuple[str, str]]) -> str:
    shown = [f"{part} {_cut(values[0])} / {_cut(values[1])}" for part, values in list(parts.items())[:PARTS]]
    return ", ".join(shown) + (" and more" if len(parts) > PARTS else "")


def _cut(text: str) -> str:
    return text if len(text) <= LETTERS else text[: LETTERS - 1] + "…"


def _of_rows(a: ScoredRows, b: ScoredRows, matched: tuple[Matched, Matched], on: str) -> list[str]:
    keys = sorted(matched[0].places.keys() & matched[1].places.keys())

    def expected(key: str) -> list[set[str | None]]:
        """What each side expects in the rows of a key."""
        return [
            {as_key([value_of(run.samples[place], column) for column in EXPECTED]) for place in side.places[key]}
            for run, side in zip((a, b), matched, strict=True)
        ]

    lines = []
    if count := other_questions(a, b, matched, on)[0]:
        lines.append(f"{count} of {len(keys)} rows that were matched by '{on}' have other questions in {b.name}.")
    if count := sum(pair[0] != pair[1] for pair in map(expected, keys)):
        lines.append(
            f"{count} of {len(keys)} questions have another reference or other expected contexts in {b.name} than in "
            f"{a.name}, so these scores do not measure the same."
        )
    return lines
