"""What a browser gets: pages, JSON, and errors in plain words."""

import json
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from rag_evaluator.errors import RagEvaluatorError
from rag_evaluator.report.pages import clean, page_text
from rag_evaluator.view.folders import NotThere
from rag_evaluator.view.guard import plain_error
from rag_evaluator.view.review_request import BadRequest
from rag_evaluator.view.row_query import QueryError

STATUS = {NotThere: 404, QueryError: 400, BadRequest: 400}  # other errors of ours are files that cannot be read: 500


def as_json(value: Any, status: int = 200) -> Response:
    """JSON in ASCII: data may hold half a surrogate pair. Any: JSON."""
    return Response(json.dumps(value, allow_nan=False), status, media_type="application/json")


def as_page(html: str) -> Response:
    return HTMLResponse(html.encode("utf-8", "replace"))


def known_error(request: Request, error: Exception) -> Response:
    """What is wrong with a request or with the files of a run."""
    if isinstance(error, NotThere):
        return _error(request, 404, page_text("error.not_there"))
    status = next((code for kind, code in STATUS.items() if isinstance(error, kind)), 500)
    return _error(request, status, clean(str(error)))


def http_error(request: Request, error: Exception) -> Response:
    """What Starlette itself refuses: an address that is no page."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    return _error(request, status, page_text("error.not_there" if status == 404 else "error.other"))


def unknown_error(request: Request, error: Exception) -> Response:
    """A fault of this program: its traceback is for the terminal only."""
    return _error(request, 500, page_text("error.other"))


HANDLERS = {RagEvaluatorError: known_error, HTTPException: http_error, Exception: unknown_error}


def _error(request: Request, status: int, text: str) -> Response:
    if request.url.path.startswith("/api/"):
        return as_json({"error": text}, status)
    return plain_error(status, text)
