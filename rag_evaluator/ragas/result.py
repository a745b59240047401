"""The result of `evaluate` as ragas 0.2 and later have it, made from `Results`."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rag_evaluator.ragas_library import EvaluationDataset, SingleTurnSample
from rag_evaluator.results import Results

if TYPE_CHECKING:
    import pandas as pd

# Any in this module: samples of ragas, JSON.


@dataclass(frozen=True, repr=False)
class EvaluationResult:
    """What `evaluate` gives back, as `EvaluationResult` of ragas 0.2 and later. `result["faithfulness"]` is a list.

    Attributes:
        results: our `Results`, whose metrics have ragas' names: reasons, intervals, coverage, signatures, files.
    """

    results: Results

    def __getitem__(self, key: str) -> list[float]:
        """The score of each row, NaN where there is none. In ragas 0.1 it was their mean."""
        return [score.value for score in self.results.scores[key]]

    @property
    def scores(self) -> list[dict[str, float]]:
        """The scores of each row by metric."""
        columns = {name: self[name] for name in self.results.scores}
        return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]

    @cached_property
    def dataset(self) -> Any:
        """The rows as ragas' `EvaluationDataset`."""
        known = SingleTurnSample.model_fields
        rows = [{c: v for c, v in sample.columns.items() if c in known} for sample in self.results.samples]
        return EvaluationDataset.from_list(rows)

    def to_pandas(self) -> "pd.DataFrame":
        """The columns of ragas' samples that are there, then a column for each metric."""
        import pandas as pd

        table: pd.DataFrame = pd.concat([self.dataset.to_pandas(), pd.DataFrame(self.scores)], axis=1)
        return table

    def __repr__(self) -> str:
        """The mean of each metric with its coverage."""
        rows = self.results.summary()
        means = (
            f"{name!r}: {math.nan if row['mean'] is None else row['mean']:.4f} ({row['scored']}/{row['count']})"
            for name, row in rows.items()
        )
        return f"{{{', '.join(means)}}}"

    def _repr_html_(self) -> str:
        return self.results._repr_html_()
