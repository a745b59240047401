"""A server's address, and the client that asks it: this machine only while the run is offline, repeated by `openai`."""

import asyncio
import json
import os
import re
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit
from weakref import WeakKeyDictionary

from rag_evaluator.config import JudgeConfig, VerifierConfig, is_here
from rag_evaluator.errors import JudgeLostError, JudgementError, ModelError, RagEvaluatorError
from rag_evaluator.files import Json

if TYPE_CHECKING:
    from openai import AsyncOpenAI

UNIX = "unix:"
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
EXAMPLES = "http://127.0.0.1:8000/v1 or unix:/run/judge.sock"
CHAT = "/chat/completions"
CONNECT = 10.0  # seconds
READ = 600.0  # an answer may wait for others
FIRST_RETRIES = 1  # before a run a server that is not there is an error, and not waited for
RETRIES = 8  # of a request; with the pauses between them about 40 seconds
USUAL_OPEN = 32  # requests, where `batch_size` is auto
BUSY = frozenset({408, 409, 429, 503, 529})
GONE = frozenset({401, 403, 404, 405, 407, 410})  # whatever is asked
FAILED = 500  # what an error without a status is taken for


@dataclass(frozen=True)
class Address:
    """Where a server is.

    Attributes:
        base: the address of the OpenAI-compatible end points.
        socket: path of a UNIX socket; None: over TCP.
        key: what the server wants to see in `Authorization`; empty: nothing.
        section: of the configuration that names it, for errors.
    """

    base: str
    socket: str | None = None
    key: str = field(default="", repr=False)
    section: str = "judge"

    @classmethod
    def of(cls, config: JudgeConfig | VerifierConfig, offline: bool, section: str = "judge") -> "Address":
        """Return the configured address.

        Raises `ModelError`, whose message shows neither key nor password; also for another machine if `offline`.
        """
        if not config.url:
            raise ModelError(f"{section}.url is missing. Give the address of a server, {EXAMPLES}.")
        key = config.key or _key(config.api_key_env, section)
        if not key.isascii() or not key.isprintable():
            raise ModelError(f"{section}.api_key_env: the key holds characters that no key has.")
        if config.url.startswith(UNIX):
            path = config.url.removeprefix(UNIX).removeprefix("//")
            if not Path(path).is_absolute():
                raise ModelError(f"{section}.url is {config.url!r:.200}: expected an absolute path after 'unix:'.")
            return cls("http://localhost/v1", path, key, section)
        parts = _parts(config.url)
        if "@" in config.url if parts is None else parts.username or parts.password:
            raise ModelError(
                f"{section}.url holds a name or password. Give a key with {section}.api_key_env, and no password."
            )
        if parts is None or not parts.hostname or parts.query or parts.fragment:
            raise ModelError(
                f"{section}.url is {config.url!r:.200}: expected an address as {EXAMPLES}, its port from 1 to 65535."
            )
        if offline and not is_here(parts.hostname):
            raise ModelError(
                f"{section}.url leads to {parts.hostname}, and 'offline' is true: only localhost, 127.0.0.1 and a UNIX "
                "socket are sure to be this machine. Nothing was sent. Set offline: false if the data may leave it."
            )
        base = config.url.rstrip("/")
        return cls(base if parts.path.strip("/") else f"{base}/v1", None, key, section)

    def __str__(self) -> str:
        return self.socket or urlsplit(self.base).netloc


def _parts(url: str) -> SplitResult | None:
    """Return the parts of an address of http; None for what no client can ask."""
    import httpx2

    try:
        parts = urlsplit(url)
        fits = parts.scheme in ("http", "https") and parts.port != 0 and " " not in url and url.isprintable()
        return parts if fits and httpx2.URL(url) else None
    except (ValueError, httpx2.InvalidURL):
        return None


def _key(variable: str | None, section: str) -> str:
    if variable is None:
        return ""
    if not VARIABLE.fullmatch(variable):  # the value is not shown: it may be the key itself
        raise ModelError(f"{section}.api_key_env is no name of an environment variable. Give the name, not the key.")
    key = os.environ.get(variable, "").strip()
    if not key:
        raise ModelError(f"{section}.api_key_env: the environment variable {variable} is not set. Set it to the key.")
    return key


class Client:
    """Asks one server, from any event loop.

    Args:
        most: requests that are open at a time.
        retries: of each request that fails with status 429 or 5xx, or gets no answer.
        route: what is asked.
    """

    def __init__(self, address: Address, most: int = 1, retries: int = RETRIES, route: str = CHAT) -> None:
        self.address = address
        self.url = f"{address.section}.url"  # as errors name it
        self.route = route
        self.most = most
        self.retries = retries
        self._answered: Json | None = None  # the last question that was
        self._loops: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[AsyncOpenAI, asyncio.Semaphore]] = (
            WeakKeyDictionary()
        )

    async def ask(self, body: Json | None) -> Json:
        """Return the JSON of an answer, or the server's list of models where there is no body.

        Raises `JudgementError` where the server refuses this request only, `JudgeLostError` where it answers nothing.
        """
        from openai import APIConnectionError, APIStatusError

        client, places = self._of_loop()
        try:
            async with places:
                text = await self._sent(client, body)
        except APIStatusError as error:
            raise await self._refusal(client, error.status_code, error.response.text) from error
        except APIConnectionError as error:  # a timeout, too
            why = str(error.__cause__ or error) or type(error.__cause__).__name__
            raise JudgeLostError(
                f"{self.url}: {self.address} gave no answer in {self.retries + 1} tries: {why}"
            ) from error
        try:
            answer = json.loads(text)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise JudgeLostError(f"{self.url}: the server's answer is no JSON object: {text[:80]!r}")
        if told := answer.get("error"):
            code = told.get("code") if isinstance(told, dict) else None
            status = code if type(code) is int and 400 <= code < 600 else FAILED
            raise await self._refusal(client, status, json.dumps(told, ensure_ascii=False))
        self._answered = body or self._answered
        return answer

    async def aclose(self) -> None:
        """Close the connections of this event loop."""
        client, _ = self._loops.pop(asyncio.get_running_loop(), (None, None))
        if client is not None:
            await client.close()

    def _of_loop(self) -> "tuple[AsyncOpenAI, asyncio.Semaphore]":
        """Return the client and the places for open requests of the running event loop."""
        import httpx2
        import openai

        loop = asyncio.get_running_loop()
        if loop not in self._loops:
            limits = httpx2.Limits(max_connections=None, max_keepalive_connections=self.most)
            http_client = httpx2.AsyncClient(
                transport=httpx2.AsyncHTTPTransport(
                    uds=self.address.socket,
                    limits=limits,
                    verify=self.address.base.startswith("https:"),  # certificates are read where they are needed
                    trust_env=False,
                ),
                timeout=openai.Timeout(READ, connect=CONNECT),
                trust_env=False,  # no proxy, no .netrc
                follow_redirects=False,
            )
            client = openai.AsyncOpenAI(
                api_key=self.address.key or "none",  # without any, OPENAI_API_KEY would be sent
                base_url=self.address.base,
                max_retries=self.retries,
                http_client=http_client,
            )
            self._loops[loop] = client, asyncio.Semaphore(self.most)
        return self._loops[loop]

    async def _refusal(self, client: "AsyncOpenAI", status: int, text: str) -> RagEvaluatorError:
        """Return what a status means, also one in an answer: that the server answers nothing, or not this question."""
        from openai import OpenAIError

        text = " ".join(text.split())
        if self.address.key:
            text = text.replace(self.address.key, "(key)")  # some repeat it
        reason = f"status {status}: {text[:300]}"
        if 300 <= status < 400:
            return JudgeLostError(
                f"{self.url}: the server redirects (status {status}), which is not followed. Give its own address."
            )
        if status in GONE:
            variable = f"{self.address.section}.api_key_env"
            hint = f" Set {variable} to the variable that holds the key." if status in (401, 403) else ""
            return JudgeLostError(f"{self.url}: the server refuses to answer {self.route}, {reason}.{hint}")
        if status not in BUSY and status < 500:
            return JudgementError(f"the server refuses the question, {reason}")
        if status not in BUSY and self._answered is not None:
            with suppress(OpenAIError):  # where it answers the last question again, only this one is at fault
                await self._sent(client.with_options(max_retries=0), self._answered)
                return JudgementError(f"the server fails at the question, {reason}")
        return JudgeLostError(f"{self.url}: {self.address} gave no answer in {self.retries + 1} tries: {reason}")

    async def _sent(self, client: "AsyncOpenAI", body: Json | None) -> str:
        """Return the text of an answer: to a question, or the list of models."""
        if body is None:
            return await client.get("/models", cast_to=str)
        return await client.post(self.route, cast_to=str, body=body)


def unusable(error: RagEvaluatorError, section: str) -> ModelError:
    """Return what an error means before a run."""
    why = str(error).removeprefix(f"{section}.url: ").rstrip(".")
    answers = isinstance(error, JudgementError)
    way = "Take another server or model (docs/servers.md)" if answers else "Start one, or correct the address"
    return ModelError(f"{section}.url: no server can be used: {why}. {way}.")
