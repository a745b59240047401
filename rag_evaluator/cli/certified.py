"""How the command line shows what `certify` found: a table, sentences for each metric, the worst disagreements."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rag_evaluator.cli.compare import one_line

if TYPE_CHECKING:
    from rag_evaluator.api.certify import Certification
    from rag_evaluator.labels.certification import Disagreement


def print_certification(found: "Certification") -> None:
    from rag_evaluator.cli.console import print_table, say

    certificate = found.certificate
    metrics = certificate["metrics"]
    headings = ("labels", "AUC", "Spearman", "agreement", "balanced accuracy", "kappa")
    rows = [[name, *_cells(part)] for name, part in metrics.items()]
    print_table(
        f"{certificate['run']}: scores against labels, [95 % interval]",
        [("metric", "left"), *((heading, "right") for heading in headings)],
        rows,
    )
    for name, part in metrics.items():
        for line in _of_metric(name, part, certificate["rows"]):
            say(line)
    for line in _of_disagreements(found.disagreements):
        say(line)
    say(f"written to {found.path}")


def _cells(part: Mapping[str, Any]) -> list[str]:
    """The figures of a metric; those of its statements, where rows have no labels."""
    if "reason" in part and "binary" in part.get("statements", {}):
        part = part["statements"]
    count = str(part.get("compared", part.get("labels", 0)))
    if "binary" in part:
        own = part["binary"]
        agreement = {"value": own["agreement"]["mean"], **own["agreement"]}
        figures = (own["auc"], own["spearman"], agreement, own["balanced_accuracy"], own["kappa"])
        return [count, *map(_interval, figures)]
    if "graded" in part:
        return [
            count,
            _interval(part["graded"]["concordance"]),
            _interval(part["graded"]["spearman"]),
            "-",
            "-",
            _interval(part["graded"]["kappa_quadratic"]),
        ]
    return [count, "-", "-", "-", "-", "-"]


def _interval(figure: Mapping[str, Any]) -> str:
    if figure["value"] is None:
        return "-"
    return f"{figure['value']:.2f} [{figure['ci_low']:.2f}, {figure['ci_high']:.2f}]"


def _of_metric(name: str, part: Mapping[str, Any], rows: int) -> Iterator[str]:
    """What the figures of a metric mean, in sentences."""
    yield f"{name}: {_verdict(part)}"
    if "binary" in part:
        yield from _of_binary(part["binary"])
    if "graded" in part:
        yield (
            "  under AUC: of pairs of rows with different labels the share whose scores are in the same order; "
            f"rank correlation tau-b {_interval(part['graded']['tau_b'])}; kappa is weighted by squared distances"
        )
    yield from _of_rows(part)
    if part.get("annotator_alpha", {}).get("alpha") is not None:
        alpha = part["annotator_alpha"]
        yield f"  the annotators among themselves: Krippendorff's alpha {alpha['alpha']:.2f} in {alpha['units']} rows"
    if "label_mean" in part:
        yield from _of_mean(part["label_mean"], rows)
    if "statements" in part:
        yield from _of_statements(part["statements"])
    elif "calibration" in part:
        yield from _of_calibration(part["calibration"])


def _verdict(part: Mapping[str, Any]) -> str:
    """What the labels show of the judge."""
    return f"{part['verdict']['word']}: {part['verdict']['reason']}"


def _of_binary(own: Mapping[str, Any]) -> Iterator[str]:
    if own["auc"]["value"] is not None:
        yield (
            f"  of a row that people accept and one that they reject, the first has the better score in "
            f"{100 * own['auc']['value']:.0f} % of all pairs (equal scores count half; 50 % is chance)"
        )
    else:
        yield f"  AUC and kappa are not defined: {own['auc']['ci_method'].removeprefix('none: ')}"
    confusion = own["confusion"]
    how = "chosen on the labels, cross-fitted" if own["cross_fitted"] else "fixed before"
    yield (
        f"  threshold {own['threshold']:.3g} ({how}): both accept {confusion['true_positive']}, only the judge "
        f"{confusion['false_positive']}, only people {confusion['false_negative']}, both reject "
        f"{confusion['true_negative']}"
    )


def _of_rows(part: Mapping[str, Any]) -> Iterator[str]:
    """What is left out, and how rows came to have labels."""
    counts = {
        "drawn rows without a label": part.get("blank", 0),
        "rows on which annotators are divided": part.get("tied", 0),
        "labels of rows that were not drawn": part.get("not_drawn", 0),
    }
    left = ", ".join(f"{what}: {count}" for what, count in counts.items() if count)
    if left:
        yield f"  not counted: {left}"
    if part.get("chosen") == "unknown" and "reason" not in part:
        yield "  how these rows were chosen is not known: the figures are of these rows, not of all"


def _of_mean(mean: Mapping[str, Any], rows: int) -> Iterator[str]:
    if mean["label_mean"] is None:
        yield f"  mean label of all rows: {mean['ci_method']}"
        return
    judge = "" if mean["judge_mean"] is None else f"; the judge's own mean is {mean['judge_mean']:.2f}"
    yield (
        f"  mean label of all {rows} rows: {mean['label_mean']:.2f} [{mean['ci_low']:.2f}, {mean['ci_high']:.2f}], "
        f"from {mean['labels']} labels{' and the scores' if mean['judge_weight'] else ''}{judge}"
    )
    if mean["labels_only"]:
        yield f"  {mean['labels_only']}"
    if mean["judge_weight"] and mean["labels_saved"] is not None and mean["labels_saved"] >= 1:
        yield f"  the scores are worth {mean['labels_saved']:.0f} more labels"
    elif mean["labels"] < rows and not mean["labels_only"]:
        yield "  the scores do not make this more precise than the labels alone"


def _of_statements(part: Mapping[str, Any]) -> Iterator[str]:
    yield f"  statements: {part['labels']} labels in {part['rows']} rows; {_verdict(part)}"
    if "reason" not in part:
        own = part["binary"]
        agreement = {"value": own["agreement"]["mean"], **own["agreement"]}
        yield f"    agreement {_interval(agreement)}, kappa {_interval(own['kappa'])}, AUC {_interval(own['auc'])}"
        yield from _of_calibration(part["calibration"])


def _of_calibration(part: Mapping[str, Any]) -> Iterator[str]:
    if part["error"] is None:
        yield f"  confidences: {part['reason']}"
        return
    yield (
        f"  confidences: calibration error {part['error']:.3f}; a judge that is right as often as it says would get "
        f"{part['expected']:.3f}, at most {part['highest']:.3f} in 95 % of cases"
    )


def _of_disagreements(disagreements: Sequence["Disagreement"]) -> Iterator[str]:
    heading = ""
    for each in disagreements:
        if each.metric != heading:
            heading = each.metric
            yield f"most different, {heading}:"
        where = "" if each.drawn else " (not drawn)"
        question = one_line(each.question or "")
        yield f"  row {each.row}{where}: label {each.label:.3g}, score {each.score:.3g}  {question}"
        yield from (f"    {one_line(reason)}" for reason in each.reasons)
