"""JSON documents as text, in the two layouts that our files have."""

import json
import re
from typing import Any

NUMBER = r"(?:-?\d[\d.eE+-]*|null)"
NUMBERS = re.compile(rf"\[\n\s+({NUMBER}(?:,\n\s+{NUMBER})*)\n\s*\]")  # no string of JSON holds a line break


def json_text(value: Any) -> str:
    """Indented by 2: results, journals, prompt packs, which ragas saves so. Any: JSON."""
    return json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def wide_json_text(value: Any) -> str:
    """Indented by 4, lists of numbers on one line: what `sort` and `generate` write, whose ranks are read by eye."""
    text = json.dumps(value, ensure_ascii=False, indent=4, allow_nan=False)
    return NUMBERS.sub(_on_one_line, text) + "\n"


def _on_one_line(found: re.Match[str]) -> str:
    return f"[{', '.join(found[1].replace(',', ' ').split())}]"
