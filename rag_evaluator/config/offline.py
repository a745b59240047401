"""Switches of the libraries: no telemetry, no network while `offline: true`, no chatter in commands.

The process of a command is ours: its switches are set once. A program that imports the package keeps its own switches:
ours hold while we load a model. Only that of ragas, which ragas reads once and remembers, stays set.
"""

import ipaddress
import logging
import os
import re
import sys
import threading
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from rag_evaluator.errors import ModelError

NO_TELEMETRY = {
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    "LANGSMITH_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
}
QUIET_LIBRARIES = {
    "TRANSFORMERS_VERBOSITY": "error",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TQDM_DISABLE": "1",
    "TOKENIZERS_PARALLELISM": "false",  # silences a warning about forked workers
}
TALKATIVE = ("accelerate", "datasets", "huggingface_hub", "sentence_transformers")  # loggers without such a variable
NO_NETWORK = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
ADDRESS = re.compile(r"(url|base|endpoint|host)$")  # attributes that hold the address of a service
HOSTED = ("langchain_aws", "langchain_cohere", "langchain_google_genai", "langchain_google_vertexai")
"""Packages whose objects ask a service and name no address."""
_lock = threading.Lock()
_calls: Counter[str] = Counter()  # of ours that need a switch at this moment
_before: dict[str, bool] = {}


def stop_ragas_telemetry() -> None:
    """Switch usage tracking of ragas off in this process; called when the package is imported."""
    os.environ["RAGAS_DO_NOT_TRACK"] = "true"
    analytics = sys.modules.get("ragas._analytics")
    if analytics is not None:  # it may have been used already: it remembers what it read then
        analytics.do_not_track.cache_clear()


def prepare_command(verbose: bool = False) -> None:
    """Switch telemetry off in a command, and unless it is verbose what libraries say beside errors.

    What the user set stays: variables, and the warnings that `python -W` asks for.
    """
    os.environ.update(NO_TELEMETRY)
    if verbose:
        return
    for name, value in QUIET_LIBRARIES.items():
        os.environ.setdefault(name, value)
    for name in TALKATIVE:
        logging.getLogger(name).setLevel(logging.ERROR)
    if not sys.warnoptions:
        warnings.simplefilter("ignore")


def disable_network() -> None:
    """Keep the Hugging Face libraries from opening connections in a command, from here to its end."""
    os.environ.update(NO_NETWORK)
    constants = sys.modules.get("huggingface_hub.constants")
    if constants is not None:  # it read the variable when it was imported
        constants.HF_HUB_OFFLINE = True  # type: ignore[attr-defined]


@contextmanager
def hub(offline: bool) -> Iterator[None]:
    """While models are loaded, the Hugging Face libraries report nothing and, if `offline`, open no connection.

    Of calls at the same time the strictest holds for all, and the last one gives the switches back.
    """
    import datasets.config  # noqa: F401  # it copies the switch when it is imported: that must be the user's
    from huggingface_hub import constants

    names = ["HF_HUB_DISABLE_TELEMETRY", *(["HF_HUB_OFFLINE"] if offline else [])]
    with _lock:
        for name in names:
            if not _calls[name]:
                _before[name] = getattr(constants, name)
            _calls[name] += 1
            setattr(constants, name, True)
    try:
        yield
    finally:
        with _lock:
            for name in names:
                _calls[name] -= 1
                if not _calls[name]:
                    setattr(constants, name, _before[name])


def is_here(host: str) -> bool:
    """Whether the host of an address is this machine, found out without asking a name server."""
    try:
        return host == "localhost" or ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False


def refuse_service(model: Any, role: str) -> None:
    """Raises `ModelError` for an object that asks a service on another machine, as far as its attributes tell.

    Args:
        model: a model of LangChain or ragas, or anything else that the user gave.
        role: `judge` or `embeddings`.
    """
    for host in _hosts(model):
        if not is_here(host):
            raise ModelError(
                f"{role}: {type(model).__name__} asks {host}, which is not this machine, and 'offline' is true. "
                "Nothing was sent. Set offline: false (config={'offline': False}) if the data may leave this machine."
            )


def _hosts(model: Any) -> Iterator[str]:
    package = type(model).__module__.partition(".")[0]
    if package in HOSTED:
        yield f"a service of {package}"
    for name, value in getattr(model, "__dict__", {}).items():
        clients = (value, getattr(value, "client", None), getattr(value, "_client", None))  # one may wrap another
        addresses = [value] if ADDRESS.search(name) else [getattr(client, "base_url", None) for client in clients]
        for address in filter(None, map(str, addresses)):
            if "://" in address and (host := urlsplit(address).hostname):
                yield host
