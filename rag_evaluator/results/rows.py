"""A score, a scored row as the result files hold it, and the lines of `details.jsonl`: scores with their judgements."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from rag_evaluator.dataset import ID, REWRITTEN, Sample, as_key
from rag_evaluator.errors import ConfigError, did_you_mean
from rag_evaluator.files import Json, JsonDict, json_line

from .digests import verified
from .judgement import explained
from .overview import printable

LONGEST = 40  # letters of a row's name
APPLICABLE = "applicable"  # of a line of the details: false where there was nothing to score
DROPPED = "dropped_contexts"
PROBABILITIES = "probabilities"
REFUSED = "refused_by"  # `words` or `judge`
# columns of result files, beside metrics, that the input has not
ADDED = (DROPPED, PROBABILITIES, REFUSED, REWRITTEN)
LABELS = "labels"  # of a metric in `summary.json`
DETAILS = "details.jsonl"
Record = Json  # a line of the file; Any: JSON
Cell = tuple[int, str]  # place of the row, metric
Details = Mapping[Cell, Sequence[Record]]  # several records where a score was made several times
HEAD = re.compile(rb'\{"row": (\d+),(?: "sample": "(\w*)", "metric": ("(?:[^"\\]|\\.)*"))?')  # row, digest, metric


def own_name(row: Json) -> str:
    """The id of a row as sentences and pages show it; empty where it has none."""
    return printable(as_key(row.get(ID)) or "")[:LONGEST]


def row_name(place: int, row: Json) -> str:
    """What a row is called: its id, else the number of its line in `scores.jsonl`, from 1.

    Args:
        place: among all rows, from 0.
    """
    return own_name(row) or str(place + 1)


@dataclass(frozen=True)
class Score:
    """A number with its reason.

    Attributes:
        value: as ragas gives it; NaN means that it could not be made.
        reason: why it is NaN; None otherwise.
        contexts: positions of the retrieved contexts that were judged, None if the metric takes none. Contexts are left
            out from the last one up when they do not fit into the judge's window.
        judgements: what the judge was asked and answered, in order, as JSON of `Judgement`.
        lasting: the row itself is why it is NaN (a column is missing, a prompt does not fit): no use in trying again.
        repeated: the scores whose mean it is, in order; empty where it was made once.
        outcome: what the value stands for, of a metric that names that; None: nothing, or not the same in all repeats.
        counted, weighed: `thoughts` and `probabilities` of judgements that were taken out.
        flags: what was seen in the judge's work, see `rag_evaluator.results.flags`: flag -> the texts that it is about;
            without texts where judgements were taken out.
        question: what the judge has made of the question and the turns before it; None: nothing.
        is_applicable: false where it is missing as the row holds nothing that the metric scores, as a refusal does not.
        refused_by: who says that the response refuses, `words` or `judge`; empty: it does not, or is not scored.
        answerable: whether its question can be answered; None: nobody says it.
        disagrees: whether its words say of a response that it refuses where the judge says that it does not, or the
            other way round.
    """

    value: float
    reason: str | None = None
    contexts: Sequence[int] | None = None
    judgements: Sequence[Json] = ()
    lasting: bool = field(default=False, compare=False)
    repeated: Sequence["Score"] = ()
    outcome: str | None = None
    counted: tuple[int, int] | None = field(default=None, compare=False)
    weighed: tuple[float, ...] | None = field(default=None, compare=False)
    flags: Mapping[str, Sequence[str]] = field(default_factory=dict)
    is_applicable: bool = True
    refused_by: str = field(default="", compare=False)
    answerable: bool | None = field(default=None, compare=False)
    disagrees: bool = field(default=False, compare=False)
    question: str | None = None

    @property
    def by_whom(self) -> str:
        return "its words" if self.refused_by == "words" else "the judge"

    @property
    def thoughts(self) -> tuple[int, int]:
        """How many judgements followed a thought, and how many of these thoughts were cut; repeats included."""
        if self.counted is not None:
            return self.counted
        thought = [judgement for judgement in self.judgements if "thinking" in judgement]
        cut = sum("thinking" in judgement.get("cut", ()) for judgement in thought)
        repeats = [score.thoughts for score in self.repeated]
        return len(thought) + sum(count for count, _ in repeats), cut + sum(count for _, count in repeats)

    @property
    def probabilities(self) -> tuple[float, ...]:
        """Of each sentence that counts, that the evidence supports it; repeats included. Empty for other metrics."""
        if self.weighed is not None:
            return self.weighed
        sentences = verified(self.judgements).get("sentences", ())
        repeats = chain.from_iterable(score.probabilities for score in self.repeated)
        return (*(float(sentence["probability"]) for sentence in sentences), *repeats)

    @property
    def missing(self) -> bool:
        return math.isnan(self.value)

    def without_judgements(self) -> "Score":
        """The same score, light enough to keep thousands of."""
        repeated = tuple(score.without_judgements() for score in self.repeated)
        flags = dict.fromkeys(self.flags, ())
        weighed = self.probabilities
        return replace(self, judgements=(), repeated=repeated, counted=self.thoughts, weighed=weighed, flags=flags)

    @property
    def repeats(self) -> tuple[float, ...]:
        """The values whose mean it is, NaN for a missing one; empty where it was made once."""
        return tuple(score.value for score in self.repeated)

    @classmethod
    def mean_of(cls, scores: Sequence["Score"]) -> "Score":
        """The score of a row whose scores were made several times: the mean of those that are not missing.

        It is missing if all are, for the reason of the first. Its contexts are the fewest that any of them was given;
        judgements are those of its repeats.
        """
        values = [score.value for score in scores if not score.missing]
        value = math.fsum(values) / len(values) if values else math.nan
        contexts = min((score.contexts for score in scores if score.contexts is not None), key=len, default=None)
        reason = scores[0].reason if math.isnan(value) else None
        outcomes = {score.outcome for score in scores if not score.missing}
        outcome = outcomes.pop() if len(outcomes) == 1 else None
        lasting = all(score.lasting for score in scores)
        flags = {flag: texts for score in reversed(scores) for flag, texts in score.flags.items()}
        return cls(
            value,
            reason,
            contexts,
            lasting=lasting,
            repeated=tuple(scores),
            outcome=outcome,
            flags=flags,
            is_applicable=any(score.is_applicable for score in scores),
            question=scores[0].question,
        )

    def to_json(self) -> JsonDict:
        """JSON object without `lasting` and `repeated`; a missing value is null; what is as usual is left out."""
        return {
            "value": None if self.missing else self.value,
            "reason": self.reason,
            **({} if self.outcome is None else {"outcome": self.outcome}),
            **({"flags": self.flags} if self.flags else {}),
            **({} if self.is_applicable else {APPLICABLE: False}),
            **({} if self.question is None else {"question": self.question}),
            "contexts": self.contexts,
            "judgements": self.judgements,
        }


@dataclass(frozen=True, repr=False)
class Row:
    """A row with its scores, as it is written."""

    sample: Sample
    scores: Mapping[str, Score]
    signatures: Mapping[str, str]

    def __repr__(self) -> str:
        scores = ", ".join(f"{name} {score.value:.3g}" for name, score in self.scores.items())
        return f"<Row {self.sample.index}, {self.sample.columns.get('user_input', '')!r:.60}: {scores}>"

    def details(self) -> Iterator[bytes]:
        """The lines of `details.jsonl`: one of a score, or one for each repeat."""
        for name, score in self.scores.items():
            key = {"row": self.sample.index, "sample": self.sample.digest, "metric": name}
            signature = self.signatures.get(name)
            if not score.repeated:
                yield json_line({**key, **score.to_json(), "signature": signature})
            for repeat, made in enumerate(score.repeated):
                yield json_line({**key, "repeat": repeat, **made.to_json(), "signature": signature})

    def says(self, metric: str) -> list[str]:
        """What the judge says of a score, as the report shows it: `not supported: “He was a king.” The reason.`

        Of a missing score it is the reason why. Raises `ConfigError` for a metric that was not scored.
        """
        if metric not in self.scores:
            raise ConfigError(f"no scores of '{metric}'.{did_you_mean(metric, self.scores)}")
        records = [record for record in map(json.loads, self.details()) if record["metric"] == metric]
        return [verdict.says() for verdict in explained(records)]


@dataclass(frozen=True)
class Heading:
    """What is known of a table before its first row; `columns`: of any row, those of the input first."""

    columns: Sequence[str]
    metrics: Sequence[str]
    manifest: Json


def dropped_contexts(scored: Row) -> dict[str, list[int]]:
    """Metric -> positions of the contexts that were left out, as they did not fit into the judge's window."""
    count = len(scored.sample.columns.get("retrieved_contexts", ()))
    return {
        name: list(range(len(score.contexts), count))
        for name, score in scored.scores.items()
        if score.contexts is not None and len(score.contexts) < count
    }


def row_probabilities(scored: Row) -> dict[str, Json]:
    """Metric -> `mean` and `lowest` probability of the row's sentences; by these rows are ranked, in every mode."""
    known = {name: score.probabilities for name, score in scored.scores.items() if not score.missing}
    return {
        name: {"mean": math.fsum(shares) / len(shares), "lowest": min(shares)}
        for name, shares in known.items()
        if shares
    }


def scored_row(scored: Row) -> JsonDict:
    """The input row with a column added per metric, None where the score is missing, and what it has of `ADDED`."""
    values = {name: None if score.missing else score.value for name, score in scored.scores.items()}
    added = {
        DROPPED: dropped_contexts(scored),
        PROBABILITIES: row_probabilities(scored),
        REFUSED: refused_by(scored),
        REWRITTEN: next(filter(None, (score.question for score in scored.scores.values())), None),
    }
    kept = {name: value for name, value in scored.sample.row.items() if name != REFUSED}  # of an earlier run
    return {**kept, **values, **{name: value for name, value in added.items() if value}}


def refused_by(scored: Row) -> str:
    """Who says that the response of a row refuses; empty where it does not."""
    return next((score.refused_by for score in scored.scores.values() if score.refused_by), "")


def cells_of(scored: Row, columns: Sequence[str]) -> list[Any]:
    """The row as a table's cells, None where a column has nothing; lists and objects as JSON, as readers expect."""
    values = map(scored_row(scored).get, columns)
    return [json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value for value in values]
