"""`rag-evaluator check config.yaml`: would a run work? Without a configuration, as `doctor`: does this machine work?"""

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_evaluator.cli.options import (
    BAD_INPUT,
    FAILED,
    OK,
    TRY_AGAIN,
    add_json,
    add_rows,
    add_set,
    with_examples,
)
from rag_evaluator.errors import ConfigError, JudgeLostError, MissingChunksError
from rag_evaluator.files.imports import loading_libraries
from rag_evaluator.resources import command

if TYPE_CHECKING:
    from rag_evaluator.features.setup.checks import Check, CheckReport
    from rag_evaluator.features.setup.doctor import Diagnosis

WIDTH = 22  # of the names
PASSING = (JudgeLostError, MissingChunksError)  # errors after which the same command may do
LETTERS = 160  # of texts that a check of the judge's work names
FIRST_LINES, LAST_LINES = 6, 24  # of a prompt; between them are the examples


def add_check_command(commands: Any) -> None:
    """Add the command to the parser. Any: argparse has no public name for a group of subcommands."""
    command = commands.add_parser(
        "check",
        help="look at everything that a run needs, and judge one row",
        description="Look at configuration, rows, prompts, model, memory, disk and what is in the results folder;\n"
        "load the judge, show a prompt as it gets it, judge one row, and measure the longest rows against its window.\n"
        "Nothing is written. Without a configuration: look at this installation and machine, as 'doctor' does.",
        **with_examples(
            "rag-evaluator check config.yaml",
            "rag-evaluator check config.yaml --set judge.model=/models/Qwen3-8B --prompt",
            "rag-evaluator check config.yaml --json",
            note="exit codes: 0 nothing failed, 1 the row got no score, 2 bad input, 75 the judge was lost",
        ),
    )
    command.add_argument("--json", action="store_true", help="all that was found as JSON on standard output")
    command.add_argument("--prompt", action="store_true", help="show the whole prompt, not its beginning and end")
    command.add_argument("config", type=Path, nargs="?", help="YAML file; without one only the machine is looked at")
    add_set(command)
    add_rows(command)


def check(options: argparse.Namespace) -> int:
    """`rag-evaluator check config.yaml`."""
    from rag_evaluator.cli.console import print_json
    from rag_evaluator.cli.evaluate import read_config

    if options.config is None:
        if options.set or options.prompt:
            raise ConfigError(f"check: the configuration is missing: {command('check', 'config.yaml')}")
        return doctor(options)
    config = read_config(options)
    with loading_libraries():
        from rag_evaluator.features.setup.check import check as look

    report = look(config, shown=lambda result: None if options.json else _print(result, options.prompt))
    if options.json:
        print_json(report.to_json())
    else:
        _print_end(report)
    return _code(report)


def _code(report: "CheckReport") -> int:
    """As a run that meets the same would end; what needs a hand comes first."""
    failed = [check for check in report.checks if check.state == "failed"]
    codes = {_code_of(check) for check in failed}
    return next((code for code in (BAD_INPUT, TRY_AGAIN, FAILED) if code in codes), OK)


def _code_of(check: "Check") -> int:
    if isinstance(check.error, PASSING):
        return TRY_AGAIN
    return FAILED if check.name == "row" and check.error is None else BAD_INPUT


def _print(check: "Check", whole_prompt: bool) -> None:
    from rag_evaluator.cli.console import say

    say(f"{check.state:<8} {check.name:<14} {check.text}")
    if check.name == "template":
        for line in _shortened(check.details["prompt"].split("\n"), whole_prompt):
            say(f"         | {line}")
    if check.name == "row":
        for metric, score in check.details.get("scores", {}).items():
            for line in _score_lines(metric, score):
                say(f"         {line}")


def _shortened(lines: list[str], whole: bool) -> list[str]:
    left_out = len(lines) - FIRST_LINES - LAST_LINES
    if whole or left_out <= 1:
        return lines
    return [*lines[:FIRST_LINES], f"... {left_out} lines (--prompt shows them) ...", *lines[-LAST_LINES:]]


def _score_lines(metric: str, score: Mapping[str, Any]) -> Iterator[str]:
    value = "no score" if score["value"] is None else f"{score['value']:.3f}"
    questions = f"{score['questions']} question{'s' if score['questions'] != 1 else ''}"
    tokens = f"{score['prompt_tokens']} + {score['generated_tokens']} tokens"
    cost = f"{questions}, {tokens}, " if score["questions"] else ""
    yield f"{metric}: {value} ({cost}{score['seconds']} s)"
    for flag, texts in score["flags"].items():
        yield f"  {flag}: {' · '.join(texts)[:LETTERS]}"
    for reason in score["reasons"]:
        yield f"  {reason}"


def _print_end(report: "CheckReport") -> None:
    from rag_evaluator.cli.console import say

    count = {state: sum(check.state == state for check in report.checks) for state in ("warning", "failed")}
    warnings = f"{count['warning']} warning{'s' if count['warning'] != 1 else ''}"
    say(f"{count['failed']} failed, {warnings}" if count["failed"] else f"ready to run, {warnings}")


def add_doctor_command(commands: Any) -> None:
    """Add the command to the parser. Any: argparse has no public name for a group of subcommands."""
    command = commands.add_parser(
        "doctor",
        help="versions, devices, memory, caches, packages that break each other; for a bug report",
        description="Look at this installation and this machine and say what is broken. Nothing is changed. What is "
        "printed names no person, machine or secret: it can be pasted into an issue.",
        **with_examples(
            "rag-evaluator doctor",
            "rag-evaluator doctor --json > doctor.json",
            "rag-evaluator doctor --vllm-python ~/vllm/bin/python",
            note="exit codes: 0 nothing is broken, 1 something is: what to do is printed",
        ),
    )
    add_json(command)
    command.add_argument("--vllm-python", metavar="FILE", help="bin/python of the environment that has vLLM")


def doctor(options: argparse.Namespace) -> int:
    """`rag-evaluator doctor`."""
    from rag_evaluator.cli.console import print_json, say
    from rag_evaluator.features.setup.doctor import doctor as examine

    diagnosis = examine(getattr(options, "vllm_python", None))  # an option of `doctor` only
    if options.json:
        print_json(diagnosis.to_json())
    else:
        for line in _lines(diagnosis):
            say(line)
    return OK if diagnosis.healthy else FAILED


def _lines(diagnosis: "Diagnosis") -> Iterator[str]:
    for heading, values in _sections(diagnosis.report).items():
        yield f"{heading}:"
        yield from (f"  {name:<{WIDTH}} {value}" for name, value in values.items())
    for kind, findings in (("note", diagnosis.notes), ("broken", diagnosis.problems)):
        for finding in findings:
            yield f"{kind}: {finding.what}"
            yield f"  to do: {finding.todo}"
    yield "nothing is broken" if diagnosis.healthy else f"{len(diagnosis.problems)} broken"


def _sections(report: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    memory, processors, environment = report["memory"], report["processors"], report["environment"]
    limit = {} if memory["limit"] is None else {"limit": size(memory["limit"])}
    variables = {**environment["values"], **dict.fromkeys(environment["set"], "is set")}
    return {
        "versions": report["versions"],
        "packages": report["packages"],
        "imports": {name: "works" if "answer" in tried else "fails" for name, tried in report["imports"].items()},
        **_of_torch(report["imports"]["torch"].get("answer")),
        **({"Python of vLLM": versions} if (versions := report["imports"].get("vllm", {}).get("answer")) else {}),
        "processors": {"threads": f"{processors['threads']}, of them ours {processors['allowed']}"},
        "memory": {"total": size(memory["total"]), "available": size(memory["available"]), **limit},
        "disks": {name: f"{size(disk['free'])} free in {disk['path']}" for name, disk in report["disks"].items()},
        "Slurm": _of_slurm(report["slurm"]),
        "cache of models": _of_cache(report["cache"]),
        "environment": variables or {"-": "nothing set"},
    }


def _of_torch(torch: Mapping[str, Any] | None) -> dict[str, dict[str, Any]]:
    if torch is None:
        return {}
    build = f"CUDA {torch['cuda']}" if torch["cuda"] else f"ROCm {torch['hip']}" if torch["hip"] else "CPU only"
    devices = {
        each["device"]: f"{each['name']}, {size(each['memory'])}, free {size(each['free'])}, capability "
        f"{each['capability']}, bf16 {'yes' if each['bf16'] else 'no'}"
        for each in torch["devices"]
    }
    torch_lines = {"build": build, "threads": torch["threads"], "CPU": torch["cpu"]}
    return {"torch": {**torch_lines, **({"mps": "yes"} if torch["mps"] else {}), **(devices or {"GPUs": "none"})}}


def _of_slurm(slurm: Mapping[str, Any]) -> dict[str, str]:
    commands = ", ".join(slurm["commands"]) or "none"
    return {"version": slurm["version"] or "-", "commands": commands, **(slurm["job"] or {"in a job": "no"})}


def _of_cache(cache: Mapping[str, Any]) -> dict[str, str]:
    if not cache["there"]:
        return {"folder": f"{cache['path']}, not there"}
    held = f"{'' if cache['all'] else 'more than '}{size(cache['bytes'])} in {cache['models']} models"
    may = "" if cache["writable"] else ", cannot be written"
    return {"folder": cache["path"], "holds": held, "disk": f"{size(cache['free'])} free{may}"}


def size(count: int | None) -> str:
    """Bytes for people."""
    return "-" if count is None else f"{count / 2**30:.1f} GiB"
