"""`python -m benchmarks.labels`: what a few labels say of a judge, by simulation; writes Markdown to stdout.

Bias, error, coverage and width of the label mean for two ways to draw the labels, coverage of the intervals of
agreement, and the words that a judge gets whose scores are random. A limit that is missed ends it with 1.
"""

import argparse
import gc
import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

from rag_evaluator.features.certify.draws import Draw, draw_stratified
from rag_evaluator.features.probe.verdicts import Pairs, judge_cells
from rag_evaluator.statistics import (
    PASS,
    Array,
    Coefficient,
    Estimate,
    LabelMean,
    Scale,
    ScoredLabels,
    difference_interval,
    label_difference,
    label_mean,
    mean_interval,
)
from rag_evaluator.statistics.coefficients import cohen_kappa, label_auc, spearman

SEED = 0
ROWS = 2_000
LABELS = (30, 60, 100)
FEW_LABELS = (20, *LABELS)
AGREEMENTS = (0.8, 0.9, 0.97, 0.99)
CORRELATIONS = (0.3, 0.5, 0.7, 0.8, 0.9, 0.95)
# share of rows with the label 1
ACCEPTED = 0.7
MOSTLY_ACCEPTED = 0.9
GRADES = np.linspace(0, 1, 5)
LEAST = 0.93
MOST_BIAS = 0.01
MOST_WORD = 0.05
PROBES = 12
PAIRS = 40
SEEDS = 200

HEADER = f"""# Labels and probes

Output of `python -m benchmarks.labels`: {ROWS:,} rows, of which people accept {ACCEPTED:.0%}, seed
{SEED}, 95 % intervals.

Coverage is the share of intervals that contain the truth. "all": the mean label of what the rows are a sample of;
"rows": that of these {ROWS:,} rows. Bias is the mean error of the estimate, "error" the root of its mean square. Where
fewer than 5 labels of the rarer value are in the other folds the scores do not count: with 20 labels, and with 30 if
few rows are rejected, the error is near that of labels alone, 0.10 and 0.08. The default draw, stratified by score,
does not depend on it where scores are verdicts. Widths over labels alone: below 1 the judge helps; the interval of
labels alone is `mean_interval`. A judge is above chance if the word is `weak` or `reliable`."""


class Data(NamedTuple):
    """A judge's scores of all rows, their labels, and how unsure the judge is."""

    scores: Array
    labels: Array
    doubt: Array


DRAWS: dict[str, Callable[[Data, int, int], Draw]] = {
    "uniform": lambda data, size, seed: draw_stratified(data.scores, size, seed, strata=1),
    "stratified": lambda data, size, seed: draw_stratified(data.scores, size, seed),
}


def agreeing(rng: np.random.Generator, agreement: float, rows: int = ROWS) -> Data:
    """Labels of 0 and 1, and verdicts that agree with a share of them; the judge is less sure where it is wrong."""
    return _agreeing(rng, agreement, rows, ACCEPTED)


def rarely_rejected(rng: np.random.Generator, agreement: float) -> Data:
    """The same, but people reject one row in ten."""
    return _agreeing(rng, agreement, ROWS, MOSTLY_ACCEPTED)


def _agreeing(rng: np.random.Generator, agreement: float, rows: int, accepted: float) -> Data:
    labels = (rng.random(rows) < accepted).astype(float)
    wrong = rng.random(rows) > agreement
    return Data(np.where(wrong, 1 - labels, labels), labels, rng.beta(2, 5, rows) + 0.3 * wrong)


def lenient(rng: np.random.Generator, agreement: float, rows: int = ROWS) -> Data:
    """The same, but the judge is wrong only by accepting what people do not accept."""
    labels = (rng.random(rows) < ACCEPTED).astype(float)
    wrong = (labels == 0) & (rng.random(rows) < (1 - agreement) / (1 - ACCEPTED))
    return Data(np.where(wrong, 1.0, labels), labels, rng.beta(2, 5, rows) + 0.3 * wrong)


def correlated(rng: np.random.Generator, correlation: float, rows: int = ROWS) -> Data:
    """Labels of 0 and 1, and verdicts with this correlation and the same share of 1."""
    labels, others = ((rng.random(rows) < ACCEPTED).astype(float) for _ in range(2))
    return Data(np.where(rng.random(rows) < correlation, labels, others), labels, rng.random(rows))


def graded(rng: np.random.Generator, correlation: float, rows: int = ROWS) -> Data:
    """Labels of five grades, about normal, and scores from 0 to 1 with nearly this correlation."""
    first, noise = rng.normal(size=(2, rows))
    second = correlation * first + np.sqrt(1 - correlation**2) * noise
    labels = GRADES[np.digitize(first, [-1.2, -0.4, 0.4, 1.2])]
    scores = np.clip(0.5 + 0.3 * second, 0, 1)
    return Data(scores, labels, 0.5 - np.abs(scores - 0.5))


def estimated(data: Data, kind: str, size: int, seed: int) -> LabelMean:
    draw = DRAWS[kind](data, size, seed)
    seen = np.full(len(data.labels), np.nan)
    seen[draw.rows] = data.labels[draw.rows]
    return label_mean(data.scores, seen, strata=draw.strata, probabilities=draw.probabilities)


def covers(result: LabelMean | Coefficient, truth: float) -> bool:
    assert result.ci_low is not None and result.ci_high is not None
    return result.ci_low - 1e-12 <= truth <= result.ci_high + 1e-12


def width(result: LabelMean | Coefficient | Estimate) -> float:
    assert result.ci_low is not None and result.ci_high is not None
    return result.ci_high - result.ci_low


class Mean(NamedTuple):
    """How one data set came out: the error of the estimate, whether the truths are in its interval, and its width."""

    error: float
    all: bool
    rows: bool
    width: float


def means(data: Data, size: int, seed: int, truth: float) -> list[Mean]:
    """The mean label by each draw."""
    return [_mean(estimated(data, kind, size, seed), data, truth) for kind in DRAWS]


def _mean(result: LabelMean, data: Data, truth: float) -> Mean:
    assert result.label_mean is not None
    both = covers(result, truth), covers(result, float(data.labels.mean()))
    return Mean(result.label_mean - truth, *both, width(result))


def coverage_table(
    make: Callable[[np.random.Generator, float], Data],
    parameters: Sequence[float],
    truth: float,
    repetitions: int,
    missed: list[str],
) -> Iterable[str]:
    """Bias, error and coverage of the mean in the long run, and coverage of the mean of these rows."""
    yield from head("agreement", "labels", *(f"{kind}: {what}" for kind in DRAWS
                                             for what in ("bias", "error", "all", "rows", "width")))  # fmt: skip
    coverages = []
    biases = []
    for parameter in parameters:
        for size in FEW_LABELS:
            runs = np.array([
                means(make(np.random.default_rng((SEED, size, repetition)), parameter), size, repetition, truth)
                for repetition in range(repetitions)
            ])  # fmt: skip
            figures = np.array(runs.mean(axis=0))
            errors = np.sqrt((runs[:, :, 0] ** 2).mean(axis=0))
            coverages.append(figures[:, 1:3].min())
            biases.append(np.abs(figures[:, 0]).max())
            cells = [
                cell
                for (bias, *shares), error in zip(figures, errors, strict=True)
                for cell in (f"{bias:+.3f}", *(f"{share:.3f}" for share in (error, *shares)))
            ]
            yield line(f"{parameter:g}", size, *cells)
    yield from limit("\nLowest coverage", min(coverages), LEAST, missed, least=True)
    yield from limit("Greatest bias", max(biases), MOST_BIAS, missed)


def limit(what: str, found: float, bound: float, missed: list[str], *, least: bool = False) -> Iterable[str]:
    """A sentence on a limit; one that is missed is remembered."""
    kept = found >= bound if least else found <= bound
    if not kept:
        missed.append(f"{what.strip()} {found:.4f}, limit {bound}")
    yield f"{what} {found:.4f}; at {'least' if least else 'most'} {bound} is wanted: {'yes' if kept else 'NO'}.\n"


def width_table(make: Callable[[np.random.Generator, float], Data], repetitions: int) -> Iterable[str]:
    """Mean width over that of the interval of as many labels drawn uniformly, without a judge."""
    yield from head("correlation", *(f"{kind}, {size}" for kind in DRAWS for size in LABELS), "labels saved of 100")
    for correlation in CORRELATIONS:
        ratios = []
        saved = 0.0
        for kind in DRAWS:
            for size in LABELS:
                ours = alone = saved = 0.0
                for repetition in range(repetitions):
                    rng = np.random.default_rng((SEED, size, repetition))
                    data = make(rng, correlation)
                    result = estimated(data, kind, size, repetition)
                    labels = mean_interval(rng.permutation(data.labels)[:size], PASS)
                    ours = ours + width(result)
                    alone = alone + width(labels)
                    saved += (result.labels_saved or 0) / repetitions
                ratios.append(f"{ours / alone:.2f}")
        yield line(f"{correlation:g}", *ratios, f"{saved:.0f}")


def difference_table(repetitions: int) -> Iterable[str]:
    """Two runs that are right in 70 % and in 75 %, both labelled on the same rows."""
    yield from head("agreement", "labels", "coverage", "width", "width of labels alone")
    for agreement in AGREEMENTS:
        for size in LABELS:
            hits = widths = alone = 0.0
            for repetition in range(repetitions):
                rng = np.random.default_rng((SEED, size, repetition))
                first = agreeing(rng, agreement)
                changed = np.where(rng.random(ROWS) < 0.05 / (1 - ACCEPTED), 1.0, first.labels)
                wrong = rng.random(ROWS) > agreement
                drawn = np.arange(ROWS) < size
                labels = tuple(np.where(drawn, side, np.nan) for side in (first.labels, changed))
                changes = np.where(wrong, 1 - changed, changed) - first.scores
                result = label_difference(changes, labels[1] - labels[0], Scale(-1.0, 1.0))
                hits = hits + covers(result, 0.05)
                widths = widths + width(result)
                alone += width(difference_interval((changed - first.labels)[:size], PASS))
            yield line(f"{agreement:g}", size, *(f"{total / repetitions:.3f}" for total in (hits, widths, alone)))


Measure = Callable[[Data, int], Coefficient]
MEASURES: tuple[tuple[str, Callable[[np.random.Generator, float, int], Data], Sequence[float], Measure], ...] = (
    ("AUC of verdicts", agreeing, AGREEMENTS, lambda d, s: label_auc(rows(d))),
    ("AUC of scores", lambda r, c, n: accepted(graded(r, c, n)), (0.5, 0.9), lambda d, s: label_auc(rows(d))),
    ("Cohen's kappa", agreeing, AGREEMENTS, lambda d, s: cohen_kappa(rows(d), seed=s)),
    ("quadratic kappa", lambda r, c, n: rounded(graded(r, c, n)), (0.5, 0.9),
     lambda d, s: cohen_kappa(rows(d), seed=s)),
    ("Spearman's rho", graded, (0.5, 0.9), lambda d, s: spearman(rows(d), seed=s)),
)  # fmt: skip


def rows(data: Data) -> ScoredLabels:
    """The rows of a sample, each of the same weight."""
    return ScoredLabels(data.scores, data.labels, np.ones(len(data.scores)))


def accepted(data: Data) -> Data:
    return data._replace(labels=(data.labels >= 0.5).astype(float))


def rounded(data: Data) -> Data:
    return data._replace(scores=np.round(data.scores * 4) / 4)


def agreement_table(repetitions: int) -> Iterable[str]:
    """Coverage and mean width; the truth is the figure of 300,000 rows."""
    columns = (f"n = {n}: {what}" for n in LABELS for what in ("coverage", "width"))
    yield from head("figure", "agreement or correlation", "truth", *columns)
    for name, make, parameters, measure in MEASURES:
        for parameter in parameters:
            truth = true_value(name, make, parameter)
            cells = []
            for size in LABELS:
                results = [
                    measure(make(np.random.default_rng((SEED, size, repetition)), parameter, size), repetition)
                    for repetition in range(repetitions)
                ]
                known = [result for result in results if result.value is not None]
                cells += [np.mean([covers(result, truth) for result in known]), np.mean([width(r) for r in known])]
            yield line(name, f"{parameter:g}", f"{truth:.3f}", *(f"{cell:.3f}" for cell in cells))


def true_value(name: str, make: Callable[[np.random.Generator, float, int], Data], parameter: float) -> float:
    """Of a large data set, by scipy or by hand."""
    scores, labels, _ = make(np.random.default_rng(SEED), parameter, 300_000)
    if name.startswith("AUC"):
        ranks = stats.rankdata(scores)[labels == 1]
        return float((ranks.sum() - len(ranks) * (len(ranks) + 1) / 2) / len(ranks) / (len(labels) - len(ranks)))
    if "kappa" in name:
        gaps = np.abs(GRADES[:, None] - GRADES) ** 2
        sides = [np.bincount(np.round(side * 4).astype(int), minlength=5) / len(side) for side in (scores, labels)]
        return float(1 - np.mean((scores - labels) ** 2) / (sides[0] @ gaps @ sides[1]))
    return float(stats.spearmanr(scores, labels)[0])


RANDOM: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "0 or 1": lambda rng, n: rng.integers(0, 2, n) * 1.0,
    "0, 0.5 or 1": lambda rng, n: rng.integers(0, 3, n) / 2,
    "1 in 90 %, else 0": lambda rng, n: (rng.random(n) < 0.9) * 1.0,
    "always 0": lambda rng, n: np.zeros(n),
    "always 1": lambda rng, n: np.ones(n),
    "anything from 0 to 1": lambda rng, n: rng.random(n),
}


LOUD = {"reliable": {"reliable"}, "above chance": {"reliable", "weak"}, "wrong way": {"wrong way"}}


def random_table(seeds: int, missed: list[str]) -> Iterable[str]:
    """Runs in which a judge that does not read gets a word that says it does, or that it prefers the worse side."""
    yield from head("scores", *(f"{name} in any cell" for name in LOUD), "words of all cells")
    shares = []
    units = [f"{row:04d}" for row in range(PAIRS)]
    for name, draw in RANDOM.items():
        scale = Scale(kind="continuous" if "anything" in name else "judged")
        words = []
        for seed in range(seeds):
            rng = np.random.default_rng((SEED, seed))
            good = draw(rng, PAIRS)  # the same in all probes
            control = Pairs(good, draw(rng, PAIRS), units, scale, "equal")
            cells = [control, *(Pairs(good, draw(rng, PAIRS), units, scale) for _ in range(PROBES))]
            words.append([cell["word"] for cell in judge_cells(cells, seed)[1:]])
        runs = [sum(bool(wrong & set(run)) for run in words) for wrong in LOUD.values()]
        shares.append(max(runs) / seeds)
        every = [word for run in words for word in run]
        counts = ", ".join(f"{every.count(word) / len(every):.0%} {word}" for word in sorted(set(map(str, every))))
        yield line(name, *(f"{count} of {seeds}" for count in runs), counts)
    yield from limit("\nGreatest share of runs", max(shares), MOST_WORD, missed)


def head(*columns: str) -> Iterable[str]:
    yield from (line(*columns), "|" + "---|" * len(columns))


def line(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def main() -> None:
    """Write every table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.labels", description=__doc__)
    parser.add_argument("--repetitions", type=int, default=800, help="data sets a cell (default 800)")
    repetitions = parser.parse_args().repetitions
    few = max(repetitions // 5, 1)
    gc.freeze()  # statsmodels collects garbage in each call of Holm's method
    began = time.process_time()
    missed: list[str] = []
    tables = {
        f"Label mean, {repetitions} data sets a cell": coverage_table(
            agreeing, AGREEMENTS, ACCEPTED, repetitions, missed
        ),
        f"The same, a judge that is only wrong by accepting, {repetitions} data sets a cell": coverage_table(
            lenient, AGREEMENTS, ACCEPTED, repetitions, missed
        ),
        f"The same, people reject only one row in ten, {repetitions} data sets a cell": coverage_table(
            rarely_rejected, (0.9, 0.97), MOSTLY_ACCEPTED, repetitions, missed
        ),
        f"Label mean of five grades, correlation instead of agreement, {repetitions} data sets a cell": coverage_table(
            graded, (0.5, 0.9), 0.5, repetitions, missed
        ),
        f"Label mean of 0 and 1: width over labels alone, {few} data sets a cell": width_table(correlated, few),
        f"Label mean of five grades: width over labels alone, {few} data sets a cell": width_table(graded, few),
        f"Difference of two runs, uniform draw, {few * 2} data sets a cell": difference_table(few * 2),
        f"Intervals of agreement, {few} data sets a cell": agreement_table(few),
        f"Words of a judge that does not read, {PROBES} probes of {PAIRS} pairs": random_table(SEEDS, missed),
    }
    print(HEADER)
    for title, table in tables.items():
        print(f"\n## {title}\n")
        for text in table:
            print(text, flush=True)
    print(f"\n{time.process_time() - began:.0f} seconds of processor time.")
    if missed:
        raise SystemExit("limits missed: " + "; ".join(missed))


if __name__ == "__main__":
    main()
