"""The engine that runs models with vLLM, in this process: requests are added while others are decoded.

Before each token vLLM asks our own answer what is allowed next: grammar, budget and rests are those of the engine
`transformers`. One thread owns the model: it adds requests and makes a step in turn, and between two steps what else
waits for it. Each answer is handed on at once.
"""

import asyncio
import gc
import itertools
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from rag_evaluator.config import JudgeConfig, hub
from rag_evaluator.errors import JudgeLostError, JudgementError, ModelError
from rag_evaluator.files import ACTIVITY, short_digest
from rag_evaluator.hub import find_model, fingerprint
from rag_evaluator.judge.encoding.chat import PromptEncoder, check_template, read_tokenizer, window_of
from rag_evaluator.judge.encoding.sequence import FreeText, Vocabulary
from rag_evaluator.judge.encoding.sequence import Sequence as Answer
from rag_evaluator.judge.engines.event_loop import MODELS
from rag_evaluator.judge.engines.folders import AdapterFolder, adapter_part, refuse_adapter_files
from rag_evaluator.judge.protocol import Capabilities, Reply, Request

from .loading import check_arguments, load_llm, version
from .masks import Mask, Masks

IN_FLIGHT = 256  # vLLM's own default
TOP = 20  # log probabilities of each token, the most that vLLM gives by default
FEW = 128  # tokens whose log probabilities may be asked for by their ids
CHOICES = ("VLLM_BATCH_INVARIANT", "VLLM_ATTENTION_BACKEND")  # variables that change numbers


class VllmEngine:
    """A model that vLLM runs; a row of `ENGINES`.

    Args:
        llm: vLLM's `LLMEngine`. Any: vLLM need not be installed where types are checked.
        adapter: its `LoRARequest`, if there is an adapter.
        encoder: of the model's tokenizer.
        model_id: folder or hub id of the model.

    Raises `ModelError` for a vLLM that is not built like the tested one.
    """

    def __init__(self, config: JudgeConfig, llm: Any, adapter: Any, encoder: PromptEncoder, model_id: str) -> None:
        self.config = config
        self.llm = llm
        self.adapter = adapter
        self.encoder = encoder
        self.model_id = model_id
        model = llm.model_config
        tokenizer = encoder.tokenizer
        self.vocabulary = Vocabulary(tokenizer, max(model.get_vocab_size(), len(tokenizer)))
        self.window = min(window_of(model.hf_config, tokenizer), model.max_model_len)
        self.masks = Masks(self.vocabulary)
        try:  # vLLM asks these, in place of its own back end, what an answer may have next
            llm.engine_core.engine_core.structured_output_manager.backend = self.masks
        except AttributeError as error:
            raise ModelError(
                f"judge.engine: this vLLM is not built like the tested one ({error}). Take the versions of "
                "containers/constraints-vllm.txt."
            ) from error
        self._numbers = itertools.count()
        self._waiting: dict[str, Future[Any]] = {}

    @classmethod
    def find(cls, config: JudgeConfig, offline: bool) -> str:
        """Folder of the model, once arguments, adapter and vLLM are there. Raises `ModelError`."""
        check_arguments(config)
        AdapterFolder.of(config, "vLLM")  # is looked for
        refuse_adapter_files(Path(config.model))
        source = find_model(config.model, offline)
        version()
        check_template(config.chat_template)
        return source

    @staticmethod
    def signature_parts(config: JudgeConfig, offline: bool = True) -> dict[str, str]:
        """What answers depend on beside the judge's other settings; no paths."""
        settings = {name.lower(): os.environ[name] for name in CHOICES if os.environ.get(name)}
        arguments = " ".join(map(_without_path, config.vllm.args))
        tensor_parallel = config.vllm.option("--tensor-parallel-size", "-tp") or "1"
        parts = {"vllm": version(), "tensor_parallel": tensor_parallel, **settings}
        parts |= {"vllm_args": arguments} if arguments else {}
        return parts | adapter_part(config)

    @classmethod
    def load(cls, config: JudgeConfig, offline: bool) -> "VllmEngine":
        """Load the model. Raises `ModelError`."""
        source = cls.find(config, offline)
        with ACTIVITY.phase(f"loading {source} with vLLM"), hub(offline):
            tokenizer = read_tokenizer(source, local_files_only=offline, trust_remote_code=False)
            encoder = PromptEncoder(tokenizer, config)  # what cannot be asked is refused before weights are read
            llm, adapter = load_llm(config, source, in_flight(config), offline)
        return cls(config, llm, adapter, encoder, source)

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(in_flight(self.config), self.config.temperature == 0, True, self.window)

    @property
    def about(self) -> Mapping[str, str]:
        return {"path": "vllm", "same_bytes": "same batches", **self.signature_parts(self.config)}

    async def generate(self, request: Request) -> Reply:
        reply = await (self._free(request) if request.grammar is None else self._answer(request))
        ACTIVITY.tokens += len(reply.token_ids)
        return reply

    async def next_logprobs(
        self, input_ids: Sequence[int], candidates: Sequence[int], group: str = ""
    ) -> Sequence[float]:
        logprobs: dict[int, float] = {}
        for start in range(0, len(candidates), FEW):
            some = list(candidates[start : start + FEW])
            output = await self._ask(input_ids, self._params(1, temperature=0.0, logprob_token_ids=some))
            logprobs |= _logprobs(output.logprobs[0])
        return [logprobs.get(token, float("nan")) for token in candidates]

    async def aclose(self) -> None:
        """Free the memory; nothing may be asked afterwards."""
        await asyncio.wrap_future(MODELS.submit(self._close))

    async def _free(self, request: Request) -> Reply:
        """A text without a grammar."""
        text = FreeText(request, self.vocabulary)
        stop = request.stop
        assert stop is not None
        ends = {"stop": [stop.text], "stop_token_ids": sorted(stop.token_ids), "skip_special_tokens": False}
        sampling = {"temperature": request.temperature, "seed": request.seed % 2**31, "detokenize": True}
        output = await self._ask(request.input_ids, self._params(request.budget.max_new_tokens, **ends, **sampling))
        for token in output.token_ids:
            if not text.done:
                text.push(token)
        text.complete = text.complete or output.finish_reason == "stop"
        return _whole(text)

    async def _answer(self, request: Request) -> Reply:
        from vllm.sampling_params import StructuredOutputsParams

        answer = Answer(request, self.vocabulary)
        mask = Mask(answer)
        params = self._params(
            answer.spare_length + 1,  # and the token that ends the text
            temperature=request.temperature,
            seed=request.seed % 2**31,
            logprobs=TOP,
            structured_outputs=StructuredOutputsParams(grammar=self.masks.add(mask)),
        )
        output = await self._ask(request.input_ids, params)
        for place, allowed in mask.weighed.items():
            known = _logprobs(output.logprobs[place])
            if not known.keys() >= set(allowed):
                asked = await self.next_logprobs((*request.input_ids, *answer.tokens[:place]), allowed)
                known = dict(zip(allowed, asked, strict=True))
            share = answer.share(answer.tokens[place], {token: known[token] for token in allowed})
            answer.confidence.append(share)
        if not answer.done:
            raise JudgementError(f"vLLM ended the answer early: {output.finish_reason}")
        return _whole(answer)

    async def _ask(self, input_ids: Sequence[int], params: Any) -> Any:
        """What the model writes after a prompt: vLLM's `CompletionOutput`.

        Args:
            params: vLLM's `SamplingParams`.

        Raises `JudgementError`, and `JudgeLostError` if the engine has failed.
        """
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()  # who is cancelled stops waiting; the answer is written to its end
        MODELS.submit(self._add, list(input_ids), params, future)
        return await asyncio.wrap_future(future)

    def _add(self, input_ids: list[int], params: Any, future: "Future[Any]") -> None:
        if self.llm is None:
            future.set_exception(JudgeLostError("the judge has been closed, or vLLM has failed"))
            return
        number = str(next(self._numbers))
        try:
            from vllm.inputs.engine import tokens_input

            self.llm.add_request(number, tokens_input(input_ids), params, lora_request=self.adapter)
        except Exception as error:  # vLLM's checks raise errors of many kinds
            future.set_exception(JudgementError(f"vLLM refuses the request: {error}"))
        else:
            self._waiting[number] = future
            if len(self._waiting) == 1:
                MODELS.submit(self._step)

    def _step(self) -> None:
        """One token of each answer that is being written."""
        if self.llm is None:
            return
        try:
            finished = [output for output in self.llm.step() if output.finished]
        except Exception as error:  # of any kind: the engine's state is not known any more
            self._lose(f"vLLM has failed: {error}")
            return
        for output in finished:
            self._waiting.pop(output.request_id).set_result(output.outputs[0])
        if self._waiting:
            MODELS.submit(self._step)

    def _close(self) -> None:
        if self.llm is None:
            return
        from vllm.distributed import cleanup_dist_env_and_memory

        self.llm.engine_core.shutdown()
        self._lose("the judge has been closed")
        gc.collect()
        cleanup_dist_env_and_memory()

    def _lose(self, why: str) -> None:
        lost = self._waiting
        self._waiting = {}
        self.llm = None
        for future in lost.values():
            future.set_exception(JudgeLostError(why))

    def _params(self, max_tokens: int, **settings: Any) -> Any:
        """vLLM's `SamplingParams`. Any: vLLM need not be installed where types are checked."""
        from vllm import SamplingParams

        return SamplingParams(**{"max_tokens": max_tokens, "detokenize": False, "skip_clone": True, **settings})


def in_flight(config: JudgeConfig) -> int:
    """Answers at a time."""
    return IN_FLIGHT if config.batch_size == "auto" else config.batch_size


def _whole(text: Answer | FreeText) -> Reply:
    reply = text.reply()
    if isinstance(reply, JudgementError):
        raise reply
    return reply


def _logprobs(tops: Mapping[int, Any]) -> dict[int, float]:
    """Log probabilities by token id, of those that the grammar allows."""
    return {token: top.logprob for token, top in tops.items() if top.logprob > float("-inf")}


def _without_path(argument: str) -> str:
    """An argument; of a file or folder what tells it from others, wherever it is."""
    name, equals, value = argument.partition("=") if argument.startswith("-") else ("", "", argument)
    path = Path(value).expanduser()
    if value and path.is_dir():
        value = fingerprint(str(path))
    elif value and path.is_file():
        value = short_digest(path.read_bytes())
    return f"{name}{equals}{value}"
