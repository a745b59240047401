"""`rag-evaluator judges`: which of several judges to use, in sentences, as tables and a page."""

import argparse
import json
from pathlib import Path
from typing import Any

from rag_evaluator.cli import (
    BAD_INPUT,
    FAILED,
    OK,
    TRY_AGAIN,
    add_beginning,
    add_config,
    add_repeated,
    print_json,
    print_parts,
    say,
    with_examples,
)
from rag_evaluator.config import all_features, disable_network, find_language, load_config
from rag_evaluator.errors import ConfigError
from rag_evaluator.files import Stop

WAYS_OUT = "Read its message above. If rows or configuration have changed: --update, --fresh or --out ANOTHER."
EXAMPLES = with_examples(
    "rag-evaluator judges config.yaml --on labelled.jsonl --label groundedness=human --judge /models/Qwen3-4B "
    "--judge /models/Llama-3.2-1B",
    "rag-evaluator judges config.yaml --on labelled.jsonl --label groundedness=human --judge qwen=/models/Qwen3-4B "
    "--judge thinks=/models/Qwen3-4B --judge-set thinks.thinking=on --verifier /models/MiniCheck",
    "rag-evaluator judges config.yaml --probe --judge /models/Qwen3-4B --judge /models/Llama-3.2-1B   # no labels",
)


def add_judges_command(commands: Any) -> None:
    """Add the command to the parser. Any: argparse has no public name for a group of subcommands."""
    command = commands.add_parser(
        "judges",
        help="which of several judges agrees best with labels, and at what cost",
        description="Score the same rows with several judges, one after the other, and compare all with people's "
        "labels and with counting words. The same command continues a stopped one.",
        **EXAMPLES,
    )
    add_config(command)
    command.add_argument("--on", type=Path, metavar="FILE", help="the rows; default: dataset of the configuration")
    add_repeated(command, "--label", "METRIC=COLUMN", "a column of the rows with labels, 0 and 1, words, or spans")
    models = "a folder, a GGUF file, a hub id or the address of a server"
    add_repeated(command, "--judge", "[NAME=]MODEL", models)
    add_repeated(command, "--verifier", "[NAME=]MODEL", f"{models} that says whether a text supports a sentence")
    add_repeated(command, "--judge-set", "NAME.key=VALUE", "a key of one judge, such as qwen.thinking=on")
    add_repeated(command, "--metric", "METRIC", "only this one of the metrics with labels; of --probe alone any")
    command.add_argument("--probe", action="store_true", help="also change rows for the worse; needs no labels")
    command.add_argument("--out", type=Path, metavar="DIR", help="default: judges in the results folder")
    add_beginning(command)


def judges(options: argparse.Namespace, stop: Stop) -> int:
    """`rag-evaluator judges config.yaml --on labelled.jsonl --label groundedness=human --judge A --judge B`."""
    from rag_evaluator.dataset import checked_rows
    from rag_evaluator.metrics import chosen_metrics

    from .candidates import candidates_of, metrics_of, pairs_of
    from .compared import ComparedJudges
    from .labels import labels_in
    from .running import run_alone

    labelled = pairs_of("--label", "METRIC=COLUMN", options.label)
    if not labelled and not options.probe:
        raise ConfigError("no labels: give --label METRIC=COLUMN, or --probe, which needs none.")
    if options.probe and "probe" not in all_features():
        raise ConfigError("--probe: this installation has no probe.")
    shared = list(options.set)
    if options.on is not None:
        shared.append(f"dataset={json.dumps(str(options.on.expanduser().absolute()))}")
    if metrics := metrics_of(options.metric, labelled):
        shared.append(f"metrics={json.dumps(metrics)}")
    base = load_config(options.config, shared)
    if base.offline:
        disable_network()
    out = (options.out or base.results_dir / "judges").expanduser().absolute()
    candidates = candidates_of(options, base, shared, out)
    rows = checked_rows(base.dataset, base, chosen_metrics(base), are_scored=True)
    language = find_language(base.language)
    labels = {metric: labels_in(rows, metric, labelled[metric], language) for metric in metrics if metric in labelled}
    tasks = [name for name, wanted in (("evaluate", labels), ("probe", options.probe)) if wanted]
    out.mkdir(parents=True, exist_ok=True)
    for place, candidate in enumerate(candidates, start=1):
        for task in tasks:
            if not options.json:
                say(f"{candidate.name} ({place} of {len(candidates)}): {task}")
            code = run_alone(candidate, task, options.config, _passed_on(options), out)
            if code not in (OK, FAILED):
                way = WAYS_OUT if code == BAD_INPUT else "The same command continues."
                say(f"{candidate.name}: its run ended with exit code {code}. {way}")
                return code if code == BAD_INPUT else TRY_AGAIN
    comparison = ComparedJudges(candidates, labels, base, out, options.probe)
    comparison.write()
    if options.json:
        print_json(comparison.to_json())
    else:
        print_parts([*comparison.conclusion.lines(), *comparison.grids])
        say(f"written: {comparison.page}. Open it in a browser.")
    return OK


def _passed_on(options: argparse.Namespace) -> list[str]:
    """What each judge's own command gets of this one."""
    words = [f"--{name}" for name in ("fresh", "update") if getattr(options, name)]
    worker = ["--worker", options.worker] if options.worker else []
    return [*words, *worker, "--grace", str(options.grace)]
