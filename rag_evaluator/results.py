"""What an evaluation gives back, and how it is written: scores, details, summary, spreadsheets, manifest."""

import io
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_evaluator.dataset import Sample
from rag_evaluator.errors import ResultsError
from rag_evaluator.journal import Journal
from rag_evaluator.scores import Score

if TYPE_CHECKING:
    import pandas as pd

FORMULA_STARTS = tuple("=+-@\t\r\n＝＋－＠")
XLSX_CELL = 32_767  # UTF-16 code units, a limit of the file format
XLSX_INTEGER = 10**15  # numbers have 15 digits there
CUT = " … [cut: see scores.jsonl]"


@dataclass(frozen=True)
class Results:
    """Scores of a dataset, in the order of its rows.

    Attributes:
        samples: the input.
        scores: metric -> one score per sample.
        signatures: metric -> what the number depends on (versions, digests, decoding), as one line.
        manifest: versions, digests, configuration, seed and times of the run.
        journal: where the judgements are, if they are not in the scores; must be open when details are asked for.
    """

    samples: Sequence[Sample]
    scores: Mapping[str, Sequence[Score]]
    signatures: Mapping[str, str] = field(default_factory=dict)
    manifest: Mapping[str, Any] = field(default_factory=dict)
    journal: Journal | None = None

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
                signature = self.signatures.get(name)
                recorded = self.journal and self.journal.find(sample, name, signature or "")
                score = recorded or scores[position]
                key = {"row": sample.index, "sample": sample.digest, "metric": name}
                yield {**key, **score.to_json(), "signature": signature}

    def write(self, folder: str | Path) -> Path:
        """Write all files into a folder, each whole or not at all. Raises `ResultsError` if it cannot be written."""
        folder = Path(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name, writer in WRITERS.items():
                temporary = folder / f".{name}.tmp"
                try:
                    writer(self, temporary)
                    temporary.replace(folder / name)
                finally:
                    temporary.unlink(missing_ok=True)
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
    frame = _cells(results, _harmless).rename(columns=_harmless)
    frame.to_csv(path, index=False, encoding="utf-8", lineterminator="\r\n")  # RFC 4180; a lone \r is quoted only so


def _write_xlsx(results: Results, path: Path) -> None:
    import pandas as pd

    frame = _cells(results, _fitting)
    as_text = {"strings_to_formulas": False, "strings_to_urls": False, "nan_inf_to_errors": True}
    file = io.BytesIO()  # in memory, as xlsxwriter's error for a full disk is no OSError
    options = {"options": {**as_text, "in_memory": True}}
    with pd.ExcelWriter(file, engine="xlsxwriter", engine_kwargs=options) as writer:
        frame.to_excel(writer, sheet_name="scores", index=False, freeze_panes=(1, 0))
    path.write_bytes(file.getvalue())


def _cells(results: Results, convert: Callable[[Any], Any]) -> "pd.DataFrame":
    """The rows with every value as the user gave it: in a typed column 1 becomes 1.0 beside a gap."""
    import pandas as pd

    rows = [{name: convert(_as_text(value)) for name, value in row.items()} for row in results.rows()]
    return pd.DataFrame(rows, dtype=object)


def _as_text(value: Any) -> Any:
    """Lists and objects as JSON, as the readers of CSV and XLSX expect them back."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def _harmless(value: Any) -> Any:
    """Text that a spreadsheet would take for a formula, with a quote before it, as OWASP advises for CSV."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_STARTS) else value


def _fitting(value: Any) -> Any:
    """What a cell can hold: text cut where it is too long, saying so; integers that a double would round as text."""
    if isinstance(value, str) and len(text := value.encode("utf-16-le")) > 2 * XLSX_CELL:
        return text[: 2 * (XLSX_CELL - len(CUT))].decode("utf-16-le", "ignore") + CUT
    return str(value) if isinstance(value, int) and abs(value) > XLSX_INTEGER else value


WRITERS: Mapping[str, Callable[[Results, Path], None]] = {
    "scores.jsonl": lambda results, path: _write_lines(path, results.rows()),
    "details.jsonl": lambda results, path: _write_lines(path, results.details()),
    "scores.csv": _write_csv,
    "scores.xlsx": _write_xlsx,
    "summary.json": lambda results, path: _write_json(path, results.summary()),
    "manifest.json": lambda results, path: _write_json(path, results.manifest),
}
