"""Where a server is, and the key that it asks for: read from the configuration, never shown."""

import ipaddress
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from rag_evaluator.config_sections import JudgeConfig
from rag_evaluator.errors import ModelError

UNIX = "unix:"
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
EXAMPLES = "http://127.0.0.1:8000/v1 or unix:/run/judge.sock"


@dataclass(frozen=True)
class Address:
    """Where a server is.

    Attributes:
        root: the address without `/v1`, where servers have their own end points.
        base: the address of the OpenAI-compatible end points.
        socket: path of a UNIX socket; None: over TCP.
        key: what the server wants to see in `Authorization`.
    """

    root: str
    base: str
    socket: str | None = None
    key: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, config: JudgeConfig) -> "Address":
        """The configured address. Raises `ModelError`, whose message shows neither key nor password."""
        if not config.url:
            raise ModelError(f"judge.url is missing. The engine 'server' needs the address of one, {EXAMPLES}.")
        key = _key(config.api_key_env)
        if config.url.startswith(UNIX):
            return cls("http://localhost", "http://localhost/v1", _socket(config.url), key)
        parts = urlsplit(config.url)
        if parts.username or parts.password:
            raise ModelError("judge.url holds a name or password. Give a key with judge.api_key_env, and no password.")
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ModelError(f"judge.url is {config.url!r:.200}: expected an address as {EXAMPLES}.")
        base = config.url.rstrip("/") if parts.path.strip("/") else f"{config.url.rstrip('/')}/v1"
        return cls(base.removesuffix("/v1"), base, None, key)


def is_loopback(host: str) -> bool:
    """Whether a connected address is on this machine."""
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False


def _socket(url: str) -> str:
    path = url.removeprefix(UNIX).removeprefix("//")
    if not Path(path).is_absolute():
        raise ModelError(f"judge.url is {url!r:.200}: expected an absolute path after 'unix:'.")
    return path


def _key(variable: str | None) -> str | None:
    if variable is None:
        return None
    if not VARIABLE.fullmatch(variable):  # the value is not shown: it may be the key itself
        raise ModelError("judge.api_key_env is no name of an environment variable. Give the name, not the key.")
    key = os.environ.get(variable, "").strip()
    if not key:
        raise ModelError(f"judge.api_key_env: the environment variable {variable} is not set. Set it to the key.")
    if not key.isascii() or not key.isprintable():
        raise ModelError(f"judge.api_key_env: the key in {variable} holds characters that no key has.")
    return key
