"""Text that a spreadsheet would read as a formula: `harmless` escapes it for a CSV cell, `original` is the inverse."""

import re

_START = "[=+\\-@\t\r\n＝＋－＠]"
_ESCAPED = re.compile(f"'+{_START}")
_TO_ESCAPE = re.compile(f"'*{_START}")


def harmless(text: str) -> str:
    """With a quote before it if it begins as a formula does, as OWASP advises for CSV.

    Text that has such a quote already gets one more, so that `original` is the inverse for all texts.
    """
    return f"'{text}" if _TO_ESCAPE.match(text) else text


def harmless_cell(text: str) -> str:
    """The same for a cell of somebody's own table: a number stays one, with its sign."""
    return text if _is_number(text) else harmless(text)


def original(cell: str) -> str:
    """What `harmless` made the cell from."""
    return cell[1:] if _ESCAPED.match(cell) else cell


def is_harmless(cell: str) -> bool:
    """Whether `harmless` can have written it. Numbers are written as they are."""
    return not re.match(_START, cell) or _is_number(cell)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
