"""The Vega-Lite specifications of all charts: figures in, JSON out; nothing is drawn here."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Spec = dict[str, Any]  # Any in this module: JSON of Vega-Lite
Ends = tuple[float, float]
ROW, WIDTH, HEIGHT, WIDE = 18, 230, 96, 1000  # pixels
LEFT = {"minExtent": 26}  # so that charts above each other are in line
LETTER = 6.6  # pixels of a letter in the font of the page, which is not the one that labels are measured in
LABEL = 110  # pixels of a label beside a chart; what is longer is cut there, and whole in the table


@dataclass(frozen=True)
class Dot:
    """A figure with its interval, None where there is none.

    Attributes:
        label: what it is of.
        said: the same in words, with its figures, for whom points at it.
        href: where a click goes, `#...`; None: nowhere.
        series: which of several kinds of dots it is.
    """

    label: str
    value: float | None
    low: float | None
    high: float | None
    said: str
    href: str | None = None
    series: str = ""

    def to_json(self) -> Spec:
        shown = {"label": self.label, "value": self.value, "low": self.low, "high": self.high, "said": self.said}
        return {**shown, "series": self.series, **({} if self.href is None else {"href": self.href})}


def dots(rows: Sequence[Dot], ends: Ends, zero: bool = False, step: int = ROW) -> Spec:
    """Dot and whisker for each row, one below the other. `zero`: a line where nothing differs."""
    left = _extent((row.label for row in rows), LABEL)
    x = {"field": "value", "type": "quantitative", "scale": {"domain": list(ends), "nice": False}, "axis": _ticks(4)}
    y = {"field": "label", "type": "nominal", "sort": None, "axis": {"title": None, **left}}
    return {
        "width": WIDTH + LEFT["minExtent"] - left["minExtent"],
        "height": {"step": step},
        "data": {"values": [row.to_json() for row in rows]},
        "encoding": {"y": y},
        "layer": [*_zero(zero), *_whisker(x, "x2"), _point(x, rows)],
    }


def unlabelled(spec: Spec) -> Spec:
    """Rows without labels: those of the chart to the left."""
    y = {**spec["encoding"]["y"], "axis": {"title": None, "labels": False}}
    return {**spec, "width": WIDTH, "encoding": {**spec["encoding"], "y": y}}


def steps(rows: Sequence[Dot], ends: Ends, title: str, width: int = WIDTH) -> Spec:
    """Dot and whisker for each step of something in order, from left to right."""
    y = {
        "field": "value",
        "type": "quantitative",
        "scale": {"domain": list(ends), "nice": False},
        "axis": {**_ticks(4), **LEFT},
    }
    x = {"field": "label", "type": "ordinal", "sort": None, "axis": {"title": title, "labelAngle": 0}}
    return {
        "width": width,
        "height": HEIGHT,
        "data": {"values": [row.to_json() for row in rows]},
        "encoding": {"x": x},
        "layer": [*_whisker(y, "y2"), _point(y, rows, "y")],
    }


@dataclass(frozen=True)
class Bar:
    """How many scores there are at a place of the axis."""

    at: float
    count: int
    said: str
    href: str | None = None


def histogram(bars: Sequence[Bar], ends: Ends, most: int = 20, width: int = WIDTH) -> Spec:
    """Bars on the range of a metric; `most` of them fit beside each other."""
    edge = (ends[1] - ends[0]) / most / 2
    ticks = min(3, max((bar.count for bar in bars), default=1))  # whole numbers, also where there are few
    domain = [ends[0] - edge, ends[1] + edge]
    values = [
        {"at": bar.at, "count": bar.count, "said": bar.said, **({} if bar.href is None else {"href": bar.href})}
        for bar in bars
        if bar.count
    ]
    x = {"field": "at", "type": "quantitative", "scale": {"domain": domain, "nice": False}, "axis": _range(ends)}
    y = {"field": "count", "type": "quantitative", "axis": {**_ticks(ticks), "format": "~s", **LEFT}}
    return {
        "width": width,
        "height": HEIGHT,
        "data": {"values": values},
        "mark": {"type": "bar", "size": max(2, width // (most + 1) - 1)},
        "encoding": {
            "x": x,
            "y": {**y, "scale": {"zero": True, "nice": ticks}},
            "description": {"field": "said"},
            **_linked(bar.href for bar in bars),
        },
    }


def dumbbells(pairs: Sequence[tuple[Dot, Dot]], ends: Ends, labels: Iterable[str], width: int = 2 * WIDTH) -> Spec:
    """Two dots on a line for each row: a baseline, hollow, and what is compared with it.

    Args:
        labels: those of all charts that stand above each other.
    """
    both = [(a.to_json(), b.to_json()) for a, b in pairs]
    lines = [{"label": a["label"], "value": a["value"], "high": b["value"], "said": b["said"]} for a, b in both]
    x = {"field": "value", "type": "quantitative", "scale": {"domain": list(ends), "nice": False}, "axis": _ticks()}
    y = {
        "field": "label",
        "type": "nominal",
        "sort": None,
        "axis": {"title": None, **_extent(labels, 3 * LABEL)},
    }
    first, second = ({"values": [pair[side] for pair in both]} for side in (0, 1))
    said = {"description": {"field": "said"}}
    return {
        "width": width,
        "height": {"step": 22},
        "encoding": {"y": y},
        "layer": [
            {
                "data": {"values": lines},
                "mark": {"type": "rule", "strokeWidth": 3, "color": "var(--line)", "aria": False},
                "encoding": {"x": x, "x2": {"field": "high"}},
            },
            {
                "data": first,
                "mark": {
                    "type": "point",
                    "fill": "var(--panel)",
                    "stroke": "var(--first)",
                    "size": 90,
                    "strokeWidth": 1.8,
                },
                "encoding": {"x": x, **said},
            },
            {
                "data": second,
                "mark": {"type": "point", "color": "var(--second)", "opacity": 1},
                "encoding": {"x": x, **said},
            },
        ],
    }


def _extent(labels: Iterable[str], most: int) -> dict[str, int]:
    """So much room for labels that charts with the same ones are in line."""
    extent = min(most, round(LETTER * max(map(len, labels), default=0)))
    return {"labelLimit": extent, "minExtent": extent, "maxExtent": extent}


def _whisker(along: Mapping[str, Any], end: str) -> list[Spec]:
    start = end[0]
    mark = {"type": "rule", "aria": False, "strokeCap": "round"}
    encoding = {start: {**along, "field": "low"}, end: {"field": "high"}}
    return [{"transform": [{"filter": "isValid(datum.low)"}], "mark": mark, "encoding": encoding}]


def _point(along: Mapping[str, Any], rows: Sequence[Dot], start: str = "x") -> Spec:
    encoding = {start: along, "description": {"field": "said"}, **_linked(row.href for row in rows)}
    return {"transform": [{"filter": "isValid(datum.value)"}], "mark": {"type": "point"}, "encoding": encoding}


def _zero(shown: bool) -> list[Spec]:
    mark = {"type": "rule", "color": "var(--quiet)", "strokeWidth": 1, "aria": False}
    return [{"data": {"values": [{}]}, "mark": mark, "encoding": {"x": {"datum": 0}, "y": None}}] if shown else []


def _linked(hrefs: Any) -> Spec:
    return {"href": {"field": "href"}} if any(href is not None for href in hrefs) else {}


def _ticks(count: int = 5) -> Spec:
    return {"title": None, "tickCount": count, "format": ".3~f"}


def _range(ends: Ends) -> Spec:
    values = [ends[0] + (ends[1] - ends[0]) * quarter / 4 for quarter in range(5)]
    return {"title": None, "values": [round(value, 6) for value in values], "grid": False, "format": ".2~f"}
