"""`load_dataset` turns a file, folder or Python object into samples with ragas' column names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_evaluator.files import ACTIVITY

from .columns import TEXTS, ColumnNames
from .contents import Samples, samples_of
from .records import read_records
from .response import AS_WRITTEN
from .sample import Sample
from .turns import APPEND
from .values import READ

if TYPE_CHECKING:
    import datasets  # type: ignore[import-untyped,unused-ignore]
    import pandas


def load_dataset(
    source: str | Path | Mapping[str, Sequence[Any]] | Sequence[Any] | pandas.DataFrame | datasets.Dataset,
    columns: Mapping[str, str] | None = None,
) -> list[Sample]:
    """Return samples in the order of the input, at least one.

    `columns` maps the user's column names to canonical ones and wins over canonical names and aliases. Raises
    DatasetError, with the place and what to do, for texts that cannot be read without guessing. Ids, scores,
    `answerable` and `rubrics` may be columns of the user's own: what is wrong with them is in `Sample.wrong`.
    """
    samples = open_dataset(source, columns)
    samples.check_readable(TEXTS)
    return list(samples)


def open_dataset(
    source: Any,
    columns: Mapping[str, str] | None = None,
    responses: str | None = None,
    history: str = APPEND,
) -> Samples:
    """The samples of `load_dataset`, kept on disk; `responses` and `history` as in the configuration.

    A canonical column that cannot be read is no error yet: `check_columns` raises it for columns that are needed.
    """
    name, records = read_records(source)
    names = ColumnNames(columns or {}, READ, responses == AS_WRITTEN, history)
    with ACTIVITY.phase(f"reading {name}") if isinstance(source, str | Path) else nullcontext():
        return samples_of(name, records, names)
