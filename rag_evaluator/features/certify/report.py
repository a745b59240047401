"""The part of the report that says what people's labels say of the judge."""

from collections.abc import Mapping

from rag_evaluator.errors import ResultsError
from rag_evaluator.files import Json
from rag_evaluator.report import environment, number, short_path, with_interval
from rag_evaluator.results import LABELS, Run

from .counting import besides
from .reliability import calibration_part
from .standing import CERTIFICATE, read_certificate, standing_of


def report_part(run: Run) -> str:
    """Return it as HTML; empty where nobody compared labels with the scores of the run."""
    sentence, lines = certified(run)
    calibrated, picture = calibration_part(run)
    template = environment("rag_evaluator.features.certify").get_template("standing.html")
    parts = {"sentence": sentence, "lines": lines, "calibrated": calibrated, "picture": picture}
    return template.render(parts) if sentence else ""


def certified(run: Run) -> tuple[str, list[dict[str, str]]]:
    """Return when people's labels were compared, and what the certificate says of each metric; empty: never.

    A certificate that cannot be read is said to be so.
    """
    path = run.folder / CERTIFICATE
    if not path.is_file():
        return "", []
    try:
        certificate = read_certificate(path)
        words = standing_of(certificate, run)
        lines = [
            _certified(metric, words[metric], certificate["metrics"][metric], run.summary.get(metric, {}))
            for metric in words
            if metric in certificate["metrics"]
        ]
    except (ResultsError, KeyError, TypeError, AttributeError):
        return "The certificate cannot be read. Run certify again.", []
    labels = ", ".join(map(short_path, map(str, certificate["labels"])))
    return f"Certificate of {certificate.get('date')}, labels: {labels}.", lines


def _certified(metric: str, words: str, part: Json, row: Json) -> dict[str, str]:
    mean = row.get(LABELS) or {}
    agreed = part.get("binary") or part.get("graded") or {}
    coefficients = (
        f"{name.replace('_', ' ')} {with_interval(value, 'value')}"
        for name, value in agreed.items()
        if isinstance(value, Mapping) and isinstance(value.get("value"), int | float)
    )
    return {
        "metric": metric,
        "standing": words,
        "labels": str(part.get("compared", part.get("labels", ""))),
        "label_mean": with_interval(mean, "label_mean"),
        "judge_mean": number(mean.get("judge_mean")),
        "counting": "; ".join(f"{beside.said}: {beside.areas}" for beside in besides(metric, part)),
        "agreement": part.get("reason") or ", ".join(coefficients),
    }
