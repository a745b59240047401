"""Progress of runs as JSON, for the pages that ask again every few seconds."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rag_evaluator.report.pages import render
from rag_evaluator.view.answers import as_json
from rag_evaluator.view.progress import parts_of, state_of
from rag_evaluator.view.runs import entries, seen
from rag_evaluator.view.state import AppState


def progress_routes(state: AppState) -> list[BaseRoute]:
    """`GET /api/progress` of all runs that are not finished, `GET /api/progress/<run>` of any."""

    def unfinished(request: Request) -> Response:
        listed = entries(state)
        html = {entry.path: render("progress_short.html", entry=entry) for entry in listed if entry.parts}
        return as_json({"seen": seen(listed), "html": html})

    def one(request: Request) -> Response:
        parts = parts_of(state.run(request.path_params["path"]).folder)
        html = {"parts": render("progress_parts.html", parts=parts)}
        return as_json({"state": state_of(parts), "parts": [part.to_json() for part in parts], "html": html})

    return [Route("/api/progress", unfinished), Route("/api/progress/{path:path}", one)]
