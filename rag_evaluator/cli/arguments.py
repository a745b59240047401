"""The commands of the core, and the parser of all commands with its help."""

import argparse
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from rag_evaluator.config import Command, Group, all_features, load, requirements
from rag_evaluator.errors import did_you_mean
from rag_evaluator.resources import NAME, __version__, program
from rag_evaluator.tasks import all_tasks

from .options import (
    add_beginning,
    add_config,
    add_json,
    add_markdown,
    add_on,
    add_repeated,
    add_rows,
    add_set,
    add_task_command,
    with_examples,
)

HERE = "rag_evaluator.cli.arguments"
CLI = "rag_evaluator.cli"
COMMANDS: Mapping[str, Command] = {
    "evaluate": Command(f"{CLI}.evaluate:evaluate", f"{HERE}:add_evaluate_command", "main job", stoppable=True),
    "report": Command(f"{CLI}.compare:report", f"{HERE}:add_report_command", "main job", long=True),
    "compare": Command(f"{CLI}.compare:compare", f"{HERE}:add_compare_command", "main job", long=True),
    "gate": Command(f"{CLI}.compare:gate", f"{HERE}:add_gate_command", long=True),
    "sort": Command(f"{CLI}.evaluate:sort", f"{HERE}:add_sort_command", stoppable=True),
    "generate": Command(f"{CLI}.evaluate:generate", f"{HERE}:add_generate_command", stoppable=True),
    "prompts": Command(f"{CLI}.prompts:prompts", f"{HERE}:add_prompt_commands", continued=True),
    "submit": Command(f"{CLI}.cluster:submit", f"{HERE}:add_submit_command", "cluster"),
    "status": Command(f"{CLI}.cluster:status", f"{HERE}:add_status_command", "cluster"),
    "merge": Command(f"{CLI}.cluster:merge", f"{HERE}:add_merge_command", "cluster", long=True),
}
"""Name -> command of the core; features have their own."""
WHAT = "Evaluate RAG outputs with ragas metrics and local Hugging Face models, offline."
EXAMPLES = """examples:
  rag-evaluator config.yaml
  rag-evaluator config.yaml --limit 20 --set judge.model=/models/Qwen3-8B
  rag-evaluator status results/demo
  rag-evaluator report results/base results/demo --out report.html
  rag-evaluator compare results/base results/demo

'rag-evaluator COMMAND --help' has the options and examples of a command.
"""
EXIT_CODES = """\
exit codes: 0 scored, 1 nothing could be scored, 2 bad input, 75 stopped by a signal, the judge is lost or chunks
are missing: run again to continue, 130, 143 and 138 stopped at once by a second signal; gate: 1 a rule failed, 3 with
--fail-if-not-settled: worse is not settled after correction
'python main.py' does the same as 'rag-evaluator'."""
OURS = re.compile(rf"(?<![\w./-]){NAME}(?= )")  # the name where a command begins


def all_commands() -> Mapping[str, Command]:
    """By group of `--help`; in each those of features come first, as what prepares a run does."""
    rows = {**{name: row for feature in all_features().values() for name, row in feature.commands.items()}, **COMMANDS}
    return dict(sorted(rows.items(), key=lambda row: get_args(Group).index(row[1].group)))


class _Parser(argparse.ArgumentParser):
    """Shows commands as the user types them."""

    def format_help(self) -> str:
        return OURS.sub(lambda _: program(), super().format_help())


class _CommandParser(_Parser):
    """Takes `-v`; makes the parsers of the actions of a command, too."""

    def __init__(self, **options: Any) -> None:  # Any: argparse overloads it
        super().__init__(**options)
        says = "show the messages of transformers and other libraries, too"
        self.add_argument("-v", "--verbose", action="store_true", default=argparse.SUPPRESS, help=says)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # Any: argparse overloads it
        """What is not known is refused here, with the nearest option of the command."""
        options, unknown = super().parse_known_args(args, namespace)
        if unknown and unknown[0].startswith("-"):
            self.error(f"'{unknown[0]}' is no option of it.{did_you_mean(unknown[0], self._option_string_actions)}")
        return options, unknown


def parser_of_commands(typed: str | None = None) -> argparse.ArgumentParser:
    """Return the parser of the typed command, so that no other is imported; None: of all commands."""
    parser: argparse.ArgumentParser = _Parser(
        prog=program(),
        usage=f"{program()} [CONFIG | COMMAND] ...",
        epilog=f"{EXAMPLES}\n{EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(verbose=False)
    parser.add_argument("--version", action="version", version=f"rag-evaluator {__version__}")
    commands = parser.add_subparsers(
        dest="command",
        required=True,
        metavar="COMMAND",
        prog=program(),
        help=argparse.SUPPRESS,
        parser_class=_CommandParser,
    )
    for name, command in all_commands().items():
        if typed in (None, name):
            load(command.arguments)(commands)
    if typed is None:
        parser.description = f"{WHAT}\n\n{_groups(commands)}"
    return parser


def _groups(commands: Any) -> str:
    """The commands with what they do, in groups. Any: argparse has no public name for a group of subcommands."""
    rows = all_commands()
    told = {action.dest: action.help for action in commands._choices_actions}
    width = max(map(len, rows)) + 2
    groups = []
    for group in get_args(Group):
        names = [name for name, command in rows.items() if command.group == group]
        lines = [f"  {name:{width}}{told[name]}" for name in (names if group != "more" else sorted(names))]
        groups.append("\n".join([f"{group}:", *lines]))
    return "\n\n".join(groups)


def add_evaluate_command(commands: Any) -> None:
    """Add `evaluate` to the parser. Any: argparse has no public name for a group of subcommands."""
    command = commands.add_parser(
        "evaluate",
        help="score a dataset; the default: 'rag-evaluator config.yaml'",
        description="Score a dataset, write the results, print the means. The same command continues a stopped run.",
        **with_examples(
            "rag-evaluator config.yaml",
            "rag-evaluator config.yaml --set judge.model=/models/Qwen3-8B --set dataset=my_rows.jsonl",
            "rag-evaluator config.yaml --set metrics='[faithfulness, answer_relevancy]' --fresh",
            "rag-evaluator config.yaml --limit 20",
            "rag-evaluator config.yaml --set dataset=b.jsonl --set name=b --against results/demo",
            "rag-evaluator config.yaml --worker 3/16",
            note=EXIT_CODES,
        ),
    )
    add_config(command)
    add_rows(command)
    command.add_argument(
        "--against",
        type=Path,
        metavar="RUN",
        help="a baseline's results folder: afterwards both are compared, in comparison.html beside the results",
    )
    command.add_argument(
        "--questions-from",
        dest="set",
        action="append",
        type=lambda folder: f"questions_from={json.dumps(str(Path(folder).absolute()))}",
        metavar="RUN",
        help="a run's results folder: its rewritten questions are taken, with judge.history: rewrite",
    )
    add_beginning(command)


def add_report_command(commands: Any) -> None:
    """Add `report` to the parser."""
    command = commands.add_parser(
        "report",
        help="one HTML file with figures, rows and what the judge said; needs no network",
        description="Write a finished run, or several beside each other, to one HTML file for a browser.",
        **with_examples(
            "rag-evaluator report results/demo                                   # results/demo/report.html",
            "rag-evaluator report results/base results/demo --out report.html    # the baseline first",
        ),
    )
    command.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="results folders; the baseline first")
    command.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="the file; default: RUN/report.html, for several runs report.html in this folder",
    )
    command.add_argument("--force", action="store_true", help="replace a file that is there and is no report")
    add_on(command)
    add_repeated(command, "--group-by", "COLUMN", "of several runs: figures also for each value of this column")
    command.add_argument("--title", metavar="TEXT", help="the title of the page; default: the names of the runs")
    add_markdown(command)


def add_compare_command(commands: Any) -> None:
    """Add `compare` to the parser."""
    command = commands.add_parser(
        "compare",
        help="what runs over the same questions differ in, and how sure that is",
        description="Compare runs with the first one, row by row: means, paired difference with its interval, test.",
        **with_examples(
            "rag-evaluator compare results/base results/demo",
            "rag-evaluator compare results/base results/demo --group-by topic --cluster document --csv table.csv",
            "rag-evaluator compare results/base results/demo --margin 0.05   # what lies within it is called equal",
            "rag-evaluator compare ragas.csv results/demo --on question --json   # scores from elsewhere",
        ),
    )
    command.add_argument(
        "runs", nargs="+", type=Path, metavar="RUN", help="results folders, or tables of scores; the baseline first"
    )
    command.add_argument(
        "--effect",
        type=float,
        default=0.05,
        help="a difference that you want to find: the table says how many rows it takes; default: %(default)s",
    )
    add_repeated(command, "--group-by", "COLUMN", "figures also for each value of this column")
    _add_pairing(command)
    outputs = command.add_mutually_exclusive_group()
    add_json(outputs)
    add_markdown(outputs)
    command.add_argument("--csv", type=Path, metavar="FILE", help="write the table to a CSV file")
    command.add_argument("--force", action="store_true", help="replace a file that is there and is no such table")


def add_gate_command(commands: Any) -> None:
    """Add `gate` to the parser."""
    command = commands.add_parser(
        "gate",
        help="exit code 1 where scores do not keep rules, for CI",
        description="Check the scores of a run. A rule concerns the worse end of the 95 % interval, or the mean if it "
        "says mean:METRIC=NUMBER.",
        **with_examples(
            "rag-evaluator gate results/demo --min faithfulness=0.8 --max noise_sensitivity=0.2",
            "rag-evaluator gate results/demo --min mean:faithfulness=0.8 --min-coverage 1",
            "rag-evaluator gate results/demo --fail-if-worse results/base --junit gate.xml",
            "rag-evaluator gate results/demo --not-worse-than results/base --margin 0.02",
        ),
    )
    command.add_argument("run", type=Path, help="results folder, or a table of scores")
    for option, which in (("--min", "higher"), ("--max", "lower")):
        says = (
            f"{option[2:]}imum of a metric whose {which} scores are better; mean:METRIC=NUMBER looks at the mean alone"
        )
        add_repeated(command, option, "METRIC=NUMBER", says)
    for word in requirements():
        says = f"also fail unless each metric of the rules, or of the run where there are none, has a useful {word}"
        command.add_argument(f"--require-{word}", dest="required", action="append_const", const=word, help=says)
    baselines = command.add_mutually_exclusive_group()
    baselines.add_argument(
        "--fail-if-worse",
        type=Path,
        metavar="RUN",
        help="a baseline over the same questions; fails only where a metric is shown to be worse",
    )
    baselines.add_argument(
        "--not-worse-than", type=Path, metavar="RUN", help="a baseline; fails unless it is shown to be no worse"
    )
    command.add_argument(
        "--fail-if-not-settled",
        action="store_true",
        help="with --fail-if-worse: exit code 3 where a metric is worse by its own interval, but not after the "
        "correction for all metrics; else such a run passes",
    )
    command.add_argument(
        "--min-coverage",
        type=float,
        default=0.95,
        metavar="SHARE",
        help="rows that must have a score, for each rule; default: %(default)s",
    )
    _add_pairing(command)
    outputs = command.add_mutually_exclusive_group()
    add_json(outputs)
    add_markdown(outputs)
    command.add_argument("--junit", type=Path, metavar="FILE", help="write the verdicts as JUnit XML")
    command.add_argument("--force", action="store_true", help="replace a JUnit file of another program")


def _add_pairing(command: argparse.ArgumentParser) -> None:
    """Add what `compare` and `gate` share: which rows belong together, and which differences count."""
    add_on(command)
    command.add_argument("--cluster", metavar="COLUMN", help="rows with the same value here depend on each other")
    within = (
        "a difference that does not matter, of all metrics or of this one, in its units: what lies within it is called "
        "equal, and no worse; say it before you see the figures"
    )
    add_repeated(command, "--margin", "[METRIC=]NUMBER", within)
    end = "which scores are better, of a metric that this program does not know"
    add_repeated(command, "--better", "METRIC=higher|lower", end)


def add_merge_command(commands: Any) -> None:
    """Add `merge` to the parser."""
    _add_folder_command(
        commands,
        "merge",
        "check that all chunks are there and write the result files; exit code 75 if some are missing",
    )


def add_status_command(commands: Any) -> None:
    """Add `status` to the parser."""
    add_json(
        _add_folder_command(
            commands, "status", "show what is done and what is missing, the rate, the time left, and each worker"
        )
    )


def _add_folder_command(commands: Any, name: str, help_text: str) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(
        name, help=help_text, **with_examples(f"rag-evaluator {name} results/demo")
    )
    command.add_argument("folder", type=Path, help="results folder of the run: <output_dir>/<name>")
    return command


def add_sort_command(commands: Any) -> None:
    """Add `sort` to the parser."""
    help_text = "order each row's contexts by the judge, and compare with the retriever's order"
    add_task_command(commands, "sort", help_text, "", "--set sort.strategy=merge")


def add_generate_command(commands: Any) -> None:
    """Add `generate` to the parser."""
    help_text = "write a reference answer for each row that has none, from its contexts"
    add_task_command(commands, "generate", help_text, "", "--set generate.replace=true")


def add_submit_command(commands: Any) -> None:
    """Add `submit` to the parser."""
    slurm = commands.add_parser(
        "submit",
        help="submit a run to Slurm: an array of workers",
        **with_examples(
            "rag-evaluator submit config.yaml --workers 16 --dry-run -- --partition=gpu",
            "rag-evaluator submit config.yaml --workers 4 --task sort",
            note="what follows '--' goes to sbatch; with --wait it returns when the last worker has ended",
        ),
    )
    add_config(slurm)
    add_rows(slurm)
    slurm.add_argument("--workers", type=int, required=True, help="number of workers, the elements of the array")
    slurm.add_argument(
        "--task",
        choices=[name for name, task in all_tasks().items() if task.is_submitted],
        default="evaluate",
        help="what to run; default: %(default)s",
    )
    slurm.add_argument("--dry-run", action="store_true", help="show the command, write and submit nothing")
    slurm.add_argument(
        "--launcher",
        type=Path,
        help="launcher of your site; default: launcher.sh here, beside the configuration, or of the package",
    )


def add_prompt_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `prompts` with its actions to the command line."""
    packs = commands.add_parser(
        "prompts",
        help="prompt packs: export, check, adapt",
        **with_examples(
            "rag-evaluator prompts check",
            "rag-evaluator prompts adapt --language catalan --set judge.model=/models/Qwen3-32B",
        ),
    )
    actions = packs.add_subparsers(dest="action", required=True, metavar="ACTION")
    export = actions.add_parser(
        "export",
        help="write the English prompts of the installed ragas, or the packs of a language, one JSON each",
        description="Writes prompts to be read or changed. Packs that the folder has are kept; without a folder the "
        "English prompts in orig_prompts/ are written again.",
        **with_examples(
            "rag-evaluator prompts export",
            "rag-evaluator prompts export my_prompts --language spanish",
        ),
    )
    folders = "default: orig_prompts; of another language than English prompts_dir of the configuration, else prompts"
    export.add_argument("folder", type=Path, nargs="?", help=folders)
    export.add_argument("--language", help="the packs of this language that come with the program; default: English")
    export.add_argument("--config", type=Path, help="take language and prompts_dir from this file")
    check = actions.add_parser(
        "check",
        help="check packs against their English sources",
        description="Checks that packs are complete, fit the models of their prompts, were made from today's English "
        "source, have its structure, labels and numbers, repeat what it repeats, and are in their language. "
        "Exit code 2 where anything is wrong.",
        **with_examples(
            "rag-evaluator prompts check",
            "rag-evaluator prompts check prompts --language spanish --metrics faithfulness sort",
        ),
    )
    check.add_argument("folder", type=Path, nargs="?", default=Path("prompts"), help="default: %(default)s")
    add_repeated(check, "--language", "LANGUAGE", "only this one")
    add_json(check)
    _add_choice(check)
    adapt = actions.add_parser(
        "adapt",
        help="make the packs of a language with the judge",
        description="Translates the English prompts text by text with the judge. A stopped run is continued by the "
        "same command; packs that exist are kept. What a person should check is written to standard error.",
        **with_examples(
            "rag-evaluator prompts adapt --language catalan --set judge.model=/models/Qwen3-32B",
            "rag-evaluator prompts adapt --language catalan --config config.yaml --metrics faithfulness --folder packs",
        ),
    )
    adapt.add_argument("--language", required=True, help="any name or code: catalan, ca, català")
    adapt.add_argument("--config", type=Path, help="take judge and prompts_dir from this file")
    add_set(adapt)
    adapt.add_argument("--folder", type=Path, help="where the packs go; default: prompts_dir of the configuration")
    _add_choice(adapt)


def _add_choice(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--metrics", nargs="+", default=[], metavar="METRIC", help="only these; also sort, generate")
