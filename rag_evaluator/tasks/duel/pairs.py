"""The rows of two runs as pairs of answers to the same question, with what the judge is shown beside them."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import zip_longest
from typing import Any

from rag_evaluator.config import Config
from rag_evaluator.dataset import Sample, is_blank
from rag_evaluator.dataset.keys import as_key
from rag_evaluator.errors import ResultsError
from rag_evaluator.files.digest import short_digest
from rag_evaluator.results.matching import Matched, keys_of, match, nothing_in_common, require_column
from rag_evaluator.results.saved import SavedScores, run_weights
from rag_evaluator.tasks.question import Question

NO_QUESTION, OTHER_QUESTION = "there is no question", "the two runs have different questions in this row"


@dataclass(frozen=True)
class Pair(Question):
    """A question with the answers of both runs; `contexts` are those that the judge is shown.

    Attributes:
        key: what the rows were matched on.
        answers: of a and of b.
        reference: the expected answer, if there is one.
        fault: why the pair cannot be judged.
        cluster: pairs with the same label depend on each other; None: on no other.
        weight: how much the pair counts.
    """

    key: str
    answers: tuple[str, str]
    reference: str | None
    fault: str | None
    cluster: str | None
    weight: float

    @cached_property
    def digest(self) -> str:
        """16 hexadecimal digits of what the judge is shown."""
        shown = [self.question, list(self.contexts), self.reference, self.answers, self.fault]
        return short_digest(json.dumps(shown, ensure_ascii=False))

    @property
    def is_same(self) -> bool:
        """Whether both answers are the same text, blanks around it and ways to write an accent apart."""
        return as_key(self.answers[0]) == as_key(self.answers[1])


@dataclass(frozen=True)
class Counts:
    """What became of the rows.

    Attributes:
        compared: pairs of rows that both have a response.
        unanswered: pairs of which one has none, or both.
        unmatched_a, unmatched_b: rows without a partner.
    """

    compared: int
    unanswered: int
    unmatched_a: int
    unmatched_b: int


@dataclass(frozen=True)
class MatchedRows:
    """The pairs of two runs, in the order of the first; `on` is the column that rows were matched on."""

    on: str
    units: Sequence[Pair]
    counts: Counts

    @property
    def digest(self) -> str:
        """16 hexadecimal digits of all that the results say of the rows."""
        units = [(unit.key, unit.digest, unit.cluster, unit.weight) for unit in self.units]
        return short_digest(json.dumps([self.on, asdict(self.counts), units], ensure_ascii=False))

    def choose(self, units: Sequence[Pair]) -> "MatchedRows":
        """The same with some of the pairs only."""
        return replace(self, units=units, counts=replace(self.counts, compared=len(units)))


def pairs_of(runs: Sequence[SavedScores], on: str | None, config: Config) -> MatchedRows:
    """The pairs of two runs. Several answers of each run to one question are paired in their order.

    Args:
        on: see `match`.
        config: its `cluster` and `weight` are columns of a.

    Raises `ResultsError` where there is nothing to compare.
    """
    a, b = runs
    for run in runs:
        if not any(sample.has("response") for sample in run.samples):
            raise ResultsError(f"{run.name}: no row has a response, which is what duel compares.")
    on, (in_a, in_b) = match(runs, on)
    partners = sorted(_partners(in_a, in_b))
    if not partners:
        raise nothing_in_common(a, b, on)
    rows = [(a.samples[first], b.samples[second]) for first, second, _ in partners]
    answered = [place for place, sides in enumerate(rows) if all(side.has("response") for side in sides)]
    if not answered:
        raise ResultsError(
            f"{a.name} and {b.name}: {len(rows)} rows match by '{on}', and in none of them both have a response."
        )
    labels, weights = _clusters(a, config.cluster, partners), _weights(a, config.weight)
    units = [
        _pair(index, partners[place][2], *rows[place], labels[place], weights[partners[place][0]])
        for index, place in enumerate(answered)
    ]
    unmatched = (len(run.samples) - len(partners) for run in runs)
    counts = Counts(len(units), len(partners) - len(units), *unmatched)
    return MatchedRows(on, units, counts)


def _partners(a: Matched, b: Matched) -> Iterator[tuple[int, int, str]]:
    """The places of rows that belong together, with their key."""
    for key in a.places.keys() & b.places.keys():
        yield from ((first, second, key) for first, second in zip(a.places[key], b.places[key], strict=False))


def _clusters(a: SavedScores, column: str | None, partners: Sequence[tuple[int, int, str]]) -> list[str | None]:
    """The label of each pair: what a has in the column; without one, the key where several pairs share theirs."""
    if column:
        require_column(a, column, "by which rows are put together")
        values = keys_of(a.samples, column)
        return [values[first] for first, _, _ in partners]
    times = Counter(key for _, _, key in partners)
    return [key if times[key] > 1 else None for _, _, key in partners]


def _weights(a: SavedScores, column: str | None) -> list[float]:
    return run_weights(a, column) if column else [1.0] * len(a.samples)


def _pair(index: int, key: str, a: Sample, b: Sample, cluster: str | None, weight: float) -> Pair:
    questions = [_text(side, "user_input") for side in (a, b)]
    known = [question for question in questions if question is not None]
    differ = len({as_key(question) for question in known}) > 1
    return Pair(
        index=index,
        question=known[0] if known else "",
        contexts=_contexts(a, b),
        key=key,
        answers=(a.columns["response"], b.columns["response"]),
        reference=_text(a, "reference") or _text(b, "reference"),
        fault=OTHER_QUESTION if differ else None if known else NO_QUESTION,
        cluster=cluster,
        weight=weight,
    )


def _text(sample: Sample, column: str) -> str | None:
    return sample.columns[column] if sample.has(column) else None


def _contexts(a: Sample, b: Sample) -> list[str]:
    """The expected contexts if a run has some, else what both retrieved: each once, the best ranks first.

    At the same rank the order is that of the texts, so that neither run comes first.
    """
    for side in (a, b):
        if side.has("reference_contexts"):
            return _filled(side, "reference_contexts")
    retrieved = (_filled(side, "retrieved_contexts") for side in (a, b))
    ranks = (sorted(text for text in rank if text is not None) for rank in zip_longest(*retrieved))
    return list(dict.fromkeys(text for rank in ranks for text in rank))


def _filled(sample: Sample, column: str) -> list[str]:
    texts: Any = sample.columns.get(column, [])
    return [text for text in texts if not is_blank(text)]
