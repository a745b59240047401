"""`Judgement`: a question to the judge with its answer, as details hold it; `JudgedVerdict`: what an answer says."""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

from rag_evaluator.dataset import as_key
from rag_evaluator.results.overview import shortened

VERIFIED = "verifier"  # the name of the judgement that holds what a verifier says of sentences
Tone = Literal["good", "middle", "bad", "plain"]
SIGNS: Mapping[Tone, str] = {"good": "✓", "middle": "◐", "bad": "✗", "plain": "•"}


class Meaning(NamedTuple):
    """What a verdict says of a row, in words."""

    tone: Tone
    word: str


@dataclass(frozen=True)
class Verdicts:
    """The meanings of one key in the answers to a prompt.

    Attributes:
        metrics: whose answers these are; each name also stands for those that begin with it and `_`.
        key: of the verdict in the answer, or the name of the list that an object stands in.
        kind: what the verdict is about, in words; empty: runs are not compared by it.
        prompt: empty: any of these metrics.
        about: a column that the question names; empty: whatever it names.
    """

    metrics: tuple[str, ...]
    key: str
    kind: str
    meanings: Mapping[Any, Meaning]  # Any: a number or a text, as JSON has it
    prompt: str = ""
    about: str = ""


def _two(good: str, bad: str) -> dict[Any, Meaning]:
    return {1: Meaning("good", good), 0: Meaning("bad", bad)}


def _plain(yes: str, no: str) -> dict[Any, Meaning]:
    return {1: Meaning("plain", yes), 0: Meaning("plain", no)}


def _three(most: int, bad: str, middle: str, good: str) -> dict[Any, Meaning]:
    return {0: Meaning("bad", bad), most // 2: Meaning("middle", middle), most: Meaning("good", good)}


NOT_COUNTED = "not_counted"  # its list of the sentences that are no claims
SUPPORTED = _two("supported", "not supported")
OF_SENTENCES = ("groundedness", "context_coverage", "reference_coverage", "reference_agreement")
"""Metrics whose score may be a share of sentences, or a probability of them."""
MEANINGS: tuple[Verdicts, ...] = (
    Verdicts(("faithfulness",), "verdict", "claim", SUPPORTED),
    Verdicts(("factual_correctness",), "verdict", "claim of the reference", SUPPORTED, about="response"),
    Verdicts(("factual_correctness",), "verdict", "claim", SUPPORTED),
    Verdicts(("noise_sensitivity",), "verdict", "", SUPPORTED, about="reference"),
    Verdicts(("noise_sensitivity",), "verdict", "", _plain("supported", "not supported")),
    Verdicts(
        ("context_recall",), "attributed", "sentence of the reference", _two("in the contexts", "not in the contexts")
    ),
    Verdicts(("groundedness", "reference_agreement"), "verdict", "sentence of the response", SUPPORTED),
    Verdicts(
        ("context_coverage", "context_recall"),
        "verdict",
        "sentence of the reference",
        _two("in the contexts", "not in the contexts"),
    ),
    Verdicts(
        ("reference_coverage",), "verdict", "sentence of the reference", _two("in the response", "not in the response")
    ),
    Verdicts(
        (*OF_SENTENCES, "context_recall"),
        NOT_COUNTED,
        "",
        {None: Meaning("plain", "not counted")},
    ),
    Verdicts(
        OF_SENTENCES, "choice", "rating", {1: Meaning("plain", "first option"), 2: Meaning("plain", "second option")}
    ),
    Verdicts(("context_precision",), "verdict", "context", _two("useful", "not useful")),
    Verdicts(("retrieval",), "verdict", "reference context", _two("retrieved", "not retrieved"), prompt="match_prompt"),
    Verdicts(("retrieval",), "verdict", "context", _two("relevant", "not relevant")),
    Verdicts(("context_relevance",), "rating", "rating", _three(2, "not relevant", "partly relevant", "relevant")),
    Verdicts(("response_groundedness",), "rating", "rating", _three(2, "not grounded", "partly grounded", "grounded")),
    Verdicts(("answer_accuracy",), "rating", "rating", _three(4, "does not agree", "agrees in part", "agrees")),
    Verdicts(
        ("answer_relevancy",), "noncommittal", "response", {0: Meaning("good", "answers"), 1: Meaning("bad", "evasive")}
    ),
    Verdicts(("answer_correctness",), "TP", "claim", {None: Meaning("good", "in both")}),
    Verdicts(("answer_correctness",), "FP", "claim", {None: Meaning("bad", "not in the reference")}),
    Verdicts(
        ("answer_correctness",), "FN", "claim of the reference", {None: Meaning("bad", "missing in the response")}
    ),
    Verdicts(("refusal_correctness",), "verdict", "response", _plain("refuses", "answers"), prompt="refused_prompt"),
    Verdicts(
        ("refusal_correctness",),
        "verdict",
        "question",
        _plain("answerable", "not answerable"),
        prompt="answerable_prompt",
    ),
    Verdicts(("context_relevancy",), "numbers", "sentence of the contexts", _two("helps", "does not help")),
    Verdicts(
        ("summary_score",),
        "answers",
        "question about the text",
        {"1": Meaning("good", "answered"), "0": Meaning("bad", "not answered")},
    ),
)
UNSUPPORTED = "the response says something that its contexts do not support"
FAULTS: Mapping[str, str] = {
    "faithfulness": UNSUPPORTED,
    "response_groundedness": UNSUPPORTED,
    "groundedness": UNSUPPORTED,
    "context_coverage": "the contexts lack something that the reference says",
    "reference_coverage": "the response lacks something that the reference says",
    "reference_agreement": "the response says something that the reference does not",
    "context_recall": "the contexts lack something that the reference says",
    "context_entity_recall": "the contexts lack a name that the reference has",
    "context_precision": "a context that does not help comes before one that does, or none helps",
    "context_relevance": "the contexts do not fully fit the question",
    "context_relevancy": "a sentence of the contexts does not help to answer",
    "answer_accuracy": "the response does not fully agree with the reference",
    "answer_correctness": "the response does not say the same as the reference",
    "factual_correctness": "the response does not claim the same as the reference",
    "refusal_correctness": "the response refuses where it should answer, or answers where it should refuse",
    "summary_score": "the summary leaves a question about the text open",
}
"""What a score below the best one says of a row; a name also stands for those that begin with it and `_`."""
SCALES: Mapping[str, tuple[float, float]] = {"answer_rubric": (1.0, 5.0)}  # of labels that are not the score itself
FACTS = frozenset({"probability", "contexts", "piece", "pieces", "spans", "decided_by"})
"""Keys in what a verifier says that are no verdicts: how sure it is, where the evidence is; the last of older runs."""
GRADES = ("score", "label", "rating", "value")  # keys whose number is a grade on the metric's scale
CHOSEN: Mapping[tuple[str, str], str] = {("context_relevancy", "numbers"): "sentences"}
"""(metric, key) of a list of numbers, from 1 -> the texts of the input that it chooses from."""
PAIRED: Mapping[tuple[str, str], str] = {("summary_score", "answers"): "questions"}
"""(metric, key) of a list -> the texts of the input that it has an item for each of."""


def verdicts_of(metric: str, prompt: str, key: str, about: Collection[str]) -> Verdicts | None:
    """The row of `MEANINGS` for a key of an answer; None where there is none.

    Args:
        metric: without the name of a judge.
        about: the columns that the question names.
    """
    rows = (
        row
        for row in MEANINGS
        if row.key == key
        and any(metric == name or metric.startswith(f"{name}_") for name in row.metrics)
        and row.prompt in ("", prompt)
        and (not row.about or row.about in about)
    )
    return next(rows, None)


def is_marked(value: float | None, better: str, quarter: float | None) -> bool:
    """Whether a score is worse than three quarters of its run's, and is shown in red for that.

    Args:
        quarter: `worst_quarter` of the summary.
    """
    if value is None or quarter is None:
        return False
    return value > quarter if better == "lower" else value < quarter


def tone_of(value: float, low: float, high: float, better: str) -> Tone:
    """Where a number is on its range: the best third is good, the worst is bad; `plain` without a range.

    Of a range from below 0 only the part above it counts: cosines of texts are hardly ever negative.
    """
    low = 0.0 if low < 0 < high else low
    if not low < high:
        return "plain"
    share = (min(max(value, low), high) - low) / (high - low)
    if better == "lower":
        share = 1 - share
    return "good" if share > 2 / 3 else "bad" if share < 1 / 3 else "middle"


Json = Mapping[str, Any]  # Any in this module: JSON
# shown of a score at most
LINES = 3
LETTERS = 160
REASON_KEYS = ("reason", "feedback")  # names under which prompts ask for one


@dataclass(frozen=True)
class Judgement:
    """One call of the judge. The program writes all fields but `metric`.

    Attributes:
        prompt: name of the prompt in its metric.
        prompt_digest: digest of the whole text sent, sample included; empty for what a function says of its own value.
        source_digest: digest of instruction and examples; tells which pack was used.
        input: what the prompt was asked about, see `rag_evaluator.results.questions`; the whole text of a prompt that
            is not in `prompts.json`.
        response: the validated answer as plain JSON; None if there was none.
        error: why there was none.
        confidence: probability of each verdict or rating in the answer, in order; empty where it has none.
        prompt_tokens: tokens of the prompt; 0 when the judge has no tokenizer.
        generated_tokens: tokens of the answer.
        thinking: what the judge thought before; None if it does not think.
        thinking_tokens: tokens of the thought.
        cut: what ended at its limit; recorded of judges that think.
        metric: whose score it is behind, without the name of a judge; empty while it is made.
    """

    prompt: str = ""
    prompt_digest: str = ""
    source_digest: str = ""
    input: Json | str = field(default_factory=dict)
    response: Any = None
    error: str | None = None
    confidence: Sequence[float] = ()
    prompt_tokens: int = 0
    generated_tokens: int = 0
    thinking: str | None = None
    thinking_tokens: int = 0
    cut: Sequence[str] = ()
    metric: str = ""

    @classmethod
    def from_json(cls, data: Json, metric: str = "") -> "Judgement":
        """The inverse of `to_json`; keys of other things are left alone."""
        return cls(metric=metric, **{name: data[name] for name in data if name in WRITTEN})

    def to_json(self) -> dict[str, Any]:
        """JSON object; what concerns a thought is there only if there was one."""
        record = asdict(self)
        for name in ("metric",) if self.thinking is not None else ("metric", "thinking", "thinking_tokens", "cut"):
            del record[name]
        return record

    @property
    def parts(self) -> Json:
        """The parts of the input, by name; empty where the whole prompt is its input."""
        return self.input if isinstance(self.input, Mapping) else {}

    @cached_property
    def columns(self) -> set[str]:
        """The columns that the question names."""
        return {str(part.get("column")) for part in self.parts.values() if isinstance(part, Mapping)}

    @property
    def verdict(self) -> float | None:
        """That of an answer that is a single verdict of yes or no; None for others."""
        value = self.response.get("verdict") if isinstance(self.response, Mapping) else None
        return value if isinstance(value, int | float) else None

    @property
    def shares(self) -> Mapping[str, float]:
        """The probability of each answer that the judge could choose from; empty where it did not choose."""
        answer = self.response
        if not isinstance(answer, Mapping) or len(answer) < 2:
            return {}
        shares = {name: value for name, value in answer.items() if isinstance(value, float) and 0 <= value <= 1}
        return shares if len(shares) == len(answer) and abs(math.fsum(shares.values()) - 1) < 0.01 else {}

    @property
    def confidences(self) -> Sequence[float]:
        """That of each number in the answer, in order; empty where the judge gave none, or some of other things."""
        answer = _objects(self.response) if self.confidence else ()
        numbers = ((name, value) for _, part in answer for name, value in part.items() if name not in FACTS)
        count = sum(isinstance(value, int | float) for _, value in numbers)
        return self.confidence if count and len(self.confidence) == count else ()

    def verdicts(self) -> Iterator["JudgedVerdict"]:
        """What the answer says, in order: of each object its numbers, or else its texts; then its lists."""
        confidences = iter(self.confidences)
        for role, answer in _objects(self.response):
            part = {name: value for name, value in answer.items() if name not in FACTS}
            texts = {name: value for name, value in part.items() if isinstance(value, str)}
            numbers = {name: value for name, value in part.items() if isinstance(value, int | float)}
            for key, number in numbers.items():
                yield JudgedVerdict(self, key, number, texts, next(confidences, None))
            if not numbers and any(text.strip() for text in texts.values()):
                yield JudgedVerdict(self, role, texts=texts)
            for key, value in part.items():
                if isinstance(value, list):
                    yield JudgedVerdict(self, key, items=value)


@dataclass(frozen=True)
class JudgedVerdict:
    """A number in an answer; or an object of texts, or a list. An error is one that has nothing but its key.

    Attributes:
        key: its name in the answer, that of the list in which an object of texts stands, or an error.
        value: the number, or an item of a list; None for texts, lists and errors.
        texts: those beside the number, by their names.
        confidence: its probability among those that were allowed; None where the judge gives none.
        items: of a list; None for what is none.
    """

    judgement: Judgement
    key: str
    value: Any = None
    texts: Mapping[str, str] = field(default_factory=dict)
    confidence: float | None = None
    items: Sequence[Any] | None = None

    @cached_property
    def _row(self) -> Verdicts | None:
        asked = self.judgement
        return verdicts_of(asked.metric, asked.prompt, self.key, asked.columns)

    @property
    def meaning(self) -> Meaning | None:
        """What it means; None where nobody knows."""
        return None if self._row is None else self._row.meanings.get(self.value)

    @property
    def kind(self) -> str | None:
        """What it is about, see `Verdicts`; None where nobody knows."""
        return None if self._row is None else self._row.kind

    @property
    def word(self) -> str:
        """What it says, in words: 'not supported', 'score 4'."""
        if (meaning := self.meaning) is not None:
            return meaning.word
        return self.key if self.value is None else f"{self.key} {self.value}"

    @property
    def is_bad(self) -> bool:
        return (meaning := self.meaning) is not None and meaning.tone == "bad"

    @property
    def statement(self) -> str | None:
        """The text that it is about, to be compared; None where the answer names none."""
        return as_key(self.texts.get("statement"))

    @property
    def about(self) -> list[str]:
        """The texts that it is about."""
        return [text for name, text in self.texts.items() if name not in REASON_KEYS and text.strip()]

    @property
    def reasons(self) -> list[str]:
        return [self.texts[name] for name in REASON_KEYS if self.texts.get(name, "").strip()]

    @cached_property
    def lines(self) -> tuple[str, str, str]:
        """Word, statement and reason, each on one line."""
        return self.word, _in_a_line(self.about), _in_a_line(self.reasons)

    def says(self) -> str:
        """The whole in a sentence: `not supported: “He was born in Tesk.” The context names Om.`"""
        word, statement, reason = self.lines
        about = f": “{statement}”" if statement else ""
        return f"{word}{about}. {reason}".strip() if reason else f"{word}{about}"

    def of_items(self, values: Json) -> list["JudgedVerdict"]:
        """Those of a list: one for each text that could be chosen, or that an item belongs to; else one of all texts.

        Args:
            values: of the input, by name.
        """
        items = self.items or ()
        name = (self.judgement.metric, self.key)
        offered = values.get(CHOSEN.get(name, ""))
        paired = values.get(PAIRED.get(name, ""))
        if isinstance(offered, list):
            pairs: list[tuple[Any, Any]] = [
                (int(number in items), text) for number, text in enumerate(offered, start=1)
            ]
        elif isinstance(paired, list) and len(paired) == len(items):
            pairs = list(zip(items, paired, strict=True))
        else:
            texts = [str(item) for item in items if isinstance(item, str | int | float)]
            pairs = [(None, "\n".join(texts))] if texts else []
        return [replace(self, value=value, texts={"": str(text)}, items=None) for value, text in pairs]


WRITTEN = frozenset(part.name for part in fields(Judgement)) - {"metric"}


def judgements_of(record: Json) -> list[Judgement]:
    """The judgements behind a score, in the order of asking.

    Args:
        record: of the details of a run.
    """
    metric = str(record.get("metric", ""))
    return [Judgement.from_json(data, metric) for data in record.get("judgements") or ()]


def numbers_of(record: Json) -> Iterator[JudgedVerdict]:
    """The verdicts and ratings behind a score, in order; `record` as for `judgements_of`."""
    for judgement in judgements_of(record):
        yield from (verdict for verdict in judgement.verdicts() if verdict.value is not None)


def explained(records: Iterable[Json]) -> list[JudgedVerdict]:
    """Why scores are what they are: the reason of a missing one, or the judge's verdicts and errors.

    Of sentences the verdict counts, not the probabilities in both orders of the answers from which it was made.

    Args:
        records: of the details of a run.
    """
    verdicts = list[JudgedVerdict]()
    for record in records:
        if record.get("reason"):
            verdicts.append(JudgedVerdict(Judgement(), str(record["reason"])))
            continue
        judgements = judgements_of(record)
        are_sentences = any(judgement.prompt == VERIFIED for judgement in judgements)
        for judgement in judgements:
            if judgement.error:
                verdicts.append(JudgedVerdict(judgement, str(judgement.error)))
            if not (are_sentences and judgement.shares):
                verdicts += (verdict for verdict in judgement.verdicts() if verdict.items is None)
    return verdicts


def few_lines(verdicts: Sequence[JudgedVerdict]) -> tuple[str, ...]:
    """What is shown of a score: the first verdicts, bad ones before others."""
    first = sorted(verdicts, key=lambda verdict: not verdict.is_bad)[:LINES]
    return tuple(shortened(verdict.says(), LETTERS) for verdict in first)


def _in_a_line(texts: Iterable[str]) -> str:
    return " · ".join(" ".join(text.split()) for text in texts)


def _objects(answer: Any, role: str = "") -> list[tuple[str, Json]]:
    """The objects in an answer, itself included, each with the name of the list that it stands in."""
    if isinstance(answer, list):
        return [pair for item in answer for pair in _objects(item, role)]
    if not isinstance(answer, dict):
        return []
    parts = [pair for name, value in answer.items() if isinstance(value, dict | list) for pair in _objects(value, name)]
    return [(role, answer), *parts]
