"""The part of the report that says what the judge noticed."""

import json

from rag_evaluator.report import environment, with_interval
from rag_evaluator.results import Run

from .orders import INJECTED, injection_sentences

PROBE = "probe/probe.json"


def report_part(run: Run) -> str:
    """Return it as HTML; empty where nobody tried."""
    lines, sentences = probed(run)
    template = environment("rag_evaluator.features.probe").get_template("noticed.html")
    return template.render(lines=lines, sentences=sentences) if lines else ""


def probed(run: Run) -> tuple[list[dict[str, str]], list[str]]:
    """Return what a probe of this judge found: a line for each metric and change, and sentences on orders in the texts;
    empty where there is no probe.
    """
    try:
        probe_json = json.loads((run.folder / PROBE).read_bytes())
        lines = [
            {
                "metric": metric,
                "probe": probe,
                "change": probe_json["probes"][probe]["change"],
                "counts": f"{cell['falls']:,}/{cell['ties']:,}/{cell['rises']:,}",
                "shown": with_interval(cell["share"]),
                "words": with_interval(cell.get("counting_words", {}).get("share", {})),
                "word": cell["word"] or "control",
            }
            for metric, cells in probe_json["metrics"].items()
            for probe, cell in cells.items()
        ]
        return lines, list(injection_sentences(probe_json.get(INJECTED, {})))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return [], []
