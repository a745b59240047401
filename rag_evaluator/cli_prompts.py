"""`rag-evaluator prompts ...`: export the English prompts, check the packs of other languages, adapt new ones."""

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from rag_evaluator.errors import PromptError

if TYPE_CHECKING:
    from rag_evaluator.prompts.check import Checked

OK, BAD_PACKS = 0, 2
PROMPTS_DIR = Path("prompts")


def add_prompt_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `prompts` with its actions to the command line."""
    packs = commands.add_parser("prompts", help="prompt packs: export, check")
    actions = packs.add_subparsers(dest="action", required=True, metavar="ACTION")
    export = actions.add_parser("export", help="write the English prompts of the installed ragas, one JSON each")
    export.add_argument("folder", type=Path, nargs="?", default=Path("orig_prompts"), help="default: orig_prompts")
    check = actions.add_parser(
        "check",
        help="check packs against their English sources",
        description="Checks that packs are complete, fit the models of their prompts, were made from today's English "
        "source, have its structure, labels and numbers, repeat what it repeats, and are in their language. "
        "Exit code 2 where anything is wrong.",
    )
    check.add_argument("folder", type=Path, nargs="?", default=PROMPTS_DIR, help="default: prompts")
    check.add_argument("--language", action="append", default=[], help="only this one; may be repeated")
    _add_choice(check, "instructions may be in English")


def prompts(options: argparse.Namespace) -> int:
    """Run an action of `rag-evaluator prompts`; returns the exit code."""
    return ACTIONS[options.action](options)


def _add_choice(parser: argparse.ArgumentParser, no_instruction: str) -> None:
    parser.add_argument("--metrics", nargs="+", default=[], metavar="METRIC", help="only these; also sort, generate")
    parser.add_argument("--no-instruction", action="store_true", help=no_instruction)


def export_prompts(options: argparse.Namespace) -> int:
    """`rag-evaluator prompts export`: write ragas' English prompts."""
    from rag_evaluator.prompts import export

    written = export(options.folder)
    print(
        f"{len(written)} English prompts in {options.folder}/: those of the installed ragas, and of sort and generate"
    )
    return OK


def check_prompts(options: argparse.Namespace) -> int:
    """`rag-evaluator prompts check`: a table per language, and every fault with file and place."""
    from rag_evaluator.prompts import choose_owners
    from rag_evaluator.prompts.check import check_language, languages_in

    languages = options.language or languages_in(options.folder)
    if not languages:
        raise PromptError(f"{options.folder}: no prompt packs. They are named <metric>_<prompt>_<language>.json.")
    owners = choose_owners(options.metrics)
    checked = {name: check_language(options.folder, name, owners, not options.no_instruction) for name in languages}
    console = Console(width=None if sys.stdout.isatty() else 120)
    console.print(_table(checked))
    faults = [(pack.path, fault) for packs in checked.values() for pack in packs for fault in pack.faults]
    for path, fault in faults:
        console.print(f"{path}: {fault}", markup=False, highlight=False, soft_wrap=True)
    if not faults:
        print(f"every pack of {len(checked)} languages in {options.folder}/ is complete, current and in its language")
    return BAD_PACKS if faults else OK


def _table(checked: Mapping[str, Sequence["Checked"]]) -> Table:
    """A row per language: packs that are good, and how many have which fault."""
    from rag_evaluator.prompts.check import KINDS

    table = Table(title="prompt packs")
    table.add_column("language")
    for heading in ("good", *KINDS):
        table.add_column(heading, justify="right")
    for language, packs in checked.items():
        good = sum(not pack.faults for pack in packs)
        wrong = Counter(kind for pack in packs for kind in {fault.kind for fault in pack.faults})
        table.add_row(language, f"{good}/{len(packs)}", *(str(wrong[kind] or "") for kind in KINDS))
    return table


ACTIONS: Mapping[str, Callable[[argparse.Namespace], int]] = {"export": export_prompts, "check": check_prompts}
