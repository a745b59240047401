"""The rows that were drawn for people to label, with the probability of each row of the run to be drawn."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_evaluator.errors import ResultsError
from rag_evaluator.files.atomic import write_json
from rag_evaluator.files.digest import short_digest
from rag_evaluator.results.kept_labels import FOLDER

PLACES = 8  # digits of a draw's name


@dataclass(frozen=True)
class DrawRecord:
    """A draw as it is kept in `labels/<draw>.json` of the results folder.

    Attributes:
        data: digest of the rows of the run.
        metrics: that are to be labelled; strata and uncertainty are those of the first.
        kind: `stratified` or `uncertain`.
        rows: that were drawn, in the order in which they are shown.
        probabilities: of each row of the run, to be drawn.
        strata: of each row of the run, the number of its stratum.
        like: name of the draw of another run whose rows these are; None: drawn for this run.
    """

    data: str
    metrics: Sequence[str]
    kind: str
    size: int
    seed: int
    rows: Sequence[int]
    probabilities: Sequence[float]
    strata: Sequence[int]
    like: str | None = None

    @property
    def name(self) -> str:
        return short_digest(json.dumps(asdict(self), sort_keys=True))[:PLACES]

    def drawn(self) -> NDArray[np.bool_]:
        """Whether each row was drawn."""
        mask = np.zeros(len(self.probabilities), dtype=np.bool_)
        mask[list(self.rows)] = True
        return mask


def draw_path(results: Path, name: str) -> Path:
    return results / FOLDER / f"{name}.json"


def write_draw(results: Path, record: DrawRecord) -> Path:
    """Keep a draw. A draw has its name from its content, so that nothing else is overwritten."""
    path = draw_path(results, record.name)
    write_json(path, asdict(record))
    return path


def read_draw(results: Path, name: str, data: str) -> DrawRecord:
    """A draw that a label table names. Raises `ResultsError` if it is not there, or is of other rows."""
    path = draw_path(results, Path(name).name)
    try:
        found: dict[str, Any] = json.loads(path.read_bytes())
        record = DrawRecord(**found)
    except FileNotFoundError:
        raise ResultsError(
            f"{path}: not there. The labels come from the draw {name}, whose probabilities 'certify sheet' has written "
            f"into the folder '{FOLDER}' of the results. Give these results, or copy that folder."
        ) from None
    except (OSError, ValueError, TypeError) as error:
        raise ResultsError(f"{path}: cannot be read: {error}. Draw again with 'certify sheet'.") from error
    if record.data != data:
        raise ResultsError(f"{path}: drawn from other rows than those of {results}. Give the results of these rows.")
    return record
