"""The plan of a stage: its units and columns, of which each cell, repeated or not, becomes a record."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from rag_evaluator.dataset import RowChoice
from rag_evaluator.errors import FRESH, UPDATE, ResultsError
from rag_evaluator.files import Json, JsonDict, short_digest

MOST_UNITS = 256  # a chunk is minutes of work for a judge
FEWEST_CHUNKS = 64  # so that small datasets can be shared, too
OF_CHOSEN = ("texts",)  # options that follow from which rows are taken
UNNAMED = "its judge or embeddings have no name, so that nothing tells their scores from those of others"
Place = tuple[int, str, int]  # of a cell in its stage: index of the unit, column, number of the repetition


@dataclass(frozen=True)
class Plan:
    """Equal plans mean that chunks fit together.

    Attributes:
        task: `evaluate`, `sort`, ...
        stage: of the task.
        units: number of units.
        unit_noun, column_noun, cell_noun: what units, columns and cells are, for messages: rows, metrics, scores.
        data: digest of what the units come from.
        options: what else the units depend on, by name, in short texts.
        columns: column -> signature, what its values depend on beside the unit, in order; None: never used again.
        chunk_size: units of a chunk; the last one may be shorter.
        repeats: times that each cell is made.
        once: columns whose cells are made once all the same, as no chance is in them.
        part: which rows of the data the units are made of, see `RowChoice`; empty: all.
    """

    task: str
    stage: str
    units: int
    unit_noun: str
    column_noun: str
    cell_noun: str
    data: str
    options: Mapping[str, str]
    columns: Mapping[str, str | None]
    chunk_size: int
    repeats: int = 1
    once: Sequence[str] = ()
    part: Mapping[str, int] = field(default_factory=dict)

    @property
    def chunks(self) -> int:
        return -(-self.units // self.chunk_size)

    @property
    def cells(self) -> int:
        return self.units * len(self.slots)

    @property
    def slots(self) -> list[tuple[str, int]]:
        """The cells of a unit, in order: column and number of the repeat."""
        return [(column, repeat) for column in self.columns for repeat in self.repeats_of(column)]

    def repeats_of(self, column: str) -> range:
        return range(1 if column in self.once else self.repeats)

    @property
    def digest(self) -> str:
        """16 hexadecimal digits; every chunk carries them."""
        text = json.dumps(self.to_json(), ensure_ascii=False, separators=(",", ":"))
        return short_digest(text)

    def units_of(self, chunk: int) -> range:
        return range(chunk * self.chunk_size, min((chunk + 1) * self.chunk_size, self.units))

    def cells_of(self, chunk: int) -> int:
        return len(self.units_of(chunk)) * len(self.slots)

    def to_json(self) -> JsonDict:
        """JSON without what is not set."""
        return {name: value for name, value in asdict(self).items() if value or name not in ("once", "part")}

    def holds_rows_of(self, old: "Plan") -> bool:
        """Whether every row of an older plan for the same data is one of this plan, too."""
        if not (self.part and old.part):
            return not self.part
        return RowChoice(**self.part).holds(RowChoice(**old.part))

    @property
    def rows(self) -> str:
        """Which rows these are: `20 of 1,000 rows (limit)`."""
        return str(RowChoice(**self.part)) if self.part else "all rows"

    def changes(self, old: "Plan", unnamed: bool = True) -> list[str]:
        """What differs from an older plan, in words; the chunk size is no difference, nor is the part of the rows.

        Args:
            unnamed: whether a column that never had a signature differs from itself.
        """
        changes = []
        if self.data != old.data:
            are_counted = old.units != self.units and not (self.part or old.part)
            counts = f" ({old.units} before, {self.units} now)" if are_counted else ""
            changes.append(f"the {self.unit_noun}{counts}")
        before, now = ({**plan.options, self.column_noun: ", ".join(plan.columns)} for plan in (old, self))
        for name in {**before, **now}:
            if name in OF_CHOSEN and self.part != old.part:
                continue
            if before.get(name) != now.get(name):
                changes.append(f"{name}: {before.get(name, 'not set')} before, {now.get(name, 'not set')} now")
        for column, signature in self.columns.items():
            if not unnamed and signature is None and old.columns.get(column, "") is None:
                continue
            if column in old.columns and (signature is None or signature != old.columns[column]):
                changes.append(f"{column}: {_difference(old.columns[column], signature)}")
        if self.repeats != old.repeats:
            changes.append(f"repeats: {old.repeats} before, {self.repeats} now")
        return changes


def refuse_changes(results: Path, changes: Sequence[str]) -> None:
    """Raises `ResultsError` if anything was changed since the scores in a results folder were made.

    Args:
        changes: see `Plan.changes`.
    """
    if changes:
        raise ResultsError(
            f"{results} holds scores of another run. Changed: {'; '.join(changes)}. Choose another name or output_dir, "
            f"{UPDATE}, or {FRESH}."
        )


def refuse_fewer_rows(results: Path, plan: Plan, old: Plan) -> None:
    """Raises `ResultsError` if a plan leaves out rows that another one for the same data takes."""
    if not plan.holds_rows_of(old):
        raise ResultsError(
            f"{results} holds the scores of {old.rows}, and this run takes {plan.rows}: their results would take the "
            f"place of those. Choose another name or output_dir, leave out limit and sample, or {FRESH}."
        )


def auto_chunk_size(units: int, most: int = MOST_UNITS) -> int:
    """Units of a chunk where the configuration does not say."""
    return max(1, min(most, -(-units // FEWEST_CHUNKS)))


def _difference(old: str | None, new: str | None) -> str:
    """The parts of two signatures that differ: `judge ab12 before, cd34 now`."""
    if old is None or new is None:
        return UNNAMED
    before, now = (dict(part.partition(":")[::2] for part in line.split("|")) for line in (old, new))
    names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    return ", ".join(f"{name} {before.get(name, 'not set')} before, {now.get(name, 'not set')} now" for name in names)


@dataclass(frozen=True)
class Record:
    """What became of a cell.

    Attributes:
        value: JSON: a score, an order, a reference; None where it is missing.
        reason: why it is missing.
        retry: it is missing for a passing reason, so that the next start tries again.
        details: JSON that belongs to the value.
    """

    value: Any  # JSON
    reason: str | None = None
    retry: bool = False
    details: Json = field(default_factory=dict)

    @property
    def missing(self) -> bool:
        return self.value is None


class Cell(NamedTuple):
    """A unit, a column and the number of the repetition."""

    unit: Any  # the stage's own kind of unit
    column: str
    repeat: int = 0

    @property
    def place(self) -> Place:
        return self.unit.index, self.column, self.repeat
