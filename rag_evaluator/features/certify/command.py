"""`rag-evaluator certify` and `certify sheet`: a run's scores against people's labels, and rows to be labelled."""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rag_evaluator.cli.compare import one_line
from rag_evaluator.cli.options import OK, add_json
from rag_evaluator.errors import ConfigError
from rag_evaluator.features.certify.feature import SHEET
from rag_evaluator.resources import command

if TYPE_CHECKING:
    from rag_evaluator.features.certify.certification import Disagreement
    from rag_evaluator.features.certify.certify import Certification

Read = TypeVar("Read", str, float)
EXAMPLES = """examples:
  rag-evaluator certify sheet results/demo --size 100 --out to_label.xlsx   # rows for people to label
  rag-evaluator certify results/demo --labels to_label.xlsx                 # compare, write certificate.json
  rag-evaluator certify results/demo --labels anna.xlsx --labels bob.xlsx   # two annotators
  rag-evaluator certify results/demo --labels labels.csv --threshold faithfulness=0.5
  rag-evaluator certify results/demo --labels grades.csv --scale faithfulness=1..5
  rag-evaluator certify results/demo --label faithfulness=response_is_correct

docs/judging-the-judge.md explains the forms of labels and every figure."""


def add_certify_command(commands: Any) -> None:
    """Add the command to the parser. Any: argparse has no public name for a group of subcommands."""
    command = commands.add_parser(
        "certify",
        help="how far a run's scores agree with people's labels",
        description="Compare the scores of a finished run with labels that people gave, and write certificate.json.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("results", type=Path, help="results folder of a finished run")
    command.add_argument(
        "--labels", type=Path, action="append", default=[], metavar="FILE",
        help="a table of labels, or a sheet that was filled in; of several files each is that of one annotator",
    )  # fmt: skip
    command.add_argument(
        "--label", action="append", default=[], metavar="METRIC=COLUMN",
        help="a column of the run's own rows holds the labels of a metric; may be repeated",
    )  # fmt: skip
    command.add_argument(
        "--threshold", action="append", default=[], metavar="METRIC=NUMBER",
        help="the score from which on the judge accepts, fixed before the labels were seen; default: that of the "
        "configuration, else one chosen on the labels by cross-fitting",
    )  # fmt: skip
    command.add_argument(
        "--scale", action="append", default=[], metavar="METRIC=LOW..HIGH",
        help="labels are grades from LOW to HIGH, the best: faithfulness=1..5",
    )  # fmt: skip
    command.add_argument(
        "--on", metavar="COLUMN", help="key column of the labels; default: row, sample, id or question"
    )
    command.add_argument(
        "--random", action="store_true", help="the labelled rows are a random sample of all rows, though not of a sheet"
    )
    add_json(command)
    command.add_argument("--out", type=Path, metavar="FILE", help="default: certificate.json in the results folder")
    command.add_argument("--force", action="store_true", help="replace a file that is there and is no certificate")


def add_sheet_command(commands: Any) -> None:
    """Add `certify sheet` to the parser."""
    command = commands.add_parser(
        SHEET,
        help="draw rows of a run for people to label, as a workbook",
        description="Draw rows at random and write a workbook to be filled in: no scores, rows in random order, "
        "answers from a list, instructions in the language of the run.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("results", type=Path, help="results folder of a finished run")
    command.add_argument("--out", type=Path, required=True, metavar="FILE", help="the workbook, .xlsx")
    command.add_argument("--size", type=int, default=100, help="rows to draw, at least 20; default: %(default)s")
    command.add_argument(
        "--metric", action="append", default=[],
        help="to be labelled; may be repeated, rows are drawn by the first; default: all metrics of the run",
    )  # fmt: skip
    command.add_argument(
        "--uncertain", action="store_true",
        help="draw half in proportion to the judge's uncertainty; default: from groups of similar scores",
    )  # fmt: skip
    command.add_argument("--seed", type=int, default=0, help="of the draw; default: %(default)s")
    command.add_argument(
        "--like", type=Path, metavar="RUN", help="the rows that were drawn for this run, to compare both by labels"
    )
    command.add_argument(
        "--sentences", action="store_true",
        help="a line for each sentence that a verifier looked at; their labels give verifier.threshold",
    )  # fmt: skip
    command.add_argument("--force", action="store_true", help="replace a workbook that is there")


def sheet(options: argparse.Namespace) -> int:
    """`rag-evaluator certify sheet results/demo --size 100 --out to_label.xlsx`."""
    from rag_evaluator.cli.console import say
    from rag_evaluator.features.certify.certify import label_sheet

    record = label_sheet(
        options.results,
        options.out,
        options.size,
        options.metric,
        options.uncertain,
        options.seed,
        options.like,
        options.force,
        options.sentences,
    )
    say(f"{len(record.rows)} of {len(record.strata)} rows written to {options.out}: {', '.join(record.metrics)}")
    say(f"their probabilities are kept in {options.results}/labels/{record.name}.json")
    say(f"when it is filled in: {command('certify', options.results, '--labels', options.out)}")
    return OK


def certify(options: argparse.Namespace) -> int:
    """`rag-evaluator certify results/demo --labels labels.csv`."""
    from rag_evaluator.cli.console import print_json
    from rag_evaluator.features.certify.certify import certify as compare_with_labels

    certification = compare_with_labels(
        options.results,
        options.labels,
        label=_pairs("--label", "METRIC=COLUMN", options.label, str),
        threshold=_pairs("--threshold", "METRIC=NUMBER", options.threshold, float),
        scale=options.scale,
        on=options.on,
        random=options.random,
        out=options.out,
        force=options.force,
    )
    if options.json:
        print_json(certification.to_json())
    else:
        print_certification(certification)
    return OK


def _pairs(option: str, form: str, texts: Sequence[str], read: Callable[[str], Read]) -> dict[str, Read]:
    pairs = {}
    for text in texts:
        name, _, value = text.rpartition("=") if read is float else text.partition("=")
        try:
            pairs[name.strip()] = read(value.strip())
        except ValueError:
            name = ""
        if not name.strip() or not value.strip():
            raise ConfigError(f"{option}: expected {form}, received '{text}'.")
    return pairs


def print_certification(certification: "Certification") -> None:
    """The sentences, the table, then what else the figures of each metric mean."""
    from rag_evaluator.cli.console import print_table, say

    certificate = certification.certificate
    metrics = certificate["metrics"]
    for line in certification.conclusion.lines():
        say(line)
    headings = ("labels", "AUC", "Spearman", "agreement", "balanced accuracy", "kappa")
    rows = [[name, *_cells(part)] for name, part in metrics.items()]
    print_table(
        f"{certificate['run']}: scores against labels, [95 % interval]",
        [("metric", "left"), *((heading, "right") for heading in headings)],
        rows,
    )
    for name, part in metrics.items():
        lines = list(_of_metric(part, certificate["rows"]))
        for line in [f"{name}:", *lines] if lines else ():
            say(line)
    for line in _of_disagreements(certification.disagreements):
        say(line)
    say(f"written to {certification.path}")


def _cells(part: Mapping[str, Any]) -> list[str]:
    """The figures of a metric; those of its statements, where rows have no labels."""
    if "reason" in part and "binary" in part.get("statements", {}):
        part = part["statements"]
    count = str(part.get("compared", part.get("labels", 0)))
    if "binary" in part:
        names = ("auc", "spearman", "agreement", "balanced_accuracy", "kappa")
        return [count, *(_interval(part["binary"][name]) for name in names)]
    if "graded" in part:
        area, spearman, kappa = (
            _interval(part["graded"][name]) for name in ("concordance", "spearman", "kappa_quadratic")
        )
        return [count, area, spearman, "-", "-", kappa]
    return [count, "-", "-", "-", "-", "-"]


def _interval(figure: Mapping[str, Any]) -> str:
    value = figure["mean"] if "mean" in figure else figure["value"]
    if value is None:
        return "-"
    return f"{value:.2f} [{figure['ci_low']:.2f}, {figure['ci_high']:.2f}]"


def _of_metric(part: Mapping[str, Any], rows: int) -> Iterator[str]:
    """What the sentences at the top do not say of a metric."""
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
        yield from _of_statements(part["statements"], "binary" in part or "graded" in part)
    elif "calibration" in part:
        yield from _of_calibration(part["calibration"])


def _of_binary(binary: Mapping[str, Any]) -> Iterator[str]:
    confusion = binary["confusion"]
    if confusion is not None:
        how = "chosen on the labels, cross-fitted" if binary["cross_fitted"] else "fixed before"
        yield (
            f"  threshold {binary['threshold']:.3g} ({how}): both accept {confusion['true_positive']}, only the score "
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


def _of_mean(mean: Mapping[str, Any], rows: int) -> Iterator[str]:
    if mean["label_mean"] is None:
        yield f"  mean label of rows like these: {mean['ci_method']}"
        return
    own = "" if mean["judge_mean"] is None else f"; the scores' own mean is {mean['judge_mean']:.2f}"
    yield (
        f"  mean label of rows like these: {mean['label_mean']:.2f} [{mean['ci_low']:.2f}, {mean['ci_high']:.2f}], "
        f"from {mean['labels']} labels{' and the scores' if mean['judge_weight'] else ''} of {rows} rows{own}"
    )
    if mean["labels_only"]:
        yield f"  {mean['labels_only']}"


def _of_statements(part: Mapping[str, Any], rows_have_labels: bool) -> Iterator[str]:
    """Figures of statements; their verdict, unless it is that of the metric."""
    verdict = f"; {part['verdict']['word']}: {part['verdict']['reason']}" if rows_have_labels else ""
    yield f"  statements: {part['labels']} labels in {part['rows']} rows{verdict}"
    if "reason" not in part:
        agreement, kappa, auc = (_interval(part["binary"][name]) for name in ("agreement", "kappa", "auc"))
        yield f"    agreement {agreement}, kappa {kappa}, AUC {auc}"
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
