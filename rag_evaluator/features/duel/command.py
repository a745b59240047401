"""`rag-evaluator duel`: which of two runs answers better, by the judge."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rag_evaluator.cli.options import add_beginning, add_rows, add_set
from rag_evaluator.errors import ConfigError
from rag_evaluator.files.progress import ACTIVITY, LIBRARIES
from rag_evaluator.files.signals import Stop

OK, NOTHING_JUDGED = 0, 1
EXAMPLES = """examples:
  rag-evaluator duel results/base results/demo
  rag-evaluator duel results/base results/demo --out results/base-against-demo --on id
  rag-evaluator duel results/base results/demo --set judge.model=/models/Qwen3-32B
  rag-evaluator duel results/base results/demo --config judge.yaml --worker 0/4
  rag-evaluator submit judge.yaml --workers 16 --task duel --runs results/base results/demo
  rag-evaluator status results/duel-base-demo

exit codes: 0 judged, 1 nothing could be judged, 2 bad input, 75 stopped: run again to continue"""


def add_duel_command(commands: Any) -> None:
    """Add the command to the parser. Any: argparse has no public name for a group of subcommands."""
    command = commands.add_parser(
        "duel",
        help="which of two runs answers better, row by row, by the judge",
        description="For each row that both runs answered, the judge says which answer is better, in both orders. "
        "Written are duel.json, duel_summary.json and duel_manifest.json.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
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
    command.add_argument(
        "--on",
        metavar="COLUMN",
        help="match rows by this column; default: 'id' if every row has its own, else the question",
    )
    command.add_argument("--out", type=Path, metavar="FOLDER", help="where results go; default: duel-A-B beside A")
    add_rows(command)
    add_beginning(command)


def duel(options: argparse.Namespace, stop: Stop) -> int:
    """`rag-evaluator duel results/a results/b`."""
    from rag_evaluator.cli.evaluate import beginning

    with ACTIVITY.phase(LIBRARIES):
        from rag_evaluator.cli.console import print_end, print_json, print_part, say
        from rag_evaluator.cli.evaluate import run_task
        from rag_evaluator.config.offline import disable_network
        from rag_evaluator.config.schema import load_config
        from rag_evaluator.features.duel import stage as dueling
        from rag_evaluator.tasks.question import TaskJudge

    runs = [dueling.read_run(folder.expanduser()) for folder in (options.a, options.b)]
    user_config = load_config(options.config, options.set) if options.config else None
    config = dueling.for_duel(user_config or dueling.recorded_config(runs[0], options.set), folder_of(options))
    if config.offline:
        disable_network()
    begun = beginning(options)
    places = [str(_absolute(folder)) for folder in (options.a, options.b)]
    stage = dueling.of_runs(runs, options.on, TaskJudge(dueling.TASK, config), places)
    table, seconds, wrote, changed = run_task(stage, config, *begun, stop)
    summary = stage.summary(table)
    if options.json:
        print_json({"results": str(config.results_dir), **summary})
        return _code(summary)
    print_duel(summary)
    print_part(stage.plan)
    say(f"{summary['judge_calls']} judge calls, of them {stage.asked} now in {seconds:.1f} s")
    print_end(config, True, wrote, changed)
    return _code(summary)


def _code(summary: Mapping[str, Any]) -> int:
    from rag_evaluator.features.duel.stage import WIN_RATE

    return OK if summary["measures"][WIN_RATE]["scored"] else NOTHING_JUDGED


def print_duel(summary: Mapping[str, Any]) -> None:
    """What became of the rows, the win rate, and how much the judge prefers a place."""
    from rag_evaluator.cli.console import print_parts
    from rag_evaluator.features.duel.stage import duel_overview

    print_parts(duel_overview(summary))


def duel_inputs(options: argparse.Namespace, config: object) -> tuple[Path, list[str]]:
    """The results folder of a duel that is handed to Slurm, and the arguments of each worker; it needs no more.

    Raises `RagEvaluatorError` if a run is missing.
    """
    from rag_evaluator.features.duel.stage import beside, read_run

    if options.runs is None:
        raise ConfigError("--task duel: expected the two runs: --runs results/a results/b.")
    a, b = map(_absolute, options.runs)
    for folder in (a, b):
        read_run(folder)
    out = beside(a, b)
    return out, [str(a), str(b), "--config", str(_absolute(options.config)), "--out", str(out)]


def folder_of(options: argparse.Namespace) -> Path:
    """Where results go: as given, else beside the first run."""
    from rag_evaluator.features.duel.stage import beside

    if options.out:
        return _absolute(options.out)
    return beside(_absolute(options.a), _absolute(options.b))


def _absolute(path: Path) -> Path:
    return path.expanduser().resolve()
