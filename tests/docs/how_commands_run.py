"""How a command of the docs is run by a test, where it is not run as it is.

Every table goes by regular expression; the first row that fits a command counts.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

STAND_INS: Mapping[str, str] = {
    r"^\.venv/bin/rag-evaluator": "rag-evaluator",
    r"^(?:\.venv/bin/)?python (?:main\.py|-m rag_evaluator)": "rag-evaluator",  # the same program
    r"^make run$": "rag-evaluator config.yaml",  # what it does once everything is installed
    r"(?:bundle)?/models/": "models/",  # the demo judge under other names
    r"results/(?:<name>|NAME)": "results/demo",
    r"--language NAME": "--language catalan",
    r"--metrics my_metric": "--metrics answer_relevancy",
}
"""Text of a command -> what stands for it in the folder that `prepared.py` makes."""

NOT_RUN: Mapping[str, str] = {
    r"^ssh ": "needs another machine",
    r"^python -m tools\.docs$": "builds the site, as test_site.py does",
    r"^pip (?:install|uninstall|download|wheel)": "changes the environment; tests/test_package.py installs the package",
    r"^rag-evaluator bundle ": "downloads wheels; its arguments are read by the parser, tests/features/bundle runs it",
    r"^rag-evaluator judges ": "loads several judges, one after the other; tests/features/judges runs it",
    r"^rag-evaluator view ": "starts a server, as tests/features/app/test_view_command.py does",
    r"^python -m venv": "installs vLLM, which needs the network and some GB",
    r"^(?:source|eval) ": "changes the shell it is typed in",
    r"^python -m benchmarks": "takes minutes to hours; only its module is looked up",
    r"^python -m tools\.(?:golden|count)": "compares with a commit that a clone may lack; tests/tools runs them",
    r"^(?:hf download|gh run|last=)": "needs the network, and a job of GitHub",
    r"^if \[ ": "depends on what an earlier job has left; tests/test_gates.py runs the gate",
    r"^make ": "each target is a suite or an installation of its own; only looked up, by make -n",
    r"^(?:sbatch|torchrun|srun) ": "needs Slurm or several processes; its arguments are read by the parser",
}
"""Commands that are not run -> why."""

NAMES_ONLY = re.compile(
    r"^rag-evaluator(?: certify| certify sheet| gate| compare| view| view --review| status| merge| init| generate"
    r"| check| bundle)?$"
)
"""Commands that a sentence names without their arguments."""


@dataclass(frozen=True)
class Way:
    """How commands are run.

    Attributes:
        more: arguments that are added, so that a test takes seconds.
        instead: text -> what stands for it.
        codes: exit codes that are right; None: also those of failed rules and packs that the demo judge has made.
    """

    more: str = ""
    instead: tuple[str, str] = ("", "")
    codes: tuple[int, ...] = (0,)


ONCE = re.compile(r"^rag-evaluator (?:list|check|prompts check)")
"""Commands that write nothing, and that no other command of the docs changes: one time is enough."""

FEW = "--set dataset=my_rows.jsonl"
SHORT = "--set judge.max_new_tokens=64"
WAYS: Mapping[str, Way] = {
    r"^rag-evaluator .*--against ": Way("--set dataset=base.jsonl --set metrics=faithfulness --set name=b"),
    r"^rag-evaluator gate ": Way(codes=(0, 1)),  # 1: a rule failed
    r"^rag-evaluator prompts adapt .*--metrics": Way(SHORT),
    r"^rag-evaluator prompts adapt ": Way(f"--metrics answer_relevancy {SHORT}"),
    r"^rag-evaluator prompts check .*--language catalan": Way("--metrics answer_relevancy", codes=(0, 2)),  # by a toy
    r"^rag-evaluator submit (?!.*--dry-run)": Way("--dry-run"),  # no Slurm
    r"^rag-evaluator testset make ": Way(
        "--size 1 --set testset.candidates=2 --set testset.kinds='{single_fact: 1}'",
        codes=(0, 1, 75),  # 1: the toy's questions do not survive
    ),
    r"^rag-evaluator testset check ": Way(codes=(0, 1)),  # 1: it accuses good rows
    r"^rag-evaluator probe ": Way("--set dataset=examples/dataset.jsonl --set metrics=faithfulness --sample 2"),
    r"^rag-evaluator (?:sort|generate) ": Way(FEW),
    r"^rag-evaluator check config": Way(f"{FEW} --set metrics=faithfulness"),
    r"^rag-evaluator init base": Way(instead=("base.xlsx new.xlsx", "my_rows.csv textos.csv")),
    r"^rag-evaluator init .*--columns texto=": Way(instead=("my_rows.csv", "textos.csv")),
    r"^rag-evaluator config\.yaml .*dataset=": Way("--set metrics=faithfulness"),
    r"^rag-evaluator config\.yaml .*metrics=": Way(FEW),
    r"^rag-evaluator config\.yaml .*--worker": Way(f"{FEW} --set metrics=faithfulness", codes=(0, 75)),  # not the last
    r"^rag-evaluator config\.yaml": Way(f"{FEW} --set metrics='[faithfulness, context_recall]'"),
    r"^rag-evaluator duel .*--worker": Way("--limit 2 --set judge.model=demo", codes=(0, 75)),
    r"^rag-evaluator duel ": Way("--limit 2 --set judge.model=demo"),  # a script judged the prepared runs
}


def way_of(line: str) -> Way:
    return next((way for pattern, way in WAYS.items() if re.search(pattern, line)), Way())


def reason_not_to_run(line: str) -> str | None:
    return next((why for pattern, why in NOT_RUN.items() if re.search(pattern, line)), None)


def stand_in(line: str) -> str:
    for pattern, text in STAND_INS.items():
        line = re.sub(pattern, text, line)
    return line
