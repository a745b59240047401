"""What a calibration says of probabilities: in sentences, and as a reliability diagram."""

import json
from pathlib import Path

from markupsafe import Markup

from rag_evaluator.files import Json
from rag_evaluator.report import chart, reliability_chart
from rag_evaluator.results import Run

CALIBRATION = "calibration.json"
SIDES = {"calibrated": "reliability", "as the judge says": "reliability_before"}
"""What the points of a reliability diagram are of -> where a calibration has them."""


def calibration_sentence(calibration: Json) -> str:
    """Return how far its probabilities are off."""
    held_out = calibration["held_out"]
    return (
        f"By {calibration['labels']} labels of sentences, held out in turn, the probabilities are off by "
        f"{held_out['calibration_error']:.2f} on average, without a calibration by "
        f"{held_out['calibration_error_before']:.2f}."
    )


def calibration_use(calibration: Json, path: Path) -> str:
    """Return what to do with it."""
    return (
        f"To use it: verifier.calibration: {path}, and as {calibration['supported']:.0%} are supported, "
        f"verifier.threshold: {calibration['supported']:.2f} to find as many of both kinds."
    )


def calibration_part(run: Run) -> tuple[str, Markup]:
    """Return what the labels of its sentences say of its probabilities, and the reliability diagram; empty: nothing.

    A calibration that cannot be read is said to be so.
    """
    path = run.folder / CALIBRATION
    if not path.is_file():
        return "", Markup()
    try:
        calibration = json.loads(path.read_text(encoding="utf-8"))
        sides = {label: calibration["held_out"][name] for label, name in SIDES.items()}
        sentence = f"{calibration['metric']}: {calibration_sentence(calibration)}"
        return sentence, chart(reliability_chart(sides), f"Reliability diagram. {sentence}")
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return f"{CALIBRATION} cannot be read. Run certify --calibrate again.", Markup()
