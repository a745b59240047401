"""`rag-evaluator duel`: which of two runs answers better, by the judge."""

import argparse
from pathlib import Path
from typing import Any

from rag_evaluator.cli import FAILED, OK, add_beginning, add_on, add_rows, add_set, print_task, with_examples
from rag_evaluator.files import Stop, loading_libraries


def add_duel_command(commands: Any) -> None:
    """Add the command to the parser. Any: argparse has no public name for a group of subcommands."""
    command = commands.add_parser(
        "duel",
        help="which of two runs answers better, row by row, by the judge",
        description="For each row that both runs answered, the judge says which answer is better, in both orders. "
        "It writes duel.json, duel_summary.json and duel_manifest.json.",
        **with_examples(
            "rag-evaluator duel results/base results/demo",
            "rag-evaluator duel results/base results/demo --out results/base-against-demo --on id",
            "rag-evaluator duel results/base results/demo --set judge.model=/models/Qwen3-32B",
            "rag-evaluator duel results/base results/demo --config judge.yaml --worker 0/4",
            "rag-evaluator status results/duel-base-demo",
            note="exit codes: 0 judged, 1 nothing could be judged, 2 bad input, 75 stopped: run again to continue",
        ),
    )
    command.add_argument("a", type=Path, metavar="A", help="results folder of a run; the win rate is that of A over B")
    command.add_argument("b", type=Path, metavar="B", help="results folder of another run over the same questions")
    command.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="judge, language and prompts_dir of this YAML file; default: those that A was judged with",
    )
    add_set(command)
    add_on(command)
    command.add_argument("--out", type=Path, metavar="FOLDER", help="where results go; default: duel-A-B beside A")
    add_rows(command)
    add_beginning(command)


def duel(options: argparse.Namespace, stop: Stop) -> int:
    """`rag-evaluator duel results/a results/b`."""
    from rag_evaluator.cli import beginning

    with loading_libraries():
        from rag_evaluator.cli import run_task
        from rag_evaluator.config import disable_network, load_config
        from rag_evaluator.tasks import TaskJudge, open_run

        from . import stage as dueling
        from .conclusion import WIN_RATE, duel_conclusion

    a, b = places = [path.expanduser().resolve() for path in (options.a, options.b)]
    folder = options.out.expanduser().resolve() if options.out else a.parent / f"duel-{a.name}-{b.name}"
    runs = [open_run(path.expanduser()) for path in (options.a, options.b)]
    user_config = load_config(options.config, options.set) if options.config else None
    config = user_config or dueling.recorded_config(runs[0], options.set)
    config = config.model_copy(update={"output_dir": folder.parent, "name": folder.name, "dataset": None})
    if config.offline:
        disable_network()
    begun = beginning(options)
    stage = dueling.of_runs(runs, options.on, TaskJudge(dueling.TASK, config), places)
    table, seconds, wrote, changed = run_task(stage, config, *begun, stop)
    summary = stage.summary(table)
    conclusion = duel_conclusion(summary, stage.about["config"], [options.a, options.b])
    asked = f"{summary['judge_calls']} judge calls, of them {stage.asked} now in {seconds:.1f} s"
    parts = [*dueling.duel_overview(summary), asked]
    print_task(options, config, stage.plan, conclusion, summary, parts, wrote, changed)
    return OK if summary["measures"][WIN_RATE]["scored"] else FAILED
