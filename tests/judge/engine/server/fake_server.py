"""A small server with OpenAI's end points, which fails as it is set to."""

import asyncio
import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer
from typing import Any

from aliases import Json
from folders import write_lines
from pydantic import BaseModel

from rag_evaluator import Judge
from rag_evaluator.config import JudgeConfig

Reply = tuple[int, dict[str, str], bytes]
USUAL = frozenset({"model", "messages", "response_format", "temperature", "seed", "logprobs", "top_logprobs"})
AROUND = 9  # tokens that a chat template puts around a prompt
# what a server does in place of a reply
CUT = "cut"
SLOW = "slow"


class Verdict(BaseModel):
    reason: str
    verdict: int


def judge_of(fake: "Fake", **settings: Any) -> Judge:
    return Judge.from_config(JudgeConfig(engine="server", url=fake.url, **settings))


def ask(judge: Judge, *prompts: str) -> list[Any]:
    """A `Verdict` or the error of each prompt, asked together."""

    async def answers() -> list[Any]:
        asked = (judge.agenerate(prompt, Verdict) for prompt in prompts or ("Good?",))
        return list(await asyncio.gather(*asked, return_exceptions=True))

    answered: list[Any] = asyncio.run(answers())
    return answered


def status(code: int, text: str = '{"error": "as set"}', **headers: str) -> Reply:
    return code, {name.replace("_", "-"): value for name, value in headers.items()}, text.encode()


@dataclass
class Fake:
    """What the server does, and what it was asked.

    Attributes:
        faults: in place of the next answers to POST requests.
        always: in place of every answer, if something is there.
        content: what a chat answers.
        message: what else is in its message: a thought.
        finish: why it ended.
        tokens: what a chat tells of the tokens of a text, if it is asked for log probabilities.
        models: what `/v1/models` tells, if not of one model.
        known: keys of a chat that are not refused with 400; None: all.
        context: tokens of a prompt beyond which a chat's is cut to the half, as Ollama does, with status 200.
        count: tokens of a text, which chats tell in `usage`; None: words are tokens, and nothing is told.
        name: of the model that has written an answer; empty: none is told.
    """

    faults: list[Reply | str] = field(default_factory=list)
    always: Reply | str | None = None
    content: Callable[[Json], str] = lambda body: shortest(schema_of(body))
    models: list[Json] = field(default_factory=lambda: [{"id": "tiny"}])
    known: frozenset[str] | None = None
    message: Json = field(default_factory=dict)
    finish: str = "stop"
    tokens: Callable[[str], Any] | None = None
    asked: list[tuple[str, Json, dict[str, str]]] = field(default_factory=list)
    url: str = ""
    open: int = 0
    most_open: int = 0
    context: int | None = None
    count: Callable[[str], int] | None = None
    name: str = ""

    def answer(self, path: str, body: Json) -> Reply | str:
        if path == "/v1/models":
            return status(200, json.dumps({"data": self.models}))
        if self.always is not None:
            return self.always
        if self.faults:
            return self.faults.pop(0)
        if path != "/v1/chat/completions":
            return status(404)
        if self.known is not None and (unknown := body.keys() - USUAL - self.known):
            return status(400, f"unknown: {sorted(unknown)}")
        return status(200, json.dumps(self._chat(body)))

    def _chat(self, body: Json) -> Json:
        read = self._cut(body["messages"][0]["content"])
        text = self.content({**body, "messages": [{"role": "user", "content": read}]})
        message = {"role": "assistant", "content": text, **self.message}
        choice: Json = {"message": message, "finish_reason": self.finish}
        if self.tokens is not None and body.get("logprobs"):
            choice["logprobs"] = {"content": self.tokens(text)}
        answer: Json = {"choices": [choice]}
        if self.count is not None:
            answer["usage"] = {"prompt_tokens": AROUND + self.count(read)}
        return answer | ({"model": self.name} if self.name else {})

    def _cut(self, prompt: str) -> str:
        """What the model gets of a prompt: of a long one the end."""
        count = self.count or (lambda text: len(text.split()))
        if self.context is None or AROUND + count(prompt) <= self.context:
            return prompt
        while AROUND + count(prompt) > self.context // 2:
            prompt = prompt[max(len(prompt) // 50, 1) :]
        return prompt


def reading(body: Json) -> str:
    """What a model answers that repeats a word if it finds it in what it got, for `Fake.content`."""
    schema = schema_of(body)
    if list(schema["properties"]) != ["word"]:
        return shortest(schema)
    word = re.search(r"The code word is (\w+)", body["messages"][0]["content"])
    return json.dumps({"word": word[1] if word else "none"})


def schema_of(body: Json) -> Json:
    schema: Json = body["response_format"]["json_schema"]["schema"]
    return schema


def shortest(schema: Json) -> str:
    """The shortest value that a schema allows, as JSON."""
    return json.dumps(_shortest(schema))


def _shortest(schema: Json) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        return _shortest(schema["anyOf"][0])
    if schema["type"] == "object":
        return {name: _shortest(value) for name, value in schema["properties"].items()}
    if schema["type"] == "array":
        if "prefixItems" in schema:
            return [_shortest(item) for item in schema["prefixItems"]]
        options = schema["items"].get("anyOf")  # an item of each form: lists of optional items are filled
        return [_shortest(o) for o in options] if options else [_shortest(schema["items"])] * schema.get("minItems", 0)
    return {"string": "a", "integer": 0, "number": 0.0, "boolean": False}[schema["type"]]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def fake(self) -> Fake:
        fake: Fake = self.server.fake  # type: ignore[attr-defined]
        return fake

    def do_GET(self) -> None:
        self._reply({})

    def do_POST(self) -> None:
        self._reply(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def _reply(self, body: Json) -> None:
        fake = self.fake
        fake.asked.append((self.path, body, {name.lower(): value for name, value in self.headers.items()}))
        fake.open += 1
        fake.most_open = max(fake.most_open, fake.open)
        try:
            answer = fake.answer(self.path, body)
            if isinstance(answer, str):
                if answer == SLOW:
                    time.sleep(2.0)
                self.close_connection = True
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{") if answer == CUT else None
                return
            code, headers, content = answer
            self.send_response(code)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
        finally:
            fake.open -= 1

    def log_message(self, *arguments: Any) -> None:
        """Nothing is printed."""


class _OnSocket(ThreadingHTTPServer):
    address_family = socket.AF_UNIX

    def server_bind(self) -> None:
        TCPServer.server_bind(self)

    def get_request(self) -> Any:
        request, _ = super().get_request()
        return request, ("unix", 0)


@contextmanager
def serve(host: str = "127.0.0.1", path: Path | None = None, **settings: Any) -> Iterator[Fake]:
    """A fake server at an address, or on a UNIX socket, as long as the block lasts."""
    server = ThreadingHTTPServer((host, 0), _Handler) if path is None else _OnSocket(str(path), _Handler)
    server.daemon_threads = True
    fake = server.fake = Fake(**settings)  # type: ignore[attr-defined]
    fake.url = f"http://{host}:{server.server_address[1]}/v1" if path is None else f"unix:{path}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def configuration(folder: Path, rows: list[Json], judge: Json) -> Path:
    write_lines(folder / "rows.jsonl", rows)
    settings = {"name": "r", "dataset": "rows.jsonl", "metrics": ["context_relevance"], "judge": judge}
    (folder / "c.yaml").write_text(json.dumps(settings))
    return folder / "c.yaml"
