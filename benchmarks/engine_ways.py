"""The ways of `benchmarks.engines`: each loads a model, then answers questions, with empty caches."""

import asyncio
import functools
import itertools
import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from benchmarks.rows import make_rows
from benchmarks.watch import Measurement, count_passes
from benchmarks.ways import METRICS
from rag_evaluator.config import EmbeddingsConfig, JudgeConfig
from rag_evaluator.judge import PromptText
from rag_evaluator.judge.engines.protocol import Engine
from rag_evaluator.judge.protocol import Reply, Request
from tools.requests48 import Question, questions, requests

BATCH = 16
LENGTH = 4096  # tokens of prompt and answer together that servers are started for
ON_THE_CPU = {
    "VLLM_CPU_KVCACHE_SPACE": "1",  # GB
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_NUM_THREADS": "1",
}


@dataclass(frozen=True)
class Setting:
    """What is measured.

    Attributes:
        folder: the model, in float32.
        every: each how manieth of the 48 questions is asked.
        rows: that are evaluated instead, by the metrics of `benchmarks.ways`; None: the questions are asked.
        max_new_tokens: of an answer, at most.
    """

    folder: Path
    every: int
    max_new_tokens: int
    rows: int | None = None

    def questions(self) -> list[Question]:
        chosen = itertools.islice(questions(), 0, None, self.every)
        return [(prompt, model, min(budget, self.max_new_tokens)) for prompt, model, budget in chosen]

    def judge(self, **settings: Any) -> JudgeConfig:
        return JudgeConfig(**{"model": str(self.folder), "batch_size": BATCH, **settings})


@dataclass
class Answers:
    """What a way has done.

    Attributes:
        complete: answers that obey their schema.
        prompt_tokens: of the questions.
        computed: prompt tokens that went through the model; None: not known.
        generated: tokens of the answers.
        tokens: of each answer, in order of the questions' tokens; none of a way without a grammar.
    """

    asked: int
    complete: int
    prompt_tokens: int
    computed: int | None
    generated: int
    tokens: list[list[int]] = field(default_factory=list)


Answer = Callable[[], Answers]
Way = Callable[[Setting], AbstractContextManager[Answer]]


@contextmanager
def ours(setting: Setting) -> Iterator[Answer]:
    """Our own engine."""
    from rag_evaluator.judge.engines.transformers.engine import TransformersEngine

    engine = TransformersEngine.load(setting.judge(dtype="float32"), True)
    yield _asks(engine, setting, lambda: engine.decoder.computed)


@contextmanager
def generate(setting: Setting) -> Iterator[Answer]:
    """The same with transformers' `generate`, as for models that the fast path does not take."""
    from rag_evaluator.judge.engines.transformers.engine import TransformersEngine
    from rag_evaluator.judge.engines.transformers.plain import PlainDecoder

    engine = TransformersEngine.load(setting.judge(dtype="float32"), True)
    decoder = PlainDecoder(engine.model, engine.vocabulary, engine.padding, engine.window, BATCH)
    engine.decoder = decoder
    decoder.together = 0
    yield _asks(engine, setting, lambda: engine.decoder.computed)


@contextmanager
def vllm(setting: Setting) -> Iterator[Answer]:
    """vLLM in this process; what its prefix cache had is not known here."""
    engine = vllm_engine(setting)
    engine.llm.reset_prefix_cache()
    yield _asks(engine, setting, None)


@functools.cache
def vllm_engine(setting: Setting) -> Any:
    """It takes half a minute to load, so it lives as long as this process. Any: vLLM need not be installed."""
    from rag_evaluator.judge.engines.vllm.engine import VllmEngine

    os.environ.update(ON_THE_CPU)
    arguments = ["--enforce-eager", "--max-model-len", str(LENGTH)]
    return VllmEngine.load(setting.judge(engine="vllm", dtype="float32", vllm={"args": arguments}), True)


@contextmanager
def old_way(setting: Setting) -> Iterator[Answer]:
    """Ragas with `LangchainLLMWrapper(HuggingFacePipeline(...))`: no grammar, the schema is in the prompt."""
    from langchain_huggingface import HuggingFacePipeline
    from ragas.llms import LangchainLLMWrapper

    pipeline = HuggingFacePipeline.from_model_id(
        model_id=str(setting.folder),
        task="text-generation",
        model_kwargs={"dtype": "float32"},
        pipeline_kwargs={
            "return_full_text": False,
            "max_new_tokens": setting.max_new_tokens,
            "do_sample": False,
        },
    )
    llm = LangchainLLMWrapper(pipeline)

    def answer(asked: Sequence[Question]) -> Answers:
        done = Measurement("", len(asked))
        with count_passes(done, pipeline.pipeline.model):
            complete = asyncio.run(_one_by_one([_parsed(llm, prompt, model) for prompt, model, _ in asked]))
        return Answers(len(asked), complete, done.prompt_tokens, done.computed, done.generated)

    chosen = setting.questions()
    answer(chosen[:1])
    yield lambda: answer(chosen)


WAYS: dict[str, tuple[str, Way]] = {
    "ours": ("our engine, batches of 16", ours),
    "vllm": ("vLLM, eager, prefix cache, 16 open requests", vllm),
    "generate": ("transformers `generate`, our grammars, batches of 16", generate),
    "old": ("ragas with `LangchainLLMWrapper(HuggingFacePipeline)`", old_way),
}
LASTING = frozenset({"vllm"})  # their server lives on: in a process where nothing else is measured


def _asks(engine: Engine, setting: Setting, computed: Callable[[], int] | None) -> Answer:
    """Asks an engine all questions at once. Before that it is asked a short one: what is done once is no work."""
    asyncio.run(engine.generate(requests(engine, [(PromptText("Well?"), _Word, 16)])[0]))
    ask = _all_at_once(engine, setting) if setting.rows is None else _evaluation(engine, setting)
    replied: list[tuple[Request, Reply]] = []
    generate = engine.generate

    async def recorded(request: Request) -> Reply:
        reply = await generate(request)
        replied.append((request, reply))
        return reply

    def answer() -> Answers:
        engine.generate = recorded  # type: ignore[method-assign]
        before = computed() if computed else 0
        try:
            ask()
        finally:
            engine.generate = generate  # type: ignore[method-assign]
        tokens = [list(reply.token_ids) for _, reply in sorted(replied, key=lambda pair: pair[0].input_ids)]
        return Answers(
            asked=len(replied),
            complete=sum(reply.complete for _, reply in replied),
            prompt_tokens=sum(len(request.input_ids) for request, _ in replied),
            computed=computed() - before if computed else None,
            generated=sum(map(len, tokens)),
            tokens=tokens,
        )

    return answer


def _all_at_once(engine: Engine, setting: Setting) -> Callable[[], None]:
    asked = requests(engine, setting.questions())

    async def replies() -> None:
        await asyncio.gather(*map(engine.generate, asked))

    return lambda: asyncio.run(replies())


def _evaluation(engine: Engine, setting: Setting) -> Callable[[], None]:
    """A whole evaluation, which asks what it has room for, as a run does."""
    from rag_evaluator import Judge, RAGEvaluator
    from rag_evaluator.embeddings import LocalEmbeddings

    config = setting.judge(max_new_tokens=setting.max_new_tokens)
    embeddings = LocalEmbeddings.from_config(EmbeddingsConfig())
    evaluator = RAGEvaluator({"metrics": list(METRICS)}, judge=Judge(engine, config), embeddings=embeddings)
    return lambda: evaluator.evaluate(make_rows(setting.rows or 0))


class _Word(BaseModel):
    word: str


def _parsed(llm: Any, prompt: PromptText, model: type[BaseModel]) -> Awaitable[bool]:
    """Whether an answer can be read; it is asked for once, without ragas' repairs."""
    from ragas.exceptions import RagasOutputParserException
    from ragas.prompt import PydanticPrompt

    assert prompt.data is not None
    old: Any = type("Old", (PydanticPrompt,), {"input_model": type(prompt.data), "output_model": model, "examples": []})
    old.instruction = prompt.partition("\n\nNow perform the same")[0]

    async def parsed() -> bool:
        try:
            await old().generate_multiple(llm, prompt.data, retries_left=0)
        except RagasOutputParserException:
            return False
        return True

    return parsed()


async def _one_by_one(answers: Sequence[Awaitable[bool]]) -> int:
    return sum([await answer for answer in answers])
