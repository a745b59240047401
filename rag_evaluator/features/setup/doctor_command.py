"""`rag-evaluator doctor`: whether this installation and machine can evaluate, safe to paste into an issue."""

import argparse
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rag_evaluator.cli.options import FAILED, OK, add_json, with_examples

if TYPE_CHECKING:
    from rag_evaluator.features.setup.doctor import Diagnosis

WIDTH = 22  # of the names


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

    diagnosis = examine(options.vllm_python)
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
        **_of_vllm(report["imports"].get("vllm", {}).get("answer")),
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


def _of_vllm(versions: Mapping[str, str] | None) -> dict[str, Mapping[str, str]]:
    return {"Python of vLLM": versions} if versions else {}


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
