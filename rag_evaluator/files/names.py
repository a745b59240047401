"""File names made from texts."""

import re
import unicodedata
from collections.abc import Sequence

from rag_evaluator.files.digest import short_digest

NAME_BYTES = 160  # file systems allow 255 for the whole name
UNSAFE = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]')


def safe_names(texts: Sequence[str]) -> list[str]:
    """A file name for each text, all different, also where upper and lower case are one.

    A text is its own name as far as every file system allows it. Names that had to be shortened or changed before their
    end carry a digest; equal ones are numbered: `_2`, `_3`.
    """
    taken: set[str] = set()
    names = []
    for text in texts:
        base, number = _safe(text), 1
        name = base
        while name.casefold() in taken:
            number += 1
            name = f"{base}_{number}"
        taken.add(name.casefold())
        names.append(name)
    return names


def _safe(text: str) -> str:
    plain = unicodedata.normalize("NFC", text).strip().rstrip("?!. ")
    name = UNSAFE.sub("_", plain).encode("utf-8", "ignore")
    short = name[:NAME_BYTES].decode("utf-8", "ignore").strip()
    if short == plain and short:
        return short
    return f"{short}_{short_digest(text)[:8]}"
