"""The arguments of all commands, their help and examples."""

import argparse
import re
from pathlib import Path
from typing import NoReturn

from rag_evaluator.cli.compare import add_compare_command
from rag_evaluator.cli.gate import add_gate_command
from rag_evaluator.cli.options import ROWS, add_beginning, add_config, add_count, add_json, add_rows, with_examples
from rag_evaluator.cli.prompts import add_prompt_commands
from rag_evaluator.cli.report import add_report_command
from rag_evaluator.features.app.review_command import add_review_commands
from rag_evaluator.features.app.view_command import add_view_command
from rag_evaluator.features.certify.command import add_certify_commands
from rag_evaluator.features.duel.command import add_duel_command
from rag_evaluator.features.setup.check_command import add_check_command
from rag_evaluator.features.setup.doctor_command import add_doctor_command
from rag_evaluator.features.setup.init_command import add_init_command, add_list_command
from rag_evaluator.features.setup.plan_command import add_plan_command
from rag_evaluator.features.testset.command import add_testset_commands
from rag_evaluator.resources import NAME, __version__, program

EXAMPLES = """examples:
  rag-evaluator init my_rows.csv --judge /models/Qwen3-8B
  rag-evaluator check config.yaml
  rag-evaluator config.yaml
  rag-evaluator config.yaml --set judge.model=/models/Qwen3-8B --set judge.batch_size=32
  rag-evaluator config.yaml --set judges='[{model: /models/Qwen3-8B}, {model: /models/Llama-3.1-8B}]'
  rag-evaluator config.yaml --set metrics='[faithfulness, answer_relevancy]' --fresh
  rag-evaluator config.yaml --limit 20
  rag-evaluator plan config.yaml --workers 4
  rag-evaluator sort config.yaml --set sort.strategy=merge
  rag-evaluator generate config.yaml
  rag-evaluator config.yaml --worker 3/16
  rag-evaluator status results/demo
  rag-evaluator merge results/demo
  rag-evaluator submit config.yaml --workers 16 --dry-run
  rag-evaluator submit config.yaml --workers 4 --task sort
  rag-evaluator probe config.yaml --sample 50
  rag-evaluator duel results/base results/demo
  rag-evaluator testset make config.yaml --documents docs/ --size 100
  rag-evaluator testset check questions.jsonl --config config.yaml
  rag-evaluator report results/base results/demo --out report.html
  rag-evaluator compare results/base results/demo
  rag-evaluator gate results/demo --min faithfulness=0.8 --not-worse-than results/base --margin 0.02
  rag-evaluator certify sheet results/demo --size 100 --out to_label.xlsx
  rag-evaluator certify results/demo --labels to_label.xlsx
  rag-evaluator view results
  rag-evaluator review apply results/demo --drop too_easy
  rag-evaluator prompts check
  rag-evaluator list metrics
  rag-evaluator doctor

"""
EXIT_CODES = """\
exit codes: 0 scored, 1 nothing could be scored, 2 bad input, 75 stopped by a signal, the judge is lost or not all
there: run again to continue, 130, 143 and 138 stopped at once by a second signal; gate: 1 a rule failed
'python main.py' does the same as 'rag-evaluator'."""
EXAMPLES_OF = {
    "evaluate": (
        "rag-evaluator config.yaml",
        "rag-evaluator config.yaml --set judge.model=/models/Qwen3-8B --set dataset=my_rows.jsonl",
        "rag-evaluator config.yaml --set metrics='[faithfulness, answer_relevancy]' --fresh",
        "rag-evaluator config.yaml --worker 3/16",
    ),
    "merge": ("rag-evaluator merge results/demo",),
    "status": ("rag-evaluator status results/demo",),
    "submit": (
        "rag-evaluator submit config.yaml --workers 16 --dry-run -- --partition=gpu",
        "rag-evaluator submit config.yaml --workers 4 --task sort",
        "rag-evaluator submit config.yaml --workers 4 --task duel --runs results/base results/demo",
        "rag-evaluator submit config.yaml --workers 4 --task testset --set testset.documents=[docs]",
    ),
    "sort": ("rag-evaluator sort config.yaml", "rag-evaluator sort config.yaml --set sort.strategy=merge"),
    "generate": (
        "rag-evaluator generate config.yaml",
        "rag-evaluator generate config.yaml --set generate.replace=true",
    ),
    "probe": ("rag-evaluator probe config.yaml --sample 50",),
}


OURS = re.compile(rf"(?<![\w./-]){NAME}(?= )")  # the name where a command begins
FUNCTIONS = {
    "sort": "order each row's contexts by the judge, and compare with the retriever's order",
    "generate": "write a reference answer for each row that has none, from its contexts",
    "probe": "change rows for the worse, by rules, and see whether the judge notices; needs no labels",
}


class _Parser(argparse.ArgumentParser):
    """Shows commands as the user types them, and tells about quotes: `--set columns={a: b}` is two words."""

    def format_help(self) -> str:
        return OURS.sub(lambda _: program(), super().format_help())

    def error(self, message: str) -> NoReturn:
        hint = "A value with spaces needs quotes in a shell: --set columns='{a: b}'"
        super().error(f"{message}. {hint}" if message.startswith("unrecognized arguments") else message)


def parser_of_commands() -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = _Parser(
        prog=program(),
        description="Evaluate RAG outputs with ragas metrics and local Hugging Face models, offline.",
        epilog=EXAMPLES + EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"rag-evaluator {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    add_init_command(commands)
    add_check_command(commands)
    run = commands.add_parser(
        "evaluate",
        help="score a dataset; the default: 'rag-evaluator config.yaml'",
        description="Score a dataset, write the results, print the means. The same command continues a stopped run.",
        **with_examples(*EXAMPLES_OF["evaluate"], note=EXIT_CODES),
    )
    add_config(run)
    add_rows(run)
    add_beginning(run)
    for name, help_text in (
        ("merge", "check that all chunks are there and write the result files; exit code 75 if some are missing"),
        ("status", "done, missing, rate, time left, and each worker"),
    ):
        command = commands.add_parser(name, help=help_text, **with_examples(*EXAMPLES_OF[name]))
        command.add_argument("folder", type=Path, help="results folder of the run: <output_dir>/<name>")
        add_json(command)
    slurm = commands.add_parser(
        "submit",
        help="submit a run to Slurm: an array of workers, and the merge after it",
        **with_examples(*EXAMPLES_OF["submit"], note="what follows '--' goes to sbatch"),
    )
    add_config(slurm)
    add_rows(slurm)
    slurm.add_argument("--workers", type=int, required=True, help="elements of the array")
    slurm.add_argument(
        "--task",
        choices=("evaluate", *FUNCTIONS, "duel", "testset", "testset_check"),
        default="evaluate",
        help="what to run; default: %(default)s; testset takes testset.documents, testset_check the rows of dataset",
    )
    slurm.add_argument(
        "--runs", nargs=2, type=Path, metavar=("A", "B"), help="with --task duel: the two results folders"
    )
    slurm.add_argument(
        "--whole-nodes",
        action="store_true",
        help="each worker has a node for itself, and with engine vllm the GPUs of its parallel sizes",
    )
    slurm.add_argument("--dry-run", action="store_true", help="show scripts and commands, write and submit nothing")
    add_json(slurm)
    slurm.add_argument(
        "--launcher",
        type=Path,
        help="launcher of your site; default: launcher.sh here, beside the configuration, or of the package",
    )
    for name, help_text in FUNCTIONS.items():
        command = commands.add_parser(
            name, help=help_text, description=f"{help_text.capitalize()}.", **with_examples(*EXAMPLES_OF[name])
        )
        add_config(command)
        add_rows(command, *(("limit",) if name == "probe" else ROWS))
        add_beginning(command)
        if name == "probe":
            add_count(command, "--sample", "probe.sample", "only N rows are changed; default: 50")
    add_duel_command(commands)
    add_plan_command(commands)
    add_report_command(commands)
    add_compare_command(commands)
    add_gate_command(commands)
    add_certify_commands(commands)
    add_view_command(commands)
    add_review_commands(commands)
    add_testset_commands(commands)
    add_prompt_commands(commands)
    add_list_command(commands)
    add_doctor_command(commands)
    _add_verbose(commands)
    return parser


def _add_verbose(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """`-v` of every command, of those with actions of each action."""
    for command in set(commands.choices.values()):
        inner = [action for action in command._actions if isinstance(action, argparse._SubParsersAction)]
        for actions in inner:
            _add_verbose(actions)
        if not inner:
            command.add_argument(
                "-v", "--verbose", action="store_true", help="also what transformers and other libraries say"
            )
