"""Digests by which texts, rows and files are known: SHA-256, shortened where it is a name and not a proof."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

SHORT = 16  # hexadecimal digits


def short_digest(content: str | bytes | Iterable[bytes]) -> str:
    """16 hexadecimal digits of a text, of bytes, or of parts of bytes in order. Half a surrogate pair has one, too."""
    if isinstance(content, str):
        content = content.encode("utf-8", "surrogatepass")
    sha = hashlib.sha256()
    for part in [content] if isinstance(content, bytes) else content:
        sha.update(part)
    return sha.hexdigest()[:SHORT]


def file_digest(path: Path) -> str:
    """64 hexadecimal digits of a file's content. Raises `OSError`."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
