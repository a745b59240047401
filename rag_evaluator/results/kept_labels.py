"""`labels/labels.json` of a results folder: the labels that were compared, row by row, for comparing runs."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rag_evaluator.errors import ResultsError
from rag_evaluator.files.atomic import write_json
from rag_evaluator.program import command
from rag_evaluator.results.certificate import data_of, digests_in

FOLDER, NAME = "labels", "labels.json"


@dataclass(frozen=True)
class KeptLabels:
    """The labels of one metric; every list has an item for each row of the run.

    Attributes:
        low, high: the range of labels.
        chosen: how rows came to have labels: `drawn`, `random`, `all` or `unknown`.
        draw: name of the draw, and of that whose rows it repeats; None where there is none.
        labels, scores: in the same unit; None: none.
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


def write_labels(folder: Path, data: str, metrics: Mapping[str, KeptLabels]) -> None:
    """Keep the labels of a run; `data` is the digest of its rows. Raises `ResultsError`."""
    kept = {"data": data, "metrics": {metric: asdict(labels) for metric, labels in metrics.items()}}
    write_json(folder / FOLDER / NAME, kept)


def kept_labels(folder: Path | None) -> dict[str, KeptLabels]:
    """The labels of each metric; none where nobody has given labels, or its rows are others since."""
    path = None if folder is None else folder / FOLDER / NAME
    if folder is None or path is None or not path.is_file():
        return {}
    try:
        kept = json.loads(path.read_bytes())
        metrics = {metric: KeptLabels(**labels) for metric, labels in kept["metrics"].items()}
    except (OSError, ValueError, KeyError, TypeError) as error:
        certify = command("certify", folder, "--labels", "FILE")
        raise ResultsError(f"{path}: cannot be read: {error}. '{certify}' writes it again.") from error
    return metrics if kept.get("data") == data_of(digests_in(folder)) else {}
