"""What is known of a metric without loading anything: a row of `METRICS`, and the options that users may set."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, field_validator

from rag_evaluator.config.languages import LANGUAGES, Language
from rag_evaluator.config.sections import RetrievalConfig, Section
from rag_evaluator.judge.grammar.schema import rubric_numbers
from rag_evaluator.prompts.pack import CustomQuestion
from rag_evaluator.statistics.formulas import Better, Kind, Scale

if TYPE_CHECKING:
    from rag_evaluator.embeddings.ragas_library import BaseMetric, BaseRagasEmbedding, InstructorBaseRagasLLM

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
        package: what it needs beside the packages that always come with this one; empty: nothing.
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
    package: str = ""

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

    @property
    def missing_package(self) -> str:
        """The package that it needs and that is not installed; empty: there is none."""
        is_there = not self.package or find_spec(self.package.replace("-", "_"))
        return "" if is_there else self.package

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
        metric: BaseMetric = getattr(_module(module), name)(**options)
        return metric


def _module(name: str) -> ModuleType:
    """A module of ours; without a name, ragas' metrics."""
    if name:
        return import_module(name)
    from rag_evaluator.embeddings.ragas_library import collections

    return collections


class FactualCorrectnessOptions(Section):
    """Of `factual_correctness`.

    Attributes:
        mode: F1 of precision and recall of the claims, or one of these.
        beta: above 1 weighs recall more.
        atomicity, coverage: into how small claims a text is divided, and how much of it they cover.
    """

    mode: Literal["f1", "precision", "recall"] = "f1"
    beta: float = Field(default=1.0, gt=0, le=100)
    atomicity: Literal["low", "high"] = "low"
    coverage: Literal["low", "high"] = "low"


class NoiseSensitivityOptions(Section):
    """Of `noise_sensitivity`.

    Attributes:
        mode: wrong claims that come from relevant contexts, or from irrelevant ones.
    """

    mode: Literal["relevant", "irrelevant"] = "relevant"


class RefusalOptions(Section):
    """Of `refusal_correctness`.

    Attributes:
        missing_reference: what a row without a reference means, if it has no column `answerable`.
    """

    missing_reference: Literal["unknown", "unanswerable"] = "unknown"


class RougeOptions(Section):
    """Of `rouge_score`.

    Attributes:
        rouge_type: the longest common subsequence, or single words.
        mode: F-measure of precision and recall, or one of these.
    """

    rouge_type: Literal["rougeL", "rouge1"] = "rougeL"
    mode: Literal["fmeasure", "precision", "recall"] = "fmeasure"


class AnswerRubricOptions(Section):
    """Of `answer_rubric`.

    Attributes:
        expected: the expectation over the probabilities of the labels, in place of the label that the judge writes.
    """

    expected: bool = False


class RubricsScoreOptions(Section):
    """Of `rubrics_score_with_reference` and `rubrics_score_without_reference`.

    Attributes:
        rubrics: what each score means, from `score0_description` to `score9_description`; None: ragas' own, 1 to 5.
    """

    rubrics: dict[str, str] | None = None

    @field_validator("rubrics")
    @classmethod
    def _describe_scores(cls, rubrics: dict[str, str] | None) -> dict[str, str] | None:
        if rubrics is None:
            return None
        wrong = [name for name in rubrics if not rubric_numbers([name])]
        if wrong or len(rubrics) < 2:
            got = f", not {wrong[0]}" if wrong else ""
            raise ValueError(f"expected at least two of score0_description to score9_description{got}")
        empty = [name for name, text in rubrics.items() if not text.strip()]
        if empty:
            raise ValueError(f"expected a text for {empty[0]}")
        return {name: " ".join(rubrics[name].split()) for name in sorted(rubrics)}


class QuotesOptions(Section):
    """Of `quoted_spans_alignment`.

    Attributes:
        casefold: whether upper and lower case count as equal.
        min_span_words: words that a quotation must have to count.
    """

    casefold: bool = True
    min_span_words: int = Field(default=3, ge=1, le=100)


class SummaryOptions(Section):
    """Of `summary_score`.

    Attributes:
        length_penalty: whether long summaries lose.
        coeff: the weight of conciseness in the score.
    """

    length_penalty: bool = True
    coeff: float = Field(default=0.5, ge=0, le=1)


def expectation(options: AnswerRubricOptions) -> Mapping[str, Any]:
    """An expectation needs probabilities. It stays `judged`: after a reason it is near one of the five values."""
    return {"probabilities": options.expected}


def scale_of_rubrics(options: RubricsScoreOptions) -> Mapping[str, Any]:
    """The range is that of the scores described."""
    numbers = rubric_numbers(options.rubrics or ())
    return {"range": (float(numbers[0]), float(numbers[-1]))} if numbers else {}


IDS = ("retrieved_context_ids", "reference_context_ids")
KNOWN, UNKNOWN = "total_relevant: known", "total_relevant: unknown"
CHUNK, MATCH = "chunk_prompt", "match_prompt"
JUDGED = ("user_input", "retrieved_contexts", "reference")
EXPECTED = ("retrieved_contexts", "reference_contexts")


def _row(name: str, *prompts: str, columns: Sequence[str] = JUDGED, **fields: Any) -> Metric:
    """A row; Any: other fields of `Metric`."""
    return Metric(
        f"rag_evaluator.metrics.own.retrieval:{name}",
        columns,
        optional=[name for name in ("reference_contexts", "document_score") if name not in columns],
        may_be_empty=("retrieved_contexts", "retrieved_context_ids"),
        prompts=prompts,
        owner="retrieval",
        stage="retrieval",
        settings=RetrievalConfig,
        section="retrieval",
        changes=_changes,
        **fields,
    )


def _changes(options: RetrievalConfig) -> Mapping[str, Any]:
    """Where texts or ids are compared there is no judge and no prompt."""
    if options.match == "judge":
        return {}
    ids = IDS if options.match == "exact" else ()
    return {
        "judge": False,
        "prompts": (),
        "owner": "",
        "columns": EXPECTED,
        "optional": ("document_score", *ids),
        "instead": ids,
    }


RETRIEVAL: Mapping[str, Metric] = {
    "retrieval_precision": _row(
        "RetrievalPrecision", CHUNK, aliases=("precision_at_k",), about="retrieved contexts that are relevant"
    ),
    "retrieval_ndcg": _row(
        "RetrievalNDCG",
        CHUNK,
        MATCH,
        aliases=("ndcg", "ndcg_at_k"),
        outcomes=(KNOWN, UNKNOWN),
        about="whether relevant contexts come first, nDCG",
    ),
    "retrieval_map": _row(
        "RetrievalMAP",
        CHUNK,
        MATCH,
        aliases=("map", "average_precision"),
        outcomes=(KNOWN, UNKNOWN),
        about="whether relevant contexts come first, average precision",
    ),
    "retrieval_mrr": _row(
        "RetrievalMRR", CHUNK, aliases=("mrr", "reciprocal_rank"), about="how early the first relevant context comes"
    ),
    "retrieval_recall": _row(
        "RetrievalRecall", MATCH, columns=EXPECTED, aliases=("recall_at_k",), about="expected contexts that were found"
    ),
}
