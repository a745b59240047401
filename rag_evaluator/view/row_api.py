"""Rows for the table, as JSON, and the fragment of one row: of a run, or of several beside each other."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rag_evaluator.report.row import frames_of, pair_html, row_html
from rag_evaluator.view.answers import as_json, as_page
from rag_evaluator.view.compared import KeptComparisons
from rag_evaluator.view.folders import NotThere
from rag_evaluator.view.index import RowIndex, Tabled
from rag_evaluator.view.indexes import Indexes
from rag_evaluator.view.row_query import read_query
from rag_evaluator.view.state import AppState

FIRST = 2000  # rows at the beginning of the file that are read without an index
PATIENCE = 1.0  # seconds after which the browser hears that the index is in the making, and asks again
WITH = "with"  # in the query: a run that is shown beside the one in the path


@dataclass(frozen=True)
class RowApi:
    """What the routes share."""

    state: AppState
    indexes: Indexes
    comparisons: KeptComparisons

    def routes(self) -> list[BaseRoute]:
        """`GET /api/rows/<run>`, `/api/row/<run>/<number>`, `/api/frames/<run>`.

        `with=<run>` adds runs that it is compared with.
        """
        return [
            Route("/api/rows/{path:path}", self.rows),
            Route("/api/row/{path:path}/{row}", self.row),
            Route("/api/frames/{path:path}", self.frames),
        ]

    def rows(self, request: Request) -> Response:
        tabled = self._tabled(request)
        given = [pair for pair in request.query_params.multi_items() if pair[0] != WITH]
        query = read_query(given, tabled.columns)
        if len(tabled.runs) == 1 and query.in_file_order and query.offset + query.limit <= FIRST:
            found = tabled.first(query.offset, query.limit)
            self.indexes.of(tabled)  # a thread begins to make it, for what is asked next
            return as_json({"total": tabled.count, "all": tabled.count, "rows": found})
        index = self.indexes.of(tabled)
        if not index.ready.wait(PATIENCE):
            return _building(index)
        total, found = index.page(query)
        return as_json({"total": total, "all": index.all, "rows": found})

    def row(self, request: Request) -> Response:
        number = _whole(request.path_params["row"])
        tabled = self._tabled(request)
        try:
            if len(tabled.runs) == 1:
                return as_page(row_html(tabled.runs[0], number))
        except IndexError:
            raise NotThere(str(number)) from None
        index = self.indexes.of(tabled)
        if not index.ready.wait(PATIENCE):
            return _building(index)
        if (numbers := index.numbers(number)) is None:
            raise NotThere(str(number))
        return as_page(pair_html(tabled.runs, numbers))

    def frames(self, request: Request) -> Response:
        """The heads of prompts, which the fragments of rows only name."""
        paths = [request.path_params["path"], *request.query_params.getlist(WITH)]
        return as_json({key: text for path in paths for key, text in frames_of(self.state.run(path)).items()})

    def _tabled(self, request: Request) -> Tabled:
        paths: Sequence[str] = [request.path_params["path"], *request.query_params.getlist(WITH)]
        runs = [self.state.run(path) for path in paths]
        return Tabled(runs, self.comparisons.of(paths).on if len(runs) > 1 else None)


def _building(index: RowIndex) -> Response:
    answer: Any = {"building": round(index.share, 3)}
    return as_json(answer, 202)


def _whole(text: str) -> int:
    """The number of a row. Raises `NotThere` for what is no number."""
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise NotThere(text)
    return int(text)
