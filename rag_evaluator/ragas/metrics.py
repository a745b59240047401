"""The metrics of ragas 0.1 to 0.4 by their names there: objects and classes that `RAGEvaluator` takes."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, NoReturn

from rag_evaluator.dataset import TEXTS
from rag_evaluator.errors import ConfigError
from rag_evaluator.metrics import METRICS, CustomMetric, NamedMetric, canonical_name, model_of
from rag_evaluator.ragas_library import MetricResult
from rag_evaluator.results import Score

from .names import METRIC_CLASSES, SINGLETONS, of_module

# Any in this module: models and rows of users' scripts.

ANY = ...
SAME = {"strictness": ANY, "max_retries": ANY, "weights": [0.75, 0.25], "beta": 1.0, "threshold": None}
"""Arguments of ragas' classes -> the value that changes nothing here."""


SHOWN = tuple(f"{column}:optional" for column in TEXTS)
"""What ragas shows of a row to `AspectCritic`."""
SETTABLE = {"name", "options", "llm", "embeddings", "key", "_loaded"}
"""Attributes of a metric that its own code or a script sets: its models, and the name of its scores."""


NO_PROMPT = (
    "{thing} would change no score. Other prompts are packs in prompts_dir: docs/languages.md. For a metric of your "
    "own use MetricWithLLM, SingleTurnMetric, CustomMetric or a function: docs/custom-metrics.md."
)


def _refuse(thing: str) -> NoReturn:
    raise ConfigError(NO_PROMPT.format(thing=thing))


class ScoredAlone:
    """What metrics of ragas are asked by themselves, without `evaluate`."""

    def init(self, run_config: Any = None) -> None:
        """Nothing: models are loaded when the first row is scored."""

    init_model = init

    def score(self, row: Mapping[str, Any] | None = None, **columns: Any) -> Any:
        """The score of one row: a number for a dict, as in ragas 0.1, else a `MetricResult`, as in 0.4."""
        [score] = self._scored([columns if row is None else row])
        return _result(score) if row is None else score.value

    async def ascore(self, row: Mapping[str, Any] | None = None, **columns: Any) -> Any:
        return self.score(row, **columns)

    def batch_score(self, inputs: Sequence[Mapping[str, Any]]) -> list[MetricResult]:
        """The scores of rows, judged together."""
        return [_result(score) for score in self._scored(inputs)]

    async def abatch_score(self, inputs: Sequence[Mapping[str, Any]]) -> list[MetricResult]:
        return self.batch_score(inputs)

    def single_turn_score(self, sample: Any, callbacks: Any = None) -> float:
        """The score of a `SingleTurnSample`, NaN where there is none."""
        [score] = self._scored([sample.to_dict()])
        return score.value

    async def single_turn_ascore(self, sample: Any, callbacks: Any = None) -> float:
        return self.single_turn_score(sample)

    def _scored(self, rows: Sequence[Mapping[str, Any]]) -> Sequence[Score]:
        """The scores of rows; the models stay loaded for the next ones."""
        from .evaluation import evaluator_of, with_reference

        metric: Any = with_reference(self, list(rows))
        parts = model_of([self], "llm", None), model_of([self], "embeddings", None), metric.name
        if self._loaded is None or any(old is not new for old, new in zip(self._loaded[0], parts, strict=True)):
            self._loaded = parts, evaluator_of([metric], *parts[:2])
        [scores] = self._loaded[1].evaluate(list(rows)).scores.values()
        return list(scores)

    _loaded: Any = None  # models and name, and the evaluator that has them


class RagasMetric(ScoredAlone, NamedMetric):
    """A metric of a ragas script. It is scored by the row of `METRICS` that it names, with the prompts of that row.

    Args:
        llm, embeddings: models as `RAGEvaluator` takes them, or in ragas' wrappers; None: those of the run.
        name: of its scores.
        options: of the metric, those of `metric_options`.

    Attributes:
        key: the name of its scores in the result of `evaluate`.

    Raises `ConfigError` for other arguments: the scores would not be made with them.
    """

    ragas_name: ClassVar[str] = ""
    fixed: ClassVar[Mapping[str, str]] = {}

    def __init__(self, llm: Any = None, embeddings: Any = None, name: str | None = None, **options: Any) -> None:
        settings = METRICS[canonical_name(self.ragas_name) or ""].settings
        known = settings.model_fields if settings else {}
        chosen = dict(self.fixed)
        for option, value in options.items():
            if option in known:
                chosen[option] = value
            elif option not in SAME or SAME[option] not in (ANY, value):
                offered = f" It has {', '.join(known)}." if known else ""
                raise ConfigError(
                    f"{type(self).__name__}({option}=...): no option of {self.ragas_name} here, and the scores would "
                    f"be made without it.{offered} Leave it out."
                )
        super().__init__(self.ragas_name, chosen, llm, embeddings)
        self.key = name or _key(self.ragas_name, chosen, known)

    def __init_subclass__(cls) -> None:
        if "ragas_name" not in vars(cls):
            _refuse(f"class {cls.__name__}({cls.__base__.__name__ if cls.__base__ else ''})")

    def __setattr__(self, name: str, value: Any) -> None:
        """Models and the name of the scores can be set; raises `ConfigError` for what would change nothing."""
        if name == "name" and "key" in vars(self):
            name = "key"
        elif name not in SETTABLE and (name not in SAME or SAME[name] not in (ANY, value)):
            _refuse(f"{type(self).__name__}().{name} = ...")
        super().__setattr__(name, value)


def _key(name: str, options: Mapping[str, Any], known: Mapping[str, Any]) -> str:
    """As ragas names the scores of a metric that has modes: `factual_correctness(mode=f1)`."""
    return f"{name}(mode={options.get('mode', known['mode'].default)})" if "mode" in known else name


def _result(score: Score) -> MetricResult:
    return MetricResult(value=score.value, reason=score.reason)


class AspectCritic(ScoredAlone, CustomMetric):
    """A criterion that a response meets or does not, 1 or 0.

    Args:
        name: of the metric.
        definition: the criterion, as a question that yes or no answers.
        llm: as in `RagasMetric`.
        strictness: of ragas; a judge that decodes greedily gives one answer, however often it is asked.
        columns: what the judge is shown of a row; by default what it has of the columns that ragas shows.
        better: `lower` where a response should not meet it.
    """

    llm: Any

    def __init__(
        self,
        name: str,
        definition: str,
        llm: Any = None,
        strictness: int = 1,
        columns: Sequence[str] = SHOWN,
        better: Literal["higher", "lower"] = "higher",
    ) -> None:
        super().__init__(name, definition, columns, {0: "no", 1: "yes"}, better)
        object.__setattr__(self, "llm", llm)  # the class is frozen

    def __init_subclass__(cls) -> None:
        _refuse(f"class {cls.__name__}(AspectCritic)")

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in ("llm", "strictness", "_loaded"):
            _refuse(f"AspectCritic().{name} = ...")
        object.__setattr__(self, name, value)


AspectCritique = AspectCritic


def _class_of(name: str, ragas_name: str, fixed: Mapping[str, str] | None = None) -> type[RagasMetric]:
    return type(name, (RagasMetric,), {"ragas_name": ragas_name, "fixed": fixed or {}, "__doc__": RagasMetric.__doc__})


def __getattr__(name: str) -> Any:
    if name in METRIC_CLASSES:
        made: Any = _class_of(name, METRIC_CLASSES[name])
    elif name in SINGLETONS:
        ragas_name, fixed = SINGLETONS[name]
        made = _class_of(name, ragas_name, fixed)(name=None if ragas_name == "summary_score" else name)
    elif f"{__name__}.{name}" in sys.modules:  # a module of ragas that this one stands for
        return sys.modules[f"{__name__}.{name}"]
    else:
        return of_module("ragas.metrics", name)
    globals()[name] = made  # the same object for all who import it
    return made
