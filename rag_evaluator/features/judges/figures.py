"""What finished runs and labels say of judges: the figures of each metric, as `judges.json` has them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import chain, combinations, permutations
from typing import NamedTuple

import numpy as np

from rag_evaluator.config import Config, find_language
from rag_evaluator.dataset import as_key
from rag_evaluator.files import Json, JsonDict
from rag_evaluator.metrics import NOTHING, SUPPORT, Metric, counter_of
from rag_evaluator.results import (
    Details,
    Run,
    flagged_share,
    mean_probabilities,
    probabilities_of,
    reporting_of,
    units_of,
)
from rag_evaluator.statistics import Array, binary_agreement, pairs_of, rank_areas
from rag_evaluator.verifiers import sentences_of

from .labels import ColumnLabels, rarer

WORDS = "counting words"
LENGTH = "length"
BASELINES = {"words": WORDS, "sentences": LENGTH}  # of `RowCounter`; of length fewer sentences are better
LEAST_COVERAGE = 0.8
LEAST_RARER = 10  # labels of the rarer kind; with fewer judges are not ranked
LEAST_AGREEMENT = 5  # of the rarer kind with a score, for balanced accuracy and kappa


class Scored(NamedTuple):
    """Rows, or sentences, with labels.

    Attributes:
        labels: 1, 0 or NaN.
        units: of each, the key of what it depends on.
        counted: name of a baseline -> its values.
        scores: judge -> its scores, higher for what people accept; NaN: none.
        threshold: from which on a score accepts, fixed before; None: chosen by cross-validation.
    """

    labels: Array
    units: Sequence[str]
    counted: Mapping[str, Array]
    scores: Mapping[str, Array]
    threshold: float | None = None


def figures_of(scored: Scored, margin: float) -> JsonDict:
    """What is known of all judges of a metric.

    Args:
        margin: a difference that does not matter.

    Returns:
        `labels`, `rarer`: labels, and those of the rarer kind.
        `not_ranked`: why nobody is ranked; None: they are.
        `rows`: by name, the highest AUC first: `auc` on all labels, `scored` of them, `ranked`, `is_judge`,
            `balanced_accuracy` and `kappa` (None: too few labels with a score).
        `differences`: first -> second -> `value`, `ci_low` and `ci_high`, which hold together; `same`: all scores are
            equal; `more_labels` to show that the first is above the second, or (`more_within`) not lower by `margin`;
            `both`: the same difference on rows that both scored, by itself.
    """
    known = ~np.isnan(scored.labels)
    counted = {BASELINES[name]: values for name, values in scored.counted.items()}
    sides = {**scored.scores, **{name: row for name, row in counted.items() if not np.isnan(row[known]).all()}}
    areas = rank_areas(sides, scored.labels, scored.units, draws=1).areas
    coverage = {name: float(np.mean(~np.isnan(row[known]))) for name, row in sides.items()}
    few = rarer(scored.labels)
    names = [name for name in sides if coverage[name] >= LEAST_COVERAGE]
    ranking = rank_areas({name: sides[name] for name in names}, scored.labels, scored.units) if names else None
    reason = f"{few} labels of the rarer kind, {LEAST_RARER} are needed" if few < LEAST_RARER else None
    if reason is None and (ranking is None or ranking.quantile is None):
        reason = "no judge has enough scores" if ranking is None else "its rarer kind is in fewer than 5 clusters"
    rows = {
        name: {
            "auc": asdict(areas[name]),
            "scored": int(np.sum(~np.isnan(sides[name][known]))),
            "ranked": reason is None and name in names,
            "is_judge": name in scored.scores,
            **_verdicts(sides[name], scored, scored.threshold if name in scored.scores else None),
        }
        for name in sorted(sides, key=lambda name: -areas[name].value)
    }
    differences: dict[str, JsonDict] = {name: {} for name in names if reason is None}
    both = dict(chain.from_iterable(_on_both(pair, sides, scored) for pair in combinations(differences, 2)))
    for first, second in permutations(differences, 2):
        assert ranking is not None
        differences[first][second] = {
            **asdict(ranking.differences[first, second]),
            "same": (first, second) in ranking.same,
            "more_labels": ranking.more_labels(first, second),
            "more_within": ranking.more_labels(first, second, -margin),
            "both": both[first, second],
        }
    labels = {"labels": int(known.sum()), "rarer": few, "not_ranked": reason}
    return {**labels, "rows": rows, "differences": differences}


def _verdicts(values: Array, scored: Scored, threshold: float | None) -> JsonDict:
    pairs = pairs_of(values, scored.labels, scored.units)
    if rarer(pairs.labels) < LEAST_AGREEMENT:
        return {"balanced_accuracy": None, "kappa": None, "threshold": threshold}
    agreement = binary_agreement(pairs, threshold)
    coefficients = {name: asdict(agreement[name]) for name in ("balanced_accuracy", "kappa")}
    return {**coefficients, "threshold": agreement["threshold"]}


def _on_both(
    pair: tuple[str, str], sides: Mapping[str, Array], scored: Scored
) -> Iterator[tuple[tuple[str, str], JsonDict | None]]:
    """Yield both orders of a pair with the difference on the rows that both scored; None where these have labels of one
    kind only.
    """
    first, second = pair
    own = {name: sides[name] for name in pair}
    labels = np.where(np.isnan(sum(own.values())), np.nan, scored.labels)
    ranking = rank_areas(own, labels, scored.units, draws=2000) if rarer(labels) else None
    for order in (pair, (second, first)):
        yield order, None if ranking is None else {"rows": ranking.labels, **asdict(ranking.differences[order])}


class Judged(NamedTuple):
    """The finished run of a judge, with what its details say of one metric."""

    run: Run
    details: Details


def judged(run: Run, metric: str) -> Judged:
    """Return the run with the details of a metric."""
    return Judged(run, run.records({(row, metric) for row in range(len(run.samples))}))


def of_rows(runs: Mapping[str, Judged], metric: str, labels: ColumnLabels, config: Config) -> Scored:
    """Return the rows with labels and scores, or with what ranks them, see `mean_probabilities`.

    The runs have the same rows.
    """
    first = next(iter(runs.values())).run
    reporting = reporting_of(first.manifest)
    counter = counter_of(metric, reporting.stages.get(metric, "generation"), config.language)
    known = ~np.isnan(labels.rows)
    counts = [counter.count(row) if known[place] else NOTHING for place, row in enumerate(first.samples)]
    scale = reporting.scales[metric]
    means = {name: mean_probabilities(each.run, metric) for name, each in runs.items()}
    scores = {
        name: scale.upright(np.array(each.run.scores[metric]) if (mean := means[name]) is None else mean)
        for name, each in runs.items()
    }
    counted = {name: np.array([row[name] for row in counts]) for name in NOTHING}
    is_ranked = any(mean is not None for mean in means.values())  # a threshold is of scores, not of what ranks them
    limit = None if is_ranked else reporting.thresholds.get(metric)
    return Scored(labels.rows, units_of(first), counted, scores, None if limit is None else scale.upright(limit))


def of_sentences(
    runs: Mapping[str, Judged], metric: Metric, name: str, labels: ColumnLabels, config: Config
) -> Scored | None:
    """Return the sentences of responses in which people marked spans, with the verifier's probabilities.

    None where labels are no spans, or no judge looks at the sentences of the response.
    """
    if labels.sentences is None or name not in SUPPORT or metric.columns[1] != "response":
        return None
    first = next(iter(runs.values())).run
    units = units_of(first)
    counter = counter_of(name, metric.component, config.language)
    language = find_language(config.language)
    rows: list[tuple[float, str, Mapping[str, float]]] = []
    scores: dict[str, list[float]] = {judge: [] for judge in runs}
    for place, (sample, known) in enumerate(zip(first.samples, labels.sentences, strict=True)):
        if known is None or not sample.has("response"):
            continue
        claims = [part for part in sentences_of(sample.columns["response"], language) if part.counts]
        for part in claims:
            label = known.get(as_key(part.text))
            rows.append((np.nan if label is None else float(label), units[place], counter.count(sample, part.text)))
        for judge, each in runs.items():
            [record] = each.details.get((place, name), ({},))[:1]
            said = probabilities_of(record)
            scores[judge] += [said.get(as_key(part.text) or "", np.nan) for part in claims]
    if not rows:
        return None
    counted = {key: np.array([counts[key] for _, _, counts in rows]) for key in NOTHING}
    marks = np.array([label for label, _, _ in rows])
    return Scored(marks, [unit for _, unit, _ in rows], counted, {key: np.array(row) for key, row in scores.items()})


def work_of(each: Judged, metric: str) -> JsonDict:
    """How many rows have a score, which share is flagged, and how many tokens a row took."""
    row: Json = each.run.summary[metric]
    tokens = sum(
        judgement.get("prompt_tokens", 0) + judgement.get("generated_tokens", 0)
        for lines in each.details.values()
        for line in lines
        for judgement in line.get("judgements") or ()
    )
    return {"count": row["count"], "flagged": flagged_share(row), "tokens": tokens / max(row["count"], 1)}
