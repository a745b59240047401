"""The engine that runs models with transformers and torch, in this process."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch

from rag_evaluator.config import JudgeConfig
from rag_evaluator.hub import has_adapter, usable_cores
from rag_evaluator.judge.encoding.chat import PromptEncoder, check_tokenizer, window_of
from rag_evaluator.judge.encoding.sequence import Vocabulary
from rag_evaluator.judge.engines.event_loop import BatchHandler, BatchStep, Scheduler, on_model_thread
from rag_evaluator.judge.engines.folders import adapter_part
from rag_evaluator.judge.engines.protocol import slow_reasons
from rag_evaluator.judge.protocol import Capabilities, Ids, Reply, Request

from .attention import NotPackableError
from .decoder import Outcome, device_watched, threads_for
from .linear import reorder_weights, seconds_by_dtype
from .loading import check_direction, dtype_of, find_judge, load_pipeline
from .packed import PackedDecoder, PackedModel
from .plain import PlainDecoder

if TYPE_CHECKING:
    from langchain_huggingface import HuggingFacePipeline
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

FIRST = 2  # scores
LARGE = 300_000_000  # parameters, from which a batch takes a CPU minutes
REFILLS = 4  # a batch is refilled from so many times its own number of requests
logger = logging.getLogger(__name__)


class TransformersEngine:
    """A causal language model and its fast tokenizer; requests are collected for its batches.

    Args:
        config: decoding settings; its model keys are not used.

    Attributes:
        decoder: runs the model.
        why: why it is not `PackedDecoder`; None if it is.
    """

    def __init__(self, model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerFast", config: JudgeConfig) -> None:
        check_direction(getattr(model, "name_or_path", "") or "the model", model.config.to_dict())
        check_tokenizer(tokenizer)
        self.model = model
        self.config = config
        self.model_id = "" if has_adapter(model) else str(getattr(model, "name_or_path", "") or "")
        self.encoder = PromptEncoder(tokenizer, config)
        self.window = window_of(model.config, tokenizer)
        self.vocabulary = Vocabulary(tokenizer, logits_size(model))
        known = (tokenizer.pad_token_id, tokenizer.eos_token_id)  # the model sees no padding, so any token will do
        self.padding = next((token for token in known if token is not None and token < self.vocabulary.size), 0)
        self.decoder: PackedDecoder | PlainDecoder
        self.why: str | None = None
        try:  # the fast one, where the model's packed form gives its own logits
            self.decoder = PackedDecoder(PackedModel.of(model), self.vocabulary, config.batch_size)
        except NotPackableError as reason:
            self.why = str(reason)
            logger.warning("%s", next(slow_reasons({"why": self.why})))
            self.decoder = PlainDecoder(model, self.vocabulary, self.padding, self.window, config.batch_size)
        self.in_flight = self.decoder.batch_size.most if config.batch_size == "auto" else config.batch_size
        most = REFILLS * self.in_flight
        self.mixes = model.dtype != torch.float32  # there the last digits of confidences stay what they were
        open_batch = (self.in_flight, self.open) if self.mixes else (most, None)
        self._written = BatchHandler(self.handle, *open_batch)
        self._chosen = BatchHandler(self.logprobs, most)
        self._pipeline: Any = None

    @classmethod
    def find(cls, config: JudgeConfig, offline: bool) -> str:
        return find_judge(config, offline).source

    @staticmethod
    def signature_parts(config: JudgeConfig, offline: bool) -> dict[str, str]:
        return {**adapter_part(config), "dtype": dtype_of(config, offline)}

    @classmethod
    @on_model_thread
    def load(cls, config: JudgeConfig, offline: bool) -> "TransformersEngine":
        torch.set_num_threads(min(torch.get_num_threads(), usable_cores()))
        engine = cls.of_pipeline(load_pipeline(config, offline), config)
        reorder_weights(engine.model)  # which is nobody else's
        return engine

    @classmethod
    def of_pipeline(cls, pipeline: Any, config: JudgeConfig) -> "TransformersEngine":
        """The engine of a `HuggingFacePipeline` or of a transformers pipeline. Any: its type needs transformers."""
        inner: Any = getattr(pipeline, "pipeline", pipeline)  # langchain's wrapper holds transformers' pipeline
        engine = cls(inner.model, inner.tokenizer, config)
        engine._pipeline = pipeline
        return engine

    @cached_property
    def pipeline(self) -> "HuggingFacePipeline | None":
        """The model as LangChain runs it; None for an engine that was made of a model and its tokenizer."""
        from langchain_huggingface import HuggingFacePipeline

        pipeline = self._pipeline
        if pipeline is None or isinstance(pipeline, HuggingFacePipeline):
            return pipeline
        return HuggingFacePipeline(pipeline=pipeline)

    @property
    def capabilities(self) -> Capabilities:
        is_slow = self.mixes and self.model.device.type == "cpu" and self.model.num_parameters() > LARGE
        return Capabilities(
            self.in_flight,
            greedy=self.config.temperature == 0,
            probabilities=True,
            window=self.window,
            at_first=FIRST if is_slow else None,
        )

    @property
    def about(self) -> dict[str, str]:
        known = {
            "path": self.decoder.path,
            "why": self.why,
            "alone": self.decoder.alone,
            "batch_size": str(self.in_flight),
        }
        return {key: value for key, value in known.items() if value is not None}

    @property
    def dtype(self) -> str:
        return str(self.model.dtype).removeprefix("torch.")

    @on_model_thread
    def seconds_by_dtype(self) -> dict[str, float]:
        """See `linear.seconds_by_dtype`."""
        return seconds_by_dtype(self.model)

    @on_model_thread
    def seconds_of_passes(self) -> tuple[float, float] | None:
        """See `PackedModel.seconds`; None where rows are not packed."""
        with self._computing():
            return self.decoder.packed.seconds() if isinstance(self.decoder, PackedDecoder) else None

    async def generate(self, request: Request) -> Reply:
        reply: Reply = await Scheduler.current().submit(self._written, request, request.group)
        return reply

    async def next_logprobs(
        self, input_ids: Sequence[int], candidates: Sequence[int], group: str = ""
    ) -> Sequence[float]:
        question = tuple(input_ids), list(candidates)
        logprobs: Sequence[float] = await Scheduler.current().submit(self._chosen, question, group)
        return logprobs

    def handle(self, requests: Sequence[Request]) -> list[Outcome]:
        """Replies in the order of the requests."""
        with self._computing():
            return self.decoder.decode(requests)

    def open(self) -> BatchStep:
        """Begin a batch that takes requests in while it goes on."""
        batch = self.decoder.open()

        def step(requests: Mapping[int, Request]) -> Mapping[int, Outcome]:
            with self._computing():
                return batch.step(requests)

        return step

    def logprobs(self, questions: Sequence[tuple[Ids, list[int]]]) -> list[list[float]]:
        """Log probabilities of candidates for the token after each input, see `next_logprobs`."""
        with self._computing():
            rows = self.decoder.next_logits([input_ids for input_ids, _ in questions]).cpu()
        pairs = zip(rows, (candidates for _, candidates in questions), strict=True)
        return [torch.log_softmax(row.double(), dim=-1)[candidates].tolist() for row, candidates in pairs]

    async def aclose(self) -> None:
        """The model's memory is freed with the model, which may be the caller's own."""

    @contextmanager
    def _computing(self) -> Iterator[None]:
        """What holds wherever the model runs."""
        with torch.inference_mode(), device_watched(), threads_for(self.model):
            yield


def logits_size(model: "PreTrainedModel") -> int:
    """Logits that the model gives for a token; the weights of a quantised output layer have another shape."""
    layer = model.get_output_embeddings()
    size = getattr(layer, "out_features", None) or model.config.get_text_config().vocab_size
    return int(size)
