"""What a browser gets: pages, JSON, errors in plain words; and who may ask at all."""

import hmac
import ipaddress
import json
import socket
from typing import Any
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rag_evaluator import __version__
from rag_evaluator.errors import RagEvaluatorError
from rag_evaluator.report import SCRIPTS, STYLES, clean, environment

from .state import AppState, NotThere
from .store import ReviewError

LOOPBACK = ("localhost", "127.0.0.1", "::1")
EVERYWHERE = ("0.0.0.0", "::", "")
READING = ("GET", "HEAD")
ASKED_BY_SCRIPTS = "/api/"  # what no browser opens as a page
START = "start.js"  # the last one
INSIDE = ("embedded.js", START)  # scripts of a report: its rows are inside; here they come from the server
PUBLIC = "/assets/"  # scripts and styles of the program, which a browser asks for without the header
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-embedder-policy": "require-corp",
    "x-frame-options": "DENY",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}
NO_TOKEN = "This page opens by the link that 'rag-evaluator view' has printed. Open that link again."
OTHER_HOST = "This server does not answer under this name. Open it by the link that 'rag-evaluator view' printed."
OTHER_ORIGIN = "This server answers its own pages only."
READ_ONLY = "Nothing can be changed here."
NOT_THERE = "There is no such page here."
FAULT = "Something went wrong in rag_evaluator. The terminal in which 'view' runs says more."
OWN_STYLES = ("runs.css", "review.css")
OWN_SCRIPTS = ("remote.js", "runs.js", "save.js", "review.js", "label.js")
LINKED = {
    "styles": [PUBLIC + name for name in (*STYLES, *OWN_STYLES)],
    "scripts": [PUBLIC + name for name in (*(name for name in SCRIPTS if name not in INSIDE), *OWN_SCRIPTS, START)],
}


class Guard:
    """ASGI middleware around everything, pages of errors included. Who may not ask gets 403 or 405 here.

    Args:
        app: what answers the others.
        token: what the printed link has.
        host, port: where the server listens.
        writes: whether anything can be changed here.
    """

    def __init__(self, app: ASGIApp, token: str, host: str, port: int, writes: bool = False) -> None:
        self.app = app
        self.token = token
        self.host = host
        self.port = port
        self.writes = writes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":  # nothing here is a web socket
            answer = self.app if (early := self._early(Request(scope))) is None else early
            await answer(scope, receive, _with_headers(send))

    def _early(self, request: Request) -> Response | None:
        """The answer to a request that does not reach a page; None for the others."""
        reads = request.method in READING
        is_public = str(request.scope["path"]).startswith(PUBLIC)
        token = request.query_params.get("token") if reads else None
        try:
            self._check_host(request)
            if token is not None and request.headers.get("origin") is None and self._has_token(token):
                return HTMLResponse(render("enter.html"))
            self._check_origin(request)
            if token is not None or not (self._has_token(_bearer(request)) or (reads and is_public)):
                if token is None and reads and _is_opened(request):
                    return HTMLResponse(render("enter.html"))
                raise HTTPException(403, NO_TOKEN)
            self._check_method(request)
        except HTTPException as refused:
            return plain_error(refused.status_code, refused.detail)
        return None

    def _has_token(self, text: str | None) -> bool:
        """Whether this is the token; how long it takes tells nothing about it."""
        return text is not None and hmac.compare_digest(text.encode("utf-8", "replace"), self.token.encode())

    def _check_host(self, request: Request) -> None:
        """This server is asked by a name of its own; through `ssh -L` at any port of the reader's own machine."""
        hosts = request.headers.getlist("host")
        name, port = split_host(hosts[0]) if len(hosts) == 1 else (None, 0)
        if name not in LOOPBACK and (name is None or port != self.port or not is_name_of(name, self.host)):
            raise HTTPException(403, OTHER_HOST)

    def _check_origin(self, request: Request) -> None:
        """Only pages of this server may ask, and people who type an address."""
        origin_here = f"http://{request.headers['host'].lower()}"
        origins = request.headers.getlist("origin")
        sites = request.headers.getlist("sec-fetch-site")
        if any(origin.lower() != origin_here for origin in origins) or not set(sites) <= {"none", "same-origin"}:
            raise HTTPException(403, OTHER_ORIGIN)

    def _check_method(self, request: Request) -> None:
        if request.method in READING:
            return
        if not self.writes or request.method != "POST":
            raise HTTPException(405, READ_ONLY)
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if "origin" not in request.headers or kind != "application/json":  # what a form of another page cannot send
            raise HTTPException(403, OTHER_ORIGIN)


def _bearer(request: Request) -> str | None:
    """The token in the header of a request."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token if scheme.lower() == "bearer" else None


def _is_opened(request: Request) -> bool:
    """Whether a browser opens an address as a page."""
    is_page = not str(request.scope["path"]).startswith(ASKED_BY_SCRIPTS)
    return is_page and "text/html" in request.headers.get("accept", "")


def plain_error(status: int, text: str) -> Response:
    """A page that says what is wrong, and nothing else."""
    return HTMLResponse(render("error.html", status=status, text=text), status)


def split_host(text: str) -> tuple[str | None, int]:
    """Name and port of a `Host` header; the port is 80 where there is none. None for what is no host."""
    name, mark, port = text.rpartition(":") if not text.endswith("]") else (text, "", "")
    if not mark:
        name = text
        port = "80"
    if name.startswith("[") and name.endswith("]"):
        name = name[1:-1]
    elif ":" in name:
        return None, 0
    return (name.lower(), int(port)) if port.isascii() and port.isdigit() and len(port) < 6 else (None, 0)


def is_name_of(name: str, host: str) -> bool:
    """Whether a server that listens on `host` may be asked by a name.

    One that listens on all addresses may be asked by any address, as those who bend a name to this machine (DNS
    rebinding) need a name, and by the name of the machine.
    """
    if host.strip("[]") not in EVERYWHERE:
        return name == host.lower().strip("[]")
    machine = socket.gethostname().lower()
    return name in (machine, machine.partition(".")[0]) or (_is_address(name) and name not in EVERYWHERE)


def _is_address(name: str) -> bool:
    try:
        return bool(ipaddress.ip_address(name))
    except ValueError:
        return False


def _with_headers(send: Send) -> Send:
    async def with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            kept = [pair for pair in message.get("headers", ()) if pair[0].decode("latin-1").lower() not in HEADERS]
            message = {**message, "headers": [*kept, *headers]}
        await send(message)

    return with_headers


class BadRequest(RagEvaluatorError):
    """A request that says something that it cannot say (400); the message says what was expected."""


def as_json(value: Any, status: int = 200) -> Response:
    """JSON in ASCII: data may hold half a surrogate pair. Any: JSON."""
    return Response(json.dumps(value, allow_nan=False), status, media_type="application/json")


def render(template: str, **values: Any) -> str:
    """A page, or a part of one. `template` is in `templates/` of the app or of the report. Any: what it shows."""
    return environment(__package__).get_template(template).render(**values)


def as_page(html: str) -> Response:
    return HTMLResponse(html.encode("utf-8", "replace"))


def number_of(text: str) -> int:
    """The number of a row. Raises `NotThere` for what is no number from 0."""
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise NotThere(text)
    return int(text)


def error_answer(request: Request, error: Exception) -> Response:
    """What is wrong, in plain words; of a fault of this program the terminal alone shows the traceback."""
    status = 500
    text = FAULT
    if isinstance(error, NotThere):
        status = 404
        text = NOT_THERE
    elif isinstance(error, RagEvaluatorError):  # a request, or the files of a run, which cannot be read
        status = 400 if isinstance(error, BadRequest | ReviewError) else 500
        text = clean(str(error))
    elif isinstance(error, HTTPException):  # what Starlette itself refuses, such as an address that is no page
        status = error.status_code
        text = NOT_THERE if error.status_code == 404 else FAULT
    if request.url.path.startswith("/api/"):
        return as_json({"error": text}, status)
    return plain_error(status, text)


def page(template: str, state: AppState, title: str, /, **values: Any) -> Response:
    """A whole page. Any: see the templates."""
    about = {"app": state, "title": title, "version": __version__, "address": address, **LINKED, **values}
    return as_page(render(template, inline=None, blocks=(), made_from="", **about))


def address(prefix: str, path: str) -> str:
    """The address of a run under a prefix."""
    return prefix + quote(path, safe="/")
