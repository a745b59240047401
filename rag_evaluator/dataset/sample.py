"""One input row, to be scored."""

import heapq
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from rag_evaluator.files import Json, short_digest

from .json_values import EMPTY, is_blank
from .response import Response
from .values import READ

IN_ROW = "in this row"  # in the reason of a score that is missing as a column is
REWRITTEN = "rewritten_question"
"""Column of result files: a question as the judge has rewritten it; a row that has it is not rewritten again."""
REASON = "reference_reason"
"""Column in which `generate` says why it wrote no reference."""


@dataclass(frozen=True)
class Sample:
    """One input row, to be scored.

    index: position in the input, 0-based; blank lines do not count.
    row: the input row with its own column names, its values as plain JSON values.
    columns: what the row has of `user_input`, `response`, `reference` (str), `retrieved_contexts` and
        `reference_contexts` (list of str, in rank order), `retrieved_context_ids` and `reference_context_ids` (list of
        str), `document_score` (list of float, one per retrieved context), `answerable` (bool), `rubrics` (dict of str,
        its keys as `score1_description`), `history` (str, or list of turns) and `standalone_question`; a missing or
        empty value is absent; a blank text and an empty list of what was retrieved are not.
    where: for messages, 'data.jsonl, line 3' and 'data.xlsx, row 4' count from 1 as an editor and a spreadsheet do;
        'data.parquet, row 2' and 'row 2' of a Python object have no such number and are `index`.
    wrong: canonical columns that could not be read -> why; an error only where a metric needs the column.
    response: what the row has as its response, where something is around what is said, which alone is in `columns`.
    question: what the row has as its question, where metrics see another text: that with the turns before it.
    """

    index: int
    row: Json  # Any: the users' own columns
    columns: Json  # Any: the type is known by the name
    where: str
    wrong: Mapping[str, str] = field(default_factory=dict)
    response: Response | None = None
    question: str | None = None

    @property
    def needs_rewrite(self) -> bool:
        """Whether the question needs the turns before it, and nobody has made one of it that does not."""
        is_there = self.question is None or "standalone_question" in self.columns
        return not is_there and not self.row.get(REWRITTEN)

    @property
    def asked(self) -> str | None:
        """The question without the turns before it."""
        return self.columns.get("user_input") if self.question is None else self.question

    def has(self, column: str) -> bool:
        """Whether the row has something to be read there; blank text is missing."""
        return not is_blank(self.value(column))

    def value(self, column: str) -> Any:
        """What the row has in a canonical column, or in one of the user's, which is read as it is; None: nothing."""
        return (self.columns if column in READ else self.row).get(column)

    def missing(self, columns: Sequence[str]) -> str | None:
        """Which of the columns are missing, as the reason of a missing score; None if all are there."""
        reasons = [
            f"{column} {'are' if column.endswith('s') else 'is'} blank"
            if self.value(column) not in EMPTY
            else f"no {column}"
            for column in columns
            if not self.has(column)
        ]
        if not reasons:
            return None
        why = self.row.get(REASON) if "reference" in columns and not self.has("reference") else None
        if self.response and "response" in columns and not self.has("response"):
            why = self.response.why_silent
        return f"{' and '.join(reasons)} {IN_ROW}{f': {why}' if why else ''}"

    @cached_property
    def digest(self) -> str:
        """16 hex digits that depend on the canonical columns only: not on format, place or other columns."""
        return _digest(self.columns if self.question is None else {**self.columns, "user_input": self.question})

    def digest_of(self, names: Sequence[str]) -> str:
        """16 hex digits that depend on these columns only, whether they are there or not."""
        return _digest({name: value for name in names if (value := self.value(name)) is not None})


def _digest(columns: Json) -> str:
    return short_digest(json.dumps(columns, sort_keys=True, ensure_ascii=False, separators=(",", ":")))


@dataclass(frozen=True)
class RowChoice:
    """The first `limit` of `of` rows; of these `sample` that `seed` draws; in the order of the dataset.

    A row is drawn by its place and the seed only: a larger sample of as many rows holds the smaller one.
    """

    of: int
    limit: int | None = None
    sample: int | None = None
    seed: int = 0

    @classmethod
    def make(cls, of: int, limit: int | None = None, sample: int | None = None, seed: int = 0) -> "RowChoice":
        """Without what takes all rows there are."""
        limit = limit if limit is not None and limit < of else None
        sample = sample if sample is not None and sample < (limit or of) else None
        return cls(of, limit, sample, 0 if sample is None else seed)

    def to_json(self) -> dict[str, int]:
        """What was chosen, as `RowChoice(**part)` takes it; empty where all rows are taken."""
        part = {"of": self.of, "limit": self.limit, "sample": self.sample, "seed": self.sample and self.seed}
        return {} if self.is_whole else {key: number for key, number in part.items() if number is not None}

    @property
    def is_whole(self) -> bool:
        """Whether all rows are taken."""
        return self.limit is None and self.sample is None

    @cached_property
    def places(self) -> Sequence[int]:
        """The rows that are taken, by their place in the dataset, in order."""
        first = range(self.of if self.limit is None else self.limit)
        if self.sample is None:
            return first
        return sorted(heapq.nsmallest(self.sample, first, key=lambda place: short_digest(f"{self.seed}:{place}")))

    def holds(self, other: "RowChoice") -> bool:
        """Whether it takes every row that another choice from the same dataset takes."""
        return self.is_whole or (not other.is_whole and set(other.places) <= set(self.places))

    def __str__(self) -> str:
        """`20 of 1,000 rows (limit)`."""
        if self.is_whole:
            return f"all {self.of:,} rows"
        way = "limit"
        if self.sample is not None:
            way = f"sample{f' of the first {self.limit:,}' if self.limit else ''}, seed {self.seed}"
        return f"{len(self.places):,} of {self.of:,} rows ({way})"
