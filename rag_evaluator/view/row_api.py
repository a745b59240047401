"""Rows of a run for the table, as JSON, and the fragment of one row."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rag_evaluator.report.row import row_html
from rag_evaluator.view.answers import as_json, as_page
from rag_evaluator.view.folders import NotThere
from rag_evaluator.view.index import TableRow, first_rows
from rag_evaluator.view.indexes import Indexes
from rag_evaluator.view.row_query import read_query
from rag_evaluator.view.state import AppState

FIRST = 2000  # rows at the beginning of the file that are read without an index
PATIENCE = 1.0  # seconds after which the browser hears that the index is in the making, and asks again


def row_routes(state: AppState, indexes: Indexes) -> list[BaseRoute]:
    """`GET /api/rows/<run>` and `GET /api/row/<run>/<number>`."""

    def rows(request: Request) -> Response:
        run = state.run(path := request.path_params["path"])
        query = read_query(request.query_params.multi_items(), run.metrics, run.config.get("group_by") or ())
        if query.in_file_order and query.offset + query.limit <= FIRST:
            found = first_rows(run, query.offset, query.limit)
            indexes.of(path)  # a thread begins to make it, for what is asked next
            return as_json(_page(run.summary[run.metrics[0]]["count"], found))
        index = indexes.of(path)
        if not index.ready.wait(PATIENCE):
            return as_json({"building": round(index.share, 3)}, 202)
        return as_json(_page(*index.page(query)))

    def row(request: Request) -> Response:
        run, number = state.run(request.path_params["path"]), request.path_params["row"]
        if not (number.isascii() and number.isdigit() and len(number) < 16):
            raise NotThere(number)
        try:
            return as_page(row_html(run, int(number)))
        except IndexError:
            raise NotThere(number) from None

    return [Route("/api/rows/{path:path}", rows), Route("/api/row/{path:path}/{row}", row)]


def _page(total: int, rows: list[TableRow]) -> Mapping[str, Any]:
    return {"total": total, "rows": [asdict(row) for row in rows]}
