"""One input row, to be scored."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from rag_evaluator.dataset.json_values import EMPTY, is_blank
from rag_evaluator.dataset.values import READ
from rag_evaluator.files.digest import short_digest


@dataclass(frozen=True)
class Sample:
    """One input row, to be scored.

    index: position in the input, 0-based; blank lines do not count.
    row: the input row with its own column names, its values as plain JSON values.
    columns: what the row has of `user_input`, `response`, `reference` (str), `retrieved_contexts` and
        `reference_contexts` (list of str, in rank order), `retrieved_context_ids` and `reference_context_ids` (list of
        str), `document_score` (list of float, one per retrieved context), `answerable` (bool), `rubrics` (dict of str,
        its keys as `score1_description`); a missing or empty value is absent; a blank text and
        an empty list of what was retrieved are not.
    where: for messages, 'data.jsonl, line 3' and 'data.xlsx, row 4' count from 1 as an editor and a spreadsheet do;
        'data.parquet, row 2' and 'row 2' of a Python object have no such number and are `index`.
    wrong: canonical columns that could not be read -> why; an error only where a metric needs the column.
    """

    index: int
    row: Mapping[str, Any]  # Any: the users' own columns
    columns: Mapping[str, Any]  # Any: the type is known by the name
    where: str
    wrong: Mapping[str, str] = field(default_factory=dict)

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
        return f"{' and '.join(reasons)} in this row" if reasons else None

    @cached_property
    def digest(self) -> str:
        """16 hex digits that depend on the canonical columns only: not on format, place or other columns."""
        return _digest(self.columns)

    def digest_of(self, names: Sequence[str]) -> str:
        """16 hex digits that depend on these columns only, whether they are there or not."""
        return _digest({name: value for name in names if (value := self.value(name)) is not None})


def _digest(columns: Mapping[str, Any]) -> str:
    return short_digest(json.dumps(columns, sort_keys=True, ensure_ascii=False, separators=(",", ":")))
