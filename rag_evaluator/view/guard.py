"""`Guard`: who may ask, from where, and what every answer says to the browser; before any page is made.

A web page of somebody else must not read results through the reader's browser. Its requests are known by their
`Origin` and `Sec-Fetch-Site`; where its name was made to point at this machine (DNS rebinding), by their `Host`; and
they do not have the token of the printed link. Other users of the machine do not have it either.

The token comes in a header. A cookie would go to every port of the host, and other servers listen there. A browser
sends no such header when it opens an address: it gets a page without data, whose script has the token in
`sessionStorage`, asks with it and writes the answer in its place.
"""

import hmac
import ipaddress
import socket
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rag_evaluator.report.pages import page_text, render

LOOPBACK = ("localhost", "127.0.0.1", "::1")
EVERYWHERE = ("0.0.0.0", "::", "")
READING = ("GET", "HEAD")
ASKED_BY_SCRIPTS = ("/api/", "/report/")  # what no browser opens as a page
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


class Refused(Exception):
    """A request that gets no page."""

    def __init__(self, status: int, text: str) -> None:
        self.status, self.text = status, text


@dataclass(frozen=True)
class Door:
    """Who may ask.

    Attributes:
        token: what the printed link has.
        host, port: where the server listens.
        writes: whether anything can be changed here.
    """

    token: str
    host: str
    port: int
    writes: bool = False

    def knows(self, name: str, port: int) -> bool:
        """Whether a `Host` is this server. Through `ssh -L` it is asked at any port of the reader's own machine."""
        return name in LOOPBACK or (port == self.port and is_name_of(name, self.host))

    def has_token(self, text: str | None) -> bool:
        """Whether this is the token; how long it takes tells nothing about it."""
        return text is not None and hmac.compare_digest(text.encode("utf-8", "replace"), self.token.encode())


class Guard:
    """ASGI middleware. Requests that may not be answered end here, with 403 or 405.

    Args:
        app: what answers the others.
        door: who may ask.
    """

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self.app, self.door = app, door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":  # nothing here is a web socket
            answer = self.app if (early := self._early(Request(scope))) is None else early
            await answer(scope, receive, _with_headers(send))

    def _early(self, request: Request) -> Response | None:
        """The answer to a request that does not reach a page; None for the others."""
        reads = request.method in READING
        token = request.query_params.get("token") if reads else None
        try:
            self._check_host(request)
            if token is not None and request.headers.get("origin") is None and self.door.has_token(token):
                return HTMLResponse(render("enter.html"))
            self._check_origin(request)
            if token is not None or not (self.door.has_token(_bearer(request)) or (reads and _is_public(request))):
                if token is None and reads and _is_opened(request):
                    return HTMLResponse(render("enter.html"))
                raise Refused(403, "guard.token")
            self._check_method(request)
        except Refused as refused:
            return plain_error(refused.status, page_text(refused.text))
        return None

    def _check_host(self, request: Request) -> None:
        """This server is asked by a name of its own."""
        hosts = request.headers.getlist("host")
        name, port = split_host(hosts[0]) if len(hosts) == 1 else (None, 0)
        if name is None or not self.door.knows(name, port):
            raise Refused(403, "guard.host")

    def _check_origin(self, request: Request) -> None:
        """Only pages of this server may ask, and people who type an address."""
        own = f"http://{request.headers['host'].lower()}"
        origins, sites = request.headers.getlist("origin"), request.headers.getlist("sec-fetch-site")
        if any(origin.lower() != own for origin in origins) or not set(sites) <= {"none", "same-origin"}:
            raise Refused(403, "guard.origin")

    def _check_method(self, request: Request) -> None:
        if request.method in READING:
            return
        if not self.door.writes or request.method != "POST":
            raise Refused(405, "guard.method")
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if "origin" not in request.headers or kind != "application/json":  # what a form of another page cannot send
            raise Refused(403, "guard.origin")


def _bearer(request: Request) -> str | None:
    """The token in the header of a request."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token if scheme.lower() == "bearer" else None


def _is_public(request: Request) -> bool:
    return str(request.scope["path"]).startswith(PUBLIC)


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
        name, port = text, "80"
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
            own = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            kept = [pair for pair in message.get("headers", ()) if pair[0].decode("latin-1").lower() not in HEADERS]
            message = {**message, "headers": [*kept, *own]}
        await send(message)

    return with_headers
