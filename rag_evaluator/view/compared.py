"""Comparisons of runs, kept while their files stay as they are: reading the scores of large runs takes seconds."""

from collections.abc import Sequence

from rag_evaluator.results.comparison import Comparison
from rag_evaluator.view.kept import Kept
from rag_evaluator.view.state import AppState, stamp_of


class KeptComparisons:
    """Comparisons that somebody looks at.

    Args:
        state: gives the runs.
    """

    def __init__(self, state: AppState) -> None:
        self._state = state
        self._kept: Kept[Comparison] = Kept(4)

    def of(self, paths: Sequence[str]) -> Comparison:
        """Runs compared with the first of them. Raises `NotThere`, and `RagEvaluatorError` if they do not compare."""
        from rag_evaluator.api.compare import compare  # loads scipy

        folders = tuple(self._state.folders.find(path) for path in paths)
        return self._kept.of(folders, tuple(map(stamp_of, folders)), lambda: compare(*folders))
