"""Examples in the help of a command; a test runs every one of them."""

import argparse
from typing import Any


class ExamplesFormatter(argparse.HelpFormatter):
    """Fits paragraphs to the terminal; leaves lines of examples as they are, so that they can be copied."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if "\n" in text else super()._fill_text(text, width, indent)


def with_examples(*examples: str, note: str = "") -> dict[str, Any]:
    """What `add_parser` takes for a help that ends with examples, each a command line, and a note after them."""
    lines = ["examples:", *(f"  {example}" for example in examples), *(["", note] if note else [])]
    return {"epilog": "\n".join(lines), "formatter_class": ExamplesFormatter}
