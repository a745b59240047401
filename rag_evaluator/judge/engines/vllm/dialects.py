"""What a vLLM server is asked and tells: token ids and a grammar."""

import re
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from rag_evaluator.config.sections import JudgeConfig
from rag_evaluator.errors import JudgeLostError, JudgementError
from rag_evaluator.judge.engines.vllm.http import Transport
from rag_evaluator.judge.grammar.tree import Node, as_lark, weighs
from rag_evaluator.judge.protocol import TextEnd


@dataclass(frozen=True)
class Server:
    """What a server says of itself.

    Attributes:
        dialect: a row of `DIALECTS`.
        version: of the server's program; empty where it does not say.
        model: the name under which it serves the model.
        window: tokens of prompt and answer together; None: not known.
        slots: answers that it writes at a time; None: not known.
        path: of the model's files on the server's machine.
        precision: dtype or quantisation, as far as it says.
        adapter: what was added to the model's weights; empty: nothing, as far as it says.
        aliases: further names of the model, with which it may answer.
    """

    dialect: str
    version: str
    model: str
    window: int | None = None
    slots: int | None = None
    path: str | None = None
    precision: str = ""
    adapter: str = ""
    aliases: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Continuation:
    """An answer that is to be continued.

    Attributes:
        input_ids: the prompt and what was written so far.
        grammar: of what follows; None: free text.
        string_tokens: a string longer than this is cut by us, so the server need not write more.
        max_tokens: that the answer may still have.
        banned: tokens that the first one must not be, because the budget ends.
        stop: where a free text ends; what is written beyond it is not used.
    """

    input_ids: Sequence[int] = field(repr=False)
    grammar: Node | None = field(repr=False)
    string_tokens: int
    max_tokens: int
    temperature: float = 0.0
    seed: int = 0
    banned: frozenset[int] = frozenset()
    stop: TextEnd | None = None

    @property
    def weighed(self) -> bool:
        """Whether log probabilities of its tokens may be needed: for the confidence of a verdict."""
        return self.grammar is not None and weighs(self.grammar)


@dataclass(frozen=True)
class WrittenToken:
    """A token that the server wrote, and the log probabilities of some that could have been in its place."""

    token: int
    logprobs: Mapping[int, float]


class Dialect(Protocol):
    """A kind of server that takes token ids and a grammar."""

    same_bytes: Literal["always", "same batches", "no"]
    masked: bool
    """Whether log probabilities are those after the grammar's mask."""

    def write(self, continuation: Continuation) -> AsyncGenerator[WrittenToken, None]:
        """The tokens of an answer, in order; the caller may stop reading."""

    async def next_logprobs(self, input_ids: Sequence[int], candidates: Sequence[int]) -> Sequence[float]:
        """See `Engine.next_logprobs`."""

    async def text_of(self, token_ids: Sequence[int]) -> str:
        """What the server's own tokenizer makes of tokens."""


USUAL_OPEN = 32  # requests, where `batch_size` is auto and nothing else is known
OPEN: Mapping[str, int] = {"vllm": 256}  # what its scheduler takes by default


def open_requests(config: JudgeConfig, dialect: str, slots: int | None = None) -> int:
    """`batch_size` of a server as a number.

    Args:
        slots: answers that the server writes at a time, if it says.
    """
    return slots or OPEN.get(dialect, USUAL_OPEN) if config.batch_size == "auto" else config.batch_size


REMEDY = (
    "Give the server a larger context: num_ctx in the model's Modelfile or OLLAMA_CONTEXT_LENGTH for Ollama, "
    "-c for llama.cpp, --max-model-len for vLLM, else its own option for the length of the context."
)


ROUNDING, LEAST = 0.01, -9999.0  # log probabilities: above 0 by rounding only; servers write the least for "never"


SUFFIXES = (".gguf", "-gguf", ":latest")  # that say nothing of the model


VARIANT = re.compile(  # of a model under its own name: a dated snapshot, or a quantisation
    r"[-_.:@](\d{4}-?\d\d-?\d\d|\d{3,4}|(ud-)?i?q\d\w*|bf16|fp?(8|16|32)|int[48]|[48]-?bit|awq|gptq|mxfp4|nvfp4)"
)


class CutPromptError(JudgementError):
    """The server does not read a prompt whole; the message says what to do."""


def check_model(server: Server, answer: Mapping[str, Any]) -> None:
    """Raises `JudgeLostError` for an answer of another model than the one that was asked."""
    name = answer.get("model")
    if not isinstance(name, str) or not name or name in server.aliases or same_model(server.model, name):
        return
    raise JudgeLostError(
        f"judge.served_model: '{server.model}' was asked, and the answer is from '{name:.100}'. Load "
        f"'{server.model}' in the server, or set judge.served_model to the model that shall judge."
    )


def same_model(asked: str, answered: str) -> bool:
    """Whether two names can be of one model: servers answer with a path, without the organisation, with a snapshot."""
    (first, short), (second, long) = sorted(map(_parts, (asked, answered)), key=lambda parts: len(parts[1]))
    if first and second and first != second:
        return False
    return long.startswith(short) and (long == short or VARIANT.fullmatch(long[len(short) :]) is not None)


def _parts(name: str) -> tuple[str, str]:
    """Organisation, empty where there is none, and name; of a path its last part."""
    *folders, last = name.replace("\\", "/").casefold().split("/")
    for suffix in SUFFIXES:
        last = last.removesuffix(suffix)
    return folders[0] if len(folders) == 1 else "", last


def tokens_read(answer: Mapping[str, Any]) -> int | None:
    """Tokens of the prompt that the server counts in `usage`; None where it does not say. 0 is no count."""
    usage = answer.get("usage")
    return count_of(usage.get("prompt_tokens")) if isinstance(usage, dict) else None


def logprob_of(value: Any) -> float:
    """A log probability that a server tells. Raises `ValueError` for what is none. Any: JSON."""
    if type(value) not in (int, float) or not value <= ROUNDING:  # NaN is not, either
        raise ValueError(f"a log probability is {value!r:.40}")
    return float(max(value, LEAST))


def text_of(value: Any) -> str | None:
    """What a server tells as a text, if it is one. Any: JSON."""
    return value if isinstance(value, str) else None


def written_of(token: Any, logprobs: Iterable[tuple[Any, Any]]) -> WrittenToken:
    """A token that a server has written, with (token id, log probability) pairs. Raises `ValueError`. Any: JSON."""
    pairs = [(token, 0.0), *logprobs]
    for number, _ in pairs:
        if type(number) is not int or not 0 <= number < 2**31:
            raise ValueError(f"a token id is {number!r:.40}")
    return WrittenToken(token, {number: logprob_of(logprob) for number, logprob in pairs[1:]})


def count_of(value: Any) -> int | None:
    """What a server tells as a number of something, if it is one. Any: JSON."""
    return value if type(value) is int and value > 0 else None


def check_read(read: int | None, sent: int, slack: int = 0) -> None:
    """Raises `CutPromptError` where less of a prompt was read than was sent.

    Args:
        read: tokens, as the server counts them; None: it does not say.
        sent: tokens, as we count them.
        slack: tokens by which two right counts may differ.
    """
    if read is not None and read < sent - slack:
        raise CutPromptError(f"the server cuts long prompts: it has read {read} of {sent} tokens. {REMEDY}")


VLLM_TOP = 20  # log probabilities that a vLLM server gives by default
SLACK = 1  # tokens: llguidance counts the one that begins a string, the budget does not
ABORTED = "abort"  # why an answer ended: the server is being ended, or stopped for a while
BAN = -100.0  # the lowest bias that the interface allows
VLLM_NEUTRAL: Mapping[str, Any] = {  # a server takes these from the model's generation_config.json
    "top_p": 1.0,
    "top_k": -1,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
}


class Vllm:
    """A vLLM server."""

    same_bytes: Literal["always", "same batches", "no"] = "same batches"
    masked = True

    def __init__(self, transport: Transport, server: Server) -> None:
        self.transport, self.server = transport, server

    @staticmethod
    async def recognise(transport: Transport, models: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
        if not any(model.get("owned_by") == "vllm" for model in models):
            return None
        version = await transport.get("/version")
        return {"version": str(version["version"]), "windows": {m["id"]: m.get("max_model_len") for m in models}}

    @staticmethod
    def describe(model: Mapping[str, Any], known: Mapping[str, Any]) -> Server:
        base = model.get("parent")  # of an adapter, which has no window
        return Server(
            "vllm",
            known["version"],
            model["id"],
            count_of(model.get("max_model_len") or known["windows"].get(base)),
            path=text_of(model.get("root")),
            adapter=model["id"] if base else "",
        )

    async def write(self, continuation: Continuation) -> AsyncGenerator[WrittenToken, None]:
        body = {
            **self._body(continuation.input_ids),
            **_vllm_form(continuation),
            "max_tokens": continuation.max_tokens,
            "temperature": continuation.temperature,
            "seed": continuation.seed,
            **({"logprobs": VLLM_TOP} if continuation.weighed else {}),
        }
        if continuation.banned:
            body["logit_bias"] = {str(token): BAN for token in sorted(continuation.banned)}
        for written in await self._written(body):
            yield written

    async def next_logprobs(self, input_ids: Sequence[int], candidates: Sequence[int]) -> Sequence[float]:
        body = self._body(input_ids) | {"max_tokens": 1, "temperature": 0.0, "logprobs": 1}
        written = await self._written({**body, "logprob_token_ids": list(candidates)})
        if not written:
            raise JudgementError("the server gave no log probabilities")
        return [written[0].logprobs.get(token, float("nan")) for token in candidates]

    async def text_of(self, token_ids: Sequence[int]) -> str:
        body = {"model": self.server.model, "tokens": list(token_ids)}
        return str((await self.transport.post("/detokenize", body)).get("prompt"))

    def _body(self, input_ids: Sequence[int]) -> dict[str, Any]:
        names = {"return_tokens_as_token_ids": True, "return_token_ids": True}
        return {"model": self.server.model, "prompt": list(input_ids), **VLLM_NEUTRAL, **names}

    async def _written(self, body: Mapping[str, Any]) -> list[WrittenToken]:
        answer = await self.transport.post("completions", body)
        check_model(self.server, answer)
        check_read(tokens_read(answer), len(body["prompt"]))
        try:
            choice = answer["choices"][0]
            if choice.get("finish_reason") == ABORTED:  # with status 200, and what was written until then
                raise JudgeLostError("judge.url: the server has given up what it was writing, as it is being ended")
            tokens = choice["token_ids"]
            tops = choice["logprobs"]["top_logprobs"] if "logprobs" in body else [None] * len(tokens)
            return [written_of(token, _by_id(top)) for token, top in zip(tokens, tops, strict=False)]
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise JudgeLostError(f"judge.url: the server's answer is not like vLLM's: {error!r}") from error


def _vllm_form(continuation: Continuation) -> dict[str, Any]:
    """What the answer must be, or where free text ends."""
    grammar, stop = continuation.grammar, continuation.stop
    if grammar is not None:
        return {"structured_outputs": {"grammar": as_lark(grammar, continuation.string_tokens + SLACK)}}
    assert stop is not None
    return {"stop": [stop.text], "stop_token_ids": sorted(stop.token_ids), "skip_special_tokens": False}


def _by_id(top: Mapping[str, Any] | None) -> list[tuple[int, Any]]:
    """Token ids and log probabilities; vLLM writes -9999 for tokens that are not allowed. Any: JSON."""
    return [(int(name.removeprefix("token_id:")), logprob) for name, logprob in (top or {}).items()]
