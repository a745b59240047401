"""`Judge` as a ragas LLM: a prompt and a response model in, a validated object out."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from rag_evaluator.config import JudgeConfig, check_engine_keys, with_engine
from rag_evaluator.errors import ModelError
from rag_evaluator.ragas_library import InstructorBaseRagasLLM

from .engine_judge import EngineJudge, engine_of
from .engines.event_loop import run
from .engines.protocol import Engine, find_engine
from .protocol import JudgeProtocol

if TYPE_CHECKING:
    from langchain_huggingface import HuggingFacePipeline

from .pipelines import named

Answer = TypeVar("Answer", bound=BaseModel)
LLM = InstructorBaseRagasLLM
"""A judge as metrics of `ragas.metrics.collections` take one."""


class RagasLLM(InstructorBaseRagasLLM):
    """Any judge as the LLM of ragas' own metrics.

    Attributes:
        inner: what is asked, a `JudgeProtocol`. The two are apart because the public `choose` is not a coroutine.
    """

    def __init__(self, inner: JudgeProtocol) -> None:
        self.inner = inner

    async def agenerate(self, prompt: str, response_model: type[Answer]) -> Answer:
        """The judge's answer, always valid. Raises `JudgementError` with the reason if there can be none."""
        opinion = await self.inner.opinion(prompt, response_model)
        assert isinstance(opinion.answer, response_model)
        return opinion.answer

    def generate(self, prompt: str, response_model: type[Answer]) -> Answer:
        """`agenerate` for callers without an event loop; works inside a running one, too."""
        answer: Answer = run(self.agenerate(prompt, response_model))
        return answer

    async def achoose(self, prompt: str, options: Sequence[str]) -> dict[str, float]:
        """The probability of each option as the answer, summing to 1, from the logits after the prompt.

        Raises `PromptTooLongError` if the prompt does not fit the model's window.
        """
        return dict(await self.inner.choose(prompt, options))

    def choose(self, prompt: str, options: Sequence[str]) -> dict[str, float]:
        """`achoose` for callers without an event loop; works inside a running one, too."""
        shares: dict[str, float] = run(self.achoose(prompt, options))
        return shares

    @property
    def pipeline(self) -> "HuggingFacePipeline":
        """The model as LangChain runs it; not to be used while it judges.

        Raises `ModelError` for a judge whose model the engine `transformers` does not run.
        """
        pipeline: HuggingFacePipeline | None = getattr(engine_of(self.inner), "pipeline", None)
        if pipeline is None:
            raise ModelError(
                "judge: only a model that judge.engine: transformers runs has a HuggingFacePipeline. Set that engine, "
                "or give LangChain a model of its own, for instance ChatOpenAI with the address of your server."
            )
        return pipeline


class Judge(RagasLLM):
    """A local causal language model that answers under the grammar of the response model.

    Args:
        pipeline: a `text-generation` `HuggingFacePipeline` (or a transformers pipeline) already loaded; or what a row
            of `ENGINES` loads.
        config: decoding settings; its model keys are not used.

    Identical requests are asked once (the last 65,536 replies are remembered). Safe for any number of concurrent
    `agenerate` calls on one event loop; one thread owns the model. While it judges, the model must not run elsewhere:
    its attention function is exchanged for each pass.
    """

    def __init__(self, pipeline: "HuggingFacePipeline | Any", config: JudgeConfig | None = None) -> None:
        self.config = config or JudgeConfig()
        loaded: Any = pipeline  # an `EngineJudge` asks an engine; a server is a judge of its own
        if not isinstance(pipeline, Engine | JudgeProtocol):
            from .engines.transformers.engine import TransformersEngine

            self.config = named(self.config, pipeline)
            loaded = TransformersEngine.of_pipeline(pipeline, self.config)
        self.inner: Any = EngineJudge(loaded, self.config) if isinstance(loaded, Engine) else loaded
        self.model_id: str = loaded.model_id

    @property
    def about(self) -> Mapping[str, str]:
        """Say how the model is run: `path`, `why` if it is the slow one, `alone` where rows are decoded singly."""
        return dict(self.inner.about)

    @classmethod
    def from_config(cls, config: JudgeConfig, offline: bool = True) -> "Judge":
        """Load the configured model. Raises `ConfigError` for keys of another engine, `ModelError`."""
        check_engine_keys(config, lambda *_: "JudgeConfig")
        config = with_engine(config)
        return cls(find_engine(config.engine).load(config, offline), config)
