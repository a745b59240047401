"""`review_routes`: the pages on which rows are flagged, corrected and labelled, and what their scripts ask."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rag_evaluator import __version__
from rag_evaluator.report.pages import clean, render
from rag_evaluator.report.row import row_html
from rag_evaluator.report.row_view import columns_of
from rag_evaluator.report.run_files import RunFiles
from rag_evaluator.reviews.queues import Queue
from rag_evaluator.reviews.record import CORRECTED, FLAGS, ReviewError, ReviewRecord
from rag_evaluator.reviews.store import ConflictError
from rag_evaluator.view.answers import as_json, as_page
from rag_evaluator.view.files import LINKED, REVIEW_SCRIPTS, REVIEW_STYLES
from rag_evaluator.view.folders import NotThere
from rag_evaluator.view.label_routes import LabelRoutes
from rag_evaluator.view.review_request import BadRequest, body_of, known_name, person, record_of
from rag_evaluator.view.reviews import Reviews
from rag_evaluator.view.state import AppState

# Any in this module: JSON.


def review_routes(state: AppState) -> list[BaseRoute]:
    """The routes of `--review`. The guard has let in only who has the token, from a page of this server."""
    reviews = Reviews(state)
    return [*ReviewRoutes(reviews).routes(), *LabelRoutes(reviews).routes()]


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
        values = {"title": run.name, "path": path, "flags": FLAGS, "fields": CORRECTED, "rows": run.count}
        return review_page("review.html", self.reviews.state, **values)

    def queues(self, request: Request) -> Response:
        """The queues with their rows; of rows that the person labels blind the reasons are left out."""
        run = self.reviews.run(path := request.path_params["path"])
        found = [self.reviews.reviewed(run), *self.reviews.queues(run, path)]
        blind = self._blind(run, request)
        return as_json({"queues": [_queue_json(queue, blind) for queue in found], "rows": run.count})

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
                "last": {key: _record_json(record) for key, record in state.last.items()},
                "history": [_record_json(record) for records in state.fields.values() for record in records],
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

    def _blind(self, run: RunFiles, request: Request) -> set[int]:
        by = self.reviews.state.who or known_name(request.query_params.get("by", ""))
        return self.reviews.blind(run, by) if by else set()


def keep(reviews: Reviews, run: RunFiles, record: ReviewRecord) -> Response:
    """Keep a record that is about the row as it is now."""
    if record.row is not None and (type(record.row) is not int or record.row < 0):
        raise BadRequest("'row' of a review: expected a number from 0.")
    if record.row is not None and record.sample != reviews.sample(run, record.row):
        return as_json({"error": f"row {record.row} is another one since: it was judged again.", "stale": True}, 409)
    try:
        kept = reviews.store(run).add(record)
    except ConflictError as error:
        return as_json({"error": str(error), "conflict": _record_json(error.other)}, 409)
    except ReviewError as error:
        return as_json({"error": str(error)}, 400)
    return as_json({"kept": _record_json(kept)})


def review_page(template: str, state: AppState, **values: Any) -> Response:
    added = {"styles": REVIEW_STYLES, "scripts": REVIEW_SCRIPTS}
    linked = {kind: [*LINKED[kind], *(f"/assets/{name}" for name in names)] for kind, names in added.items()}
    return as_page(
        render(template, app=state, version=__version__, inline=None, blocks=(), made_from="", **linked, **values)
    )


def number_of(text: str) -> int:
    """Raises `NotThere` for what is no number from 0."""
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise NotThere(text)
    return int(text)


def _queue_json(queue: Queue, blind: set[int]) -> dict[str, Any]:
    rows = [{"row": found.row, "why": [] if found.row in blind else found.why} for found in queue.rows]
    return {"name": queue.name, "total": queue.total, "rows": rows}


def _record_json(record: ReviewRecord) -> dict[str, Any]:
    return {name: clean(value) if name == "by" else value for name, value in asdict(record).items() if name != "run"}
