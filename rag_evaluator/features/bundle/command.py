"""`rag-evaluator bundle --out bundle`: one folder with everything that a node without network needs."""

import argparse
import platform
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_evaluator.cli.options import OK, add_json, with_examples

if TYPE_CHECKING:
    from rag_evaluator.features.bundle.contents import Bundle

EXTRAS = "demo,charts,strings,adapters"
PLATFORM = f"manylinux_2_31_{platform.machine()}"  # the oldest for which all tested versions have wheels


def add_bundle_command(commands: Any) -> None:
    """Add the command to the parser. Any: argparse has no public name for a group of subcommands."""
    command = commands.add_parser(
        "bundle",
        help="one folder with all that a node without network needs: wheels, models, install.sh",
        description="Download the program's wheels with the tested versions, copy models that are on this machine, and "
        "write SHA256SUMS and install.sh, which needs no network. Wheels come from the package index that pip is "
        "configured with. Models come from folders or the Hugging Face cache; the Hugging Face Hub is not asked.",
        **with_examples(
            "rag-evaluator bundle --out bundle",
            "rag-evaluator bundle --out bundle --config config.yaml",
            "rag-evaluator bundle --out bundle --torch cpu --models /models/Qwen3-8B /models/Llama-3.1-8B",
            "rag-evaluator bundle --out bundle --torch https://download.pytorch.org/whl/cu126",
        ),
    )
    command.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="a new folder")
    command.add_argument(
        "--platform",
        default=PLATFORM,
        help="of the node: its glibc or an older one, and its machine; default: %(default)s (Debian 11, Ubuntu 20.04, "
        "RHEL 9 and newer). Its Python must be that of this program",
    )
    command.add_argument(
        "--torch",
        default="cuda",
        metavar="BUILD",
        help="cuda: as the package index has it, for GPUs; cpu: from PyTorch's index of CPU builds, much smaller; or "
        "an index or folder to take it from; default: %(default)s",
    )
    command.add_argument(
        "--models", nargs="+", default=[], metavar="MODEL", help="folders, or hub ids that are in the cache"
    )
    command.add_argument(
        "--config", type=Path, metavar="FILE", help="also judges, adapters and embeddings of this configuration"
    )
    command.add_argument(
        "--extras",
        default=EXTRAS,
        metavar="NAMES",
        help="of the program, as they cannot be added on the node; testset is another one; default: %(default)s",
    )
    command.add_argument("--wheel", type=Path, metavar="FILE", help="of the program; default: made of the clone")
    add_json(command)


def bundle(options: argparse.Namespace) -> int:
    """`rag-evaluator bundle --out bundle`."""
    from rag_evaluator.cli.console import print_json, print_parts, say
    from rag_evaluator.config.schema import load_config
    from rag_evaluator.features.bundle.contents import find_models, make_bundle, models_of
    from rag_evaluator.features.bundle.wheels import Target, check_torch, program_source
    from rag_evaluator.results.conclusion import Conclusion

    target = Target.of(options.platform)
    config = load_config(options.config) if options.config else None
    extras = [name for name in options.extras.split(",") if name]
    check_torch(options.torch)
    models = find_models([*options.models, *(models_of(config) if config else [])])
    source = program_source(options.wheel)
    made = make_bundle(options.out, source, extras, target, options.torch, models)
    conclusion = Conclusion(list(sentences(made)))
    if options.json:
        print_json({**made.to_json(), "conclusion": conclusion.to_json()})
        return OK
    print_parts(conclusion.lines())
    for model in made.models:
        say(f"  {options.out / 'models' / model.name}: {model.source}")
    return OK


def sentences(made: "Bundle") -> Iterator[str]:
    """What was made and what to do with it; then where it came from, and what is not in it."""
    from rich.filesize import decimal

    wheels = f"{len(made.wheels)} wheels ({decimal(made.wheel_bytes)})"
    count = len(made.models)
    noun = "model" if count == 1 else "models"
    models = f" and {count} {noun} ({decimal(made.model_bytes)})" if count else ""
    install = shlex.join(["bash", f"{made.out.name}/install.sh"])
    yield f"{made.out}/ has {wheels}{models}: copy it to the node and run `{install}`."
    yield f"It is for {made.target}, with torch {made.torch}."
    yield "Wheels are from the places that pip asks, models from this machine: the Hugging Face Hub was not asked."
