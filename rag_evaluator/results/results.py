"""`Results`: the table of scores that an evaluation gives back to Python."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, overload

from rag_evaluator.dataset import Sample
from rag_evaluator.errors import ConfigError, did_you_mean
from rag_evaluator.files import check_replaceable

from .overview import Figures, Grid, WithOverview, counted, means
from .refusals import refusal_parts
from .rows import ADDED, Heading, Row, Score, row_name, row_probabilities, scored_row
from .run_conclusion import conclude
from .summary import Summary
from .tally import Tally, tally_of
from .worst import Texts, WorstRow, worst_of
from .writers import write_table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Results(WithOverview):
    """Scores of a dataset, in the order of its rows.

    Attributes:
        samples: the input.
        scores: metric -> one score per sample.
        signatures: metric -> what the number depends on (versions, digests, decoding), as one line.
        manifest: versions, digests, configuration and seed of the run.
        judged: gives the rows with their judgements, if these are not in the scores.
    """

    samples: Sequence[Sample]
    scores: Mapping[str, Sequence[Score]]
    signatures: Mapping[str, str] = field(default_factory=dict)
    manifest: Mapping[str, Any] = field(default_factory=dict)
    judged: Callable[[], Iterator[Row]] | None = None

    def __repr__(self) -> str:
        return f"Results({counted(len(self.samples), 'row')}, {counted(len(self.scores), 'metric')})"

    def overview(self) -> list[Grid | str]:
        """Return what a terminal shows of the results: sentences and tables."""
        name = self.manifest.get("name")
        rows = counted(len(self.samples), "row")
        summary = self.summary()
        table = means(f"{name}: {rows}" if name else rows, "metric", summary, "no score")
        conclusion = conclude(self._tally(summary), self.name_of)
        return [*conclusion.lines(), *table, *refusal_parts(summary)]

    def name_of(self, place: int) -> str:
        """Return what a row is called, see `row_name`."""
        return row_name(place, self.samples[place].row)

    @property
    def metrics(self) -> list[str]:
        """Return the names of the metrics, in the order of the configuration."""
        return list(self.scores)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.samples)

    @overload
    def __getitem__(self, key: str) -> list[float]: ...
    @overload
    def __getitem__(self, key: int) -> Row: ...
    @overload
    def __getitem__(self, key: slice) -> list[Row]: ...
    def __getitem__(self, key: str | int | slice) -> list[float] | Row | list[Row]:
        """Return the scores of a metric, NaN where one is missing; or the row at a place, or some rows.

        Raises `ConfigError` for a metric that was not scored.
        """
        if not isinstance(key, str):
            return list(self)[key]
        if key not in self.scores:
            raise ConfigError(f"no scores of '{key}'.{did_you_mean(key, self.scores)}")
        return [score.value for score in self.scores[key]]

    def __reduce__(self) -> tuple[type["Results"], tuple[Any, ...]]:
        """Return what a copy or a pickle is made of: rows and judgements that are in files go with it."""
        rows = list(self)
        scores = {name: [row.scores[name] for row in rows] for name in self.scores}
        return type(self), ([row.sample for row in rows], scores, self.signatures, self.manifest)

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows with their judgements."""
        yield from self._in_memory() if self.judged is None else self.judged()

    def _in_memory(self) -> Iterator[Row]:
        for position, sample in enumerate(self.samples):
            yield Row(sample, {name: scores[position] for name, scores in self.scores.items()}, self.signatures)

    def rows(self) -> list[dict[str, Any]]:
        """Return the input rows with a column added per metric; a missing score is None."""
        return [scored_row(row) for row in self._in_memory()]

    @property
    def heading(self) -> Heading:
        """Return what result files begin with."""
        return Heading(self.columns(), self.metrics, self.manifest)

    def columns(self) -> list[str]:
        """Return every column of `rows`: those of the input, the metrics, and those of `ADDED` that any row has."""
        columns = dict.fromkeys(column for row in self.rows() for column in row)
        last = dict.fromkeys((*self.scores, *ADDED))
        return [column for column in columns if column not in last] + [column for column in last if column in columns]

    def to_pandas(self) -> "pd.DataFrame":
        """Return the rows as a frame; a missing score is NaN."""
        import pandas as pd

        frame = pd.DataFrame(self.rows())
        for name in self.scores:
            frame[name] = frame[name].astype(float)
        return frame

    def summary(self) -> dict[str, dict[str, Any]]:
        """Return the figures of `summary.json`, per metric.

        `mean` of what was scored (None if nothing was) with `ci_low` and `ci_high`, the interval of level `ci_level`
        made by `ci_method`; `std`, `stderr`, `median`; `bound_low` and `bound_high`, the mean if each missing score had
        the lowest or the highest value of its range; `coverage` in [0, 1], `scored`, `count`; `reasons` for missing
        scores with their number, most frequent first; `dropped`, the number of rows of which contexts were left out, as
        they did not fit the judge's window; `worst_quarter`, the quartile that a quarter of the scores is worse than;
        `probabilities` of sentences, of metrics that have them: how many, `low` and `high`, between which 90 % lie;
        `thinking`, of a judge that thinks: how many thoughts were cut; `kind`, `stage`, `better`; `pass_rate` and
        `groups` where the configuration asks for them. See docs/results.md.
        """
        summary = Summary(self.scores, self.manifest)
        for row in self._in_memory():
            summary.add(row)
        return summary.to_json()

    def worst(self, n: int = 5) -> list[WorstRow]:
        """Return at most `n` rows to look at first, as the report lists them: `number` (from 0), `scores`, `reason`."""

        def texts_of(places: Sequence[int]) -> Iterator[Texts]:
            rows = {place: row for place, row in enumerate(self) if place in places}
            yield from (
                (self.name_of(at), rows[at].sample.columns, [*map(json.loads, rows[at].details())]) for at in places
            )

        return worst_of(self._tally(self.summary()), texts_of, n)

    def _tally(self, summary: Mapping[str, Figures]) -> Tally:
        values = {metric: [score.value for score in scores] for metric, scores in self.scores.items()}
        rows = (row_probabilities(row) for row in self._in_memory())
        return tally_of(self.manifest, summary, values, self.samples, rows)

    def details(self) -> Iterator[dict[str, Any]]:
        """Yield a record per score, or per repeat of it, sample by sample, from which the number can be followed."""
        for row in self:
            yield from map(json.loads, row.details())

    def write(self, folder: str | Path) -> Path:
        """Write all files into a folder, or leave all as they were. Raises `ResultsError` if it cannot be written."""
        folder = Path(folder).expanduser()
        write_table(self.heading, self, folder)
        return folder

    def report(self, out: str | Path = "report.html", force: bool = False) -> Path:
        """Write the page of `rag-evaluator report` to a file, and return its path.

        Args:
            force: replace a file that is there and is no report.

        Raises `ResultsError` if it cannot be written.
        """
        pages = import_module("rag_evaluator.report")  # by its name: it is above this package
        path = Path(out).expanduser()
        check_replaceable(path, pages.MARK, force)
        with TemporaryDirectory() as folder:
            pages.write_document([self.write(folder)], path, title=self.manifest.get("name") or path.stem)
        return path


def joined(metrics: Mapping[str, tuple[Results, str]]) -> Results:
    """Results of the same rows as one; what is said of the run is the first's.

    Args:
        metrics: name, in order -> the results that have the scores, and the name of the metric there.
    """
    [first, _], *_ = metrics.values()
    tables = {id(table): table for table, _ in metrics.values()}
    about = {name: table.manifest.get("metrics", {}).get(metric) for name, (table, metric) in metrics.items()}
    signatures = {name: table.signatures[metric] for name, (table, metric) in metrics.items()}

    def judged() -> Iterator[Row]:
        for rows in zip(*tables.values(), strict=True):
            by_table = dict(zip(tables, rows, strict=True))
            scores = {name: by_table[id(table)].scores[metric] for name, (table, metric) in metrics.items()}
            yield Row(rows[0].sample, scores, signatures)

    return replace(
        first,
        scores={name: table.scores[metric] for name, (table, metric) in metrics.items()},
        signatures=signatures,
        manifest={**first.manifest, "metrics": {name: row for name, row in about.items() if row is not None}},
        judged=judged,
    )
