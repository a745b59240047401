"""`rag-evaluator prompts ...`: export the English prompts, check the packs of other languages, adapt new ones."""

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_evaluator.cli.options import BAD_INPUT, OK, add_json, add_set, with_examples
from rag_evaluator.config.judges import refuse_panel
from rag_evaluator.config.offline import disable_network
from rag_evaluator.config.schema import Config, default_config, load_config
from rag_evaluator.errors import PromptError
from rag_evaluator.files.progress import ACTIVITY, LIBRARIES
from rag_evaluator.metrics.definitions import own_metrics
from rag_evaluator.metrics.table import METRICS, choose_owners, questions_of, select_metrics

if TYPE_CHECKING:
    from rag_evaluator.prompts.check import CheckedPack
    from rag_evaluator.prompts.pack import Key, Source

PROMPTS_DIR = Path("prompts")
OTHERS = ("sort", "generate", "duel", "retrieval", "custom")  # tasks and families of metrics that have prompts


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
        help="write the English prompts of the installed ragas, one JSON each",
        **with_examples("rag-evaluator prompts export", "rag-evaluator prompts export english_prompts"),
    )
    export.add_argument("folder", type=Path, nargs="?", default=Path("orig_prompts"), help="default: orig_prompts")
    check = actions.add_parser(
        "check",
        help="check packs against their English sources",
        description="Checks that packs are complete, fit the models of their prompts, were made from today's English "
        "source, have its structure, labels and numbers, repeat what it repeats, and are in their language. "
        "Exit code 2 where anything is wrong.",
        **with_examples(
            "rag-evaluator prompts check",
            "rag-evaluator prompts check prompts --language spanish --metrics faithfulness sort",
            "rag-evaluator prompts check --config config.yaml --installed",
        ),
    )
    check.add_argument("folder", type=Path, nargs="?", help="default: prompts_dir of the configuration, else prompts")
    check.add_argument("--config", type=Path, help="also check the packs of the custom_metrics of this YAML file")
    add_set(check)
    check.add_argument(
        "--installed",
        action="store_true",
        help="compare with the prompts of the installed ragas, not with those that come with this program",
    )
    check.add_argument("--language", action="append", default=[], help="only this one; may be repeated")
    add_json(check)
    _add_choice(check, "instructions may be in English")
    adapt = actions.add_parser(
        "adapt",
        help="make the packs of a language with the judge",
        description="Translates the English prompts text by text with the judge. A stopped run is continued by the "
        "same command; packs that exist are kept. review_<language>.md lists what a person should check.",
        **with_examples(
            "rag-evaluator prompts adapt --language catalan --set judge.model=/models/Qwen3-32B",
            "rag-evaluator prompts adapt --language catalan --config config.yaml --metrics faithfulness --folder packs",
        ),
    )
    adapt.add_argument("--language", required=True, help="any name or code: catalan, ca, català")
    adapt.add_argument("--config", type=Path, help="take judge, prompts_dir and custom_metrics from this file")
    add_set(adapt)
    adapt.add_argument("--folder", type=Path, help="where the packs go; default: prompts_dir of the configuration")
    adapt.add_argument("--force", action="store_true", help="make packs anew that exist")
    _add_choice(adapt, "leave instructions in English, as ragas does by default")


def prompts(options: argparse.Namespace) -> int:
    """Run an action of `rag-evaluator prompts`; returns the exit code. Metrics are checked before slow imports."""
    config = _config(options)
    select_metrics(
        [name for name in getattr(options, "metrics", ()) if name not in OTHERS], "--metrics", own_metrics(config)
    )
    return ACTIONS[options.action](options, config)


def _config(options: argparse.Namespace) -> Config:
    """The file that was given, else the defaults."""
    overrides = getattr(options, "set", [])
    if getattr(options, "config", None):
        return load_config(options.config, overrides)
    return default_config(overrides, metrics=list(METRICS))


def _add_choice(parser: argparse.ArgumentParser, no_instruction: str) -> None:
    parser.add_argument("--metrics", nargs="+", default=[], metavar="METRIC", help="only these; also sort, generate")
    parser.add_argument("--no-instruction", action="store_true", help=no_instruction)


def export_prompts(options: argparse.Namespace, config: Config) -> int:
    """`rag-evaluator prompts export`: write ragas' English prompts."""
    from rag_evaluator.metrics.prompts import export

    written = export(options.folder)
    print(
        f"{len(written)} English prompts in {options.folder}/: those of the installed ragas, and of sort and generate"
    )
    return OK


def check_prompts(options: argparse.Namespace, config: Config) -> int:
    """`rag-evaluator prompts check`: a table per language, and every fault with file and place."""
    from rag_evaluator.cli.console import print_json, print_table, say
    from rag_evaluator.prompts.check import KINDS, check_language, languages_in

    folder = options.folder or (config.prompts_dir if options.config else PROMPTS_DIR)
    sources = {**_sources(options.installed), **_own_sources(config)}
    languages = options.language or languages_in(folder, sources)
    if not languages:
        raise PromptError(f"{folder}: no prompt packs. They are named <metric>_<prompt>_<language>.json.")
    owners, instruction = choose_owners(options.metrics, sources), not options.no_instruction
    checked = {name: check_language(folder, name, owners, instruction, sources) for name in languages}
    faults = [(pack.path, fault) for packs in checked.values() for pack in packs for fault in pack.faults]
    if options.json:
        print_json({"folder": str(folder), "languages": {name: _as_json(packs) for name, packs in checked.items()}})
        return BAD_INPUT if faults else OK
    columns = [("language", "left"), *((heading, "right") for heading in ("good", *KINDS))]
    print_table("prompt packs", columns, _rows(checked))
    for path, fault in faults:
        say(f"{path}: {fault}")
    if not faults:
        print(f"every pack of {len(checked)} languages in {folder}/ is complete, current and in its language")
    _note_other_ragas(sources, options.installed)
    return BAD_INPUT if faults else OK


def _as_json(packs: Sequence["CheckedPack"]) -> dict[str, Any]:
    faults = [{"file": str(pack.path), **fault._asdict()} for pack in packs for fault in pack.faults]
    return {"packs": len(packs), "good": sum(not pack.faults for pack in packs), "faults": faults}


def _sources(installed: bool) -> "Mapping[Key, Source]":
    from rag_evaluator.prompts.pack import packaged_sources

    if not installed:
        return packaged_sources()
    from rag_evaluator.metrics.prompts import installed_sources

    return installed_sources()


def _own_sources(config: Config) -> "Mapping[Key, Source]":
    """The questions of the user's own metrics that may have packs."""
    questions = questions_of(own_metrics(config))
    if not questions:
        return {}
    from rag_evaluator.prompts.loading import definition_prompts, english_source

    return {key: english_source(prompt) for key, prompt in definition_prompts(questions).items()}


def _note_other_ragas(sources: "Mapping[Key, Source]", installed: bool) -> None:
    """Say so if the packs were compared with the prompts of another ragas than the installed one."""
    from rag_evaluator.prompts.pack import installed_ragas

    versions = sorted({source.english.ragas_version for source in sources.values()} - {installed_ragas()})
    if versions and not installed:
        print(
            f"compared with the English prompts of ragas {', '.join(versions)}; the installed ragas is "
            f"{installed_ragas()}: --installed compares with its prompts"
        )


def adapt_prompts(options: argparse.Namespace, config: Config) -> int:
    """`rag-evaluator prompts adapt`: write the packs of a language that are missing, and what to look at in them."""
    if config.offline:
        disable_network()
    with ACTIVITY.phase(LIBRARIES):
        from rag_evaluator.judge.judge import LazyJudge
        from rag_evaluator.metrics.prompts import all_prompts
        from rag_evaluator.prompts.adapt import adapt
        from rag_evaluator.prompts.loading import PackSet, definition_prompts

    refuse_panel(config.judges, "prompts adapt", config.place)
    questions = questions_of(own_metrics(config))
    owners = choose_owners(options.metrics, {**all_prompts(), **definition_prompts(questions)})
    wanted = {name: question for name, question in questions.items() if name in owners}
    packs = PackSet(owners, options.language, options.folder or config.prompts_dir, all_prompts, wanted)
    judge = LazyJudge(None, config.judge, config.offline)
    instruction = config.prompts.adapt_instruction and not options.no_instruction
    with ACTIVITY.counted("texts") as progress:
        done = adapt(packs, judge, instruction, options.force, progress)
    print(
        f"{len(done.written)} packs written to {packs.folder}/, {len(done.kept)} were there and are kept; "
        f"{done.asked} questions put to the judge"
    )
    if done.review:
        print(f"{done.marked} texts to look at: {done.review}")
    return OK


def _rows(checked: Mapping[str, Sequence["CheckedPack"]]) -> Iterator[list[str]]:
    """A row per language: packs that are good, and how many have which fault."""
    from rag_evaluator.prompts.check import KINDS

    for language, packs in checked.items():
        good = sum(not pack.faults for pack in packs)
        wrong = Counter(kind for pack in packs for kind in {fault.kind for fault in pack.faults})
        yield [language, f"{good}/{len(packs)}", *(str(wrong[kind] or "") for kind in KINDS)]


ACTIONS: Mapping[str, Callable[[argparse.Namespace, Config], int]] = {
    "export": export_prompts,
    "check": check_prompts,
    "adapt": adapt_prompts,
}
