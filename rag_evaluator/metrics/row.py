"""What is known of a metric without loading anything: a row of `METRICS`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

from rag_evaluator.config import LANGUAGES, Language, RerankerConfig, Section, VerifierConfig
from rag_evaluator.prompts import CustomQuestion
from rag_evaluator.statistics import Scale

if TYPE_CHECKING:
    from rag_evaluator.ragas_library import BaseMetric, BaseRagasEmbedding, InstructorBaseRagasLLM
    from rag_evaluator.verifiers import AsyncReranker, VerifierSource


Component = Literal["retrieval", "generation"]
REFUSALS = ":RefusalCorrectness"  # the metric of which a refusal may be right
IDS = ("retrieved_context_ids", "reference_context_ids")
KNOWN = "total_relevant: known"
UNKNOWN = "total_relevant: unknown"


@dataclass(frozen=True)
class Metric:
    """A row of `METRICS`.

    Attributes:
        made_by: name of a class in `ragas.metrics.collections`, or `module:Name` of one of our own, which has the same
            methods.
        columns: what `ascore` takes.
        optional: what it also takes from rows that have it.
        instead: those of `optional` that take the place of `columns` in a row that has them all; empty: there are none.
        may_be_empty: those whose empty list says something: nothing was retrieved.
        judge: whether it asks the language model.
        embedded: columns whose embeddings it compares; known before it is asked, so they are embedded together.
        options: arguments of the class that differ from its defaults.
        settings: the options that users may set; None: there are none.
        section: the section of the configuration that holds them; empty: `metric_options`.
        changes: what options change of the row, from a valid `settings`.
        prompts: prompt attributes of the object.
        owner: whose packs these are, where several metrics share them; empty: its own.
        words: whether it finds words or sentences, in another way in some languages.
        aliases: other accepted names, ragas' older ones among them; compared without case, `_` and `-`.
        scale: what kind of number its scores are.
        component: the part of the system that it measures.
        about: what it measures, in a few words.
        question: what a user's own metric asks; None: it is none, or asks nothing.
        outcomes: names of what a score can stand for beside its value, counted in the summary; the reason of the
            metric's result is one of them.
        claims: the column whose claims it judges, where a refusal has none; empty: a refusal has a score, too.
        package: what it needs beside the packages that always come with this one; empty: nothing.
        verifier: what says whether a text supports a sentence, where the metric needs that: a `model`, or the `judge`,
            which then is all that it asks the judge for; see `with_verifier`.
        reranker: the model that says whether a context is relevant, where the metric needs that.
    """

    made_by: str
    columns: Sequence[str]
    judge: bool = True
    embedded: Sequence[str] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    prompts: Sequence[str] = ()
    words: bool = False
    aliases: Sequence[str] = ()
    scale: Scale = field(default_factory=Scale)
    component: Component = "generation"
    optional: Sequence[str] = ()
    instead: Sequence[str] = ()
    may_be_empty: Sequence[str] = ()
    settings: type[Section] | None = None
    section: str = ""
    changes: Callable[[Any], Mapping[str, Any]] | None = None  # Any: an object of `settings`
    owner: str = ""
    outcomes: Sequence[str] = ()
    about: str = ""
    question: CustomQuestion | None = None
    claims: str = ""
    package: str = ""
    verifier: Literal["", "judge", "model"] = ""
    reranker: RerankerConfig | None = None

    @property
    def embeddings(self) -> bool:
        """Whether it needs an embedding model."""
        return bool(self.embedded)

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns on which its scores depend."""
        return (*self.columns, *self.optional)

    @property
    def missing_package(self) -> str:
        """The package that it needs and that is not installed; empty: there is none."""
        is_there = not self.package or find_spec(self.package.replace("-", "_"))
        return "" if is_there else self.package

    @property
    def judges_response(self) -> bool:
        """Whether its scores are about the response, so that a refusal may have another one."""
        return self.component == "generation" and "response" in self.reads and not self.made_by.endswith(REFUSALS)

    def needs(self, has: Callable[[str], bool]) -> Sequence[str]:
        """The columns without which there is no score, by what is there."""
        return self.instead if self.instead and all(map(has, self.instead)) else self.columns

    def with_options(self, options: Section) -> "Metric":
        """The row with options, an object of `settings`."""
        changes = self.changes(options) if self.changes else {}
        return replace(self, **{"options": options.model_dump(exclude_defaults=True), **changes})

    def with_verifier(self, verifier: VerifierConfig) -> "Metric":
        """The row of a metric that needs a verifier, as it is with the configured one."""
        used = ("threshold",) if "verdicts" in self.options else ("threshold", "evidence", "combine")
        changed = {name: getattr(verifier, name) for name in used}
        standard = VerifierConfig()
        settings = {name: value for name, value in changed.items() if value != getattr(standard, name)}
        row = replace(self, options={**self.options, **settings})
        if verifier.by_judge or self.verifier == "model":
            return row
        return replace(row, judge=False, prompts=(), owner="", verifier="model", outcomes=("pieces of evidence",))

    def create(
        self,
        llm: "InstructorBaseRagasLLM | None",
        embeddings: "BaseRagasEmbedding | None",
        language: Language = LANGUAGES["english"],
        greedy: bool = False,
        verifier: "VerifierSource | None" = None,
        reranker: "AsyncReranker | None" = None,
    ) -> "BaseMetric":
        """The metric.

        Args:
            llm: a judge as ragas sees one.
            greedy: whether it decodes greedily: then AnswerRelevancy asks once, as its three answers would be one.
        """
        options = dict(self.options)
        if self.judge:
            options["llm"] = llm
        if self.embeddings:
            options["embeddings"] = embeddings
        if self.made_by == "AnswerRelevancy" and greedy:
            options["strictness"] = 1
        if self.verifier == "model":
            options["verifier"] = verifier
        if self.reranker is not None:
            options["ranker"] = reranker
        module, _, name = self.made_by.rpartition(":")
        if module and self.words:
            options["language"] = language
        metric: BaseMetric = getattr(_module(module), name)(**options)
        return metric


Metrics = Mapping[str, Metric]
"""By name."""


def _module(name: str) -> ModuleType:
    """A module of ours; without a name, ragas' metrics."""
    if name:
        return import_module(name)
    from rag_evaluator.ragas_library import collections

    return collections
