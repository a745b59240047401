"""`Judgement`: a question to the judge with its answer, as details hold it; `JudgedVerdict`: what an answer says."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Any

from rag_evaluator.dataset import as_key
from rag_evaluator.files import Json, JsonDict

from .meanings import CHOSEN, FACTS, PAIRED, Meaning, Verdicts, verdicts_of
from .overview import shortened

VERIFIED = "verifier"  # the name of the judgement that holds what a verifier says of sentences


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

    def to_json(self) -> JsonDict:
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

    Of sentences the verdict counts, not the probabilities of the answers from which it was made.

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
