"""llama.cpp's server: token ids and a GBNF grammar; its log probabilities are those before the grammar's mask."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from pathlib import PurePath
from typing import Any, Literal

from rag_evaluator.errors import JudgeLostError, JudgementError
from rag_evaluator.judge.engines.server.dialects import Continuation, Server, WrittenToken
from rag_evaluator.judge.engines.server.http import Transport
from rag_evaluator.judge.engines.server.logprobs import check_model, check_read, count_of, text_of, written_of
from rag_evaluator.judge.grammar.tree import as_gbnf

TOP = 32  # log probabilities of each token
MORE = 1024  # of one token, before all are asked for
FEW = 16  # tokens of an answer that is not read while it is written
ANY = 'root ::= " "'  # a token that is a whole character: for others the server tells nothing
NEUTRAL: Mapping[str, Any] = {"samplers": ["temperature"], "cache_prompt": True, "return_tokens": True}


class LlamaCpp:
    """A llama.cpp server; with more than one slot its numbers depend on what else it is computing."""

    masked = False

    def __init__(self, transport: Transport, server: Server) -> None:
        self.transport, self.server = transport, server
        self.same_bytes: Literal["always", "same batches", "no"] = "same batches" if server.slots == 1 else "no"

    @staticmethod
    async def recognise(transport: Transport, models: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
        if not any(model.get("owned_by") == "llamacpp" for model in models):
            return None
        known: Mapping[str, Any] = await transport.get("/props", root=True)
        return {**known, "adapters": await _adapters(transport)}

    @staticmethod
    def describe(model: Mapping[str, Any], known: Mapping[str, Any]) -> Server:
        return Server(
            "llama.cpp",
            str(known.get("build_info", "")),
            str(model["id"]),
            count_of(known.get("default_generation_settings", {}).get("n_ctx")),
            count_of(known.get("total_slots")),
            text_of(known.get("model_path")),
            str(known.get("model_ftype") or model.get("meta", {}).get("ftype", "")),
            known.get("adapters", ""),
        )

    async def write(self, continuation: Continuation) -> AsyncGenerator[WrittenToken, None]:
        body = {
            **self._body(continuation.input_ids),
            **_form(continuation),
            "n_predict": continuation.max_tokens,
            "temperature": continuation.temperature,
            "seed": continuation.seed,
            "n_probs": TOP,
            "logit_bias": [[token, False] for token in sorted(continuation.banned)],
        }
        count = 0
        async with aclosing(self.transport.lines("/completion", {**body, "stream": True}, root=True)) as events:
            async for event in events:
                check_model(self.server, event)
                if event.get("tokens_predicted") != count + 1:
                    break  # the end; or a character of several tokens, of which a stream tells only the last
                for written in self._written(event, body):
                    count += 1
                    yield written
        if count == 0:
            answer = await self.transport.post(
                "/completion", {**body, "n_predict": min(continuation.max_tokens, FEW)}, root=True
            )
            whole = self._written(answer, body)
            while len(whole) > 1 and not whole[-1].logprobs:  # the beginning of a character: no grammar goes on there
                whole.pop()
            for written in whole:
                yield written

    async def next_logprobs(self, input_ids: Sequence[int], candidates: Sequence[int]) -> Sequence[float]:
        known: Mapping[int, float] = {}
        for most in (MORE, 2**20):
            body = {**self._body(input_ids), "n_predict": 1, "temperature": 0.0, "n_probs": most, "grammar": ANY}
            written = self._written(await self.transport.post("/completion", body, root=True), body)
            if not written:
                raise JudgementError("the server gave no log probabilities")
            known = written[0].logprobs
            if all(token in known for token in candidates):
                break
        return [known.get(token, float("nan")) for token in candidates]

    async def text_of(self, token_ids: Sequence[int]) -> str:
        return str((await self.transport.post("/detokenize", {"tokens": list(token_ids)}, root=True)).get("content"))

    def _body(self, input_ids: Sequence[int]) -> dict[str, Any]:
        return {"model": self.server.model, "prompt": list(input_ids), **NEUTRAL}

    def _written(self, event: Mapping[str, Any], body: Mapping[str, Any]) -> list[WrittenToken]:
        """The tokens of an answer to a request, or of a part of it."""
        check_model(self.server, event)
        check_read(count_of(event.get("tokens_evaluated")), len(body["prompt"]))
        return _written(event)


async def _adapters(transport: Transport) -> str:
    """Names of the adapters that the server adds to its model; empty where it tells of none."""
    try:
        added = await transport.get("/lora-adapters", root=True)
        return ", ".join(PurePath(adapter["path"]).name for adapter in added if adapter.get("scale") != 0)
    except (JudgeLostError, JudgementError, KeyError, TypeError, AttributeError):  # older servers have no such list
        return ""


def _form(continuation: Continuation) -> dict[str, Any]:
    """What the answer must be, or where free text ends; the reader ends it at other control tokens."""
    if continuation.grammar is not None:
        return {"grammar": as_gbnf(continuation.grammar)}
    assert continuation.stop is not None
    return {"stop": [continuation.stop.text]}


def _written(event: Mapping[str, Any]) -> list[WrittenToken]:
    """The tokens of an event; those that end no character have no log probabilities."""
    try:
        known = list(event.get("completion_probabilities", ()))
        written = []
        for token in event["tokens"]:
            entry = known.pop(0) if known and known[0]["id"] == token else {"top_logprobs": []}
            tops = [entry, *entry["top_logprobs"]] if "id" in entry else []
            written.append(written_of(token, [(other["id"], other["logprob"]) for other in tops]))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise JudgeLostError(f"judge.url: the server's answer is not like llama.cpp's: {error!r}") from error
    return written
