"""`rag-evaluator plan`: what a run will ask and take, before it is started."""

import argparse
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_evaluator.cli.options import OK, add_json, add_rows, add_set, typed_words, with_examples
from rag_evaluator.errors import ConfigError
from rag_evaluator.files.imports import loading_libraries
from rag_evaluator.files.progress import ACTIVITY
from rag_evaluator.files.signals import GRACE, Stop

if TYPE_CHECKING:
    from rag_evaluator.features.setup.plan import Expected, PlannedJudge, PlannedMetric, PlannedRun

OTHERS = ("sort", "generate", "probe", "duel", "testset")  # tasks that have no plan
SAMPLE, WITHIN = 20, 0.05  # as in `rag_evaluator.features.setup.plan`, which loads ragas


def add_plan_command(commands: Any) -> None:
    """Add the command to the parser. Any: argparse has no public name for a group of subcommands."""
    command = commands.add_parser(
        "plan",
        help="what an evaluation will ask the judge, how long it will take, how many rows it needs",
        description="Judge some rows, and scale what they took to all rows: judge calls, tokens, time. Also memory, "
        "and the rows with which an interval is narrow enough.",
        **with_examples(
            "rag-evaluator plan config.yaml",
            "rag-evaluator plan config.yaml --sample 0",
            "rag-evaluator plan config.yaml --workers 16 --json",
            note="The rows that are judged for the plan are not judged again by the run. ~ marks an estimate.\n"
            "Evaluations only: what a row of sort, generate, probe, duel or testset takes, a run of some rows shows:\n"
            "rag-evaluator sort config.yaml --limit 20",
        ),
    )
    command.add_argument("config", type=_config, help="YAML file, as of the run")
    add_set(command)
    command.add_argument(
        "--sample",
        type=int,
        default=SAMPLE,
        metavar="N",
        help="rows that are judged for the estimates; 0 loads no model, and gives the rows needed only; "
        "default: %(default)s",
    )
    command.add_argument(
        "--workers", type=int, default=1, metavar="N", help="that share the work; default: %(default)s"
    )
    command.add_argument(
        "--within",
        type=float,
        default=WITHIN,
        metavar="NUMBER",
        help="half the width that an interval should have, in units of the metric; default: %(default)s",
    )
    add_json(command)
    command.add_argument("--grace", type=float, default=GRACE, help=argparse.SUPPRESS)
    add_rows(command, "limit")


def _config(text: str) -> Path:
    """Raises `ArgumentTypeError` for a task in the place of the configuration: `plan sort config.yaml`."""
    if text in OTHERS and not Path(text).exists():
        size = "--size" if text == "testset" else "--limit"
        raise argparse.ArgumentTypeError(
            f"plan is for evaluations. What a row of '{text}' takes, a run of some rows shows: {size} 20"
        )
    return Path(text)


def plan(options: argparse.Namespace, stop: Stop) -> int:
    """`rag-evaluator plan config.yaml`."""
    from rag_evaluator.cli.console import print_json, print_parts
    from rag_evaluator.cli.evaluate import read_config
    from rag_evaluator.features.setup.plan_conclusion import plan_conclusion

    _check(options)
    config = read_config(options)
    with loading_libraries():
        from rag_evaluator.features.setup.plan import plan as make_plan

    with ACTIVITY.counted("scores for the plan") as progress:
        planned = make_plan(
            config,
            sample=options.sample,
            workers=options.workers,
            within=options.within,
            progress=progress,
            stop=stop,
        )
    conclusion = plan_conclusion(planned, typed_words(options))
    if options.json:
        print_json({**planned.to_json(), "conclusion": conclusion.to_json()})
    else:
        print_parts(conclusion.lines())
        print_plan(planned)
    return OK


def _check(options: argparse.Namespace) -> None:
    """Raises `ConfigError` for numbers that cannot be."""
    for name, least in (("sample", 0), ("workers", 1)):
        if getattr(options, name) < least:
            raise ConfigError(f"--{name} {getattr(options, name)}: expected {least} or more.")
    if not options.within > 0:
        raise ConfigError(f"--within {options.within:g}: expected a number above 0.")


def print_plan(planned: "PlannedRun") -> None:
    """A table for each judge, and what the sentences do not say."""
    from rag_evaluator.cli.console import print_table, say

    columns = [
        ("metric", "left"),
        ("scores done", "right"),
        ("judge calls", "right"),
        ("prompt tokens", "right"),
        ("generated tokens", "right"),
        (f"rows for ±{planned.within:g}", "right"),
    ]
    for judge in planned.judges:
        rows = [_row(metric, judge.judged) for metric in judge.metrics]
        for label, part in (("together", judge.all), ("not done yet", judge.left)):
            rows.append([label, "", *_figures(part), ""])
        print_table(f"plan of {planned.name}: {planned.rows}", columns, rows)
        for line in _lines(judge, planned):
            say(line)


def _row(metric: "PlannedMetric", judged: int) -> list[str]:
    done = f"{metric.done:,}/{metric.scores:,}"
    needed = "not known" if metric.rows_needed is None else f"{'~' if judged else 'at most '}{metric.rows_needed:,}"
    return [metric.metric, done, *_figures(metric.all), needed]


def _figures(part: "Expected | None") -> list[str]:
    from rag_evaluator.features.setup.plan import Expected

    if part is None:
        return ["not known"] * 3
    within = part.within or Expected(0)
    return [
        _estimate(part.calls, within.calls),
        _estimate(part.prompt_tokens, within.prompt_tokens),
        _estimate(part.generated_tokens, within.generated_tokens),
    ]


def _estimate(count: float | None, margin: float | None) -> str:
    """`~14,800 ±12 %`."""
    if count is None:
        return "not known"
    share = f" ±{math.ceil(100 * margin / count)} %" if count and margin else ""
    return f"~{count:,.0f}{share}" if count else "0"


def _lines(judge: "PlannedJudge", planned: "PlannedRun") -> Iterator[str]:
    seconds = judge.seconds_with(planned.workers)
    if seconds and judge.load_seconds:
        yield f"of the time {judge.load_seconds:.0f} s are for loading the models"
    if judge.memory is not None:
        gpu = f", and {_size(judge.gpu_memory)} of GPU memory" if judge.gpu_memory else ""
        yield f"memory of each worker: ~{_size(judge.memory)}{gpu}"
    if judge.judged:
        yield f"the scores of the {judge.judged} judged rows are kept for the run"
        if any(part and part.within for part in (judge.all, judge.left)):
            yield "± says how these rows vary; rows in which the judge writes far more than in these are not in it"
    yield from judge.notes


def _size(count: int) -> str:
    return f"{count / 2**30:.1f} GiB"
