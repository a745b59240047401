"""Charts: labels, Vega-Lite specifications from figures, and `chart`, which draws one as an image inside the page."""

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec

from markupsafe import Markup

from rag_evaluator.files import JsonDict
from rag_evaluator.results import shortened

from .pages import clean

LETTERS = 40  # of a label
Ends = tuple[float, float]
# pixels
ROW = 18
WIDTH = 230
LEFT = {"minExtent": 26}  # so that charts above each other are in line
LETTER = 6.6  # pixels of a letter
LABEL = 110  # pixels of a label beside a chart; what is longer is cut there, and whole in the table
Spec = JsonDict  # Any in this module: JSON of Vega-Lite
VERSION = "6.4"  # of Vega-Lite
NO_XML = re.compile("[\ufffe\uffff]")
INK = "light-dark(#1d1f21, #e8e8e6)"
QUIET = "light-dark(#5c6166, #a3a8ae)"
LINE = "light-dark(#dcdedf, #383b40)"
FIRST = "light-dark(#1f5fbf, #7fb0ff)"
SECOND = "light-dark(#b4550f, #f0a35e)"
CONFIG: Spec = {
    "background": None,
    "font": "sans-serif",
    "padding": {"left": 8, "right": 8, "top": 4, "bottom": 2},
    "view": {"stroke": None},
    "axis": {
        "labelColor": QUIET,
        "titleColor": QUIET,
        "labelFontSize": 11,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
        "titlePadding": 6,
        "gridColor": LINE,
        "domain": False,
        "ticks": False,
        "labelPadding": 5,
        "labelFlush": False,
    },
    "title": {"anchor": "start", "frame": "group", "offset": 6, "fontSize": 12, "fontWeight": "normal", "color": INK},
    "point": {"color": FIRST, "filled": True, "size": 44, "opacity": 1},
    "rule": {"color": FIRST, "strokeWidth": 1.5},
}
"""What all charts look like; colours are those of `base.css`, which a style sheet cannot give to an image."""
NO_CHARTS = (
    "The charts of this page need the package vl-convert-python: pip install vl-convert-python. "
    "The tables have the same figures."
)


def chart_labels(names: Sequence[str]) -> list[str]:
    """Return a label for each name that can be encoded: long ones are cut, those that are equal then numbered."""
    labels: dict[str, None] = {}
    for name in names:
        cut = shortened(NO_XML.sub("", clean(" ".join(name.split()))), LETTERS)
        label = cut
        number = 1
        while label in labels:
            number += 1
            label = f"{cut} ({number})"
        labels[label] = None
    return list(labels)


def in_order(names: Iterable[str]) -> list[str]:
    """Sort by name, numbers in them by value: 2 before 10."""
    parts = {name: re.split(r"(\d+)", name) for name in names}
    return sorted(parts, key=lambda name: [(len(part) if part.isdigit() else 0, part) for part in parts[name]])


@dataclass(frozen=True)
class ChartPoint:
    """A figure with its interval, None where there is none; `label` says what it is of."""

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None


def dots(rows: Sequence[ChartPoint], ends: Ends | None = None) -> Spec:
    """Draw dot and whisker for each row, one below the other; without `ends` differences, with a line at none."""
    left = _extent((row.label for row in rows), LABEL)
    is_difference = ends is None
    if ends is None:
        most = max((abs(end) for row in rows for end in (row.low, row.high, row.value) if end is not None), default=0)
        ends = -(most or 1) * 1.05, (most or 1) * 1.05
    x = _along("value", ends, _ticks("Difference" if is_difference else "Mean score", 4))
    whisker = {"type": "rule", "strokeCap": "round"}
    line = {"data": {"values": [{}]}, "mark": {"type": "rule", "color": QUIET, "strokeWidth": 1}}
    return {
        "width": WIDTH + LEFT["minExtent"] - left["minExtent"],
        "height": {"step": ROW},
        "data": {"values": list(map(asdict, rows))},
        "encoding": {"y": {"field": "label", "type": "nominal", "sort": None, "axis": {"title": None, **left}}},
        "layer": [
            *([{**line, "encoding": {"x": {"datum": 0}, "y": None}}] if is_difference else []),
            {**_valid("low"), "mark": whisker, "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}}},
            {**_valid("value"), "mark": {"type": "point"}, "encoding": {"x": x}},
        ],
    }


def _along(field: str, ends: Ends, axis: Spec) -> Spec:
    return {"field": field, "type": "quantitative", "scale": {"domain": list(ends), "nice": False}, "axis": axis}


def _extent(labels: Iterable[str], most: int) -> dict[str, int]:
    """Return so much room for labels that charts with the same ones are in line."""
    extent = min(most, round(LETTER * max(map(len, labels), default=0)))
    return {"labelLimit": extent, "minExtent": extent, "maxExtent": extent}


def _valid(field: str) -> Spec:
    return {"transform": [{"filter": f"isValid(datum.{field})"}]}


def _ticks(title: str, count: int = 5) -> Spec:
    return {"title": title, "tickCount": count, "format": ".3~f"}


def reliability_chart(sides: Mapping[str, Sequence[Mapping[str, float]]]) -> Spec:
    """Draw the share that came true over the mean probability, with the line where both are equal.

    Args:
        sides: what the points of each colour are of, at most two -> lines with `probability` and `supported`, in order.
    """
    values = [{**line, "label": label} for label, lines in sides.items() for line in lines]
    x, y = (
        _along(field, (0.0, 1.0), _ticks(title))
        for field, title in (("probability", "Mean probability"), ("supported", "Supported"))
    )
    ends = [{"probability": end, "supported": end} for end in (0, 1)]
    color = {
        "field": "label",
        "sort": None,
        "scale": {"domain": list(sides), "range": [FIRST, SECOND]},
        "legend": {"title": None, "labelColor": INK, "orient": "right"},
    }
    return {
        "width": WIDTH,
        "height": WIDTH,
        "encoding": {"x": x, "y": y},
        "layer": [
            {"data": {"values": ends}, "mark": {"type": "line", "color": QUIET, "strokeWidth": 1}},
            {"data": {"values": values}, "mark": {"type": "line", "point": True}, "encoding": {"color": color}},
        ],
    }


def why_no_charts() -> str:
    """Say why a page has no charts; empty where they can be drawn."""
    return "" if find_spec("vl_convert") else NO_CHARTS


def chart(spec: Spec, label: str) -> Markup:
    """Draw a specification as `<img>` of its natural size, light or dark as the page; empty where none can be drawn.

    What is in an image cannot run, load or lead anywhere, so the drawing needs no cleaning.

    Args:
        label: says what the chart shows, to whom it is read.
    """
    if why_no_charts():
        return Markup()
    import vl_convert

    drawn = vl_convert.vegalite_to_svg({**spec, "config": CONFIG}, vl_version=VERSION)
    drawn = drawn.replace("<svg ", '<svg style="color-scheme:light dark" ', 1)  # of the page that shows it
    width, height = re.findall(r'(?:width|height)="(\d+)"', drawn)[:2]
    data = base64.b64encode(drawn.encode()).decode("ascii")
    image = Markup('<img class="chart" alt="{}" width="{}" height="{}" src="data:image/svg+xml;base64,{}">')
    return image.format(clean(label), width, height, data)
