"""How many pieces of evidence a verifier looked at in a row, and whether two runs differ in that."""

import re
from collections.abc import Iterator, Mapping, Sequence

from rag_evaluator.results.conclusion import listed
from rag_evaluator.results.run import ScoredRows

OUTCOME = re.compile(r"(\d+) pieces? of evidence")  # of a score, see `rag_evaluator.metrics.own.grounded`
MORE = 0.1  # so much more, as a share of the lower mean, is said


def mean_pieces(outcomes: Mapping[str, int]) -> float | None:
    """Pieces a row; None where no score says it.

    Args:
        outcomes: of the scores of a metric, as `summary.json` counts them.
    """
    counts = [(int(said[1]), rows) for outcome, rows in outcomes.items() if (said := OUTCOME.fullmatch(outcome))]
    rows = sum(rows for _, rows in counts)
    return sum(pieces * rows for pieces, rows in counts) / rows if rows else None


def more_pieces(a: ScoredRows, b: ScoredRows, metrics: Sequence[str]) -> Iterator[str]:
    """A sentence where one run has more pieces of evidence a row: the best counts, so more are better by chance."""
    differing: dict[tuple[float, float], list[str]] = {}
    for metric in metrics:
        first, second = (mean_pieces(run.outcomes.get(metric, {})) for run in (a, b))
        if first is not None and second is not None and max(first, second) >= (1 + MORE) * min(first, second):
            differing.setdefault((first, second), []).append(metric)
    for (first, second), names in differing.items():
        yield (
            f"{listed(names)}: the verifier looked at {first:.1f} pieces of evidence a row in {a.name}, at "
            f"{second:.1f} in {b.name}. The best piece counts, so more pieces support more by chance: compare runs "
            "with as many contexts, or read the control of 'probe'."
        )
