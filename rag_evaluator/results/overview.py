"""What a value shows of itself: a text where it is printed, a table in a notebook; both from the same parts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import escape

from rag_evaluator.results.shown import by_stage, interval, mean_heading

REASONS_SHOWN = 3  # for what is missing, of each metric
LINE = "border-bottom:1px solid rgba(128,128,128,.4)"  # seen on white and on black
CELL = f"padding:.2em .8em;{LINE};background:none;color:inherit;white-space:pre-wrap"


@dataclass(frozen=True)
class Grid:
    """A table of texts.

    Attributes:
        columns: (heading, left or right).
    """

    title: str
    columns: Sequence[tuple[str, str]]
    rows: Sequence[Sequence[str]]

    def __str__(self) -> str:
        texts = [[heading for heading, _ in self.columns], *self.rows]
        lines = [[_one_line(text) for text in line] for line in texts]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        signs = [">" if side == "right" else "<" for _, side in self.columns]
        cells = (
            [f"{text:{sign}{width}}" for text, sign, width in zip(line, signs, widths, strict=True)] for line in lines
        )
        return "\n".join([self.title, *("  ".join(line).rstrip() for line in cells)])

    def html(self) -> str:
        sides = [side for _, side in self.columns]
        head = "".join(map(_cell, ["th"] * len(sides), sides, (_one_line(heading) for heading, _ in self.columns)))
        rows = "".join(f"<tr>{''.join(map(_cell, ['td'] * len(sides), sides, row))}</tr>" for row in self.rows)
        caption = f'<caption style="text-align:left;color:inherit"><b>{escape(self.title)}</b></caption>'
        style = "border-collapse:collapse;font-variant-numeric:tabular-nums;margin:.5em 0"
        return f'<table style="{style}">{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'


@dataclass(frozen=True)
class Overview:
    """Sentences and tables, one below the other."""

    parts: Sequence[Grid | str]

    def __str__(self) -> str:
        return "\n".join(map(str, self.parts))

    def html(self) -> str:
        """Without scripts and colours of its own, so that it fits a light and a dark page."""
        parts = (part.html() if isinstance(part, Grid) else f"<div>{escape(part.strip())}</div>" for part in self.parts)
        return f"<div>{''.join(parts)}</div>"


class Shown:
    """A value that is printed as its overview, and shown as it in a notebook."""

    def overview(self) -> Overview:
        """What it comes to."""
        raise NotImplementedError

    def __str__(self) -> str:
        return str(self.overview())

    def _repr_html_(self) -> str:
        return self.overview().html()


def means(
    title: str, kind: str, rows: Mapping[str, Mapping[str, Any]], none: str, reasons: int | None = REASONS_SHOWN
) -> Iterator[Grid | str]:
    """A table of means with coverage, by stage, and the most frequent reasons for what is missing.

    Args:
        kind: what the rows are, the heading of their names.
        rows: name -> figures, as in `summary.json`. Any: JSON.
        none: shown where there is nothing to average.
        reasons: shown per row at most; None shows all.
    """
    columns = [(kind, "left"), (mean_heading(rows.values()), "right"), ("coverage", "right")]
    yield Grid(title, columns, list(_means(rows, none)))
    for name, row in rows.items():
        for reason, count in list(row["reasons"].items())[:reasons]:
            yield f"  {name}: {count} missing: {reason}"
        if warning := row.get("ci_warning"):
            yield f"  {name}: warning: {warning}"


def _means(rows: Mapping[str, Mapping[str, Any]], none: str) -> Iterator[Sequence[str]]:
    for stage, part in by_stage(rows):
        if stage:
            yield [stage, "", ""]
        for name, row in part.items():
            yield [f"  {name}" if stage else name, interval(row, none), f"{row['scored']}/{row['count']}"]


def counted(count: int, noun: str) -> str:
    """`1 metric`, `2 metrics`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def few(names: Iterable[str], most: int = 4) -> str:
    """The first names of a list, and how many more there are."""
    first = list(names)
    return ", ".join(first[:most]) + (f" and {len(first) - most} more" if len(first) > most else "")


def _cell(kind: str, side: str, text: str) -> str:
    return f'<{kind} style="text-align:{side};{CELL}">{escape(text)}</{kind}>'


def _one_line(text: str) -> str:
    """Without what a terminal would obey; leading spaces stay, by which a table is indented."""
    return "".join(sign if sign.isprintable() else " " for sign in text)
