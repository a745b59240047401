"""`rag-evaluator bundle --out bundle`: one folder with everything that a node without network needs."""

import argparse
import shlex
from pathlib import Path
from typing import Any

from rag_evaluator.cli import OK, say, with_examples

EXTRAS = "demo,charts,strings,adapters"


def add_bundle_command(commands: Any) -> None:
    """Add the command to the parser. Any: argparse has no public name for a group of subcommands."""
    command = commands.add_parser(
        "bundle",
        help="one folder with all that a node without network needs: wheels, models, install.sh",
        description="Download the program's wheels with the tested versions, copy models that are on this machine, and "
        "write SHA256SUMS and install.sh, which needs no network. Wheels come from the package index that pip is "
        "configured with, for the Python and machine of this program and glibc 2.31 or newer. Models come from folders "
        "or the Hugging Face cache; the Hugging Face Hub is not asked.",
        **with_examples(
            "rag-evaluator bundle --out bundle",
            "rag-evaluator bundle --out bundle --config config.yaml",
            "rag-evaluator bundle --out bundle --torch cpu --models /models/Qwen3-8B /models/Llama-3.1-8B",
            "rag-evaluator bundle --out bundle --torch https://download.pytorch.org/whl/cu126",
        ),
    )
    command.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="a new folder")
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


def bundle(options: argparse.Namespace) -> int:
    """`rag-evaluator bundle --out bundle`."""
    from rag_evaluator.config import load_config

    from .contents import find_models, make_bundle, models_of
    from .wheels import program_source

    config = load_config(options.config) if options.config else None
    extras = [name for name in options.extras.split(",") if name]
    models = find_models([*options.models, *(models_of(config) if config else [])])
    torch = make_bundle(options.out, program_source(options.wheel), extras, options.torch, models)
    copied = "".join(f", models/{name}" for name in models)
    install = shlex.join(["bash", f"{options.out.name}/install.sh"])
    say(f"{options.out}/ has the wheels with torch {torch}{copied}: copy it to the node and run `{install}`.")
    say("Wheels are from the places that pip asks, models from this machine: the Hugging Face Hub was not asked.")
    return OK
