"""The judge that asks a local model: question to request, reply to validated answer, each asked once."""

import asyncio
import functools
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from rag_evaluator.config import JudgeConfig
from rag_evaluator.errors import BudgetError, JudgementError, PromptTooLongError
from rag_evaluator.judge.engine.transformers.chat import PromptEncoder
from rag_evaluator.judge.engine.transformers.decoder import Decoder
from rag_evaluator.judge.engine.transformers.loading import check_model, has_adapter, window_of
from rag_evaluator.judge.grammar.budget import Budget, share_out
from rag_evaluator.judge.grammar.lark import to_lark
from rag_evaluator.judge.grammar.schema import CUT_LISTS, tighten
from rag_evaluator.judge.protocol import Capabilities, Draw, Opinion
from rag_evaluator.judge.requests import PromptText, Reply, Request
from rag_evaluator.models.batching import Scheduler, Worker
from rag_evaluator.results.questions import digest

if TYPE_CHECKING:
    from langchain_huggingface import HuggingFacePipeline

REMEMBERED = 65_536  # replies
REFILLS = 4  # a batch is refilled from so many times its own number of requests


class EngineJudge:
    """Asks a model under the grammar of the response model; a `JudgeProtocol`.

    Args:
        pipeline: a `text-generation` `HuggingFacePipeline` (or a transformers pipeline) already loaded.
        config: decoding settings; its model keys are not used.

    Attributes:
        signature: of the source that loaded it, see `rag_evaluator.judge.source`; None until then.
    """

    signature: str | None = None

    def __init__(self, pipeline: "HuggingFacePipeline | Any", config: JudgeConfig | None = None) -> None:
        self.config = config or JudgeConfig()
        inner: Any = getattr(pipeline, "pipeline", pipeline)  # langchain's wrapper holds transformers' pipeline
        check_model(inner.model, inner.tokenizer)
        name = "" if has_adapter(inner.model) else getattr(inner.model, "name_or_path", "")
        self.model_id = str(name or "")  # where it was loaded from, if anywhere
        self.encoder = PromptEncoder(inner.tokenizer, self.config.chat_template)
        self.window = window_of(inner.model, inner.tokenizer)
        self._decoder = Decoder(inner.model, inner.tokenizer, self.window, self.config.batch_size)
        self._worker = Worker(lambda requests: self._decoder.decode(requests), REFILLS * self.config.batch_size)
        self._replies: OrderedDict[tuple[str, str, int], asyncio.Future[Reply]] = OrderedDict()
        self._count = functools.lru_cache(maxsize=4096)(self.encoder.count)

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            in_flight=self.config.batch_size,
            greedy=self.config.temperature == 0,
            probabilities=True,
            confidence=True,
            counts_tokens=True,
            same_bytes="always" if self.config.dtype == "float32" else "same batches",
            window=self.window,
        )

    @property
    def about(self) -> dict[str, str]:
        """How the model is run: `path`, `why` where it is the slow one, `alone` where rows are decoded one by one."""
        decoder = self._decoder
        known = {"path": decoder.path, "why": decoder.why, "alone": decoder.alone}
        return {key: value for key, value in known.items() if value is not None}

    async def opinion(self, prompt: str, response_model: type[BaseModel], draw: Draw = (0, 0)) -> Opinion:
        """An answer with its token counts.

        Args:
            prompt: a `PromptText` lets the answer be tied to the prompt's input; a plain `str` does not.
            response_model: what the answer must be.
            draw: tells equal requests apart when sampling.
        """
        request = self.request(prompt, response_model, draw)
        reply = await self._ask(request)
        answer = _validated(reply, response_model, request.max_new_tokens)
        cut = reply.cut if reply.complete else reply.cut | {"list"}
        return Opinion(answer, reply.confidence, len(request.input_ids), len(reply.token_ids), cut=cut)

    async def choose(self, prompt: str, options: Sequence[str], draw: Draw = (0, 0)) -> dict[str, float]:
        """The probability of each option as the answer, summing to 1, from the logits after the prompt.

        Raises `PromptTooLongError` if the prompt does not fit the model's window.
        """
        input_ids = tuple(self.encoder.encode(prompt))
        ids = tuple(tuple(self.encoder.continuation(option)) for option in options)
        if not options or len(set(ids)) < len(ids) or not all(ids):
            raise ValueError(f"options must be different, non-empty texts, got {list(options)!r}")
        if len(input_ids) + max(map(len, ids)) > self.window:
            raise PromptTooLongError(
                f"the prompt with its options does not fit the model's window of {self.window} tokens"
            )
        group = f"choose {getattr(prompt, 'group', '')}"
        reply = await self._ask(Request(input_ids, "", 0, Budget(0, 0, 0, 0, 0), group=group, options=ids))
        return dict(zip(options, reply.confidence, strict=True))

    def count(self, text: str) -> int:
        return self.encoder.count(text)

    def room(self, prompt: str) -> int:
        return self.window - len(self.encoder.encode(prompt))

    async def aclose(self) -> None:
        """Forget the replies; the model's memory is freed with its pipeline, which may be the caller's own."""
        self._replies.clear()

    def request(self, prompt: str, response_model: type[BaseModel], draw: Draw = (0, 0)) -> Request:
        """The request as the model gets it. Raises `PromptTooLongError` if it does not fit the model's window."""
        schema = tighten(response_model, prompt.data if isinstance(prompt, PromptText) else None)
        input_ids = self.encoder.encode(prompt)
        room = self.window - len(input_ids)
        budget = share_out(schema, self.config.max_new_tokens, max(room, 1), self._count)
        if room < budget.needed:
            raise PromptTooLongError(
                f"the prompt with the shortest useful answer does not fit the model's window of {self.window} tokens"
            )
        return Request(
            input_ids=tuple(input_ids),
            grammar=to_lark(schema, self.encoder.answer_prefix),
            partition=schema if "x-partition" in schema else None,
            max_new_tokens=self.config.max_new_tokens,
            budget=budget,
            temperature=self.config.temperature,
            seed=0 if self.config.temperature == 0 else self._seed(prompt, draw),
            group=getattr(prompt, "group", ""),
        )

    def _seed(self, prompt: str, draw: Draw) -> int:
        repeat, occurrence = draw
        number = f"{repeat}.{occurrence}" if repeat else f"{occurrence}"
        return int(digest(f"{self.config.seed}\0{number}\0{prompt}"), 16) % 2**63

    async def _ask(self, request: Request) -> Reply:
        """The reply, asked for once; whoever asks again meanwhile waits for the same one, and may stop waiting."""
        key = (digest(repr((request.input_ids, request.options))), digest(request.grammar), request.seed)
        future = self._replies.get(key)
        if future is None or not (future.done() or future.get_loop() is asyncio.get_running_loop()):
            asking = Scheduler.current().submit(self._worker, request, request.group)
            future = self._replies[key] = asyncio.ensure_future(asking)
            future.add_done_callback(functools.partial(self._forget_failure, key))
            if len(self._replies) > REMEMBERED:
                self._replies.popitem(last=False)
        return future.result() if future.done() else await asyncio.shield(future)

    def _forget_failure(self, key: tuple[str, str, int], future: "asyncio.Future[Reply]") -> None:
        """A request that failed is asked again the next time."""
        if (future.cancelled() or future.exception() is not None) and self._replies.get(key) is future:
            del self._replies[key]


def _validated(reply: Reply, response_model: type[BaseModel], max_new_tokens: int) -> BaseModel:
    if reply.complete:
        try:
            return response_model.model_validate_json(reply.text.strip())
        except ValidationError as error:
            first = error.errors()[0]
            raise JudgementError(f"the answer does not fit {response_model.__name__}: {first['msg']}") from error
    name = CUT_LISTS.get(response_model.__name__)
    part = from_json(reply.text.strip(), allow_partial=True) if reply.text.strip() else {}
    if name and isinstance(part, dict) and part.get(name):
        return response_model.model_validate(part)
    raise BudgetError(f"the answer did not fit into {max_new_tokens} new tokens; raise judge.max_new_tokens")
