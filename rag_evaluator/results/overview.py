"""Tables of figures and the sentences around them, printed by rich: in a terminal, as text, and in a notebook."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_evaluator.files import Json, JsonDict

STAGES = ("retrieval", "generation", "other")  # in the order shown; metrics of which no stage is known are `other`
Figures = Json  # those of a metric, as in `summary.json`
REASONS_SHOWN = 3  # for what is missing, of each metric
WIDE = 140  # columns of a terminal that have room for all columns of a table
ENDLESS = 100_000  # characters of a line that is not broken
WINDOW = "did not fit the judge's window"
PRE = '<pre style="white-space:pre;overflow-x:auto;line-height:normal">{code}</pre>'
LETTERS = 160  # of a question, a response or a reason on one line


def interval(row: Figures, none: str = "-") -> str:
    """A mean with its interval: `0.81 [0.74, 0.86]`; with four digits where it has none."""
    if row["mean"] is None:
        return none
    if row.get("ci_low") is None:
        return f"{row['mean']:z.4f}"
    return f"{row['mean']:z.2f} [{row['ci_low']:z.2f}, {row['ci_high']:z.2f}]"


def mean_heading(rows: Iterable[Figures]) -> str:
    """The heading of a column of means: `mean [95 % interval]`."""
    levels = {f" [{100 * row['ci_level']:g} % interval]" for row in rows if "ci_level" in row}
    return f"mean{''.join(sorted(levels))}"


def by_stage(summary: Mapping[str, Figures]) -> Iterator[tuple[str, dict[str, Figures]]]:
    """The metrics of each stage that has any, in their order; all under an empty name if no stage is known."""
    stages = {name: row["stage"] if row.get("stage") in STAGES else "other" for name, row in summary.items()}
    if set(stages.values()) <= {"other"}:
        yield "", dict(summary)
        return
    for stage in STAGES:
        if part := {name: row for name, row in summary.items() if stages[name] == stage}:
            yield stage, part


if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


@dataclass(frozen=True)
class Grid:
    """A table of texts as they are: nothing in them is markup.

    Attributes:
        columns: (heading, left or right).
        rows: cells; one cell alone is the heading of a section.
        further: headings of columns that are left out, and named below, where there is less room than `WIDE`.
    """

    title: str
    columns: Sequence[tuple[str, str]]
    rows: Sequence[Sequence[str]]
    further: Collection[str] = ()

    def table(self, width: int, lines: bool = True) -> "Table":
        """For rich.

        Args:
            width: headings of numbers take a line for each word where the table would be wider, so that names keep
                their room.
            lines: whether lines are drawn between the cells.
        """
        from rich.box import HEAVY_HEAD
        from rich.cells import cell_len
        from rich.table import Table
        from rich.text import Text

        places = [at for at, (heading, _) in enumerate(self.columns) if width >= WIDE or heading not in self.further]
        columns = [self.columns[at] for at in places]
        rows = [[printable(row[at]) for at in places if at < len(row)] for row in self.rows]
        whole = [[heading for heading, _ in columns], *(row for row in rows if len(row) > 1)]
        needed = sum(max(map(cell_len, cells)) + len(" │ ") for cells in zip(*whole, strict=True)) + 1
        look: JsonDict = {} if lines else {"title_justify": "left", "pad_edge": False, "padding": (0, 2, 0, 0)}
        table = Table(title=Text(printable(self.title)), box=HEAVY_HEAD if lines else None, **look)
        if len(columns) < len(self.columns):
            table.caption = Text(f"{', '.join(self.further)}: in {WIDE} columns and more")
        for heading, side in columns:
            is_number = side == "right"
            shown = heading.replace(" ", "\n") if is_number and needed > width else heading
            table.add_column(Text(shown), justify=side, no_wrap=is_number, overflow="fold")  # type: ignore[arg-type]
        for row in rows:
            if len(row) == 1:
                table.add_section()
            table.add_row(*map(Text, row))
        return table


def show(parts: Iterable[Grid | str], console: "Console", lines: bool = True) -> None:
    """Print sentences and tables, one below the other; a sentence is one line, however long."""
    for part in parts:
        if isinstance(part, Grid):
            console.print(part.table(console.width, lines))
        else:
            console.print(part, markup=False, emoji=False, highlight=False, soft_wrap=True)


class WithOverview:
    """A value that is printed as its overview, and shown as it in a notebook."""

    def overview(self) -> Iterable[Grid | str]:
        """Return sentences and tables, one below the other."""
        raise NotImplementedError

    def __str__(self) -> str:
        text = self._shown(lines=False).export_text()
        return "\n".join(line.rstrip() for line in text.splitlines())

    def _repr_html_(self) -> str:
        """Without scripts and colours of its own, so that it fits a light and a dark page."""
        return self._shown(lines=True).export_html(inline_styles=True, code_format=PRE)

    def _shown(self, lines: bool) -> "Console":
        """A console that prints nowhere, and keeps what it was shown."""
        from io import StringIO

        from rich.console import Console

        console = Console(record=True, file=StringIO(), width=ENDLESS, force_jupyter=False)
        show(self.overview(), console, lines)
        return console


def means(
    title: str, kind: str, rows: Mapping[str, Json], none: str, reasons: int | None = REASONS_SHOWN
) -> Iterator[Grid | str]:
    """A table of means with coverage, by stage, and the most frequent reasons for what is missing.

    Args:
        kind: what the rows are, the heading of their names.
        rows: name -> figures, as in `summary.json`: mean, scored, count, reasons; `stage` where it has one, `dropped`
            where contexts may be left out.
        none: shown where there is nothing to average.
        reasons: shown per row at most; None shows all.
    """
    columns = [(kind, "left"), (mean_heading(rows.values()), "right"), ("coverage", "right")]
    cells = list[Sequence[str]]()
    for stage, part in by_stage(rows):
        cells += [[stage]] if stage else []
        for name, row in part.items():
            cells.append([f"  {name}" if stage else name, interval(row, none), f"{row['scored']}/{row['count']}"])
    yield Grid(title, columns, cells)
    for name, row in rows.items():
        for reason, count in list(row["reasons"].items())[:reasons]:
            yield f"  {name}: {count} missing: {reason}"
    for name, row in rows.items():
        if row.get("dropped"):
            yield f"  {name}: contexts were left out in {row['dropped']} of {row['count']} rows ({WINDOW})"
        for warning in (row.get("ci_warning"), row.get("thinking", {}).get("warning")):
            if warning:
                yield f"  {name}: warning: {warning}"


def counted(count: int, noun: str) -> str:
    """`1 metric`, `2 metrics`, `1,200 metrics`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def shortened(text: str, most: int) -> str:
    """A text of at most so many characters; `…` ends one that was longer."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def one_line(text: str) -> str:
    """A text on one line of a terminal."""
    return shortened(" ".join(printable(text).split()), LETTERS)


def printable(text: str) -> str:
    """Without what a terminal would obey; leading spaces stay, by which a table is indented."""
    return "".join(sign if sign.isprintable() else " " for sign in text)
