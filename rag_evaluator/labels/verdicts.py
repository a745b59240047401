"""Labels of single statements against the judge's verdicts on them, and how well its confidences are calibrated."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rag_evaluator.errors import DatasetError
from rag_evaluator.labels.figures import Labelled, binary_json
from rag_evaluator.labels.judged import JudgedVerdict, Record, verdicts_of
from rag_evaluator.labels.table import Label
from rag_evaluator.trust.agreement import binary_agreement
from rag_evaluator.trust.alpha import krippendorff_alpha
from rag_evaluator.trust.calibration import calibration
from rag_evaluator.trust.judge_verdict import LEAST, judge_verdict
from rag_evaluator.trust.scale import TIE

Records = Mapping[int, Sequence[Record]]  # row -> its lines in `details.jsonl`, one for each repeat


def statement_figures(labels: Sequence[Label], records: Records, level: float) -> dict[str, Any]:
    """Verdicts against labels of 0 and 1, clustered by row; Any: JSON.

    The score of a verdict is the judge's probability of 1 where it has one. Of repeated scores the first counts.
    Statements on which annotators are divided, and those on which the judge gave several verdicts that differ, are
    counted and left out. Raises `DatasetError` for a statement that the judge did not judge, a label that is not 0 or
    1.
    """
    votes: dict[tuple[int, str], list[Label]] = {}
    for label in labels:
        if label.statement is not None and label.value == label.value:
            if label.value not in (0.0, 1.0):
                raise DatasetError(f"{label.where}: {label.value:g}; labels of statements are 0 or 1.")
            votes.setdefault((label.row, label.statement), []).append(label)
    pairs, divided, unclear = [], 0, 0
    for (row, _), given in votes.items():
        found, mean = _verdict(given[0], records), sum(label.value for label in given) / len(given)
        if found is None:
            unclear += 1
        elif mean == 0.5:
            divided += 1
        else:
            pairs.append((str(row), found, float(round(mean))))
    rows, verdicts = [row for row, _, _ in pairs], [verdict for _, verdict, _ in pairs]
    wanted, scores = [label for _, _, label in pairs], [_score(verdict) for verdict in verdicts]
    shown, alpha = judge_verdict(scores, wanted, rows), _alpha(list(votes.values()))
    figures: dict[str, Any] = {"labels": len(pairs), "rows": len(set(rows)), "tied": divided, "unclear": unclear}
    figures["verdict"] = asdict(shown)
    if len(pairs) < LEAST:
        return {**figures, **alpha, "reason": shown.reason}
    agreement = binary_agreement(scores, wanted, 0.5, rows, level=level)
    right = [float(verdict.value == label) for verdict, label in zip(verdicts, wanted, strict=True)]
    confidences = [_or_nan(verdict) for verdict in verdicts]
    return {
        **figures,
        **alpha,
        "binary": binary_json(agreement),
        "calibration": asdict(calibration(confidences, right, rows)),
    }


def row_calibration(metric: Labelled, records: Records) -> dict[str, Any]:
    """The same of confidences for labels of whole rows: only where a single verdict of yes or no made the score."""
    labels, moved = metric.labels.counting(metric.labels.votes), metric.moved
    confidences, right, weights, clusters = [], [], [], []
    for row, lines in records.items():
        verdicts = verdicts_of(lines[0])
        low, high = (abs(moved[row] - end) <= TIE for end in (metric.label_scale.low, metric.label_scale.high))
        if len(lines) == 1 and len(verdicts) == 1 and (low or high) and labels[row] == labels[row]:
            confidences.append(_or_nan(verdicts[0]))
            right.append(float(labels[row] == (metric.label_scale.high if high else metric.label_scale.low)))
            weights.append(1.0 if metric.weights is None else float(metric.weights[row]))
            clusters.append(row if metric.clusters is None else metric.clusters[row])
    return asdict(calibration(confidences, right, None if metric.clusters is None else clusters, weights))


def _verdict(label: Label, records: Records) -> JudgedVerdict | None:
    """What the judge said of a statement; None where it has said several things."""
    lines = records.get(label.row, ())
    found = [verdict for verdict in (verdicts_of(lines[0]) if lines else ()) if verdict.statement == label.statement]
    if not found:
        known = sorted({verdict.statement for line in lines for verdict in verdicts_of(line) if verdict.statement})
        shown = "; ".join(f"{statement!r:.80}" for statement in known[:5]) or "none"
        raise DatasetError(
            f"{label.where}: {label.metric} has no verdict on the statement {label.statement!r:.80} in row "
            f"{label.row}. Its statements there: {shown}."
        )
    return found[0] if len({verdict.value for verdict in found}) == 1 and found[0].value in (0.0, 1.0) else None


def _score(verdict: JudgedVerdict) -> float:
    """The probability of the verdict 1; on the side of the verdict, whatever rounding did."""
    if verdict.confidence is None:
        return verdict.value
    return max(verdict.confidence, 0.5) if verdict.value else min(1 - verdict.confidence, 0.4999995)


def _or_nan(verdict: JudgedVerdict) -> float:
    return float("nan") if verdict.confidence is None else verdict.confidence


def _alpha(given: Sequence[Sequence[Label]]) -> dict[str, Any]:
    annotators = sorted({label.annotator for labels in given for label in labels})
    if len(annotators) < 2:
        return {}
    by = [{label.annotator: label.value for label in labels} for labels in given]
    ratings = [[row.get(name, float("nan")) for row in by] for name in annotators]
    return {"annotator_alpha": {"level": "nominal", **asdict(krippendorff_alpha(ratings))}}
