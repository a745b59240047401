"""vLLM: it takes token ids and our own grammar, and its log probabilities are those of the allowed tokens."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Literal

from rag_evaluator.errors import JudgeLostError, JudgementError
from rag_evaluator.judge.engines.server.dialects import Continuation, Server, WrittenToken
from rag_evaluator.judge.engines.server.http import Transport
from rag_evaluator.judge.engines.server.logprobs import (
    check_model,
    check_read,
    count_of,
    text_of,
    tokens_read,
    written_of,
)
from rag_evaluator.judge.grammar.tree import as_lark

TOP = 20  # log probabilities that a vLLM server gives by default
SLACK = 1  # tokens: llguidance counts the one that begins a string, the budget does not
ABORTED = "abort"  # why an answer ended: the server is being ended, or stopped for a while
BAN = -100.0  # the lowest bias that the interface allows
NEUTRAL: Mapping[str, Any] = {  # a server takes these from the model's generation_config.json
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
        version = await transport.get("/version", root=True)
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
            **_form(continuation),
            "max_tokens": continuation.max_tokens,
            "temperature": continuation.temperature,
            "seed": continuation.seed,
            "logprobs": TOP,
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
        return str((await self.transport.post("/detokenize", body, root=True)).get("prompt"))

    def _body(self, input_ids: Sequence[int]) -> dict[str, Any]:
        names = {"return_tokens_as_token_ids": True, "return_token_ids": True}
        return {"model": self.server.model, "prompt": list(input_ids), **NEUTRAL, **names}

    async def _written(self, body: Mapping[str, Any]) -> list[WrittenToken]:
        answer = await self.transport.post("/completions", body)
        check_model(self.server, answer)
        check_read(tokens_read(answer), len(body["prompt"]))
        try:
            choice = answer["choices"][0]
            if choice.get("finish_reason") == ABORTED:  # with status 200, and what was written until then
                raise JudgeLostError("judge.url: the server has given up what it was writing, as it is being ended")
            tops = choice["logprobs"]["top_logprobs"]
            return [written_of(token, _by_id(top)) for token, top in zip(choice["token_ids"], tops, strict=False)]
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise JudgeLostError(f"judge.url: the server's answer is not like vLLM's: {error!r}") from error


def _form(continuation: Continuation) -> dict[str, Any]:
    """What the answer must be, or where free text ends."""
    grammar, stop = continuation.grammar, continuation.stop
    if grammar is not None:
        return {"structured_outputs": {"grammar": as_lark(grammar, continuation.string_tokens + SLACK)}}
    assert stop is not None
    return {"stop": [stop.text], "stop_token_ids": sorted(stop.token_ids), "skip_special_tokens": False}


def _by_id(top: Mapping[str, Any] | None) -> list[tuple[int, Any]]:
    """Token ids and log probabilities; vLLM writes -9999 for tokens that are not allowed. Any: JSON."""
    return [(int(name.removeprefix("token_id:")), logprob) for name, logprob in (top or {}).items()]
