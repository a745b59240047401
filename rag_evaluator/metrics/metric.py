"""What is known of a metric without loading anything: a row of `METRICS`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from rag_evaluator.config_sections import Section
from rag_evaluator.languages import LANGUAGES, Language
from rag_evaluator.prompts.question import CustomQuestion
from rag_evaluator.trust.scale import Better, Kind, Scale

if TYPE_CHECKING:
    from ragas.embeddings.base import BaseRagasEmbedding
    from ragas.llms.base import InstructorBaseRagasLLM
    from ragas.metrics.collections import BaseMetric

Stage = Literal["retrieval", "generation"]


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
        range: lowest and highest value that it can have.
        kind: `continuous` where an embedding model or a comparison of strings makes the number, else `judged`.
        atoms: values that scores of a `continuous` metric have with a mass by construction, seen or not.
        better: which end of the range is the better one.
        stage: the part of the system that it measures.
        about: what it measures, in a few words.
        question: what a user's own metric asks; None: it is none, or asks nothing.
        outcomes: names of what a score can stand for beside its value, counted in the summary; the reason of the
            metric's result is one of them.
        probabilities: whether it asks how likely each answer is, which not every judge can say.
    """

    made_by: str
    columns: Sequence[str]
    judge: bool = True
    embedded: Sequence[str] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    prompts: Sequence[str] = ()
    words: bool = False
    aliases: Sequence[str] = ()
    range: tuple[float, float] = (0.0, 1.0)
    kind: Kind = "judged"
    atoms: tuple[float, ...] = ()
    better: Better = "higher"
    stage: Stage = "generation"
    optional: Sequence[str] = ()
    instead: Sequence[str] = ()
    may_be_empty: Sequence[str] = ()
    settings: type[Section] | None = None
    section: str = ""
    changes: Callable[[Any], Mapping[str, Any]] | None = None  # Any: an object of `settings`
    owner: str = ""
    outcomes: Sequence[str] = ()
    about: str = ""
    probabilities: bool = False
    question: CustomQuestion | None = None

    @property
    def scale(self) -> Scale:
        """What kind of number its scores are."""
        return Scale(*self.range, kind=self.kind, better=self.better, atoms=self.atoms)

    @property
    def class_name(self) -> str:
        """The name of the class that makes it, without its module."""
        return self.made_by.rpartition(":")[2]

    @property
    def embeddings(self) -> bool:
        """Whether it needs an embedding model."""
        return bool(self.embedded)

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns on which its scores depend."""
        return (*self.columns, *self.optional)

    def needs(self, has: Callable[[str], bool]) -> Sequence[str]:
        """The columns without which there is no score, by what is there."""
        return self.instead if self.instead and all(map(has, self.instead)) else self.columns

    def with_options(self, options: Section) -> "Metric":
        """The row with options, an object of `settings`."""
        changes = self.changes(options) if self.changes else {}
        return replace(self, options=options.model_dump(exclude_defaults=True), **changes)

    def create(
        self,
        llm: "InstructorBaseRagasLLM | None",
        embeddings: "BaseRagasEmbedding | None",
        language: Language = LANGUAGES["english"],
        greedy: bool = False,
    ) -> "BaseMetric":
        """The metric.

        Args:
            llm: a judge as ragas sees one.
            greedy: whether it decodes greedily: then AnswerRelevancy asks once, as its three answers would be one.
        """
        from rag_evaluator.metrics.strings import localized

        localised = localized(self.made_by, language, self.options)
        if localised is not None:
            return localised
        options = dict(self.options)
        if self.judge:
            options["llm"] = llm
        if self.embeddings:
            options["embeddings"] = embeddings
        if self.made_by == "AnswerRelevancy" and greedy:
            options["strictness"] = 1
        module, _, name = self.made_by.rpartition(":")
        if module and self.words:
            options["language"] = language
        metric: BaseMetric = getattr(import_module(module or "ragas.metrics.collections"), name)(**options)
        return metric
