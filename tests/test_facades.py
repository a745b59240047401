"""A package's `__init__.pyi` is its interface: what other packages import, and nothing else; tests use these names."""

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from folders import WHOLE
from imported import PACKAGE, imports_of

TESTS = Path(__file__).parent
ROOT = TESTS.parent
OPEN = ("rag_evaluator.cli.main", "rag_evaluator.ragas")  # the program's entry; modules named as in ragas
PROBABILITIES = "2,000 draws or samples, against what is worked out by hand or by scipy"
BY_HAND = "tables by hand, of which a run shows a part"
HOOKS = "asked by the core through a hook, so that no package imports it"
ENGINE = "packed, plain and llguidance are compared number by number within the engine"
INNER: Mapping[str, str] = {
    "rag_evaluator.cli.arguments.all_commands": "each command, started alone",
    "rag_evaluator.comparison.gate_verdicts.Measured": BY_HAND,
    "rag_evaluator.comparison.gate_verdicts.check_rules": BY_HAND,
    "rag_evaluator.config.features.FOLDER": "features are deleted there",
    "rag_evaluator.dataset.response.read_response": BY_HAND,
    "rag_evaluator.features.bundle.contents.models_of": "nothing else names the models before they are copied",
    **{
        f"rag_evaluator.features.certify.calibrating.{name}": PROBABILITIES
        for name in "LabelledFigures calibration_error cross_fitted fitted predicted reliability".split()
    },
    "rag_evaluator.features.certify.draws.draw_stratified": PROBABILITIES,
    **{
        f"rag_evaluator.features.certify.standing.{name}": HOOKS
        for name in "CERTIFICATE FORMAT read_certificate sealed standing standing_lines with_labels".split()
    },
    **{
        f"rag_evaluator.features.judges.{name}": "sentences of scores whose best judge is known"
        for name in ("conclusion.sentences_of", "figures.Scored", "figures.figures_of")
    },
    "rag_evaluator.features.probe.facts.Names": BY_HAND,
    "rag_evaluator.features.probe.facts.numbers": BY_HAND,
    "rag_evaluator.features.probe.verdicts.Pairs": PROBABILITIES,
    "rag_evaluator.features.probe.verdicts.judge_cells": PROBABILITIES,
    "rag_evaluator.features.setup.checks.about_size": BY_HAND,
    "rag_evaluator.features.setup.check_judge.Rehearsal": "every metric can use invented answers",
    "rag_evaluator.features.testset.selection.duplicates_of": "compared with brute force",
    "rag_evaluator.judge.encoding.sequence.Sequence": ENGINE,
    "rag_evaluator.judge.encoding.sequence.expand": ENGINE,
    "rag_evaluator.judge.engines.transformers.attention": ENGINE,
    "rag_evaluator.judge.engines.transformers.packed.PackedModel": ENGINE,
    "rag_evaluator.judge.engines.transformers.plain.PlainDecoder": ENGINE,
    "rag_evaluator.report.row_sentences.as_written": BY_HAND,
    "rag_evaluator.report.texts.TextPart": BY_HAND,
    "rag_evaluator.results.xlsx": "a limit of Excel is made small",
    "rag_evaluator.run.worker_journal.WorkerJournal": "two workers publish the same chunk",
    "rag_evaluator.statistics.auc.BaselineVerdict": BY_HAND,
    "rag_evaluator.tasks.evaluation": "what writes results is made to fail",
    "rag_evaluator.tasks.question": "what shows progress is exchanged",
}
"""What tests import all the same, and why; none is to be added."""


def interface_of(module: str) -> str | None:
    """The package whose interface stands for a module: `rag_evaluator.judge`, `rag_evaluator.features.app`; or None."""
    parts = module.split(".")
    if parts[0] != PACKAGE.name:
        return None
    size = 3 if parts[1:2] == ["features"] else 2
    return ".".join(parts[:size]) if len(parts) >= size and (ROOT / Path(*parts[:size])).is_dir() else None


def sources(folder: Path) -> Iterator[Path]:
    """Modules, and the list of public names."""
    yield from folder.rglob("*.py")
    yield from [PACKAGE / "__init__.pyi"] if folder == PACKAGE else []


def imports(file: Path) -> Iterator[tuple[str, str]]:
    """Module of ours and name of each import from another package."""
    parts = file.relative_to(ROOT).with_suffix("").parts
    own = interface_of(".".join(parts)) if parts[0] == PACKAGE.name else None
    for module, name in imports_of(file):
        is_ours = module.startswith("rag_evaluator.") and (own is None or not name)
        if is_ours or interface_of(module) not in (None, own):
            yield module, name


def is_inner(module: str, name: str) -> bool:
    """Whether an import passes an interface by."""
    package = interface_of(module)
    is_module = (ROOT / Path(*module.split("."), name)).with_suffix(".py").is_file()
    is_open = not name or f"{module}.{name}".startswith(OPEN)  # without a name: loaded beforehand
    return package is not None and not is_open and (module != package or is_module)


@cache
def used_by_packages() -> set[tuple[str, str]]:
    return {pair for file in sources(PACKAGE) for pair in imports(file)}


def test_packages_import_each_other_through_their_interfaces() -> None:
    assert [pair for pair in used_by_packages() if is_inner(*pair)] == []


def test_an_interface_names_what_another_package_uses_and_nothing_else() -> None:
    for file in PACKAGE.rglob("*/__init__.pyi"):
        package = ".".join(file.parent.relative_to(ROOT).parts)
        tree = ast.parse(file.read_text("utf-8"))
        offered = [alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names]
        used = {name for module, name in used_by_packages() if module == package}
        assert set(offered) == used or (not WHOLE and set(offered) > used), package
        assert len(offered) == len(set(offered)), package


def test_tests_use_public_names_and_interfaces() -> None:
    inner = {".".join(pair) for file in sources(TESTS) for pair in imports(file) if is_inner(*pair)}
    assert inner == set(INNER) or (not WHOLE and inner < set(INNER))
