"""What an evaluation gives back, and how it is written: scores, details, summary, spreadsheets, manifest."""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_evaluator.dataset import Sample
from rag_evaluator.errors import ResultsError
from rag_evaluator.scores import Score

if TYPE_CHECKING:
    import pandas as pd

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
XLSX_CELL = 32_767  # characters, a limit of the file format
CUT = " … [cut: see scores.jsonl]"


@dataclass(frozen=True)
class Results:
    """Scores of a dataset, in the order of its rows.

    Attributes:
        samples: the input.
        scores: metric -> one score per sample.
        signatures: metric -> what the number depends on (versions, digests, decoding), as one line.
        manifest: versions, digests, configuration, seed and times of the run.
    """

    samples: Sequence[Sample]
    scores: Mapping[str, Sequence[Score]]
    signatures: Mapping[str, str] = field(default_factory=dict)
    manifest: Mapping[str, Any] = field(default_factory=dict)

    def rows(self) -> list[dict[str, Any]]:
        """The input rows with a column added per metric; a missing score is None."""
        return [self._row(position, sample) for position, sample in enumerate(self.samples)]

    def to_pandas(self) -> "pd.DataFrame":
        """The rows as a frame; a missing score is NaN."""
        import pandas as pd

        frame = pd.DataFrame(self.rows())
        for name in self.scores:
            frame[name] = frame[name].astype(float)
        return frame

    def summary(self) -> dict[str, dict[str, Any]]:
        """Per metric: `mean` over what was scored (None if nothing was), `coverage` in [0, 1], `scored`, `count`,
        `reasons` for missing scores with their number, most frequent first."""
        return {name: _summarise(scores) for name, scores in self.scores.items()}

    def details(self) -> Iterable[dict[str, Any]]:
        """One record per score, sample by sample, from which the number can be followed."""
        for position, sample in enumerate(self.samples):
            for name, scores in self.scores.items():
                yield {
                    "row": sample.index,
                    "sample": sample.digest,
                    "metric": name,
                    **scores[position].to_json(),
                    "signature": self.signatures.get(name),
                }

    def write(self, folder: str | Path) -> Path:
        """Write all files into a folder, each whole or not at all. Raises `ResultsError` if it cannot be written."""
        folder = Path(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name, writer in WRITERS.items():
                temporary = folder / f".{name}.tmp"
                writer(self, temporary)
                temporary.replace(folder / name)
        except OSError as error:
            raise ResultsError(
                f"{folder}: cannot be written: {error}. Free space or choose another output_dir."
            ) from error
        return folder

    def _row(self, position: int, sample: Sample) -> dict[str, Any]:
        row = {**sample.row, **{name: _number(scores[position].value) for name, scores in self.scores.items()}}
        given = len(sample.columns.get("retrieved_contexts", ()))
        dropped = {
            name: list(range(len(contexts), given))
            for name, scores in self.scores.items()
            if (contexts := scores[position].contexts) is not None and len(contexts) < given
        }
        return {**row, "dropped_contexts": dropped} if dropped else row


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _summarise(scores: Sequence[Score]) -> dict[str, Any]:
    values = [score.value for score in scores if not score.missing]
    reasons = Counter(score.reason or "unknown" for score in scores if score.missing)
    return {
        "mean": math.fsum(values) / len(values) if values else None,
        "coverage": len(values) / len(scores) if scores else 0.0,
        "scored": len(values),
        "count": len(scores),
        "reasons": dict(reasons.most_common()),
    }


def _write_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for record in records:
            file.write(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n")


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def _write_csv(results: Results, path: Path) -> None:
    frame = results.to_pandas()
    frame = frame.rename(columns=_harmless).map(_harmless).map(_as_text)
    frame.to_csv(path, index=False, encoding="utf-8", lineterminator="\n")


def _write_xlsx(results: Results, path: Path) -> None:
    import pandas as pd

    frame = results.to_pandas().map(_as_text).map(_cell)
    as_text = {"options": {"strings_to_formulas": False, "strings_to_urls": False, "nan_inf_to_errors": True}}
    with path.open("wb") as file, pd.ExcelWriter(file, engine="xlsxwriter", engine_kwargs=as_text) as writer:
        frame.to_excel(writer, sheet_name="scores", index=False, freeze_panes=(1, 0))


def _as_text(value: Any) -> Any:
    """Lists and objects as JSON, as the readers of CSV and XLSX expect them back."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def _harmless(value: Any) -> Any:
    """Text that a spreadsheet would take for a formula, with a quote before it, as OWASP advises for CSV."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_STARTS) else value


def _cell(value: Any) -> Any:
    """Text short enough for a cell, saying so where it was cut."""
    too_long = isinstance(value, str) and len(value) > XLSX_CELL
    return value[: XLSX_CELL - len(CUT)] + CUT if too_long else value


WRITERS: Mapping[str, Callable[[Results, Path], None]] = {
    "scores.jsonl": lambda results, path: _write_lines(path, results.rows()),
    "details.jsonl": lambda results, path: _write_lines(path, results.details()),
    "scores.csv": _write_csv,
    "scores.xlsx": _write_xlsx,
    "summary.json": lambda results, path: _write_json(path, results.summary()),
    "manifest.json": lambda results, path: _write_json(path, results.manifest),
}
