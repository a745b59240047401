"""`chart`: a Vega-Lite specification as inline SVG; no script in the page draws anything.

Only the elements and attributes of `KEPT` come out, so that a page may forbid scripts and `style` attributes.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any
from xml.etree import ElementTree

from markupsafe import Markup, escape

from rag_evaluator.report.pages import clean

Spec = Mapping[str, Any]  # Any in this module: JSON of Vega-Lite
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


def chart(spec: Spec, label: str) -> Markup:
    """A specification as SVG of its natural size; a style sheet may make it smaller.

    `href` of a mark must begin with `#`; its `description` becomes what is shown when the pointer is over it.

    Args:
        label: says what the chart shows, to whom it is read.
    """
    import vl_convert

    config = {"config": {**CONFIG, **spec.get("config", {})}}
    drawn = vl_convert.vegalite_to_svg(_cleaned({**spec, **config}), vl_version=VERSION)
    root = ElementTree.fromstring(drawn)  # made by the line above
    body = "".join(_parts(root))
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


def _parts(element: ElementTree.Element, label: str = "") -> Iterator[str]:
    """The children of an element, with only what is kept of them."""
    for child in element:
        tag = child.tag.rpartition("}")[2]
        if tag not in KEPT or child.get("opacity") == "0" or child.get("class") in ("background", "foreground"):
            continue
        own = label if tag == "path" or tag == "line" else ""
        said = child.get("aria-label", own) if child.get("role") == "graphics-symbol" and tag != "g" else own
        attributes = dict(_attributes(child, tag))
        inner = _inside(child, tag, said)
        if tag == "g" and not attributes:
            yield inner
        elif inner or tag in ("path", "line"):
            written = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())
            yield f"<{tag}{written}>{inner}</{tag}>" if inner else f"<{tag}{written}/>"


def _inside(element: ElementTree.Element, tag: str, said: str) -> str:
    if tag == "text":
        return str(escape(element.text or ""))
    title = f"<title>{escape(said)}</title>" if said else ""
    return title + "".join(_parts(element))


def _attributes(element: ElementTree.Element, tag: str) -> Iterator[tuple[str, str]]:
    for name, value in element.attrib.items():
        plain = name.rpartition("}")[2]
        if tag == "a" and plain == "href" and "#" in value:  # vl-convert makes addresses of a server of `#...`
            yield "href", f"#{value.partition('#')[2]}"
        elif plain in PAINTED | KEPT[tag] and "url(" not in value and (plain, value) not in PLAIN:
            yield plain, LONG.sub(r"\1", value)
    if tag == "a" and (labelled := element.find(".//*[@aria-label]")) is not None:
        yield "aria-label", labelled.get("aria-label", "")
