"""Runs brought to the same keys, and what must be known before they are compared: `caveats`.

All rows of a key count. Its group is that of the baseline, whatever the other run says of it; its cluster is that of
the first run that has one. It counts as often as the baseline has rows of it; its score is the mean of the rows that
have one. No figure depends on the order of rows.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rag_evaluator.dataset import APPEND, ID, REWRITTEN, Sample, as_key, column_names, value_of
from rag_evaluator.errors import ResultsError, did_you_mean
from rag_evaluator.files import Json
from rag_evaluator.statistics import Floats, Paired, Scale

from .comparison import RowMatch
from .flags import differing
from .manifest import UNNAMED, partial_rows, parts_of
from .overview import counted, shortened
from .run import ScoredRows
from .summary import NO_VALUE, in_order

QUESTION = "user_input"


Places = Mapping[str, list[int]]  # key -> the rows that have it, in order: answers to one question share theirs
CONDITIONS = {  # part of a signature -> what it is called
    "language": "language",
    "prompts": "prompts",
    "rag-evaluator": "versions",
    "ragas": "versions",
    **dict.fromkeys(("embeddings", "embed", "encode"), "embeddings"),
    **dict.fromkeys(("verifier", "kind", "base", "evidence"), "verifier"),
    **dict.fromkeys(("reranker", "reranks"), "reranker"),
}
OWN = {"options": "options", "source": "functions", "responses": "responses", "refusals": "refusals"}
"""Parts that each metric has of its own -> what they are called."""
JUDGE = "judge"  # what every other part of a signature belongs to
HARMLESS = {"python", "rag-evaluator", "ragas"}  # versions that change no number, or that signatures name
REWRITES = "rewrites"  # the prompt of questions, which are compared themselves
NOISE = "repeats"  # how often, by the same judge: the mean of more scores is the same but for its noise
DEFAULTS = {"reasons": "full", "examples": "all", "responses": "said", "history": APPEND}
"""Parts that are written only where they differ from this."""
ABSENT = "absent"  # any other part that a signature lacks: equal to no value
Values = Json
EXPECTED = ("reference", "reference_contexts")
# of a value, and parts of a condition, shown at most
LETTERS = 60
PARTS = 3
PIECES = re.compile(r"(\d+) pieces? of evidence")  # an outcome, see `rag_evaluator.metrics.own.grounded`
MORE = 0.1  # so many more pieces, as a share of the lower mean, are said


def match(runs: Sequence[ScoredRows], on: str | None = None) -> tuple[str, list[Places]]:
    """The column that rows are matched on, and the rows of each run by it; those without a key are left out.

    Args:
        on: a column; None takes `id` if each row of every run has its own, else the question.

    Raises `ResultsError` for a column that a run does not have.
    """
    if on is None:
        ids = [keys_of(run.samples, ID) for run in runs]
        on = ID if all(None not in keys and len(set(keys)) == len(keys) for keys in ids) else QUESTION
    return on, [_by_key(run, on) for run in runs]


def nothing_in_common(a: ScoredRows, b: ScoredRows, on: str) -> ResultsError:
    """The error where no row of one run belongs to a row of the other."""
    return ResultsError(
        f"{a.name} and {b.name} have no row in common: no '{on}' of one is in the other. Choose the column "
        "that tells which rows belong together with --on (on= in Python)."
    )


def keys_of(samples: Iterable[Sample], column: str) -> list[str | None]:
    return [as_key(value_of(sample, column)) for sample in samples]


def require_column(run: ScoredRows, column: str, use: str) -> None:
    """Raises `ResultsError` if no row of a run has something in a column; `use` is what the column was given for."""
    if all(key is None for key in keys_of(run.samples, column)):
        names = column_names(sample.row for sample in run.samples)
        raise ResultsError(f"{run.name}: no row has something in '{column}', {use}.{did_you_mean(column, names)}")


def _by_key(run: ScoredRows, on: str) -> Places:
    require_column(run, on, "by which rows are matched (--on, on=)")
    places: dict[str, list[int]] = {}
    for place, key in enumerate(keys_of(run.samples, on)):
        if key is not None:
            places.setdefault(key, []).append(place)
    return places


@dataclass(frozen=True)
class Aligned:
    """One run by the keys that all are compared on.

    Attributes:
        keys: of the baseline, in order; those that no other run has only where these were asked for.
        scores: metric -> the mean score of each key's rows, NaN where none was scored or no row has the key.
        has_rows: which keys the run has.
    """

    run: ScoredRows
    places: Places
    keys: Sequence[str]
    scores: Mapping[str, Floats]
    has_rows: NDArray[np.bool_]

    def rows(self, place: int) -> list[int]:
        """The rows of the run that have a key."""
        return self.places.get(self.keys[place], [])


def _mean(values: Sequence[float]) -> float:
    """The mean of what was scored, NaN if nothing was."""
    scored = [value for value in values if value == value]
    return math.fsum(scored) / len(scored) if scored else np.nan


def paired(a: Aligned, b: Aligned, metric: str, scale: Scale) -> Paired:
    """The scores of both sides, in the metric's range.

    A row of the baseline that the other side does not have is no missing score.
    """
    first, second = (np.clip(side.scores[metric], scale.low, scale.high) for side in (a, b))
    return Paired(metric, np.where(b.has_rows, first, np.nan), second, scale)


def row_match(a: Aligned, b: Aligned) -> RowMatch:
    """How many rows of both have a partner."""
    common = a.places.keys() & b.places.keys()
    unmatched_a, unmatched_b = (len(side.run.samples) - sum(len(side.places[key]) for key in common) for side in (a, b))
    repeated = sum(len(a.places[key]) > 1 or len(b.places[key]) > 1 for key in common)
    return RowMatch(b.run.name, len(common), unmatched_a, unmatched_b, repeated)


def column_of(side: Aligned, column: str) -> list[str | None]:
    """What a run has in a column, by key; None for a key that it does not have.

    Raises `ResultsError` if it has nothing there, or if the rows of a key differ.
    """
    require_column(side.run, column, "by which rows are put together")
    values = keys_of(side.run.samples, column)
    by_key = [{values[row] for row in side.rows(place)} for place in range(len(side.keys))]
    for key, several in zip(side.keys, by_key, strict=True):
        if len(several) > 1:
            listed = ", ".join(sorted("nothing" if value is None else f"'{value:.30}'" for value in several)[:3])
            raise ResultsError(
                f"{side.run.name}: the rows of '{key:.60}' differ in '{column}' ({listed}), so that nobody knows to "
                "which of these they belong. Match rows by a column in which they differ, with --on (on= in Python)."
            )
    return [next(iter(one), None) for one in by_key]


class Alignment(NamedTuple):
    """Runs by the same keys.

    Attributes:
        on: the column that rows are matched on.
        sides: the runs, the baseline first.
        cluster: the column by which rows are put together, None: by none; `clusters`: of each key, as the first run
            says it that has this column.
        weights: how much each key counts: as much as its rows in the baseline; None if all count the same.
        remarks: a sentence if the baseline does not name the column of clusters.
    """

    on: str
    sides: Sequence[Aligned]
    cluster: str | None
    clusters: Sequence[str | None] | None
    weights: Floats | None
    remarks: Sequence[str]


def align(runs: Sequence[ScoredRows], on: str | None, cluster: str | None, whole: bool = False) -> Alignment:
    """The runs, the baseline first, by the keys of the baseline.

    Args:
        on: see `match`.
        cluster: a column; None takes that of the runs' configurations.
        whole: also by keys that no other run has.

    Raises `ResultsError` for a column that a run does not have, and if two runs name different clusters.
    """
    on, matched = match(runs, on)
    keys = set(matched[0])
    if not whole:
        keys &= set().union(*matched[1:])
    sides = [_aligned(run, own, sorted(keys)) for run, own in zip(runs, matched, strict=True)]
    named = {run.config["cluster"]: run for run in reversed(runs) if run.config.get("cluster")}
    remarks = []
    if cluster is None and len(named) > 1:
        listed = ", ".join(f"'{column}' in {run.name}" for column, run in reversed(named.items()))
        raise ResultsError(
            f"The runs name different clusters: {listed}. Choose one with --cluster (cluster= in Python)."
        )
    if cluster is None and named:
        [(cluster, run)] = named.items()
        if run is not runs[0]:
            remarks.append(
                f"{run.name} puts rows together by '{cluster}', {runs[0].name} does not: here they are put together."
            )
    clusters = None
    if cluster:
        having = (side for side in sides if any(key is not None for key in keys_of(side.run.samples, cluster)))
        clusters = column_of(next(having, sides[0]), cluster)
    weights = np.array([len(sides[0].rows(place)) for place in range(len(keys))], np.float64)
    is_weighted = len(keys) > 0 and np.ptp(weights) > 0
    return Alignment(on, sides, cluster, clusters, weights if is_weighted else None, remarks)


def _aligned(run: ScoredRows, places: Places, keys: Sequence[str]) -> Aligned:
    by_key = [places.get(key, []) for key in keys]
    scores = {
        metric: np.array([_mean([values[place] for place in rows]) for rows in by_key], np.float64)
        for metric, values in run.scores.items()
    }
    return Aligned(run, places, keys, scores, np.array([bool(rows) for rows in by_key], dtype=np.bool_))


def groups_of(side: Aligned, column: str) -> dict[str, list[int]]:
    """The places of the keys that share a value of a column, values in order."""
    groups: dict[str, list[int]] = {}
    for place, value in enumerate(column_of(side, column)):
        groups.setdefault(NO_VALUE if value is None else value, []).append(place)
    return in_order(column, groups)


def common_metrics(a: Aligned, b: Aligned, on: str) -> list[str]:
    """The metrics that both sides have. Raises `ResultsError` where there is nothing to compare, or not the same."""
    if not b.has_rows.any():
        raise nothing_in_common(a.run, b.run, on)
    other, known = _other_texts(a, b, REWRITTEN)
    if other:
        raise ResultsError(
            f"{other:,} of {counted(known, 'rewritten question')} differ between {a.run.name} and {b.run.name}: answers"
            " to other questions cannot be compared. Score one run again with --questions-from and the other's folder."
        )
    metrics = [metric for metric in a.scores if metric in b.scores]
    if not metrics:
        raise ResultsError(
            f"{a.run.name} and {b.run.name} have no metric in common: {', '.join(a.scores)} against "
            f"{', '.join(b.scores)}. Score both with one metric at least."
        )
    return metrics


def differing_conditions(a: Values, b: Values, metrics: list[str]) -> dict[str, dict[str, tuple[str, str]]]:
    """What differs between two manifests: judge, embeddings, verifier, reranker, prompts, language, versions.

    Part -> both values.

    Of options and functions the parts are the metrics that have them.
    """
    differing: dict[str, dict[str, tuple[str, str]]] = {}
    for metric in metrics:
        signatures = (manifest.get("signatures", {}).get(metric, "") for manifest in (a, b))
        for part, values in _differing(*map(parts_of, signatures)):
            if part in (NOISE, REWRITES):
                continue
            condition = OWN.get(part) or CONDITIONS.get(part, JUDGE)
            differing.setdefault(condition, {})[metric if part in OWN else part] = values
    packages = ({**manifest.get("versions", {})} for manifest in (a, b))
    for package, values in _differing(*packages):
        if package not in HARMLESS:
            differing.setdefault("versions", {})[package] = values
    return differing


def has_unnamed_model(manifest: Values, metrics: list[str]) -> bool:
    """Whether a model behind these metrics has no name, so that nobody can say whether two are the same."""
    return any(f":{UNNAMED}" in manifest.get("signatures", {}).get(metric, "") for metric in metrics)


def _differing(a: Mapping[str, str], b: Mapping[str, str]) -> Iterator[tuple[str, tuple[str, str]]]:
    for part in dict.fromkeys((*a, *b)):
        default = DEFAULTS.get(part, ABSENT)
        values = a.get(part, default), b.get(part, default)
        if values[0] != values[1]:
            yield part, values


def caveats(first: Aligned, second: Aligned, on: str, metrics: Sequence[str]) -> list[str]:
    """What makes scores of the two runs differ beside the systems."""
    a = first.run
    b = second.run
    partial = [sentence for run in (a, b) if (sentence := partial_run(run)) is not None]
    before, after = ({name: run.summary[name] for name in metrics if name in run.summary} for run in (a, b))
    work = [*_of_pieces(a, b, metrics), *differing((a.name, b.name), before, after)]
    unlike = [sentence for _, sentence in unlike_rows(first, second, on)]
    return [*partial, *_of_judging(a, b, list(metrics)), *work, *unlike]


def partial_run(run: ScoredRows) -> str | None:
    """That a run did not take all rows of its dataset; None: it did."""
    rows = partial_rows(run.manifest)
    return None if rows is None else f"{run.name} is partial: {rows}."


def _of_judging(a: ScoredRows, b: ScoredRows, metrics: list[str]) -> list[str]:
    if silent := [run.name for run in (a, b) if not run.manifest.get("signatures")]:
        verb, was = ("does", "it was") if len(silent) == 1 else ("do", "they were")
        return [
            f"{' and '.join(silent)} {verb} not say how {was} judged: if judge, prompts, language or versions differ, "
            "judges are compared, not systems."
        ]
    differing = differing_conditions(a.manifest, b.manifest, metrics)
    if differing:
        listed = "; ".join(f"{condition}: {_shown(parts)}" for condition, parts in differing.items())
        return [
            f"{a.name} and {b.name} were judged differently ({listed}), so judges are compared, not systems. To "
            "compare systems, score both with one configuration: --set dataset=FILE --set name=NAME."
        ]
    if has_unnamed_model(a.manifest, metrics):
        return [f"The models that judged {a.name} and {b.name} have no names: that they are the same is not known."]
    return []


def _of_pieces(a: ScoredRows, b: ScoredRows, metrics: Sequence[str]) -> Iterator[str]:
    """Metrics whose verifier looked at more pieces of evidence a row in one run: the best piece counts."""
    for metric in metrics:
        first, second = (_mean_pieces(run.summary.get(metric, {}).get("outcomes", {})) for run in (a, b))
        if first and second and max(first, second) >= (1 + MORE) * min(first, second):
            yield (
                f"{metric}: the verifier looked at {first:.1f} pieces of evidence a row in {a.name}, at {second:.1f} "
                f"in {b.name}. The best piece counts, so more pieces support more by chance: compare runs with as many "
                "contexts."
            )


def _mean_pieces(outcomes: Mapping[str, int]) -> float | None:
    counts = [(int(match[1]), rows) for outcome, rows in outcomes.items() if (match := PIECES.fullmatch(outcome))]
    rows = sum(rows for _, rows in counts)
    return sum(pieces * rows for pieces, rows in counts) / rows if rows else None


def other_questions(a: Aligned, b: Aligned, on: str) -> tuple[int, int]:
    """How many keys have other questions in the two runs, of how many that have one in both."""
    return (0, 0) if on == QUESTION else _other_texts(a, b, QUESTION)


def _other_texts(a: Aligned, b: Aligned, column: str) -> tuple[int, int]:
    """The same of the texts in a column."""
    texts = [
        {key: {questions[place] for place in rows} - {None} for key, rows in side.places.items()}
        for side, questions in ((side, keys_of(side.run.samples, column)) for side in (a, b))
    ]
    known = [key for key, text in texts[0].items() if text and texts[1].get(key)]
    return sum(texts[0][key] != texts[1][key] for key in known), len(known)


def _shown(parts: Mapping[str, tuple[str, str]]) -> str:
    shown = [
        f"{part} {' / '.join(shortened(value, LETTERS) for value in values)}"
        for part, values in list(parts.items())[:PARTS]
    ]
    return ", ".join(shown) + (" and more" if len(parts) > PARTS else "")


def unlike_rows(a: Aligned, b: Aligned, on: str) -> Iterator[tuple[int, str]]:
    """Yield how many rows have other questions, and how many other references, each with its sentence; none of 0."""
    keys = a.places.keys() & b.places.keys()
    if count := other_questions(a, b, on)[0]:
        yield count, f"{count} of {len(keys)} rows that were matched by '{on}' have other questions in {b.run.name}."

    def expected(side: Aligned, key: str) -> set[str | None]:
        samples = [side.run.samples[row] for row in side.places[key]]
        return {as_key([value_of(sample, column) for column in EXPECTED]) for sample in samples}

    if count := sum(expected(a, key) != expected(b, key) for key in keys):
        yield (
            count,
            (
                f"{count} of {len(keys)} questions have another reference or other expected contexts in {b.run.name} "
                f"than in {a.run.name}, so these scores do not measure the same."
            ),
        )
