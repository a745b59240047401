"""Requests to a server and its address: this machine only where the run is offline, repeated where that may help."""

import asyncio
import itertools
import json
import math
import os
import random
import re
import socket
import time
from bisect import bisect_left, insort
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import httpx

from rag_evaluator.config.offline import is_loopback
from rag_evaluator.config.sections import JudgeConfig
from rag_evaluator.errors import JudgeLostError, JudgementError, ModelError
from rag_evaluator.judge.protocol import Ids, common_beginning

UNIX = "unix:"
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
EXAMPLES = "http://127.0.0.1:8000/v1 or unix:/run/judge.sock"


@dataclass(frozen=True)
class Address:
    """Where a server is.

    Attributes:
        base: the address of the OpenAI-compatible end points.
        socket: path of a UNIX socket; None: over TCP.
        key: what the server wants to see in `Authorization`.
    """

    base: str
    socket: str | None = None
    key: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, config: JudgeConfig) -> "Address":
        """The configured address. Raises `ModelError`, whose message shows neither key nor password."""
        if not config.url:
            raise ModelError(f"judge.url is missing. The engine 'server' needs the address of one, {EXAMPLES}.")
        key = _checked(config.key, "the client's api_key") if config.key else _key(config.api_key_env)
        if config.url.startswith(UNIX):
            return cls("http://localhost/v1", _socket(config.url), key)
        parts = urlsplit(config.url)
        if parts.username or parts.password:
            raise ModelError("judge.url holds a name or password. Give a key with judge.api_key_env, and no password.")
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ModelError(f"judge.url is {config.url!r:.200}: expected an address as {EXAMPLES}.")
        base = config.url.rstrip("/") if parts.path.strip("/") else f"{config.url.rstrip('/')}/v1"
        return cls(base, None, key)

    def url(self, path: str) -> str:
        """Where an end point is: one of the server's own if its path begins with a slash, else an OpenAI-compatible."""
        return self.base.removesuffix("/v1") + path if path.startswith("/") else f"{self.base}/{path}"


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
    return _checked(key, f"judge.api_key_env: the key in {variable}")


def _checked(key: str, where: str) -> str:
    if not key.isascii() or not key.isprintable():
        raise ModelError(f"{where} holds characters that no key has.")
    return key


CONNECT, READ = 10.0, 600.0  # seconds; an answer may wait for others
TRIES = 7  # of a request; with the pauses between them about a minute and a half
MOST_BYTES = 2**26  # of an answer: 20 log probabilities of each of 30,000 tokens
MOST_OF_ERROR = 2**16  # bytes of the text of an error
PAUSE, LONGEST_PAUSE = 0.5, 60.0  # seconds: the first pause, and the longest, whatever a server asks for
BUSY = frozenset({408, 425, 429, 503, 529})
GONE = frozenset({401, 403, 404, 405, 407, 410})  # whatever is asked
Json = Any  # what a server says


class RequestFailure(Exception):
    """A request had no answer; perhaps the next try has.

    Attributes:
        busy: whether the server has too much to do.
        wait: seconds that the server asks to wait.
        answered: whether there is a server at all.
    """

    def __init__(self, reason: str, busy: bool = False, wait: float | None = None, answered: bool = True) -> None:
        super().__init__(reason)
        self.busy, self.wait, self.answered = busy, wait, answered


class OpenRequests:
    """Lets so many requests pass as the server bears: half as many after each sign that it is overloaded.

    Several workers that share a server each find their own number: additive increase, multiplicative decrease, as
    TCP has it. Of those that wait, the next is the one whose prompt has the longest prefix in common with the one that
    was sent last, so that the server finds it in its cache. Belongs to one event loop.

    Args:
        most: where it begins, and never more.
    """

    def __init__(self, most: int) -> None:
        self.most, self.limit, self.open = most, float(most), 0
        self._waiting: list[tuple[Ids, int, asyncio.Future[None]]] = []  # in order of prompts, then of arrival
        self._arrivals = itertools.count()
        self._last: Ids = ()

    @asynccontextmanager
    async def slot(self, prompt: Ids = ()) -> AsyncIterator[None]:
        """Wait until a request may be sent; it is open until the block ends.

        Args:
            prompt: its token ids; none of a request that has no such.
        """
        arrival = next(self._arrivals)
        while self.open >= max(int(self.limit), 1):
            turn = asyncio.get_running_loop().create_future()
            insort(self._waiting, (prompt, arrival, turn))
            await turn
        self.open += 1
        self._last = prompt
        try:
            yield
        finally:
            self.open -= 1
            self._wake()

    def overloaded(self) -> None:
        """The server refused a request, or took too long."""
        self.limit = max(self.limit / 2, 1.0)

    def answered(self) -> None:
        """The server answered; a whole round of answers adds one request."""
        self.limit = min(self.limit + 1 / self.limit, float(self.most))

    def _wake(self) -> None:
        free = max(int(self.limit), 1) - self.open
        while self._waiting and free > 0:
            prompt, _, turn = self._waiting.pop(self._next())
            if not turn.done():  # who was cancelled waits no more
                turn.set_result(None)
                self._last = prompt
                free -= 1

    def _next(self) -> int:
        """Place of the one that shall go: in the order of prompts it is a neighbour of the last, on either side."""
        after = self._place(self._last)
        neighbours = [after] if after < len(self._waiting) else []
        if after > 0:
            neighbours.append(self._place(self._waiting[after - 1][0]))
        return min(neighbours, key=self._rank)

    def _place(self, prompt: Ids) -> int:
        """Of the first that waits with this prompt, or with one that comes after it."""
        return bisect_left(self._waiting, prompt, key=lambda entry: entry[0])

    def _rank(self, place: int) -> tuple[int, int]:
        prompt, arrival, _ = self._waiting[place]
        return -len(common_beginning([prompt, self._last])), arrival


class Transport:
    """Asks one server, from any event loop.

    Args:
        offline: whether only this machine may be asked: checked on the connected address, before anything is sent.
        most: requests that are open at a time.
        tries: of each request.
    """

    def __init__(self, address: Address, offline: bool, most: int = 1, tries: int | None = None) -> None:
        self.address, self.offline, self.most = address, offline, most
        self.tries = TRIES if tries is None else tries
        self._answered: tuple[str, Mapping[str, Any]] | None = None  # the last question that was
        self._loops: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[httpx.AsyncClient, OpenRequests]] = (
            WeakKeyDictionary()
        )

    async def get(self, path: str) -> Json:
        """The JSON that an end point has. Raises as `post` does."""
        return await self._repeated("GET", path, None)

    async def post(self, path: str, body: Mapping[str, Any]) -> Json:
        """The JSON of an answer.

        Args:
            path: as `Address.url` takes it.

        Raises `JudgementError` where the server refuses this request only, `JudgeLostError` where it answers nothing,
        `ModelError` where it must not be asked.
        """
        answer = _object(await self._repeated("POST", path, body))
        self._answered = (path, body)
        return answer

    async def lines(self, path: str, body: Mapping[str, Any]) -> AsyncGenerator[Json, None]:
        """The events of an answer that is read while it is written; who stops reading ends it. Raises as `post`."""
        for attempt in range(1, self.tries + 1):
            begun = False
            try:
                async with self._open("POST", path, body) as response:
                    async for line in _lines(response):
                        if line.startswith("data:") and (data := line[5:].strip()) != "[DONE]":
                            event = _object(_json(data))
                            begun = True
                            yield event
                self._answered = (path, {**body, "stream": False})
                return
            except RequestFailure as failure:
                if begun:  # what was read is kept: the caller goes on from there
                    return
                await self._pause(failure, attempt)

    async def aclose(self) -> None:
        """Close the connections of this event loop."""
        client, _ = self._loops.pop(asyncio.get_running_loop(), (None, None))
        if client is not None:
            await client.aclose()

    async def _repeated(self, method: str, path: str, body: Mapping[str, Any] | None) -> Json:
        for attempt in range(1, self.tries + 1):
            try:
                async with self._open(method, path, body) as response:
                    return _json(await _text(response))
            except RequestFailure as failure:
                await self._pause(failure, attempt)
        raise AssertionError("the last try returns or raises")

    async def _pause(self, failure: RequestFailure, attempt: int) -> None:
        """Wait before the next try. Raises if that was the last one."""
        if attempt == self.tries:
            one_question = failure.answered and not failure.busy and await self._answers_others()
            said = f"gave no answer in {attempt} tries: {failure}"
            if one_question:  # a reason of a score, which names no address
                raise JudgementError(f"judge.url: the server {said}") from failure
            raise JudgeLostError(
                f"judge.url: {self.address.socket or urlsplit(self.address.base).netloc} {said}"
            ) from failure
        if failure.wait is not None:
            await asyncio.sleep(failure.wait)
        else:
            await asyncio.sleep(random.uniform(0.5, 1.0) * min(PAUSE * 2 ** (attempt - 1), LONGEST_PAUSE))

    async def _answers_others(self) -> bool:
        """Whether the server still answers what it has answered before, so that only one question is at fault."""
        if self._answered is None:
            return False
        path, body = self._answered
        try:
            async with self._open("POST", path, body) as response:
                await _text(response)
        except (RequestFailure, JudgementError, JudgeLostError):
            return False
        return True

    @asynccontextmanager
    async def _open(self, method: str, path: str, body: Mapping[str, Any] | None) -> AsyncIterator[httpx.Response]:
        """One try. Raises `RequestFailure` where another may help, `JudgementError`, `JudgeLostError`."""
        client, requests = self._of_loop()
        extensions = {"trace": self._check_connection} if self.offline and self.address.socket is None else {}
        async with requests.slot(tuple((body or {}).get("prompt", ()))):
            try:
                async with client.stream(method, self.address.url(path), json=body, extensions=extensions) as response:
                    await _check_status(response, self.address.key)
                    yield response
                requests.answered()
            except RequestFailure as failure:
                if failure.busy:
                    requests.overloaded()
                raise
            except httpx.TimeoutException as error:
                requests.overloaded()
                raise RequestFailure(f"it took too long ({_words(error)})", answered=False) from None
            except httpx.TransportError as error:
                if extensions and _is_unknown_host(error):
                    raise _elsewhere(str(urlsplit(self.address.base).hostname)) from None
                raise RequestFailure(f"the connection failed ({_words(error)})", answered=False) from None

    def _of_loop(self) -> tuple[httpx.AsyncClient, OpenRequests]:
        loop = asyncio.get_running_loop()
        if loop not in self._loops:
            self._loops[loop] = (self._client(), OpenRequests(self.most))
        return self._loops[loop]

    def _client(self) -> httpx.AsyncClient:
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=self.most)
        transport = httpx.AsyncHTTPTransport(uds=self.address.socket, limits=limits, trust_env=False)
        headers = {"Accept-Encoding": "identity"}  # what is packed may be of any size
        if self.address.key is not None:
            headers["Authorization"] = f"Bearer {self.address.key}"
        return httpx.AsyncClient(
            transport=transport,
            headers=headers,
            timeout=httpx.Timeout(READ, connect=CONNECT, pool=None),
            follow_redirects=False,
            trust_env=False,  # no proxy, no .netrc
        )

    async def _check_connection(self, event: str, info: Mapping[str, Any]) -> None:
        """Called by httpcore as soon as a connection is open."""
        if event == "connection.connect_tcp.complete":
            host = info["return_value"].get_extra_info("server_addr")[0]
            if not is_loopback(host):
                await info["return_value"].aclose()
                raise _elsewhere(host)


def _elsewhere(host: str) -> ModelError:
    return ModelError(
        f"judge.url leads to {host}, which is not this machine, and 'offline' is true. Nothing was sent. "
        "Set offline: false if the data may leave this machine."
    )


def _is_unknown_host(error: BaseException | None) -> bool:
    """Whether a connection failed because nobody knows the name of the host."""
    while error is not None and not isinstance(error, socket.gaierror):
        error = error.__cause__ or error.__context__
    return error is not None


async def _check_status(response: httpx.Response, key: str | None) -> None:
    """Raises for every status but 200."""
    status = response.status_code
    if (packed := response.headers.get("content-encoding", "identity")) != "identity":
        raise JudgeLostError(
            f"judge.url: the server packs its answer (Content-Encoding: {packed:.40}), which it was asked not to do. "
            "Turn compression off in the server, or in the proxy before it."
        )
    if status == 200:
        return
    if 300 <= status < 400:
        raise JudgeLostError(
            f"judge.url: the server redirects (status {status}), which is not followed. Give its own address."
        )
    text = await _beginning(response)
    reason = f"status {status}: {_reason(text, key)}"
    if status in GONE:
        hint = " Set judge.api_key_env to the variable that holds the key." if status in (401, 403) else ""
        raise JudgeLostError(f"judge.url: the server refuses to answer, {reason}.{hint}")
    if status in BUSY:
        wait = response.headers.get("retry-after")
        asked = "" if wait is None else f" (Retry-After: {wait[:40]})"
        raise RequestFailure(reason + asked, busy=True, wait=_wait(wait))
    if status >= 500:
        raise RequestFailure(reason)
    raise JudgementError(f"the server refuses the question, {reason}")


async def _chunks(response: httpx.Response) -> AsyncGenerator[bytes, None]:
    """An answer as it comes. Raises `JudgementError` if it is too large."""
    size = 0
    async for chunk in response.aiter_raw():
        size += len(chunk)
        if size > MOST_BYTES:
            raise JudgementError(f"the server's answer is too large: more than {MOST_BYTES} bytes")
        yield chunk


async def _text(response: httpx.Response) -> str:
    return b"".join([chunk async for chunk in _chunks(response)]).decode("utf-8", "replace")


async def _beginning(response: httpx.Response) -> str:
    """The beginning of what may be of any size."""
    text = b""
    async for chunk in response.aiter_raw():
        text += chunk[:MOST_OF_ERROR]
        if len(text) >= MOST_OF_ERROR:
            break
    return text.decode("utf-8", "replace")


async def _lines(response: httpx.Response) -> AsyncGenerator[str, None]:
    parts: list[bytes] = []  # of a line that has not ended
    async for chunk in _chunks(response):
        *ended, last = chunk.split(b"\n")
        for line in ended:
            yield b"".join([*parts, line]).decode("utf-8", "replace")
            parts = []
        parts.append(last)
    yield b"".join(parts).decode("utf-8", "replace")


def _json(text: str) -> Json:
    try:
        return json.loads(text)
    except RecursionError:
        raise JudgementError("the server's answer is nested too deeply") from None
    except ValueError:
        raise RequestFailure(f"its answer is no JSON: {text[:80]!r}", answered=False) from None


def _object(answer: Json) -> Mapping[str, Any]:
    if not isinstance(answer, dict):
        raise JudgeLostError(f"judge.url: the server's answer is no JSON object: {answer!r:.80}")
    return answer


def _reason(text: str, key: str | None) -> str:
    """What a server says about an error, without the key, which some repeat."""
    short = " ".join(text.split())
    return (short.replace(key, "(key)") if key else short)[:300]


def _wait(header: str | None) -> float | None:
    """Seconds from `Retry-After`, which is a number or a date; None where it is neither. Not more than is waited."""
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            date = parsedate_to_datetime(header)
        except ValueError:
            return None
        seconds = date.replace(tzinfo=date.tzinfo or UTC).timestamp() - _now()  # HTTP's dates are in GMT
    return None if math.isnan(seconds) else min(max(seconds, 0.0), LONGEST_PAUSE)


def _now() -> float:
    return time.time()


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__
