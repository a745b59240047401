"""File names made from texts, and names that tell files apart."""

import re
import unicodedata
from collections.abc import Sequence
from pathlib import PurePath

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


def folder_names(paths: Sequence[str]) -> dict[str, str]:
    """What files or folders are called: of their paths so many last parts as tell them apart."""
    parts = {path: PurePath(path).parts or (path,) for path in paths}

    def told(path: str) -> str:
        others = [own for other, own in parts.items() if other != path]
        for length in range(1, len(parts[path])):
            if all(own[-length:] != parts[path][-length:] for own in others):
                return "/".join(parts[path][-length:])
        return str(PurePath(*parts[path]))

    return {path: told(path) for path in paths}
