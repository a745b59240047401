"""`rag-evaluator view`: runs in the browser. `review apply`: the dataset as people have corrected it, as a new file."""

import argparse
import getpass
import json
import logging
import os
import re
import secrets
import signal
import socket
import unicodedata
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from rag_evaluator.cli import OK, add_json, add_repeated, print_json, say, with_examples
from rag_evaluator.errors import ConfigError
from rag_evaluator.resources import command
from rag_evaluator.results import shortened

if TYPE_CHECKING:
    import uvicorn

    from .apply import Applied

TOKEN = "RAG_EVALUATOR_TOKEN"  # environment variable
NAMES = re.compile(r"[^\x00-\x1f\x7f\ud800-\udfff]{1,200}")  # of people
TOKENS = re.compile(r"[\w.~-]{16,200}", re.ASCII)  # what a header and an address take as it is
SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
ON_A_CLUSTER = """on a cluster, from your own machine, for a server on node17 behind the login node:
  ssh -L 8765:127.0.0.1:8765 -J login.example.org node17
then open the printed link there; Ctrl-C ends the server."""
SHOWN = 20  # changes
LONGEST = 60  # characters of a text
REVIEW_EXAMPLES = with_examples(
    "rag-evaluator view results/ --review",
    "rag-evaluator review apply results/demo --drop too_easy --drop duplicate",
    "rag-evaluator config.yaml --set dataset=data.reviewed.jsonl --update",
    note="The dataset that was reviewed stays as it is. The new one has its history beside it: "
    "data.reviewed.history.jsonl",
)


def add_view_command(commands: Any) -> None:
    """Add the command to the parser. Any: argparse has no public name for a group of subcommands."""
    command = commands.add_parser(
        "view",
        help="show runs in the browser: figures, rows, comparisons, the progress of running ones",
        description="Serve the results folders below RESULTS as web pages. Prints the link that opens them. Nothing "
        "is sent anywhere, and without --review nothing can be changed.",
        **with_examples(
            "rag-evaluator view results",
            "rag-evaluator view results/demo --port 0",
            'rag-evaluator view results --review --as "Lena Torvik"',
            note=ON_A_CLUSTER,
        ),
    )
    command.add_argument(
        "results",
        nargs="?",
        type=Path,
        default=Path("results"),
        metavar="RESULTS",
        help="folder with runs below it, or the results folder of one run; default: %(default)s",
    )
    command.add_argument(
        "--host", default="127.0.0.1", help="address to listen on; others than the default let other machines ask"
    )
    command.add_argument("--port", type=int, default=8765, help="0 takes one that is free; default: %(default)s")
    command.add_argument("--review", action="store_true", help="let people flag, correct and label rows")
    command.add_argument("--as", dest="who", metavar="NAME", help="with --review: who reviews; default: login name")


def view(options: argparse.Namespace) -> int:
    """`rag-evaluator view results/`."""
    from .state import open_folders

    token = _token()
    if options.who is not None and not options.review:
        raise ConfigError("--as names the person who reviews, and needs --review.")
    open_folders(options.results)
    who = _reviewer(options.who) if options.review else None
    from .app import make_app

    with _listen(options.host, options.port) as listening:
        port = listening.getsockname()[1]
        app = make_app(options.results, token, options.host, port, who)
        import uvicorn

        server = uvicorn.Server(
            # the log of requests would hold the token
            uvicorn.Config(
                app,
                access_log=False,
                log_level="warning",
                server_header=False,
                ws="none",
                proxy_headers=False,
                timeout_graceful_shutdown=2,
            )
        )
        end_by_signals(server)
        _print_link(options, port, token)
        server.run(sockets=[listening])
    print("view has ended.", flush=True)
    return OK


def end_by_signals(server: "uvicorn.Server") -> None:
    """Let every signal end the server in the same way; its own handlers pass signals on to these.

    From then on it reports nothing: pages that are still being made are cancelled, which it calls an error.
    """

    def end(number: int, frame: FrameType | None) -> None:
        server.should_exit = True

    logging.getLogger("uvicorn.error").addFilter(lambda record: not server.should_exit)
    for name in SIGNALS:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), end)


def _reviewer(name: str | None) -> str:
    """The name of the person: the same for the same letters, in whichever way a keyboard composes them."""
    try:
        name = unicodedata.normalize("NFC", getpass.getuser() if name is None else name).strip()
    except (OSError, KeyError):
        name = ""
    if not NAMES.fullmatch(name):
        raise ConfigError(f"--as {name!r:.60}: who reviews? Expected a name of at most 200 characters.")
    return name


def _token() -> str:
    """The token, that of the environment if it has one. Raises `ConfigError` if it is short or fits no address."""
    token = os.environ.get(TOKEN, "")
    if token and not TOKENS.fullmatch(token):
        raise ConfigError(
            f"{TOKEN}: expected 16 to 200 letters, digits or any of . _ ~ -, received {len(token)} signs."
        )
    return token or secrets.token_urlsafe(24)


def _listen(host: str, port: int) -> socket.socket:
    """A socket that listens. Raises `ConfigError` saying what to do."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except (OSError, OverflowError) as error:
        raise ConfigError(
            f"cannot listen on --host {host} --port {port}: {error}. Where another 'view' listens, end it, or take a "
            "free port with --port 0."
        ) from None


def _print_link(options: argparse.Namespace, port: int, token: str) -> None:
    everywhere = options.host in ("0.0.0.0", "::")
    name = socket.gethostname() if everywhere else options.host
    name = f"[{name}]" if ":" in name else name
    print(f"{options.results}: open this link in a browser (Ctrl-C ends):", flush=True)
    print(f"  http://{name}:{port}/?token={token}", flush=True)
    if everywhere or options.host not in ("127.0.0.1", "localhost", "::1"):
        print("  other machines can ask, too; what they get is not encrypted: prefer 127.0.0.1 and ssh -L", flush=True)


def add_review_commands(commands: Any) -> None:
    """Add the commands to the parser. Any: argparse has no public name for a group of subcommands."""
    review = commands.add_parser("review", help="apply people's corrections of a run to its dataset", **REVIEW_EXAMPLES)
    kinds = review.add_subparsers(dest="kind", required=True, metavar="COMMAND")
    command = kinds.add_parser(
        "apply",
        help="write the revised dataset as a new file, with its history",
        description="Write the dataset of a run with the corrections in its reviews.jsonl, as a new file. "
        "'--update' with this file then judges only what changed.",
        **REVIEW_EXAMPLES,
    )
    command.add_argument("results", type=Path, help="results folder that was reviewed")
    command.add_argument(
        "--out", type=Path, metavar="FILE",
        help="the new file, JSON lines; default: <dataset>.reviewed.jsonl beside the dataset",
    )  # fmt: skip
    flags = "leave out rows with this flag: too_easy, ambiguous, not_answerable, duplicate"
    add_repeated(command, "--drop", "FLAG", flags)
    command.add_argument("--dataset", type=Path, metavar="FILE", help="where the dataset is now, if it was moved")
    command.add_argument("--force", action="store_true", help="replace a file that is there")
    add_json(command)


def review(options: argparse.Namespace) -> int:
    """`rag-evaluator review apply results/demo`."""
    from .apply import apply_reviews

    applied = apply_reviews(
        options.results,
        options.out,
        drop=options.drop,
        dataset=options.dataset,
        force=options.force,
    )
    if options.json:
        print_json(applied.to_json())
    else:
        _print(applied)
    return OK


def _print(applied: "Applied") -> None:
    for change in applied.changes[:SHOWN]:
        values = (json.dumps(value, ensure_ascii=False) for value in (change.before, change.after))
        before, after = (shortened(text, LONGEST) for text in values)
        if change.field == "row":
            say(f"row {change.name} left out, {change.by}: {before}")
        else:
            say(f"row {change.name}, {change.field}, {change.by}: {before} -> {after}")
    if len(applied.changes) > SHOWN:
        say(f"and {len(applied.changes) - SHOWN} more")
    if applied.already:
        say(f"{applied.already} reviews are in this dataset already")
    say(f"{applied.rows} rows written to {applied.path}, who changed what to {applied.history}")
    say(f"judge what changed: {command('config.yaml', '--set', f'dataset={applied.path}', '--update')}")
