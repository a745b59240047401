"""How far the judges of a panel agree, in sentences."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from rag_evaluator.results.conclusion import MOST_DIGITS, Conclusion
from rag_evaluator.results.overview import counted

AGREE, TENTATIVE = 0.8, 0.667
FEWEST = 20  # rows: fewer say nothing of others
GROUPS = {
    "The judges agree": (AGREE, math.inf),
    "The judges agree enough for tentative conclusions": (TENTATIVE, AGREE),
    "The judges agree too little": (-math.inf, TENTATIVE),
}
"""What is said -> the least alpha, and the one below which it must be."""
RULES = (
    f"agreement: Krippendorff's alpha; 1 is full agreement, 0 what chance gives. The judges agree from {AGREE:g} on; "
    f"from {TENTATIVE:g} on enough for tentative conclusions; below that too little (Krippendorff 2004, Content "
    "Analysis, 2nd edition, chapter 11). Alpha has no interval here.",
    f"too few rows to say: fewer than {FEWEST} rows with scores of two judges.",
)


def panel_conclusion(summary: Mapping[str, Mapping[str, Any]]) -> Conclusion:
    """The sentences of a panel; none where the run has one judge. Any: JSON, as in `summary.json`.

    Full agreement does not show that the judges are right: they can share a fault.
    """
    panels = {metric: row["panel"] for metric, row in summary.items() if "panel" in row}
    return Conclusion(list(_sentences(panels)), "", RULES if panels else ())


def _sentences(panels: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    known = {metric: panel for metric, panel in panels.items() if panel["alpha"] is not None}
    enough = {metric: panel for metric, panel in known.items() if panel["rows"] >= FEWEST}
    for words, (low, high) in GROUPS.items():
        if shown := [_alpha(metric, panel) for metric, panel in enough.items() if low <= panel["alpha"] < high]:
            yield f"{words} in {', '.join(shown)}."
    if few := [_alpha(metric, panel) for metric, panel in known.items() if metric not in enough]:
        yield f"Too few rows to say whether the judges agree in {', '.join(few)}: {FEWEST} are needed."
    reasons = {metric: panel["alpha_reason"] for metric, panel in panels.items() if metric not in known}
    for reason in dict.fromkeys(reasons.values()):
        metrics = [metric for metric, why in reasons.items() if why == reason]
        yield f"Not known whether the judges agree in {', '.join(metrics)}: {reason}."


def _alpha(metric: str, panel: Mapping[str, Any]) -> str:
    """`faithfulness (alpha 0.84 over 60 rows)`, on its side of both limits."""
    alpha, digits = panel["alpha"], 2
    while digits < MOST_DIGITS and any((round(alpha, digits) >= x) != (alpha >= x) for x in (AGREE, TENTATIVE)):
        digits += 1
    return f"{metric} (alpha {alpha:z.{digits}f} over {counted(panel['rows'], 'row')})"
