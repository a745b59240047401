"""`is_blank`: whether a value has no visible text. Every check for missing text uses it."""

import re
import unicodedata
from typing import Any

INVISIBLE = {"Cc", "Cf", "Zs", "Zl", "Zp"}
"""Unicode categories: controls, format characters such as the zero width space, and white space."""
FILLERS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Letters and marks that show nothing: fillers, joiners, variation selectors, the empty Braille pattern."""


def is_blank(value: Any) -> bool:
    """Whether it is None, text of white space and invisible characters only, or a list of nothing else.

    Any: a JSON value; numbers, booleans and objects are never blank.
    """
    if isinstance(value, str):
        return all(unicodedata.category(sign) in INVISIBLE or FILLERS.match(sign) for sign in value)
    if isinstance(value, list):
        return all(map(is_blank, value))
    return value is None
