"""The labels that people gave to the rows of a run, as its folder keeps them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from rag_evaluator.errors import ResultsError
from rag_evaluator.files import write_json

from .run import Run, ScoredRows

FOLDER = "labels"
NAME = "labels.json"


@dataclass(frozen=True)
class KeptLabels:
    """The labels of one metric; every list has an item for each row of the run.

    Attributes:
        low, high: the range of labels.
        chosen: how rows came to have labels: `drawn`, `random`, `all` or `unknown`.
        draw: name of the draw, and of that whose rows it repeats; None where there is none.
        labels, scores: in the same unit; None: none.
        better: which labels are the better ones.
        annotators: how many people gave them.
        counting: what they say of the scores beside what counting words gives; empty: nothing.
        probabilities, strata, drawn: of the draw; None where there is none.
    """

    low: float
    high: float
    chosen: str
    draw: str | None
    like: str | None
    labels: Sequence[float | None]
    scores: Sequence[float | None]
    probabilities: Sequence[float] | None
    strata: Sequence[int] | None
    drawn: Sequence[bool] | None
    better: Literal["higher", "lower"] = "higher"
    annotators: int = 1
    counting: str = ""


def write_labels(folder: Path, data: str, metrics: Mapping[str, KeptLabels]) -> None:
    """Keep the labels of a run; `data` is the digest of its rows. Raises `ResultsError`."""
    kept = {"data": data, "metrics": {metric: asdict(labels) for metric, labels in metrics.items()}}
    write_json(folder / FOLDER / NAME, kept)


def kept_labels(run: ScoredRows) -> dict[str, KeptLabels]:
    """The labels of each metric; none where nobody has given labels, or its rows are others since."""
    if not isinstance(run, Run) or not (path := run.folder / FOLDER / NAME).is_file():
        return {}
    try:
        kept = json.loads(path.read_bytes())
        metrics = {metric: KeptLabels(**labels) for metric, labels in kept["metrics"].items()}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ResultsError(f"{path}: cannot be read: {error}. Compare the labels with the scores again.") from error
    return metrics if kept.get("data") == run.data else {}
