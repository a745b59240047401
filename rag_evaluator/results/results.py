"""What an evaluation gives back to Python: samples and scores in memory."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_evaluator.dataset.sample import Sample
from rag_evaluator.results.details import details_lines
from rag_evaluator.results.overview import Overview, WithOverview, counted, few, means
from rag_evaluator.results.questions import ROWS_TOGETHER, keep_prompts
from rag_evaluator.results.rows import DROPPED, Score, Scored, scored_row
from rag_evaluator.results.summary import Summary, reporting_of
from rag_evaluator.results.writers import write_table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Row:
    """A row with its scores, as it is written; `judged` is the same with judgements, if these are not in the scores."""

    sample: Sample
    scores: Mapping[str, Score]
    signatures: Mapping[str, str]
    judged: Scored | None = None

    def details(self) -> Iterator[bytes]:
        if self.judged is not None:
            yield from self.judged.details()
            return
        for name, score in self.scores.items():
            yield from details_lines(self.sample, name, score, self.signatures.get(name))

    def judged_scores(self) -> Mapping[str, Score]:
        if self.judged is None:
            return self.scores
        return dict(zip(self.scores, self.judged.judged_scores().values(), strict=True))  # metrics may have other names


@dataclass(frozen=True)
class Results(WithOverview):
    """Scores of a dataset, in the order of its rows.

    Attributes:
        samples: the input.
        scores: metric -> one score per sample.
        signatures: metric -> what the number depends on (versions, digests, decoding), as one line.
        manifest: versions, digests, configuration and seed of the run.
        judged: the rows with their judgements, if these are not in the scores.
    """

    samples: Sequence[Sample]
    scores: Mapping[str, Sequence[Score]]
    signatures: Mapping[str, str] = field(default_factory=dict)
    manifest: Mapping[str, Any] = field(default_factory=dict)
    judged: Iterable[Scored] | None = None

    def __repr__(self) -> str:
        return (
            f"Results({counted(len(self.samples), 'row')}, {counted(len(self.scores), 'metric')}: {few(self.scores)})"
        )

    def overview(self) -> Overview:
        name, rows = self.manifest.get("name"), counted(len(self.samples), "row")
        return Overview(list(means(f"{name}: {rows}" if name else rows, "metric", self.summary(), "no score")))

    @property
    def metrics(self) -> list[str]:
        return list(self.scores)

    def __iter__(self) -> Iterator[Row]:
        if self.judged is None:
            yield from self._in_memory()
            return
        for row, judged in zip(self._in_memory(), self.judged, strict=True):
            yield replace(row, judged=judged)

    def _in_memory(self) -> Iterator[Row]:
        for position, sample in enumerate(self.samples):
            yield Row(sample, {name: scores[position] for name, scores in self.scores.items()}, self.signatures)

    def rows(self) -> list[dict[str, Any]]:
        """The input rows with a column added per metric; a missing score is None."""
        return [scored_row(row) for row in self._in_memory()]

    def columns(self) -> list[str]:
        """Every column of `rows`: those of the input, the metrics, and the dropped contexts if there are any."""
        columns = dict.fromkeys(column for row in self.rows() for column in row)
        last = dict.fromkeys((*self.scores, DROPPED))
        return [column for column in columns if column not in last] + [column for column in last if column in columns]

    def to_pandas(self) -> "pd.DataFrame":
        """The rows as a frame; a missing score is NaN."""
        import pandas as pd

        frame = pd.DataFrame(self.rows())
        for name in self.scores:
            frame[name] = frame[name].astype(float)
        return frame

    def summary(self) -> dict[str, dict[str, Any]]:
        """What `summary.json` says, per metric.

        `mean` of what was scored (None if nothing was) with `ci_low` and `ci_high`, the interval of level `ci_level`
        made by `ci_method`; `std`, `stderr`, `median`; `bound_low` and `bound_high`, the mean if each missing score had
        the lowest or the highest value of its range; `coverage` in [0, 1], `scored`, `count`; `reasons` for missing
        scores with their number, most frequent first; `dropped`, the number of rows of which contexts were left out, as
        they did not fit the judge's window; `thinking`, of a judge that thinks: how many thoughts were cut; `kind`,
        `stage`, `better`; `pass_rate` and `groups` where the configuration asks for them. See docs/statistics.md.
        """
        summary = Summary(self.scores, reporting_of(self.manifest))
        for row in self._in_memory():
            summary.add(row)
        return summary.to_json()

    def details(self) -> Iterator[dict[str, Any]]:
        """One record per score, or per repeat of it, sample by sample, from which the number can be followed."""
        for row in self:
            yield from map(json.loads, row.details())

    def write(self, folder: str | Path) -> Path:
        """Write all files into a folder, or leave all as they were. Raises `ResultsError` if it cannot be written."""
        folder = Path(folder).expanduser()
        write_table(self, folder)
        config = self.manifest.get("config", {})
        size = config.get("chunk_size", "auto")
        rows = ROWS_TOGETHER if size == "auto" else size
        keep_prompts(self, folder, rows, config.get("keep_prompts", False))
        return folder
