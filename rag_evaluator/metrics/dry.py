"""What metrics ask, found without a judge: they are shown answers that say nothing.

A metric whose questions stay the same whatever it is answered can be counted to the last question; of the others only
the first questions are known.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ValidationError
from ragas.embeddings.base import BaseRagasEmbedding

from rag_evaluator.config import Config
from rag_evaluator.dataset import Sample
from rag_evaluator.errors import JudgementError
from rag_evaluator.files.digest import short_digest
from rag_evaluator.judge.grammar.schema import tighten
from rag_evaluator.judge.protocol import Capabilities, Draw, Opinion
from rag_evaluator.judge.requests import PromptText
from rag_evaluator.languages import find_language
from rag_evaluator.metrics.metric import Metric
from rag_evaluator.metrics.scorer import Scorer
from rag_evaluator.metrics.tracing import Recorder
from rag_evaluator.prompts.loading import TracedPrompt
from rag_evaluator.prompts.pack import Key

Side = Literal["least", "most"]
Json = Mapping[str, Any]  # of a JSON schema


class JudgeCall(NamedTuple):
    """A question to the judge: equal ones are asked once.

    Attributes:
        digest: of the prompt, as `Judgement.prompt_digest`.
        is_choice: whether options were given.
        draw: tells equal questions apart where answers are sampled; (0, 0) of a greedy judge.
    """

    digest: str
    is_choice: bool
    draw: Draw


class DryJudge:
    """Gives each question an answer that fits, and knows nothing; a `JudgeProtocol`.

    Args:
        side: the least that can be said (0, one item) or the most (1, two items).
        greedy: whether equal questions get equal answers.

    Attributes:
        asked: the questions, with the letters of each prompt; emptied by whoever reads them.
        is_sure: False once there was a question that no answer could be made for.
    """

    signature: str | None = None
    about: Mapping[str, str] = {}

    def __init__(self, side: Side, greedy: bool) -> None:
        self.side, self.greedy = side, greedy
        self.capabilities = Capabilities(1, greedy, True, False, False, "always")
        self.asked: list[tuple[JudgeCall, int]] = []
        self.is_sure = True

    async def opinion(self, prompt: str, response_model: type[BaseModel], draw: Draw = (0, 0)) -> Opinion:
        """Raises `JudgementError` where no answer could be made."""
        self._note(prompt, draw, is_choice=False)
        schema = tighten(response_model, prompt.data if isinstance(prompt, PromptText) else None)
        try:
            return Opinion(response_model.model_validate(_answer(schema, self.side)))
        except (ValidationError, KeyError) as error:
            self.is_sure = False
            raise JudgementError(str(error)) from error

    async def choose(self, prompt: str, options: Sequence[str], draw: Draw = (0, 0)) -> Mapping[str, float]:
        self._note(prompt, draw, is_choice=True)
        certain = options[0 if self.side == "least" else -1]
        return {option: float(option == certain) for option in options}

    def count(self, text: str) -> int:
        raise NotImplementedError("this judge has no tokenizer")

    def room(self, prompt: str) -> int:
        raise NotImplementedError("this judge has no tokenizer")

    async def aclose(self) -> None:
        """Nothing is open."""

    def _note(self, prompt: str, draw: Draw, is_choice: bool) -> None:
        question = JudgeCall(short_digest(prompt), is_choice, (0, 0) if self.greedy else draw)
        self.asked.append((question, len(prompt)))


class _SameVectors(BaseRagasEmbedding):
    """The same vector for each text."""

    def embed_text(self, text: str, **options: Any) -> list[float]:
        return [1.0, 0.0]

    async def aembed_text(self, text: str, **options: Any) -> list[float]:
        return [1.0, 0.0]


class DryMetrics:
    """Metrics that ask nobody.

    Args:
        metrics: those of a run that ask a judge.
        prompts: as the run has them.
        greedy: whether its judge decodes greedily.
    """

    def __init__(
        self, config: Config, metrics: Mapping[str, Metric], prompts: Mapping[Key, TracedPrompt], greedy: bool
    ) -> None:
        self._judges = {side: DryJudge(side, greedy) for side in ("least", "most")}
        self._scorers = {
            side: Scorer(_made(config, metrics, prompts, judge), metrics, judge, _SameVectors())
            for side, judge in self._judges.items()
        }

    async def questions(
        self, sample: Sample, metric: str, repeat: int = 0, side: str = "least"
    ) -> list[tuple[JudgeCall, int]]:
        """What a metric asks of a row if it is answered so, with the letters of each prompt."""
        judge = self._judges[side]
        judge.asked = []
        await self._scorers[side].score(sample, metric, repeat)
        return judge.asked

    async def is_fixed(self, samples: Sequence[Sample], metric: str) -> bool:
        """Whether a metric asks the same of each of these rows whatever it is answered, and asks at all."""
        asks = False
        for sample in samples:
            found = []
            for side, judge in self._judges.items():
                judge.asked, judge.is_sure = [], True
                score = await self._scorers[side].score(sample, metric)
                found.append(judge.asked)
                if not judge.is_sure or (score.missing and not score.lasting):
                    return False
            if found[0] != found[1]:
                return False
            asks = asks or bool(found[0])
        return asks


def _made(
    config: Config, metrics: Mapping[str, Metric], prompts: Mapping[Key, TracedPrompt], judge: DryJudge
) -> dict[str, Any]:
    """The metrics with their prompts. Any: ragas' metrics."""
    language, llm, vectors = find_language(config.language), Recorder(judge, {}), _SameVectors()
    made = {name: metric.create(llm, vectors, language, judge.greedy) for name, metric in metrics.items()}
    for name, metric in metrics.items():
        for attribute in metric.prompts:
            setattr(made[name], attribute, prompts[name, attribute])
    return made


def _answer(part: Json, side: Side) -> Any:
    """A value that fits a tightened schema. Any: JSON."""
    if "const" in part or "enum" in part:
        return part["const"] if "const" in part else part["enum"][0 if side == "least" else -1]
    if "anyOf" in part:
        return _answer(part["anyOf"][0 if side == "least" else -1], side)
    return _OF_TYPE[part.get("type", "object")](part, side)


def _array(part: Json, side: Side) -> list[Any]:
    if "prefixItems" in part:
        left_out = part.get("x-optional") and side == "least"
        return [] if left_out else [_answer(item, side) for item in part["prefixItems"]]
    wanted = 1 if side == "least" else 2
    number = min(max(wanted, part.get("minItems", 0)), part.get("maxItems", wanted))
    return [_answer(part.get("items", {"type": "string"}), side)] * number


def _number(part: Json, side: Side) -> Any:
    low = part.get("minimum", 0)
    return low if side == "least" else part.get("maximum", max(low, 1))


_OF_TYPE: Mapping[str, Callable[[Json, Side], Any]] = {  # type of a schema -> what makes a value
    "object": lambda part, side: {name: _answer(value, side) for name, value in part.get("properties", {}).items()},
    "array": _array,
    "integer": _number,
    "number": _number,
    "boolean": lambda part, side: side == "most",
    "string": lambda part, side: "Some." if side == "least" else "Other words.",
    "null": lambda part, side: None,
}
