"""`review_routes`: the pages on which rows are flagged, corrected and labelled, and what their scripts ask."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rag_evaluator.features.app.answers import BadRequest, as_json, number_of
from rag_evaluator.features.app.queues import Queue
from rag_evaluator.features.app.record import CORRECTED, FLAGS
from rag_evaluator.features.app.review_pages import (
    Reviews,
    body_of,
    keep,
    known_name,
    person,
    record_json,
    record_of,
    review_page,
)
from rag_evaluator.features.app.state import NotThere
from rag_evaluator.report.row import columns_of, row_html
from rag_evaluator.results.run import Run

# Any in this module: JSON.


@dataclass(frozen=True)
class ReviewRoutes:
    """Flags and corrections."""

    reviews: Reviews

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/review/{path:path}", self.page),
            Route("/api/review/queues/{path:path}", self.queues),
            Route("/api/review/row/{path:path}/{row}", self.row),
            Route("/api/review/changes/{path:path}", self.changes),
            Route("/api/review/record/{path:path}", self.record, methods=["POST"]),
        ]

    def page(self, request: Request) -> Response:
        run = self.reviews.run(path := request.path_params["path"])
        values = {"title": run.title, "path": path, "flags": FLAGS, "fields": CORRECTED, "rows": run.count}
        return review_page("review.html", self.reviews.state, **values)

    def queues(self, request: Request) -> Response:
        """The queues with their rows; of rows that the person labels blind the reasons are left out."""
        run = self.reviews.run(path := request.path_params["path"])
        queues = [self.reviews.reviewed(run), *self.reviews.queues(run, path)]
        blind = self._blind(run, request)
        return as_json({"queues": [_queue_json(queue, blind) for queue in queues], "rows": run.count})

    def row(self, request: Request) -> Response:
        """A row with what people have said of it. Of rows that the person labels blind nothing that the judge said."""
        run = self.reviews.run(request.path_params["path"])
        row, blind = number_of(request.path_params["row"]), self._blind(run, request)
        try:
            columns = columns_of(run, run.row(row))
        except IndexError:
            raise NotThere(str(row)) from None
        sample = self.reviews.sample(run, row)
        state = self.reviews.store(run).row(row, sample)
        return as_json(
            {
                "row": row,
                "sample": sample,
                "columns": {name: columns.get(name) for name in CORRECTED},
                "last": {key: record_json(record) for key, record in state.last.items()},
                "history": [record_json(record) for records in state.fields.values() for record in records],
                "html": None if row in blind else row_html(run, row),
            }
        )

    def changes(self, request: Request) -> Response:
        """The rows of which somebody has said something after the first `after` records."""
        run = self.reviews.run(request.path_params["path"])
        after = number_of(request.query_params.get("after", "0"))
        records = self.reviews.store(run).records()
        rows = {record.row for record in records[after:] if record.row is not None and record.kind != "label"}
        return as_json({"count": len(records), "rows": sorted(rows)})

    async def record(self, request: Request) -> Response:
        """Keep a flag or a correction: 200 once it is on disk, 409 where somebody else has changed the same."""
        values = await body_of(request)
        return await run_in_threadpool(self._keep, request, values)

    def _keep(self, request: Request, values: Mapping[str, Any]) -> Response:
        run = self.reviews.run(path := request.path_params["path"])
        record = record_of(values, path, person(self.reviews.state, values.get("by")))
        if record.kind not in ("flag", "correct"):
            raise BadRequest(f"'{record.kind:.40}' is neither a flag nor a correction.")
        return keep(self.reviews, run, record)

    def _blind(self, run: Run, request: Request) -> set[int]:
        by = self.reviews.state.who or known_name(request.query_params.get("by", ""))
        return self.reviews.blind(run, by) if by else set()


def _queue_json(queue: Queue, blind: set[int]) -> dict[str, Any]:
    rows = [{"row": queued.row, "why": [] if queued.row in blind else queued.why} for queued in queue.rows]
    return {"name": queue.name, "total": queue.total, "rows": rows}
