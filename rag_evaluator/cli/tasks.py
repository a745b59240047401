"""`rag-evaluator sort` and `rag-evaluator generate`: the rows of a dataset in, files and a short report out."""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from rag_evaluator.cli.console import print_end, print_means, say
from rag_evaluator.config import Config, load_config
from rag_evaluator.dataset import Sample, check_columns, check_readable, is_blank, open_dataset
from rag_evaluator.errors import ConfigError, DatasetError
from rag_evaluator.files.atomic import write_json, write_lines
from rag_evaluator.offline import disable_network
from rag_evaluator.run import manifest
from rag_evaluator.tasks.ranking import summarise, with_relevance
from rag_evaluator.tasks.references import Reference
from rag_evaluator.tasks.runs import Progress, Run

OK, NOTHING_MADE = 0, 1
NEEDED = ("user_input", "retrieved_contexts")
Watch = Callable[[str, Callable[[Progress], Any]], Any]


def sort(options: argparse.Namespace, watch: Watch) -> int:
    """`rag-evaluator sort config.yaml`: the judge's order of every row's contexts."""
    config, samples = _read(options, "sort")
    relevance = [_relevance(sample) for sample in samples]
    run, folder = Run("sort", config), config.results_dir
    questions, contexts = _lists(samples)
    rankings = watch("questions", lambda told: run.sort(questions, contexts, config.sort, folder, options.fresh, told))
    rankings = [with_relevance(*pair) for pair in zip(rankings, relevance, strict=True)]
    summary = summarise(rankings)
    write_json(folder / "sorted_indices.json", [dict(ranking.fields) for ranking in rankings])
    write_json(folder / "sort_summary.json", summary)
    write_json(folder / "sort_manifest.json", _manifest(run, config, len(samples)))
    _print_sort(config, summary, run)
    return OK if any(ranking.order is not None for ranking in rankings) else NOTHING_MADE


def generate(options: argparse.Namespace, watch: Watch) -> int:
    """`rag-evaluator generate config.yaml`: a reference answer for every row that has none."""
    config, samples = _read(options, "generate")
    chosen = [sample for sample in samples if config.generate.replace or not sample.has("reference")]
    run, folder = Run("generate", config), config.results_dir
    questions, contexts = _lists(chosen)
    references = watch(
        "questions",
        lambda told: run.generate(
            questions, contexts, config.generate, folder, options.fresh, told, answers=folder / "gt"
        ),
    )
    made = {sample.index: reference for sample, reference in zip(chosen, references, strict=True)}
    rows = [_with_reference(sample, made.get(sample.index)) for sample in samples]
    write_lines(folder / "dataset_with_reference.jsonl", rows)
    write_json(folder / "generate_manifest.json", _manifest(run, config, len(samples)))
    _print_generate(config, references, len(samples) - len(chosen), run)
    return OK if not chosen or any(reference.ground_truth for reference in references) else NOTHING_MADE


def _read(options: argparse.Namespace, owner: str) -> tuple[Config, list[Sample]]:
    config = load_config(options.config, options.set)
    if config.offline:
        disable_network()
    if config.dataset is None:
        raise ConfigError(f"{config.source}: 'dataset' is missing. Give the file with your rows.")
    samples = list(open_dataset(config.dataset, config.columns))
    check_columns(samples, {owner: NEEDED}, config.dataset.name)
    if owner == "generate" and not config.generate.replace:
        check_readable(samples, ["reference"])  # which rows have one decides what is written
    return config, samples


def _lists(samples: Sequence[Sample]) -> tuple[list[str], list[list[str]]]:
    questions = [sample.columns.get("user_input", "") for sample in samples]
    return questions, [sample.columns.get("retrieved_contexts", []) for sample in samples]


def _relevance(sample: Sample) -> list[int] | None:
    """The grades that the row gives its contexts, 0 not relevant; None if it gives none."""
    given = sample.row.get("relevance")
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except ValueError:
            given = None if is_blank(given) else given
    if given in (None, []):
        return None
    contexts = sample.columns.get("retrieved_contexts", [])
    is_grades = isinstance(given, list) and all(type(grade) is int and grade >= 0 for grade in given)
    if not is_grades or len(given) != len(contexts) or "document_score" in sample.row:
        raise DatasetError(
            f"{sample.where}: column 'relevance': expected one whole number from 0 for each of the {len(contexts)} "
            f"contexts, in their order, received {given!r:.60}. Rename the column if it is something else."
        )
    return list(given)


def _with_reference(sample: Sample, reference: Reference | None) -> dict[str, Any]:
    """The row with its answer; in `ground_truth` where `reference` is a retrieval log's name for contexts."""
    if reference is None:
        return dict(sample.row)
    name = "ground_truth" if isinstance(sample.row.get("reference"), list) else "reference"
    given = {name: reference.ground_truth or None}
    return {**sample.row, **given, **({"reference_reason": reference.reason} if reference.reason else {})}


def _manifest(run: Run, config: Config, rows: int) -> dict[str, Any]:
    described = manifest.describe(config, {run.owner: run.judge.signature}, run.prompts, rows)
    times = {
        "started": datetime.fromtimestamp(run.started, UTC).isoformat(timespec="seconds"),
        "seconds": round(time.time() - run.started, 3),
        "asking_seconds": round(run.seconds, 3),
    }
    return {**described, **times, "asked": run.asked}


def _print_sort(config: Config, summary: dict[str, Any], run: Run) -> None:
    print_means(f"{config.name}: order of contexts", "measure", summary["measures"], "none")
    say(
        f"{config.sort.strategy}: {summary['comparisons']} comparisons, {summary['ties']} ties, "
        f"{summary['judge_calls']} judge calls, of them {run.asked} now in {run.seconds:.1f} s"
    )
    print_end(config)


def _print_generate(config: Config, references: Sequence[Reference], kept: int, run: Run) -> None:
    answered = sum(bool(reference.ground_truth) for reference in references)
    say(f"{config.name}: {answered} of {len(references)} questions answered, {kept} rows had a reference already")
    reasons = [reference.reason for reference in references if reference.reason]
    for reason in dict.fromkeys(reasons):
        say(f"  {reasons.count(reason)} without an answer: {reason}")
    say(f"{run.asked} judge calls now in {run.seconds:.1f} s")
    print_end(config)
