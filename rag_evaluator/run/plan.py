"""What all workers of a run must agree on: the rows, how they are cut into chunks, and the signatures of the scores."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

MOST_ROWS = 256  # a chunk is minutes of work for a judge
FEWEST_CHUNKS = 64  # so that small datasets can be shared, too


@dataclass(frozen=True)
class Plan:
    """Equal plans mean that chunks fit together.

    Attributes:
        rows: number of rows.
        data: digest of the rows.
        columns: the user's names of columns.
        signatures: metric -> what the number depends on, in the order of the configuration.
        chunk_size: rows of a chunk; the last one may be shorter.
    """

    rows: int
    data: str
    columns: Mapping[str, str]
    signatures: Mapping[str, str]
    chunk_size: int

    @property
    def chunks(self) -> int:
        return -(-self.rows // self.chunk_size)

    @property
    def digest(self) -> str:
        """16 hexadecimal digits; every chunk carries them."""
        text = json.dumps(self.to_json(), ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]

    def rows_of(self, chunk: int) -> range:
        return range(chunk * self.chunk_size, min((chunk + 1) * self.chunk_size, self.rows))

    def with_chunk_size(self, size: int) -> "Plan":
        return replace(self, chunk_size=size)

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "signatures": dict(self.signatures), "columns": dict(self.columns)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Plan":
        """The inverse of `to_json`; raises `KeyError` where something is missing."""
        return cls(**{part.name: data[part.name] for part in fields(cls)})

    def changes(self, old: "Plan") -> list[str]:
        """What differs from an older plan, in words; the chunk size is no difference."""
        found = []
        if self.data != old.data:
            found.append("the rows of the dataset" + (f" ({old.rows} before)" if old.rows != self.rows else ""))
        if self.columns != old.columns:
            found.append(f"columns: {dict(old.columns)} before, {dict(self.columns)} now")
        if list(self.signatures) != list(old.signatures):
            found.append(f"metrics: {', '.join(old.signatures)} before, {', '.join(self.signatures)} now")
        for metric, signature in self.signatures.items():
            if metric in old.signatures and signature != old.signatures[metric]:
                found.append(f"{metric}: {_difference(old.signatures[metric], signature)}")
        return found


def auto_chunk_size(rows: int) -> int:
    """Rows of a chunk where the configuration does not say."""
    return max(1, min(MOST_ROWS, -(-rows // FEWEST_CHUNKS)))


@dataclass
class _Sha:
    """SHA-256 over parts, each with its length, so that no two lists of parts look alike."""

    sha: Any = field(default_factory=hashlib.sha256)

    def add(self, part: bytes) -> None:
        self.sha.update(len(part).to_bytes(8, "big") + part)


def data_digest(source: Any) -> str:
    """16 hexadecimal digits of a dataset: of a file's bytes, of a folder's files, or of rows given as objects."""
    sha = _Sha()
    if isinstance(source, str | Path):
        path = Path(source).expanduser()
        for file in sorted(part for part in path.rglob("*") if part.is_file()) if path.is_dir() else [path]:
            with file.open("rb") as opened:
                sha.add(hashlib.file_digest(opened, "sha256").digest())
    else:
        for sample in source:
            sha.add(json.dumps([sample.row, sample.columns], ensure_ascii=False).encode("utf-8"))
    return str(sha.sha.hexdigest())[:16]


def _difference(old: str, new: str) -> str:
    """The parts of two signatures that differ: `judge ab12 before, cd34 now`."""
    before, now = (dict(part.partition(":")[::2] for part in line.split("|")) for line in (old, new))
    names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    return ", ".join(f"{name} {before.get(name, 'not set')} before, {now.get(name, 'not set')} now" for name in names)
