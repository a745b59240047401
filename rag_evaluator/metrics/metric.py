"""What is known of a metric without loading anything: a row of `METRICS`."""

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from ragas.metrics.collections import BleuScore, RougeScore
from ragas.metrics.collections.base import BaseMetric
from ragas.metrics.result import MetricResult

from rag_evaluator.config.languages import LANGUAGES, Language
from rag_evaluator.config.sections import Section
from rag_evaluator.errors import UndefinedScoreError
from rag_evaluator.prompts.question import CustomQuestion
from rag_evaluator.statistics.formulas import Better, Kind, Scale

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


UNSPACED = frozenset({"CJK", "HIRAGANA", "KATAKANA", "THAI"})  # scripts in which each letter is a word of its own here
BLEU_TOKENIZERS: Mapping[str, str] = {"chinese": "zh", "japanese": "char", "thai": "char"}  # sacrebleu's names


class DefinedBleu(BleuScore):
    """BLEU, refused where it would be 0 whatever the response says.

    BLEU is the mean of how many runs of one to four words two texts have in common. Where neither has four words,
    sacrebleu divides nothing by nothing and gives 0, also for equal texts.
    """

    async def ascore(self, reference: str, response: str) -> MetricResult:  # type: ignore[override]  # as in ragas
        from sacrebleu.metrics.bleu import BLEU

        bleu = BLEU(tokenize=self.kwargs.get("tokenize"))
        compared = (response.split(". ")[0], *reference.split(". "))  # as ragas divides them
        if all(len(bleu.tokenizer(text).split()) < bleu.max_ngram_order for text in compared):
            raise UndefinedScoreError(
                f"BLEU compares runs of {bleu.max_ngram_order} words; neither the response nor the reference has one"
            )
        result: MetricResult = await super().ascore(reference=reference, response=response)
        return result


class WordRouge(RougeScore):
    """ROUGE in which any script has words.

    rouge-score reads a-z and 0-9 only, so that two equal Chinese texts score 0. Here each word is handed to it as a
    number. Words are not stemmed: its stemmer is English.
    """

    async def ascore(self, reference: str, response: str) -> MetricResult:  # type: ignore[override]  # as in ragas
        numbers: dict[str, str] = {}
        texts = [
            " ".join(numbers.setdefault(word, f"{len(numbers):04d}") for word in words(text))
            for text in (reference, response)
        ]
        result: MetricResult = await super().ascore(reference=texts[0], response=texts[1])
        return result


def words(text: str) -> list[str]:
    """Runs of letters, marks and digits, lower case; single letters where the script has no blanks between words."""
    parts: list[str] = []
    before = ""  # what the letter before belongs to: a word, a single letter, or nothing
    for letter in unicodedata.normalize("NFKC", text).lower():
        kind = unicodedata.category(letter)[0]
        if kind == "M" and before:
            parts[-1] += letter
        elif kind not in "LN":
            before = ""
        elif is_unspaced(letter):
            parts.append(letter)
            before = "single"
        elif before == "word":
            parts[-1] += letter
        else:
            parts.append(letter)
            before = "word"
    return parts


def is_unspaced(letter: str) -> bool:
    """Whether a character is a letter of a script that writes no spaces between words."""
    return unicodedata.category(letter)[0] == "L" and unicodedata.name(letter, "").partition(" ")[0] in UNSPACED


def localized(made_by: str, language: Language, options: Mapping[str, Any]) -> BaseMetric | None:
    """BLEU, and ROUGE for a language in which ragas' own does not see the words; None where ragas' own is right."""
    if made_by == "BleuScore":
        tokenizer = BLEU_TOKENIZERS.get(language.name)
        return DefinedBleu(kwargs={"tokenize": tokenizer} if tokenizer else {})
    if made_by == "RougeScore" and language.scripts and "LATIN" not in language.scripts:
        return WordRouge(**options)
    return None
