"""The style sheets and scripts of the pages, by name: no other file is served."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rag_evaluator.report.embedding import SCRIPTS, STYLES
from rag_evaluator.report.pages import asset
from rag_evaluator.view.folders import NotThere

OWN_STYLES = ("runs.css",)
ENTER = "enter.js"  # of the page without data that comes first
OWN_SCRIPTS = ("remote.js", "fragments.js", "progress.js", "runs.js")
REVIEW_STYLES = ("review.css",)
REVIEW_SCRIPTS = ("pending.js", "reviewer.js", "review_form.js", "review.js", "label.js")
EMBEDDED = "embedded.js"  # rows inside a report; here they come from the server
REPORT_SCRIPTS = tuple(name for name in SCRIPTS if name != EMBEDDED and name != "start.js")
PACKAGES = {
    **dict.fromkeys((*STYLES, *SCRIPTS), "rag_evaluator.report"),
    **dict.fromkeys((ENTER, *OWN_STYLES, *OWN_SCRIPTS, *REVIEW_STYLES, *REVIEW_SCRIPTS), "rag_evaluator.view"),
}
TYPES = {"css": "text/css", "js": "text/javascript"}
LINKED = {
    "styles": [f"/assets/{name}" for name in (*STYLES, *OWN_STYLES)],
    "scripts": [f"/assets/{name}" for name in (*REPORT_SCRIPTS, *OWN_SCRIPTS, "start.js")],
}


def file_routes() -> list[BaseRoute]:
    """`GET /assets/<name>`."""

    def file(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in PACKAGES:
            raise NotThere(name)
        return Response(asset(name, PACKAGES[name]), media_type=TYPES[name.rpartition(".")[2]])

    return [Route("/assets/{name}", file)]
