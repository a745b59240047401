"""`rag-evaluator certify` and `certify sheet`: a run's scores against people's labels, and rows to be labelled."""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rag_evaluator.cli import OK, add_json, add_repeated, print_json, print_parts, print_table, say, with_examples
from rag_evaluator.errors import ConfigError
from rag_evaluator.resources import command
from rag_evaluator.results import one_line, with_ends

from .counting import besides
from .feature import SHEET

if TYPE_CHECKING:
    from .certificate import Certification

Read = TypeVar("Read", str, float)
EXAMPLES = with_examples(
    "rag-evaluator certify sheet results/demo --size 100 --out to_label.xlsx   # rows for people to label",
    "rag-evaluator certify results/demo --labels to_label.xlsx                 # compare, write certificate.json",
    "rag-evaluator certify results/demo --labels anna.xlsx --labels bob.xlsx   # two annotators",
    "rag-evaluator certify results/demo --labels labels.csv --threshold faithfulness=0.5",
    "rag-evaluator certify results/demo --labels grades.csv --scale faithfulness=1..5",
    "rag-evaluator certify results/demo --label faithfulness=response_is_correct",
    note="docs/labels.md explains the forms of labels, docs/certify.md every figure.",
)


def add_certify_command(commands: Any) -> None:
    """Add the command to the parser. Any: argparse has no public name for a group of subcommands."""
    command = commands.add_parser(
        "certify",
        help="how far a run's scores agree with people's labels",
        description="Compare the scores of a finished run with labels that people gave, and write certificate.json.",
        **EXAMPLES,
    )
    command.add_argument("results", type=Path, help="results folder of a finished run")
    command.add_argument(
        "--labels", type=Path, action="append", default=[], metavar="FILE",
        help="a table of labels, or a sheet that was filled in; of several files each is that of one annotator",
    )  # fmt: skip
    add_repeated(command, "--label", "METRIC=COLUMN", "a column of the run's own rows holds the labels of a metric")
    accepts = (
        "the score from which on the judge accepts, fixed before the labels were seen; default: that of the "
        "configuration, else one chosen on the labels by cross-fitting"
    )
    add_repeated(command, "--threshold", "METRIC=NUMBER", accepts)
    grades = "labels are grades from LOW to HIGH, the best: faithfulness=1..5"
    add_repeated(command, "--scale", "METRIC=LOW..HIGH", grades)
    command.add_argument(
        "--random", action="store_true", help="the labelled rows are a random sample of all rows, though not of a sheet"
    )
    command.add_argument(
        "--calibrate", action="store_true",
        help="also write calibration.json, for verifier.calibration, from labels of sentences",
    )  # fmt: skip
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
        **EXAMPLES,
    )
    command.add_argument("results", type=Path, help="results folder of a finished run")
    command.add_argument("--out", type=Path, required=True, metavar="FILE", help="the workbook, .xlsx")
    command.add_argument("--size", type=int, default=100, help="rows to draw, at least 20; default: %(default)s")
    labelled = "to be labelled; rows are drawn by the first; default: all metrics of the run"
    add_repeated(command, "--metric", "METRIC", labelled)
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
    from .certificate import label_sheet

    record = label_sheet(
        options.results,
        options.out,
        options.size,
        options.metric,
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
    from .certificate import certify as compare_with_labels

    certification = compare_with_labels(
        options.results,
        options.labels,
        label=_pairs("--label", "METRIC=COLUMN", options.label, str),
        threshold=_pairs("--threshold", "METRIC=NUMBER", options.threshold, float),
        scale=options.scale,
        random=options.random,
        out=options.out,
        force=options.force,
        calibrate=options.calibrate,
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
    """The sentences, the table, what else the figures of each metric mean, and the rows that differ most."""
    certificate = certification.certificate
    metrics = certificate["metrics"]
    print_parts(certification.conclusion.lines())
    rows = [row for name, part in metrics.items() for row in _rows(name, part)]
    headings = ("labels", "AUC", "Spearman", "agreement", "balanced accuracy", "kappa")
    print_table(
        f"{certificate['run']}: scores against labels, [95 % interval]",
        [("metric", "left"), *((heading, "right") for heading in headings)],
        rows,
        ("AUC", "Spearman", "balanced accuracy"),
    )
    print_table(
        "the same beside counting, on all labelled rows: a missing score counts half",
        [("metric", "left"), ("by", "left"), *((heading, "right") for heading in ("labels", "AUC", "difference"))],
        [line for name, part in metrics.items() for beside in besides(name, part) for line in beside.lines()],
    )
    for name, part in metrics.items():
        for line in _remarks(part):
            say(f"{name}: {line}")
    for each in certification.disagreements:
        where = "" if each.drawn else " (not drawn)"
        about = f"label {each.label:.3g}, score {each.score:.3g}  {one_line(each.question or '')}"
        say(f"{each.metric} differs in row {each.name}{where}: {about}")
        for reason in each.reasons:
            say(f"    {one_line(reason)}")
    say(f"written to {certification.path}")


def _rows(metric: str, part: Mapping[str, Any]) -> Iterator[list[str]]:
    """A line for labels of rows, and one for labels of statements."""
    statements = part.get("statements")
    if "compared" in part or statements is None:
        yield [metric, str(part.get("compared", 0)), *_cells(part)]
    if statements is not None:
        yield [f"{metric}, statements", str(statements["labels"]), *_cells(statements)]


def _cells(part: Mapping[str, Any]) -> list[str]:
    figures = part.get("binary") or part.get("graded") or {}
    areas = ("auc", "concordance")
    kappas = ("kappa", "kappa_quadratic")
    columns = (areas, ("spearman",), ("agreement",), ("balanced_accuracy",), kappas)
    return [_interval(next((figures[name] for name in names if name in figures), {})) for names in columns]


def _interval(figure: Mapping[str, Any]) -> str:
    value = figure.get("mean", figure.get("value"))
    return "-" if value is None else with_ends(value, figure["ci_low"], figure["ci_high"])


def _remarks(part: Mapping[str, Any]) -> Iterator[str]:
    """What neither the sentences at the top nor the table says of a metric."""
    binary = part.get("binary", {})
    if binary.get("confusion"):
        how = "chosen on the labels, cross-fitted" if binary["cross_fitted"] else "fixed before"
        both, score, people, none = binary["confusion"].values()
        yield (
            f"threshold {binary['threshold']:.3g} ({how}): both accept {both}, only the score {score}, only people "
            f"{people}, both reject {none}"
        )
    counts = {
        "drawn rows without a label": part.get("blank", 0),
        "rows on which annotators are divided": part.get("tied", 0),
        "labels of rows that were not drawn": part.get("not_drawn", 0),
    }
    yield from (f"not counted, {what}: {count}" for what, count in counts.items() if count)
    alpha = part.get("annotator_alpha", {})
    if alpha.get("alpha") is not None:
        yield f"Krippendorff's alpha of the annotators {alpha['alpha']:.2f} in {alpha['units']} rows"
    mean = part.get("label_mean")
    if mean and mean["label_mean"] is None:
        yield f"no mean label of rows like these, {mean['ci_method']}"
    elif mean:
        shown = with_ends(mean["label_mean"], mean["ci_low"], mean["ci_high"])
        judge = "none" if mean["judge_mean"] is None else f"{mean['judge_mean']:.2f}"
        yield f"mean label of rows like these {shown}, the scores' own mean {judge}"
        if mean["labels_only"]:
            yield mean["labels_only"]
