"""The rows to look at first: a combined rank over metrics, and what the judge says of the worst rows."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rag_evaluator.statistics import TIE, Scale

from .conclusion import is_judged
from .judgement import explained
from .meanings import Tone, is_marked, tone_of
from .rows import Record, row_name
from .run import Run
from .summary import WORST_QUARTER
from .tally import Floats, Tally

RANK_RULE = (
    "Worst rows: each metric that asks a model ranks the rows; where no metric asks one, all metrics do. The rank of a "
    "row is the share of the other rows that have a better score; a row with the same score counts half. A share of "
    "sentences is ranked by the mean of their probabilities, where these are known. The combined rank is the mean of "
    "the row's ranks. Of equal ranks the lower mean score comes first, then the earlier row. A row is "
    "called by its id, else by its line in scores.jsonl. Rows whose scores of these metrics are all in the best third "
    "of their range are not listed. Main reason: of the scores in the worst third, else of those in the middle, the "
    "first with a bad verdict, by the rank in its metric."
)
MOST = 10
Texts = tuple[str, Mapping[str, object], Sequence[Record]]  # name of a row, its columns, its details
GOOD = 2 / 3  # of a range: the best third begins there, as in `tone_of`


@dataclass(frozen=True)
class RowScore:
    """A score of a row, as it is shown.

    Attributes:
        value: None where it is missing.
        tone: `bad`, `middle` or `good`: where it is on the metric's range, by thirds.
        marked: see `is_marked`.
    """

    metric: str
    value: float | None
    better: str
    tone: Tone
    marked: bool = False


@dataclass(frozen=True)
class WorstRow:
    """A row to look at.

    Attributes:
        number: of the row, from 0.
        name: see `row_name`.
        rank: the combined rank, from 0 (best) to 1 (worst).
        scores: of all metrics; the one that the row is worst in comes first.
        reason: what the judge says against the row, in a sentence; empty where it gave no reason.
        metric: that the reason is about; empty without one.
    """

    number: int
    name: str
    rank: float
    question: str
    response: str
    reference: str
    scores: Sequence[RowScore]
    metric: str
    reason: str


def _mean(columns: Sequence[Floats]) -> Floats:
    """By row the mean of what is there; NaN where nothing is."""
    return np.asarray(np.ma.masked_invalid(np.array(columns)).mean(axis=0).filled(np.nan))


def _ranks(values: Floats, scale: Scale) -> Floats:
    """Of each row the share of the other rows that score better, those with the same score counted half."""
    goodness = values if scale.better == "higher" else -values
    known = np.sort(goodness[~np.isnan(goodness)])
    others = max(len(known) - 1, 1)
    below = np.searchsorted(known, goodness - TIE, side="left")
    until = np.searchsorted(known, goodness + TIE, side="right")
    better = len(known) - until
    same = until - below - 1
    return np.where(np.isnan(goodness), np.nan, (better + same / 2) / others)


def _by_metric(rows: Tally) -> dict[str, Floats]:
    """The rank of each row in each metric that ranks rows."""
    values = {metric: rows.means.get(metric, scores) for metric, scores in ranked_scores(rows).items()}
    return {metric: _ranks(of_rows, rows.scales[metric]) for metric, of_rows in values.items()}


def worst_first(rows: Tally) -> list[int]:
    """All rows by their combined rank, see `RANK_RULE`; those without any score come last."""
    scores = ranked_scores(rows)
    ranks = _mean(list(_by_metric(rows).values()))
    means = _mean([_share(values, rows.scales[metric]) for metric, values in scores.items()])
    return [int(place) for place in np.lexsort((np.arange(len(ranks)), means, -np.round(ranks, 12)))]


def listed_rows(rows: Tally) -> list[int]:
    """The rows that have a score below the best third of its range, the worst first; see `RANK_RULE`."""
    shares = [_share(values, rows.scales[metric]) for metric, values in ranked_scores(rows).items()]
    is_listed = np.any([share <= GOOD for share in shares], axis=0).tolist()  # a missing score is no reason
    return [place for place in worst_first(rows) if is_listed[place]]


def _share(values: Floats, scale: Scale) -> Floats:
    """Where scores are on their range, from 0 (worst) to 1 (best); of a range from below 0 on the part above it."""
    low = 0.0 if scale.low < 0 < scale.high else scale.low
    share = (values - low) / ((scale.high - low) or 1.0)
    return np.asarray(share if scale.better == "higher" else 1 - share)


def ranked_scores(rows: Tally) -> dict[str, Floats]:
    """The scores that rank rows: of metrics that a model judged, else of all."""
    judged = [metric for metric in rows.scores if is_judged(rows.manifest, metric)]
    return {metric: rows.scores[metric] for metric in judged or rows.scores}


def worst_rows(run: Run) -> list[WorstRow]:
    """The worst rows of a results folder, see `worst_of`. Raises `ResultsError` if a file cannot be read."""

    def texts_of(places: Sequence[int]) -> Iterator[Texts]:
        for place in places:
            sample = run.samples[place]
            yield row_name(place, sample.row), {**sample.columns, "user_input": sample.asked}, run.details(place)

    return worst_of(run.tally, texts_of)


def worst_of(rows: Tally, texts_of: Callable[[Sequence[int]], Iterable[Texts]], most: int = MOST) -> list[WorstRow]:
    """The rows of the highest combined rank with what the judge says; see `RANK_RULE`.

    Args:
        texts_of: the texts of some rows, in the order of their places.
    """
    places = listed_rows(rows)[:most]
    if not places:
        return []
    by_metric = _by_metric(rows)
    ranks = _mean(list(by_metric.values()))
    worst = []
    for place, (name, columns, records) in zip(places, texts_of(places), strict=True):
        own_ranks = {metric: np.nan_to_num(of_rows[place], nan=-1.0) for metric, of_rows in by_metric.items()}
        metrics = dict.fromkeys((*sorted(own_ranks, key=lambda metric: -own_ranks[metric]), *rows.scores))
        scores = [_row_score(rows, metric, place) for metric in metrics]
        by_tone = [score.metric for tone in ("bad", "middle", "plain") for score in scores if score.tone == tone]
        bad = (
            (metric, verdict.says())
            for metric in by_tone
            for verdict in explained(record for record in records if record.get("metric") == metric)
            if verdict.is_bad
        )
        metric, reason = next(bad, ("", ""))
        question, response, reference = (
            str(columns.get(text) or "") for text in ("user_input", "response", "reference")
        )
        rank = float(ranks[place])
        worst.append(WorstRow(place, name, rank, question, response, reference, scores, metric, reason))
    return worst


def _row_score(rows: Tally, metric: str, place: int) -> RowScore:
    value = float(rows.scores[metric][place])
    scale = rows.scales[metric]
    if math.isnan(value):
        return RowScore(metric, None, scale.better, "plain")
    marked = is_marked(value, scale.better, rows.summary[metric].get(WORST_QUARTER))
    return RowScore(metric, value, scale.better, tone_of(value, scale.low, scale.high, scale.better), marked)
