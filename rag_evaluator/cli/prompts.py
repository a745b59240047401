"""`rag-evaluator prompts ...`: export the English prompts, check the packs of other languages, adapt new ones."""

import argparse
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_evaluator.config import DEMO, Config, default_config, disable_network, find_language, load_config, misspelt
from rag_evaluator.errors import PromptError
from rag_evaluator.files import ACTIVITY, loading_libraries
from rag_evaluator.metrics import METRICS, OTHER_OWNERS, choose_owners, select_metrics
from rag_evaluator.prompts import ENGLISH, languages_in

from .console import print_json, say
from .options import BAD_INPUT, OK

if TYPE_CHECKING:
    from rag_evaluator.prompts import Fault, PackSet

PROMPTS_DIR = Path("prompts")
logger = logging.getLogger(__name__)


def prompts(options: argparse.Namespace) -> int:
    """Run an action of `rag-evaluator prompts`; returns the exit code. Metrics are checked before slow imports."""
    path = getattr(options, "config", None)
    overrides = getattr(options, "set", [])
    config = load_config(path, overrides) if path else default_config(overrides, metrics=list(METRICS))
    select_metrics([name for name in getattr(options, "metrics", ()) if name not in OTHER_OWNERS], "--metrics")
    return ACTIONS[options.action](options, config)


def export_prompts(options: argparse.Namespace, config: Config) -> int:
    """`rag-evaluator prompts export`: write ragas' English prompts, or the packs of a language to be changed."""
    from rag_evaluator.metrics import export, export_packs

    language = find_language(options.language or (config.language if options.config else ENGLISH)).name
    packs = config.prompts_dir if options.config else PROMPTS_DIR
    folder = options.folder or (Path("orig_prompts") if language == ENGLISH else packs)
    if language == ENGLISH:
        written, kept = export(folder, keep=options.folder is not None)
        there = f"; {len(kept)} were there and are kept" if kept else ""
        print(f"{len(written)} English prompts in {folder}/: of the installed ragas, and of sort and generate{there}")
        return OK
    written, kept = export_packs(language, folder)
    print(f"{len(written)} packs in {language} written to {folder}/, {len(kept)} were there and are kept")
    return OK


def check_prompts(options: argparse.Namespace, config: Config) -> int:
    """`rag-evaluator prompts check`: how many packs of each language are good, and every fault with file and place."""
    folder = options.folder
    languages = options.language or languages_in(folder)
    if not languages:
        raise PromptError(f"{folder}: no prompt packs. They are named <metric>_<prompt>_<language>.json.")
    with loading_libraries():
        from rag_evaluator.prompts import PACKAGED, check_packs
    for question in filter(None, map(misspelt, languages)):
        logger.warning("%s", question)
    checked = {name: check_packs(_packs(options, name, folder), PACKAGED) for name in languages}
    faults = [(path, fault) for packs in checked.values() for path, wrong in packs.items() for fault in wrong]
    if options.json:
        print_json({"folder": str(folder), "languages": {name: _as_json(packs) for name, packs in checked.items()}})
        return BAD_INPUT if faults else OK
    for name, packs in checked.items():
        say(f"{name}: {_good(packs)} of {len(packs)} packs are complete, current and in their language")
    for path, fault in faults:
        say(f"{path}: {fault.kind}: {fault}")
    return BAD_INPUT if faults else OK


def _as_json(packs: Mapping[Path, Sequence["Fault"]]) -> dict[str, Any]:
    faults = [{"file": str(path), **fault._asdict()} for path, wrong in packs.items() for fault in wrong]
    return {"packs": len(packs), "good": _good(packs), "faults": faults}


def _good(packs: Mapping[Path, Sequence["Fault"]]) -> int:
    return sum(not faults for faults in packs.values())


def _packs(options: argparse.Namespace, language: str, folder: Path) -> "PackSet":
    """The packs of the chosen metrics and tasks; of all if none is named."""
    from rag_evaluator.metrics import all_prompts
    from rag_evaluator.prompts import PackSet

    english = all_prompts()
    owners = choose_owners(options.metrics, (owner for owner, _ in english))
    return PackSet({key: prompt for key, prompt in english.items() if key[0] in owners}, language, folder)


def adapt_prompts(options: argparse.Namespace, config: Config) -> int:
    """`rag-evaluator prompts adapt`: write the packs of a language that are missing, and what to look at in them."""
    if config.offline:
        disable_network()
    with loading_libraries():
        from rag_evaluator.judge import LazyJudge
        from rag_evaluator.prompts import adapt_packs

    packs = _packs(options, options.language, options.folder or config.prompts_dir)
    judge = LazyJudge(None, config.judge, config.offline)
    if config.judge.model_name == DEMO:
        logger.warning("The demo judge is a toy that cannot translate: set judge.model to a model of your own.")
    with ACTIVITY.counted("packs") as progress:
        done = adapt_packs(packs, judge, progress)
    print(f"{len(done.written)} packs written to {packs.folder}/, {len(done.kept)} were there and are kept")
    if done.written:
        print(f"{done.marked} doubtful texts were named above; 'prompts check' finds most of them again")
    return OK


ACTIONS: Mapping[str, Callable[[argparse.Namespace, Config], int]] = {
    "export": export_prompts,
    "check": check_prompts,
    "adapt": adapt_prompts,
}
