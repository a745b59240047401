"""Whether labels show that a judge is useful."""

import numpy as np

from rag_evaluator.statistics import Coefficient, ScoredLabels, concordance, label_auc

LEVEL = 0.95  # of the interval, whatever other figures have
GOOD = 0.70
CHANCE = 0.5
# labels, and labels of the rarer class
LEAST = 20
LEAST_RARER = 5
SAME_SCORES = "all scores are equal"
SAME_LABELS = "people gave every row the same label; draw rows with other scores"


def judge_verdict(rows: ScoredLabels, graded: bool = False) -> dict[str, str]:
    """Whether a judge is `useful`, the only `word` that makes it a certified one; the `reason` is the AUC with its
    interval, or what is lacking.

    `useful` if the low end of the interval is at least 0.70, `worse than chance` if the high end is below 0.5.

    `weak`: the low end above 0.5 and the high end below 0.70; `better than chance, quality not settled`: the low end
    above 0.5 otherwise; else `not shown`. With fewer than `LEAST` labels, or `LEAST_RARER` of the rarer class,
    `too few labels`. Labels of one class, and scores that are all equal, show nothing. Kappa moves with the share of
    labels that are 1, and decides nothing.

    Args:
        rows: scores are higher for what people accept; labels are 0 or 1, or grades.
        graded: whether labels are grades. The AUC is then the `concordance`, and the rarer class is that of all grades
            but the most frequent one.
    """
    count = len(rows.labels)
    rarer = int(count - np.unique(rows.labels, return_counts=True)[1].max(initial=0))
    if count >= LEAST and not rarer:
        return {"word": "not shown", "reason": SAME_LABELS}
    if count >= LEAST and np.ptp(rows.scores) == 0:
        return {"word": "not shown", "reason": SAME_SCORES}
    if count < LEAST or rarer < LEAST_RARER:
        lacking = f"{count} labels, {rarer} of the rarer class; {LEAST} are needed, {LEAST_RARER} of the rarer class"
        return {"word": "too few labels", "reason": lacking}
    area = concordance(rows, LEVEL) if graded else label_auc(rows, LEVEL)
    name = "concordance" if graded else "AUC"
    return {"word": _word(area), "reason": f"{name} {area.value:.3f} [{area.ci_low:.3f}, {area.ci_high:.3f}]"}


def _word(area: Coefficient) -> str:
    assert area.ci_low is not None and area.ci_high is not None
    if area.ci_low >= GOOD:
        return "useful"
    if area.ci_high < CHANCE:
        return "worse than chance"
    if area.ci_low <= CHANCE:
        return "not shown"
    return "weak" if area.ci_high < GOOD else "better than chance, quality not settled"
