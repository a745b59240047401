"""Moves the flat modules into packages: `python -m tools.move_modules`, once, on a clean tree of the old layout.

Moves files with `git mv` and rewrites their names in import lines, in strings, in paths and in the import contracts; it
changes no other line. A module without a row below stops it before anything is moved. The result is staged, not
committed.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = "rag_evaluator"

# Module of the package, today -> new. A package's own name is its `__init__`. Rows without a module do nothing; what
# lies in one of NEW_PACKAGES already stays there.
MODULES = {
    "cli": "cli.main",
    "cli_functions": "cli.tasks",
    "cli_prompts": "cli.prompts",
    "terminal": "cli.console",
    "evaluator": "api.evaluator",
    "functions": "api.functions",
    "runs": "tasks.runs",  # goes into `run` and `tasks` later
    "seal": "tasks.run_digest",
    "ranking": "tasks.ranking",
    "ranking.comparisons": "tasks.ranking.comparisons",
    "ranking.measures": "tasks.ranking.measures",
    "ranking.sorting": "tasks.ranking.sorting",
    "ranking.strategies": "tasks.ranking.strategies",
    "ranking.summary": "tasks.ranking.summary",
    "ground_truth": "tasks.references",
    "ground_truth.groups": "tasks.references.groups",
    "ground_truth.references": "tasks.references.references",
    "chunks": "run.chunks",
    "journal": "run.journal",
    "merge": "run.merge",
    "merged": "run.merged",  # joined with `run.merge` later
    "plan": "run.plan",
    "status": "run.status",
    "workers": "run.workers",
    "submit": "run.slurm",
    "kept_prompts": "run.kept_prompts",
    "manifest": "run.manifest",  # split into `models.fingerprint`, `judge.signature` and this later
    "metrics": "metrics.table",
    "string_metrics": "metrics.strings",
    "scoring": "metrics.scorer",
    "recorder": "metrics.tracing",
    "given_metrics": "metrics.given_metrics",
    "own_prompts": "prompts.own",
    "prompts.sources": "prompts.english",
    "prompts.older": "prompts.legacy",
    "prompts.strings": "prompts.fields",
    "prompts.tongue": "prompts.language_id",
    "prompts.adapt": "prompts.adapt.adapt",
    "prompts.translate": "prompts.adapt.translate",
    "prompts.units": "prompts.adapt.segments",
    "prompts.doubts": "prompts.adapt.quality",
    "prompts.review": "prompts.adapt.review",
    "judges": "judge.source",
    "asking": "judge.cached",
    "window": "judge.context_window",
    "judge.schema": "judge.grammar.schema",
    "judge.grammar": "judge.grammar.lark",
    "judge.budget": "judge.grammar.budget",
    "judge.local": "judge.engine.transformers.loading",  # `find_model` goes to `models.hub` later
    "judge.chat": "judge.engine.transformers.chat",
    "judge.decode": "judge.engine.transformers.decoder",
    "judge.packed": "judge.engine.transformers.packed",
    "judge.plain": "judge.engine.transformers.generate",
    "judge.rows": "judge.engine.transformers.sequence",
    "judge.heads": "judge.engine.transformers.prefix_cache",
    "judge.memory": "judge.engine.transformers.memory",
    "judge.options": "judge.engine.transformers.choice",
    "judge.neighbours": "judge.engine.transformers.neighbours",
    "judge.scheduler": "models.batching",
    "judge.loops": "models.event_loop",
    "embeddings": "models.embeddings",
    "fingerprints": "models.fingerprint",
    "scores": "results.score",
    "tables": "results.writers",  # split into `summary`, `writers` and `xlsx` later
    "results": "results.results",
    "questions": "results.questions",
    "dataset.fields": "dataset.values",
    "dataset.plain": "dataset.json_values",
    "dataset.spool": "dataset.on_disk",
    "dataset.readers": "dataset.readers.table",
    "dataset.json_files": "dataset.readers.json_files",
    "dataset.spreadsheets": "dataset.readers.spreadsheets",
    "dataset.tables": "dataset.readers.arrow",
    "dataset.workbooks": "dataset.readers.workbooks",
    "dataset.record": "dataset.readers.record",
    "documents": "files.atomic",
    "records": "files.jsonl",
    "stop": "signals",
}
STAY = """
    __main__ errors config config_errors origin paths languages offline resources demo
    dataset dataset.blank dataset.cells dataset.columns dataset.formulas dataset.marks dataset.sample
    judge judge.judge judge.requests judge.scripted
    prompts prompts.check prompts.frames prompts.loading prompts.pack
""".split()

# Test file below `tests/`, today -> new. A test that imports from another one lies beside it.
TESTS = {
    "test_batch_independence.py": "judge/test_batch_independence.py",
    "test_budget.py": "judge/grammar/test_budget.py",
    "test_chat.py": "judge/engine/transformers/test_chat.py",
    "test_chunks.py": "run/test_chunks.py",
    "test_cli.py": "cli/test_cli.py",
    "test_dataset.py": "dataset/test_dataset.py",
    "test_devices.py": "judge/test_devices.py",
    "test_dataset_faults.py": "dataset/test_dataset_faults.py",
    "test_demo_judge.py": "demo/test_demo_judge.py",
    "test_demo_judge_links.py": "demo/test_demo_judge_links.py",
    "test_fingerprint.py": "models/test_fingerprint.py",
    "test_functions.py": "api/test_functions.py",
    "test_grammar.py": "judge/grammar/test_lark.py",
    "test_ground_truth.py": "tasks/test_references.py",
    "test_judge.py": "judge/test_judge.py",
    "test_models.py": "judge/test_models.py",
    "test_older_packs.py": "prompts/test_legacy.py",
    "test_options.py": "judge/engine/transformers/test_choice.py",
    "test_plain_loop.py": "judge/test_plain_loop.py",
    "test_prompt_adapt.py": "prompts/adapt/test_adapt.py",
    "test_prompt_check.py": "prompts/test_check.py",
    "test_prompts.py": "prompts/test_prompts.py",
    "test_questions.py": "metrics/test_questions.py",
    "test_ragas_equality.py": "metrics/test_ragas_equality.py",
    "test_ranking.py": "tasks/test_ranking.py",
    "test_results.py": "results/test_results.py",
    "test_run_faults.py": "run/test_run_faults.py",
    "test_scheduler.py": "models/test_batching.py",
    "test_schema.py": "judge/grammar/test_schema.py",
    "test_settings.py": "api/test_settings.py",
    "test_spool.py": "dataset/test_on_disk.py",
    "test_string_metrics.py": "metrics/test_strings.py",
    "test_unnamed_models.py": "api/test_unnamed_models.py",
}
TESTS_STAY = """
    conftest.py test_config.py test_config_faults.py test_docs.py test_offline.py test_package.py
    tiny_models.py zygote.py
""".split()

# The `__init__` of new packages that are not there yet. Of those in EMPTIED only the docstring stays, and importers
# name the real module.
NEW_PACKAGES = {
    "cli": "The command line.",
    "api": "What users call from Python.",
    "tasks": "What can be run: scores, orders of contexts, reference answers.",
    "run": "A run on disk: plan, journal, chunks, workers, merge, status.",
    "metrics": "The metrics, and what asks ragas for their scores.",
    "prompts.adapt": "Makes the prompts of a language with the judge.",
    "judge.grammar": "What an answer may look like: schema, grammar, budget.",
    "judge.engine": "What runs the judge's model.",
    "judge.engine.transformers": "The engine that decodes with transformers and torch.",
    "models": "Models on this machine: batches, event loops, embeddings.",
    "results": "Scores in memory and in files.",
    "dataset.readers": "The file formats of input rows.",
    "files": "How files are written and read.",
}
EMPTIED = ("judge", "prompts")

# Texts that no rule below covers: file, as it is called after the move -> pairs of old and new text. What is not found
# is printed at the end.
TEXTS = {
    "pyproject.toml": [('"rag_evaluator/cli*.py"', '"rag_evaluator/cli/*.py"')],
    "rag_evaluator/judge/requests.py": [
        (
            "the whole text of a prompt that is not\n            in `p",
            "the whole text of a prompt that\n            is not in `p",
        ),
    ],
    "rag_evaluator/dataset/__init__.py": [
        ("`readers` (a table of file formats)", "`readers` (file formats)"),
        ("`fields` (types)", "`values` (types)"),
        ("`plain` (JSON values)", "`json_values`"),
        ("`spool` (", "`on_disk` ("),
    ],
}

LAYERS = """
[tool.importlinter]
root_package = "rag_evaluator"
include_external_packages = true
exclude_type_checking_imports = true

[[tool.importlinter.contracts]]
name = "packages import downwards only"
type = "layers"
layers = [
  "rag_evaluator.cli",
  "rag_evaluator.api",
  "(rag_evaluator.report) | (rag_evaluator.view)",
  "rag_evaluator.tasks",
  "rag_evaluator.run",
  "rag_evaluator.metrics",
  "rag_evaluator.prompts",
  "rag_evaluator.judge",
  "rag_evaluator.models",
  "rag_evaluator.results",
  "rag_evaluator.dataset",
  "rag_evaluator.files : (rag_evaluator.trust)",
  "rag_evaluator.config : rag_evaluator.languages : rag_evaluator.offline : rag_evaluator.signals : rag_evaluator.demo : (rag_evaluator.resources) : (rag_evaluator.config_errors) : (rag_evaluator.origin) : (rag_evaluator.paths)",
  "rag_evaluator.errors",
]
unmatched_ignore_imports_alerting = "warn"
ignore_imports = [
  # the fingerprint of a model and the judge's signature are still in the manifest
  "rag_evaluator.judge.source -> rag_evaluator.run.manifest",
  # Results reads the journal of a run itself
  "rag_evaluator.results.results -> rag_evaluator.run.*",
  # which metrics have prompts is known to the table of metrics only
  "rag_evaluator.prompts.english -> rag_evaluator.metrics.table",
  "rag_evaluator.prompts.loading -> rag_evaluator.metrics.table",
  # a model is looked up by the module that loads the judge
  "rag_evaluator.models.embeddings -> rag_evaluator.judge.engine.transformers.loading",
]

[[tool.importlinter.contracts]]
name = "parts of prompts import downwards only"
type = "layers"
layers = [
  "rag_evaluator.prompts.adapt",
  "rag_evaluator.prompts.check",
  "rag_evaluator.prompts.loading",
  "(rag_evaluator.prompts.frames) | rag_evaluator.prompts.fields | rag_evaluator.prompts.language_id | rag_evaluator.prompts.legacy | rag_evaluator.prompts.english",
  "rag_evaluator.prompts.pack",
]

[[tool.importlinter.contracts]]
name = "torch and transformers only in the engines and models"
type = "protected"
protected_modules = ["torch", "transformers"]
allowed_importers = ["rag_evaluator.judge.engine", "rag_evaluator.models"]

[[tool.importlinter.contracts]]
name = "ragas only in metrics, prompts, judge and models"
type = "protected"
protected_modules = ["ragas"]
allowed_importers = ["rag_evaluator.metrics", "rag_evaluator.prompts", "rag_evaluator.judge", "rag_evaluator.models"]
unmatched_ignore_imports_alerting = "warn"
ignore_imports = [
  "rag_evaluator.api.evaluator -> ragas", # tells a judge and embeddings by their ragas classes
]

[[tool.importlinter.contracts]]
name = "runs, values and files know neither ragas nor torch"
type = "forbidden"
source_modules = [
  "rag_evaluator.run", "rag_evaluator.results", "rag_evaluator.dataset", "rag_evaluator.files", "rag_evaluator.config",
  "rag_evaluator.languages", "rag_evaluator.signals", "rag_evaluator.errors",
]
forbidden_modules = ["ragas", "torch", "transformers"]
unmatched_ignore_imports_alerting = "warn"
ignore_imports = [
  "rag_evaluator.run.chunks -> rag_evaluator.metrics.scorer",    # the type of a job
  "rag_evaluator.run.manifest -> rag_evaluator.metrics.table",   # the type of a metric
]

[[tool.importlinter.contracts]]
name = "what makes grammars and batches does not know ragas"
type = "forbidden"
source_modules = ["rag_evaluator.judge.grammar", "rag_evaluator.judge.engine", "rag_evaluator.models.batching"]
forbidden_modules = ["ragas"]
"""  # noqa: E501

DOTTED = re.compile(rf"(?<![\w/.]){PACKAGE}((?:\.\w+)+)")
LISTED = re.compile(r'^(    "(\w+)": ")([\w.]+)(",)$', re.MULTILINE)  # a row of `_HOMES`
OF_FILE = re.compile(r"Path\(__file__\)((?:\.resolve\(\))?)(?:((?:\.parent)+)\b|\.parents\[(\d+)\])")
TEXT_FILES = {".py", ".toml", ".md", ".sh", ".yaml", ".yml", ""}
UNTOUCHED = (
    "CHANGELOG.md",
    "LICENSE",
    "tools/move_modules.py",
    "prompts/",
    "orig_prompts/",
    "rag_evaluator/demo/judge/tok",
)


def main() -> int:
    """Move everything, or nothing where the tree is not as the tables say."""
    complaints = list(_complaints())
    if complaints:
        print(*complaints, sep="\n", file=sys.stderr)
        return 1
    paths = _paths()
    homes = {package: _reexports(package) for package in EMPTIED}
    for module in [module for module in MODULES if not _is_there(module)]:
        del MODULES[module]
    _move(paths)
    for package in EMPTIED:
        _keep_docstring(ROOT / PACKAGE / package / "__init__.py")
    for package, text in NEW_PACKAGES.items():
        path = ROOT / PACKAGE / package.replace(".", "/") / "__init__.py"
        if not path.exists():
            path.write_text(f'"""{text}"""\n', encoding="utf-8")
    moved = {new: old for old, new in paths.items()}
    _git("add", "--all")
    for name in _tracked():
        _rewrite(name, moved.get(name, name), paths, homes)
    _replace_contracts()
    for name, pairs in TEXTS.items():
        _fix(ROOT / name, pairs)
    python = [str(ROOT / name) for name in _tracked() if name.endswith(".py")]
    for arguments in (["check", "--quiet", "--select", "I", "--fix"], ["format", "--quiet"]):
        subprocess.run([sys.executable, "-m", "ruff", *arguments, *python], cwd=ROOT, check=True)
    _git("add", "--all")
    print(f"{len(paths)} files moved and staged")
    subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--quiet"], cwd=ROOT, check=False
    )  # lines that became too long
    return 0


def _complaints() -> Iterator[str]:
    """What keeps the tables from fitting the tree."""
    if _git("status", "--porcelain"):
        yield "the tree is not clean: commit or stash first"
    for name in _tracked():
        parts = Path(name).with_suffix("").parts
        if not name.endswith(".py") or name == f"{PACKAGE}/__init__.py":
            continue
        if parts[0] == PACKAGE:
            module = ".".join(parts[1:]).removesuffix(".__init__")
            is_new = any(f"{module}.".startswith(f"{package}.") for package in NEW_PACKAGES if _is_package(package))
            if module not in MODULES and module not in STAY and not is_new:
                yield f"{name}: no row in MODULES, and not in STAY"
        elif (
            parts[0] == "tests"
            and len(parts) == 2
            and parts[1] not in {Path(test).stem for test in (*TESTS, *TESTS_STAY)}
        ):
            yield f"{name}: no row in TESTS, and not in TESTS_STAY"
    paths = _paths()
    yield from (
        f"{new}: is there already, so {old} cannot go there" for old, new in paths.items() if (ROOT / new).exists()
    )
    for name in paths:
        for other in re.findall(r"^\s*from (test_\w+) import", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE):
            if Path(paths.get(f"tests/{other}.py", f"tests/{other}.py")).parent != Path(paths[name]).parent:
                yield f"{name}: imports from {other}, which goes to another folder"


def _paths() -> dict[str, str]:
    """Path of each file that moves -> its new one."""
    paths = {_path(old): _path(new, is_package=_is_package(old)) for old, new in MODULES.items() if _is_there(old)}
    return paths | {f"tests/{old}": f"tests/{new}" for old, new in TESTS.items() if (ROOT / "tests" / old).is_file()}


def _path(module: str, is_package: bool = False) -> str:
    is_package = is_package or _is_package(module)
    return f"{PACKAGE}/{module.replace('.', '/')}{'/__init__' if is_package else ''}.py"


def _is_package(module: str) -> bool:
    return (ROOT / PACKAGE / module.replace(".", "/") / "__init__.py").is_file()


def _is_there(module: str) -> bool:
    """Whether it has not moved yet: a package under the name of a new one is that new one."""
    return (ROOT / _path(module)).is_file() and not (module in NEW_PACKAGES and _is_package(module))


def _reexports(package: str) -> dict[str, str]:
    """Name -> old module it comes from, of a package whose `__init__` is emptied."""
    tree = ast.parse((ROOT / _path(package)).read_text(encoding="utf-8"))
    return {
        alias.asname or alias.name: (node.module or "").removeprefix(f"{PACKAGE}.")
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{PACKAGE}.")
        for alias in node.names
    }


def _move(paths: dict[str, str]) -> None:
    """By way of names that nothing else has: `results.py` goes into a folder `results`."""
    for old in paths:
        _git("mv", old, f"{old}.moving")
    for old, new in paths.items():
        (ROOT / new).parent.mkdir(parents=True, exist_ok=True)
        _git("mv", f"{old}.moving", new)


def _keep_docstring(path: Path) -> None:
    docstring = ast.parse(path.read_text(encoding="utf-8")).body[0]
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[: docstring.end_lineno]), encoding="utf-8")


def _rewrite(name: str, before: str, paths: dict[str, str], homes: dict[str, dict[str, str]]) -> None:
    """Give a file the new names; `before` is where it was."""
    path = ROOT / name
    if path.suffix not in TEXT_FILES or name.startswith(UNTOUCHED):
        return
    old = text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        text = "".join(_renamed_code(text, homes))
        text = OF_FILE.sub(lambda match: _deeper(match, len(Path(name).parts) - len(Path(before).parts)), text)
    else:
        text = _renamed(text)
    if name == f"{PACKAGE}/__init__.py":
        text = LISTED.sub(lambda row: f"{row[1]}{_home(row[2], row[3], homes)}{row[4]}", text)
    for source, target in paths.items():
        text = re.sub(rf"(?<![\w/])((?:\.\./)*){re.escape(source)}\b", rf"\g<1>{target}", text)
    if text != old:
        path.write_text(text, encoding="utf-8")


def _renamed_code(text: str, homes: dict[str, dict[str, str]]) -> Iterator[str]:
    """Pieces of a Python file: `from` imports are taken apart, other mentions of modules renamed."""
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    done = 0
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)]
    for node in sorted(nodes, key=lambda node: node.lineno):
        if (node.module or "").split(".")[0] != PACKAGE or node.level:
            continue
        assert node.end_lineno is not None and node.end_col_offset is not None
        begin, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
        yield _renamed(text[done:begin])
        yield _from_lines(node, homes, text[begin:end])
        done = end
    yield _renamed(text[done:])


def _from_lines(node: ast.ImportFrom, homes: dict[str, dict[str, str]], text: str) -> str:
    """The import lines in place of one: as it was where nothing moved."""
    package = (node.module or "").removeprefix(PACKAGE).removeprefix(".")
    lines: dict[str, list[str]] = {}
    for alias in node.names:
        inner = f"{package}.{alias.name}".removeprefix(".")
        if inner in MODULES or inner in STAY:  # a module is imported
            parent, _, leaf = f"{PACKAGE}.{MODULES.get(inner, inner)}".rpartition(".")
            called = alias.asname or alias.name
            lines.setdefault(parent, []).append(leaf if leaf == called else f"{leaf} as {called}")
        else:
            home = homes.get(package, {}).get(alias.name, package)
            target = f"{PACKAGE}.{MODULES.get(home, home)}".removesuffix(".")
            lines.setdefault(target, []).append(f"{alias.name} as {alias.asname}" if alias.asname else alias.name)
    if list(lines) == [node.module]:
        return text
    indent = "\n" + " " * node.col_offset
    return indent.join(f"from {module} import {', '.join(names)}" for module, names in lines.items())


def _renamed(text: str) -> str:
    """Text with the dotted names of moved modules replaced."""

    def new(match: re.Match[str]) -> str:
        parts = match[1].split(".")[1:]
        for length in range(len(parts), 0, -1):
            module = ".".join(parts[:length])
            if module in MODULES or module in STAY:
                return ".".join([PACKAGE, MODULES.get(module, module), *parts[length:]])
        return match[0]

    return DOTTED.sub(new, text)


def _home(public: str, module: str, homes: dict[str, dict[str, str]]) -> str:
    home = homes.get(module, {}).get(public, module)
    return MODULES.get(home, home)


def _deeper(match: re.Match[str], levels: int) -> str:
    """The same folder, seen from a file that lies `levels` folders deeper."""
    if levels == 0:
        return match[0]
    up = int(match[3]) if match[3] else match[2].count(".parent") - 1
    return f"Path(__file__){match[1]}.parents[{up + levels}]"


def _replace_contracts() -> None:
    """All of pyproject.toml from [tool.importlinter] on, which is its end."""
    path = ROOT / "pyproject.toml"
    kept, _, contracts = path.read_text(encoding="utf-8").partition("\n[tool.importlinter]")
    assert not re.search(r"^\[+(?!\[?tool\.importlinter)", contracts, re.MULTILINE), (
        "another table follows the contracts"
    )
    path.write_text(kept + LAYERS, encoding="utf-8")


def _fix(path: Path, pairs: Iterable[tuple[str, str]]) -> None:
    text = path.read_text(encoding="utf-8")
    for old, new in pairs:
        if old not in text:
            print(f"{path}: look at it, this was not found: {old!r}")
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")


def _tracked() -> list[str]:
    return _git("ls-files").splitlines()


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
