"""`judges.html`: the sentences, the picture and the tables for a browser."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from rag_evaluator.files import Json, JsonDict, write_text
from rag_evaluator.report import ChartPoint, chart, chart_labels, environment, inline, why_no_charts
from rag_evaluator.resources import __version__, for_others
from rag_evaluator.results import Conclusion, Grid

from .figures import WORDS

QUIET = "light-dark(#5c6166, #a3a8ae)"
WIDTH = 520
HEIGHT = 260


def write_page(path: Path, conclusion: Conclusion, grids: Sequence[Grid], pictures: Mapping[str, str]) -> None:
    """Write the page. `pictures`: metric -> image, see `picture`."""
    template = environment("rag_evaluator.features.judges").get_template("judges.html")
    page = template.render(
        title="Which judge?",
        version=__version__,
        inline=inline(),
        conclusion=conclusion,
        next=for_others(conclusion.next),
        grids=grids,
        pictures=pictures,
        no_charts=why_no_charts() if pictures else "",
    )
    write_text(path, page)


def picture(metric: str, figures: Json, seconds: Mapping[str, float]) -> str:
    """Draw the AUC of each judge against its seconds a row, counting words as a line; empty where none was measured."""
    rows = {name: row["auc"] for name, row in figures["rows"].items() if name in seconds}
    labels = chart_labels(list(rows))
    points = [
        {**asdict(ChartPoint(label, area["value"], area["ci_low"], area["ci_high"])), "seconds": seconds[name]}
        for label, (name, area) in zip(labels, rows.items(), strict=True)
    ]
    words = figures["rows"].get(WORDS)
    spec = {
        "width": WIDTH,
        "height": HEIGHT,
        "data": {"values": points},
        "layer": [*_layers(), *([] if words is None else _line(words["auc"]["value"]))],
    }
    return chart(spec, f"Agreement of each judge for {metric} against its seconds a row") if points else ""


def _layers() -> Iterator[JsonDict]:
    y = {"type": "quantitative", "scale": {"domain": [0, 1]}, "axis": {"title": "AUC", "format": ".2~f"}}
    x = {"field": "seconds", "type": "quantitative", "scale": {"zero": True}, "axis": {"title": "Seconds a row"}}
    at = {"x": x, "y": {**y, "field": "value"}}
    yield {"mark": {"type": "rule"}, "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}}}
    yield {"mark": {"type": "point"}, "encoding": at}
    label = {"type": "text", "align": "right", "dx": -8, "color": QUIET}
    yield {"mark": label, "encoding": {**at, "text": {"field": "label"}}}


def _line(value: float) -> Iterator[JsonDict]:
    data = {"values": [{"value": value, "label": WORDS}]}
    y = {"field": "value", "type": "quantitative"}
    yield {"data": data, "mark": {"type": "rule", "color": QUIET, "strokeDash": [4, 3]}, "encoding": {"y": y}}
    text = {"type": "text", "align": "left", "dy": -6, "color": QUIET, "x": 4}
    yield {"data": data, "mark": text, "encoding": {"y": y, "text": {"field": "label"}}}
