"""Charts: labels, Vega-Lite specifications from figures, and `chart`, which draws one as inline SVG without scripts.

Only the elements and attributes of `KEPT` come out, so that a page may forbid scripts and `style` attributes.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import Any
from xml.etree import ElementTree

from markupsafe import Markup, escape

from rag_evaluator.report.pages import clean

LETTERS = 40  # of a label
Ends = tuple[float, float]
ROW, WIDTH, HEIGHT, WIDE = 18, 230, 96, 1000  # pixels
LEFT = {"minExtent": 26}  # so that charts above each other are in line
LETTER = 6.6  # pixels of a letter in the font of the page, which is not the one that labels are measured in
BARS = 20
LABEL = 110  # pixels of a label beside a chart; what is longer is cut there, and whole in the table
Spec = dict[str, Any]  # Any in this module: JSON of Vega-Lite
VERSION = "6.4"  # of Vega-Lite
KEPT: Mapping[str, frozenset[str]] = {
    "g": frozenset(),
    "path": frozenset({"d"}),
    "line": frozenset({"x2", "y2"}),
    "text": frozenset({"text-anchor", "font-size", "font-weight"}),
    "a": frozenset(),
}
"""Element -> its attributes that are kept, beside those of `PAINTED`."""
PAINTED = frozenset(
    "transform fill fill-opacity stroke stroke-width stroke-opacity stroke-dasharray stroke-linecap opacity".split()
)
PLAIN = {("transform", "translate(0,0)"), ("opacity", "1"), ("font-weight", "normal"), ("stroke-width", "1")}
"""What an attribute says that need not be there."""
LONG = re.compile(r"(-?\d+\.\d\d)\d+")
NO_XML = re.compile("[\ufffe\uffff]")
QUIET = "var(--quiet)"
CONFIG: Spec = {
    "background": None,
    "font": "sans-serif",  # for measuring only: what is drawn has the font of the page
    "padding": {"left": 8, "right": 8, "top": 4, "bottom": 2},
    "view": {"stroke": None},
    "axis": {
        "labelColor": QUIET,
        "titleColor": QUIET,
        "labelFontSize": 11,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
        "titlePadding": 6,
        "gridColor": "var(--line)",
        "domain": False,
        "ticks": False,
        "labelPadding": 5,
        "labelFlush": False,
    },
    "title": {
        "anchor": "start",
        "frame": "group",
        "offset": 6,
        "fontSize": 12,
        "fontWeight": "normal",
        "color": "currentColor",
    },
    "bar": {"color": "var(--accent)"},
    "point": {"color": "var(--accent)", "filled": True, "size": 44, "opacity": 1},
    "rule": {"color": "var(--accent)", "strokeWidth": 1.5},
    "legend": {"labelColor": QUIET, "titleColor": QUIET, "labelFontSize": 11, "orient": "top", "title": None},
}
"""What all charts look like; colours are those of the page, light or dark."""


def chart_labels(names: Sequence[str]) -> list[str]:
    """One label for each name: long ones are cut, those that are equal then numbered."""
    labels: dict[str, None] = {}
    for name in names:
        plain = " ".join(name.split())
        cut = plain if len(plain) <= LETTERS else plain[: LETTERS - 1] + "…"
        label, number = cut, 1
        while label in labels:
            number += 1
            label = f"{cut} ({number})"
        labels[label] = None
    return list(labels)


def in_order(names: Iterable[str]) -> list[str]:
    """By name, numbers in them by value: 2 before 10."""

    def parts(name: str) -> list[tuple[int, str]]:
        return [(len(part), part) if part.isdigit() else (0, part) for part in re.split(r"(\d+)", name)]

    return sorted(names, key=parts)


@dataclass(frozen=True)
class ChartPoint:
    """A figure with its interval, None where there is none.

    Attributes:
        label: what it is of.
        description: the same in words, with its figures, for whom points at it.
        href: where a click goes, `#...`; None: nowhere.
        series: which of several kinds of dots it is.
    """

    label: str
    value: float | None
    low: float | None
    high: float | None
    description: str
    href: str | None = None
    series: str = ""

    def to_json(self) -> Spec:
        return {name: part for name, part in asdict(self).items() if name != "href" or part is not None}


def dots(rows: Sequence[ChartPoint], ends: Ends, zero: bool = False, step: int = ROW) -> Spec:
    """ChartPoint and whisker for each row, one below the other. `zero`: they are differences, with a line at none."""
    left = _extent((row.label for row in rows), LABEL)
    axis = _ticks("Difference" if zero else "Mean score", 4)
    x = {"field": "value", "type": "quantitative", "scale": {"domain": list(ends), "nice": False}, "axis": axis}
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


def steps(rows: Sequence[ChartPoint], ends: Ends, title: str, of: str) -> Spec:
    """ChartPoint and whisker for each step of something in order, from left to right.

    Args:
        title, of: of the axes: what the steps are, what the points are of.
    """
    y = {
        "field": "value",
        "type": "quantitative",
        "scale": {"domain": list(ends), "nice": False},
        "axis": {**_ticks(of, 4), **LEFT},
    }
    x = {"field": "label", "type": "ordinal", "sort": None, "axis": {"title": title, "labelAngle": 0}}
    return {
        "width": WIDTH,
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
    description: str
    href: str | None = None


def histogram(bars: Sequence[Bar], ends: Ends) -> Spec:
    """Bars on the range of a metric; `BARS` of them fit beside each other."""
    edge = (ends[1] - ends[0]) / BARS / 2
    ticks = min(3, max((bar.count for bar in bars), default=1))  # whole numbers, also where there are few
    domain = [ends[0] - edge, ends[1] + edge]
    values = [
        {name: part for name, part in asdict(bar).items() if name != "href" or part is not None}
        for bar in bars
        if bar.count
    ]
    x = {"field": "at", "type": "quantitative", "scale": {"domain": domain, "nice": False}, "axis": _range(ends)}
    y = {"field": "count", "type": "quantitative", "axis": {**_ticks("Rows", ticks), "format": "~s", **LEFT}}
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "data": {"values": values},
        "mark": {"type": "bar", "size": max(2, WIDTH // (BARS + 1) - 1)},
        "encoding": {
            "x": x,
            "y": {**y, "scale": {"zero": True, "nice": ticks}},
            "description": {"field": "description"},
            **_linked(bar.href for bar in bars),
        },
    }


def dumbbells(pairs: Sequence[tuple[ChartPoint, ChartPoint]], ends: Ends, labels: Iterable[str]) -> Spec:
    """Two dots on a line for each row: a baseline, hollow, and what is compared with it.

    Args:
        labels: those of all charts that stand above each other.
    """
    both = [(a.to_json(), b.to_json()) for a, b in pairs]
    lines = [
        {"label": a["label"], "value": a["value"], "high": b["value"], "description": b["description"]} for a, b in both
    ]
    scale = {"domain": list(ends), "nice": False}
    x = {"field": "value", "type": "quantitative", "scale": scale, "axis": _ticks("Mean score")}
    y = {
        "field": "label",
        "type": "nominal",
        "sort": None,
        "axis": {"title": None, **_extent(labels, 3 * LABEL)},
    }
    first, second = ({"values": [pair[side] for pair in both]} for side in (0, 1))
    described = {"description": {"field": "description"}}
    return {
        "width": 2 * WIDTH,
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
                "encoding": {"x": x, **described},
            },
            {
                "data": second,
                "mark": {"type": "point", "color": "var(--second)", "opacity": 1},
                "encoding": {"x": x, **described},
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


def _point(along: Mapping[str, Any], rows: Sequence[ChartPoint], start: str = "x") -> Spec:
    encoding = {start: along, "description": {"field": "description"}, **_linked(row.href for row in rows)}
    return {"transform": [{"filter": "isValid(datum.value)"}], "mark": {"type": "point"}, "encoding": encoding}


def _zero(shown: bool) -> list[Spec]:
    mark = {"type": "rule", "color": "var(--quiet)", "strokeWidth": 1, "aria": False}
    return [{"data": {"values": [{}]}, "mark": mark, "encoding": {"x": {"datum": 0}, "y": None}}] if shown else []


def _linked(hrefs: Any) -> Spec:
    return {"href": {"field": "href"}} if any(href is not None for href in hrefs) else {}


def _ticks(title: str, count: int = 5) -> Spec:
    return {"title": title, "tickCount": count, "format": ".3~f"}


def _range(ends: Ends) -> Spec:
    values = [ends[0] + (ends[1] - ends[0]) * quarter / 4 for quarter in range(5)]
    return {"title": "Score", "values": [round(value, 6) for value in values], "grid": False, "format": ".2~f"}


NO_CHARTS = (
    "The charts of this page need the package vl-convert-python: pip install vl-convert-python. "
    "The tables have the same figures."
)


def why_no_charts() -> str:
    """Why a page has no charts; empty where they can be drawn."""
    return "" if find_spec("vl_convert") else NO_CHARTS


def chart(spec: Spec, label: str) -> Markup:
    """A specification as SVG of its natural size; a style sheet may make it smaller. Empty where none can be drawn.

    `href` of a mark must begin with `#`; its `description` becomes what is shown when the pointer is over it.

    Args:
        label: says what the chart shows, to whom it is read.
    """
    if why_no_charts():
        return Markup()
    import vl_convert

    config = {"config": {**CONFIG, **spec.get("config", {})}}
    drawn = vl_convert.vegalite_to_svg(_cleaned({**spec, **config}), vl_version=VERSION)
    root = ElementTree.fromstring(drawn)  # made by the line above
    body = "".join(_kept_parts(root))
    width, height, box = (escape(root.get(name, "")) for name in ("width", "height", "viewBox"))
    role = "group" if "<a " in body else "img"  # what is in an image cannot be reached by keyboard
    return Markup('<svg class="chart" role="{}" aria-label="{}" width="{}" height="{}" viewBox="{}">{}</svg>').format(
        role, clean(label), width, height, box, Markup(body)
    )


def _cleaned(value: Any) -> Any:
    """The same with texts that can be encoded and shown."""
    if isinstance(value, str):
        return NO_XML.sub("", clean(value))
    if isinstance(value, Mapping):
        return {name: _cleaned(part) for name, part in value.items()}
    return [_cleaned(part) for part in value] if isinstance(value, list | tuple) else value


def _kept_parts(element: ElementTree.Element, label: str = "") -> Iterator[str]:
    """The children of an element, with only what is kept of them."""
    for child in element:
        tag = child.tag.rpartition("}")[2]
        if tag not in KEPT or child.get("opacity") == "0" or child.get("class") in ("background", "foreground"):
            continue
        inherited = label if tag == "path" or tag == "line" else ""
        is_symbol = child.get("role") == "graphics-symbol" and tag != "g"
        title = child.get("aria-label", inherited) if is_symbol else inherited
        attributes = dict(_attributes(child, tag))
        inner = _inside(child, tag, title)
        if tag == "g" and not attributes:
            yield inner
        elif inner or tag in ("path", "line"):
            written = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())
            yield f"<{tag}{written}>{inner}</{tag}>" if inner else f"<{tag}{written}/>"


def _inside(element: ElementTree.Element, tag: str, title: str) -> str:
    if tag == "text":
        return str(escape(element.text or ""))
    return (f"<title>{escape(title)}</title>" if title else "") + "".join(_kept_parts(element))


def _attributes(element: ElementTree.Element, tag: str) -> Iterator[tuple[str, str]]:
    for name, value in element.attrib.items():
        plain = name.rpartition("}")[2]
        if tag == "a" and plain == "href" and "#" in value:  # vl-convert makes addresses of a server of `#...`
            yield "href", f"#{value.partition('#')[2]}"
        elif plain in PAINTED | KEPT[tag] and "url(" not in value and (plain, value) not in PLAIN:
            yield plain, LONG.sub(r"\1", value)
    if tag == "a" and (labelled := element.find(".//*[@aria-label]")) is not None:
        yield "aria-label", labelled.get("aria-label", "")
