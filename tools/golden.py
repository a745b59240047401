"""What must stay the same while code changes: `python -m tools.golden compare --base REV`.

Every command that judges or concludes (`STEPS`) runs as a user starts it, with the code of the working tree and with
that of REV, in the same environment and on the same inputs. Scores, result files and what is printed are compared cell
by cell. Figures are numbers, verdicts, intervals, counts, signatures and what the judge wrote; words are sentences,
printed text and pages. Exit code 1: a figure differs. Words that differ are named, and marked where their numbers do.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import reduce
from pathlib import Path
from typing import Any

from tools.golden_cells import Cells, cells_of_output, cells_of_path, is_words
from tools.golden_inputs import fill_sheet, write_inputs
from tools.trees import ROOT, worktree

SAMPLE = "{tree}/examples/dataset.jsonl"
TESTSET = "{tree}/examples/testset"
SPANISH = (
    "metrics=[context_precision_with_reference, context_recall, faithfulness, answer_relevancy, answer_correctness, "
    "factual_correctness, noise_sensitivity, context_entity_recall, response_groundedness, answer_accuracy, "
    "rouge_score]"
)
FEW = "metrics=[faithfulness, answer_relevancy, exact_match]"
TWO = "metrics=[faithfulness, exact_match]"
TEXT = "metrics=[exact_match, rouge_score, non_llm_string_similarity, quoted_spans_alignment]"
THINKER = (
    "{model: '{inputs}/thinker', chat_template: '{inputs}/chat.jinja', "
    "thinking: 'on', thinking_tokens: 4, thinking_markers: [<a>, e]}"
)
VERIFIER = "verifier.model={inputs}/verifier"
CHAIN = """
import json, sys
from rag_evaluator import EvaluatorChain, collect
rows = {row["query"]: row for row in map(json.loads, open(sys.argv[1]))}
chain = EvaluatorChain("exact_match")
print(json.dumps([collect(rows.get, list(rows), sys.argv[2]), [chain.invoke(row) for row in rows.values()]]))
"""
CONFIGURATION = "*manifest.json config/*"  # a key that one tree does not have: what it does is seen in the figures
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "PYTHONHASHSEED": "0", "COLUMNS": "120"}
MOST = 8  # cells of a kind that are listed for a step
MISSING = "(nothing)"


@dataclass(frozen=True)
class Tree:
    """The code of a commit, and a folder for the files of its runs."""

    code: Path
    out: Path
    inputs: Path

    def filled(self, word: str) -> str:
        """Return an argument with the folders in place of their names."""
        places = {"{tree}": self.code, "{out}": self.out, "{inputs}": self.inputs}
        return reduce(lambda text, name: text.replace(name, str(places[name])), places, word)

    @property
    def hidden(self) -> dict[str, str]:
        """Paths, and what stands for them in cells."""
        out = {str(self.out): "OUT", f"…/{self.out.name}": "OUT"}
        return {sys.executable: "PYTHON", **out, str(self.inputs): "INPUTS", str(self.code): "TREE"}


@dataclass(frozen=True)
class Step:
    """One command; `{out}` in an argument is the folder of all runs, `{inputs}` that of the inputs, `{tree}` the code.

    Attributes:
        files: files and folders below `{out}` that it writes.
        before: is called with its command, its environment and `{out}`.
    """

    name: str
    arguments: tuple[str, ...]
    files: tuple[str, ...] = ()
    before: Callable[[list[str], dict[str, str], Path], None] | None = None

    @staticmethod
    def run(name: str, command: str, *settings: str, json_output: bool = False, **more: Any) -> "Step":
        """A command that takes a configuration and writes the folder `name`."""
        config = f"{TESTSET}/config.yaml" if command.startswith("testset") else "{tree}/config.yaml"
        words = [f"--set={setting}" for setting in (f"name={name}", "output_dir={out}", *settings)]
        return Step(name, (*command.split(), config, *words, *(["--json"] if json_output else [])), (name,), **more)


@dataclass(frozen=True)
class Outcome:
    """The cells of a step, or why it failed."""

    cells: Cells
    failure: str = ""


def _kill_first(command: list[str], environment: dict[str, str], out: Path) -> None:
    """Start the command, and kill it when its first chunk is published."""
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not any((out / "killed" / "journal").glob("*/parts/*")):
        if process.poll() is not None:
            raise RuntimeError(f"ended with {process.returncode} before it could be killed: {' '.join(command)}")
        time.sleep(0.005)
    process.kill()
    process.wait()


def _fill(command: list[str], environment: dict[str, str], out: Path) -> None:
    fill_sheet(out / "sheet.xlsx")


STEPS = (
    Step.run("sample", "evaluate", f"dataset={SAMPLE}", json_output=True),
    Step.run("spanish", "evaluate", "language=spanish", "dataset={inputs}/spanish.jsonl", SPANISH),
    Step.run("sort", "sort", "sort.fast=false", "dataset={inputs}/many_contexts.jsonl"),
    Step.run("generate", "generate", "generate.group_size=3", "dataset={inputs}/many_contexts.jsonl"),
    Step.run("other", "evaluate", "dataset={inputs}/other_answers.jsonl", "group_by=[topic]", "cluster=topic"),
    Step.run("twice", "evaluate", "dataset={inputs}/twice.jsonl", "metrics=[context_recall, faithfulness]"),
    Step.run("killed", "evaluate", "dataset={inputs}/twice.jsonl", TWO, "chunk_size=1", "judge.batch_size=1", "limit=8",
        before=_kill_first),
    Step.run("csv", "evaluate", "dataset={inputs}/rows.csv", TEXT),
    Step.run("xlsx", "evaluate", "dataset={inputs}/rows.xlsx", TEXT),
    Step.run("parquet", "evaluate", "dataset={inputs}/rows.parquet", TEXT),
    Step.run("mixed", "evaluate", "dataset={inputs}/mixed.jsonl", TEXT),
    Step.run("chain_log", "evaluate", "dataset={inputs}/chain_log.jsonl", TWO, "limit=4"),
    Step.run("retriever_log", "evaluate", "dataset={tree}/examples/retrieval/log.jsonl",
        "metrics=[retrieval_precision, retrieval_ndcg, retrieval_recall]", "retrieval={match: overlap, k: 2}"),
    Step.run("plain_path", "evaluate", f"dataset={SAMPLE}", "judge={model: '{inputs}/plain', max_new_tokens: 64}",
        "metrics=[answer_accuracy, response_groundedness]", "limit=6"),
    Step.run("thinking", "evaluate", f"dataset={SAMPLE}", "metrics=[answer_accuracy]", f"judge={THINKER}"),
    Step.run("verifier", "evaluate", f"dataset={SAMPLE}", "metrics=[groundedness, faithfulness]", VERIFIER,
        "metric_options={groundedness: {mode: mean}, faithfulness: {verdicts: verifier}}"),
    Step("chain", ("-c", CHAIN, "{inputs}/chain_log.jsonl", "{out}/collected.jsonl"), ("collected.jsonl",)),
    Step.run("probe", "probe", f"dataset={SAMPLE}", TWO),
    Step("probe_json", ("probe", "{tree}/config.yaml", "--json", *(f"--set={setting}" for setting in (
        "name=probe", "output_dir={out}", f"dataset={SAMPLE}", TWO)))),
    Step("duel", ("duel", "{out}/sample", "{out}/other", "--out", "{out}/duel", "--json"), ("duel",)),
    Step.run("testset", "testset make", "testset.size=4", f"testset.documents=[{TESTSET}/documents]"),
    Step("testset_check", ("testset", "check", f"{TESTSET}/testset.jsonl", "--config", f"{TESTSET}/config.yaml",
        "--set=name=checked", "--set=output_dir={out}", "--limit", "4", "--json"), ("checked",)),
    Step("certify", ("certify", "{out}/twice", "--labels", "{inputs}/labels.csv", "--out", "{out}/certificate.json"),
        ("certificate.json",)),
    Step("certify_json", ("certify", "{out}/twice", "--labels", "{inputs}/labels.csv", "--json")),
    Step("sheet", ("certify", "sheet", "{out}/twice", "--size", "24", "--metric", "context_recall", "--out",
        "{out}/sheet.xlsx"),
        ("sheet.xlsx", "twice/labels")),
    Step("certify_sheet", ("certify", "{out}/twice", "--labels", "{out}/sheet.xlsx", "--json"), ("twice",),
        _fill),
    Step("compare", ("compare", "{out}/sample", "{out}/other", "--csv", "{out}/compared.csv"), ("compared.csv",)),
    Step("compare_json", ("compare", "{out}/sample", "{out}/other", "--json")),
    Step("compare_tables", ("compare", "{out}/sample/scores.csv", "{out}/other/scores.csv", "--json")),
    Step("gate", ("gate", "{out}/other", "--not-worse-than", "{out}/sample", "--margin", "0.05", "--min",
        "faithfulness=0.2", "--junit", "{out}/gate.xml"), ("gate.xml",)),
    Step("gate_json", ("gate", "{out}/other", "--min", "faithfulness=0.2", "--json")),
    Step("report", ("report", "{out}/sample", "{out}/other", "--out", "{out}/two.html"), ("two.html",)),
    Step("merge", ("merge", "{out}/other")),
    Step("status", ("status", "{out}/other", "--json")),
    Step("check", ("check", "{tree}/config.yaml", "--json")),
    *(Step(f"list_{kind}", ("list", kind, "--json")) for kind in ("languages", "metrics")),
)  # fmt: skip


def compare(base: str, only: Iterable[str], folder: Path) -> int:
    """Run the steps with both trees, print what differs, and return the number of figures that do."""
    inputs = folder / "inputs"
    inputs.mkdir(parents=True)
    write_inputs(inputs)
    different = total = 0
    with worktree(base) as code, ThreadPoolExecutor(2) as pool:
        trees = [Tree(code, folder / "old" / "runs", inputs), Tree(ROOT, folder / "new" / "runs", inputs)]
        for tree in trees:
            tree.out.mkdir(parents=True)
        for step in _chosen(set(only)):
            old, new = pool.map(lambda tree, step=step: outcome(step, tree), trees)
            figures, words, gone = differences(old, new)
            count = sum(not is_words(place) for place in {**old.cells, **new.cells})
            print(f"{step.name}: {len(figures)} of {count} figures differ, {len(words)} words, {len(gone)} gone")
            for kind, lines in (("FIGURE", figures), ("words", words), ("gone", gone)):
                print("".join(f"    {kind}: {line}\n" for line in lines[:MOST]), end="", flush=True)
            different = different + len(figures)
            total = total + count
    print(f"{different} of {total} figures differ")
    return different


def differences(old: Outcome, new: Outcome) -> tuple[list[str], list[str], list[str]]:
    """Return a line for each difference in figures and in words, and for what is gone."""
    failures = [f"{tree}: {side.failure}" for tree, side in (("base", old), ("working tree", new)) if side.failure]
    if failures:
        return failures, [], []
    figures = []
    words = []
    gone = []
    for place in {**old.cells, **new.cells}:
        before, after = (side.cells.get(place, MISSING) for side in (old, new))
        if before == after and type(before) is type(after):
            continue
        line = f"{place}: {_cut(before, after)} -> {_cut(after, before)}"
        if is_words(place):
            words.append(f"{line}{' OTHER NUMBERS' * (_numbers(before) != _numbers(after))}")
        elif MISSING in (before, after) and fnmatch(place, CONFIGURATION):
            gone.append(line)
        else:
            figures.append(line)
    return figures, words, gone


def outcome(step: Step, tree: Tree) -> Outcome:
    """Run the command line as a user does, and read what it printed and wrote."""
    program = [] if step.arguments[0] == "-c" else [str(tree.code / "main.py")]
    command = [sys.executable, *program, *map(tree.filled, step.arguments)]
    environment = {**os.environ, **ENVIRONMENT, "PYTHONPATH": str(tree.code)}
    if step.before:
        step.before(command, environment, tree.out)
    process = subprocess.run(command, cwd=tree.out, env=environment, capture_output=True, text=True)
    (tree.out / f"{step.name}.out").write_text(process.stdout + process.stderr, encoding="utf-8")
    rule_failed = process.returncode == 1 and program  # a rule is not kept, a test set has flags
    if (process.returncode and not rule_failed) or "Traceback (most" in process.stderr:
        last = (process.stderr.strip() or MISSING).splitlines()[-1]
        return Outcome({}, f"ended with {process.returncode}: {last}")
    cells = {"exit code": process.returncode, **cells_of_output(process.stdout, tree.hidden)}
    for name in step.files:
        cells |= cells_of_path(tree.out / name, name, tree.hidden)
    return Outcome(cells)


def _chosen(only: set[str]) -> list[Step]:
    """The steps of these names, and those whose files they need; all for no name."""
    names = set(only)
    for step in reversed(STEPS):
        if step.name in names:
            names |= {need for word in step.arguments for need in re.findall(r"\{out\}/(\w+)", word)}
    return [step for step in STEPS if not only or step.name in names]


def _cut(value: Any, other: Any, most: int = 60) -> str:
    """The value; of a long text the part where it begins to be another one."""
    text = str(value)
    same = next((place for place, pair in enumerate(zip(text, str(other), strict=False)) if pair[0] != pair[1]), most)
    start = max(0, same - 10) if len(text) > most else 0
    return repr(text[start : start + most])


def _numbers(value: Any) -> list[str]:
    return re.findall(r"\d+(?:[.,]\d+)*", str(value))


def main() -> int:
    """Compare; the exit code is 1 where a figure differs."""
    parser = argparse.ArgumentParser(prog="python -m tools.golden", description=__doc__)
    parser.add_argument("command", choices=("compare",))
    parser.add_argument("--base", required=True, metavar="REV", help="the commit to compare the working tree with")
    parser.add_argument("--only", nargs="+", default=(), metavar="STEP", help="these steps, and those that they need")
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="a new folder for the files of the runs: old/, new/"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="golden-") as name:
        return int(compare(options.base, options.only, (options.keep or Path(name)).resolve()) > 0)


if __name__ == "__main__":
    sys.exit(main())
