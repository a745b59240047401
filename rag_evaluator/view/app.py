"""`make_app`: the pages of the report, served from results folders to whoever has the token."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from rag_evaluator.view.answers import HANDLERS
from rag_evaluator.view.compared import KeptComparisons
from rag_evaluator.view.folders import open_folders
from rag_evaluator.view.guard import Door, Guard
from rag_evaluator.view.indexes import Indexes
from rag_evaluator.view.pages import Pages
from rag_evaluator.view.progress_api import progress_routes
from rag_evaluator.view.row_api import RowApi
from rag_evaluator.view.state import AppState


class GuardedApp(Starlette):
    """An app whose guard is around everything, pages of errors included."""

    door: Door

    def build_middleware_stack(self) -> ASGIApp:
        return Guard(super().build_middleware_stack(), self.door)


def make_app(
    results: Path, token: str, host: str, port: int, review: bool = False, who: str | None = None
) -> GuardedApp:
    """The web app. Raises `ResultsError` if there is no such folder.

    Args:
        results: folder with runs below it, or the folder of a run.
        token: what the link has; each request sends it.
        host, port: where the server listens.
        review: whether rows may be reviewed; without it nothing can be changed.
        who: the name of the person who reviews; None asks the browser for it.
    """
    state = AppState(open_folders(results), review, who)
    indexes, comparisons = Indexes(), KeptComparisons(state)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        indexes.close()

    routes = [
        *Pages(state, comparisons, indexes).routes(),
        *RowApi(state, indexes, comparisons).routes(),
        *progress_routes(state),
        *_review_routes(state),
    ]
    app = GuardedApp(routes=routes, exception_handlers=HANDLERS, lifespan=lifespan)
    app.router.redirect_slashes = False
    app.door = Door(token, host, port, writes=review)
    return app


def _review_routes(state: AppState) -> list[BaseRoute]:
    if not state.review:
        return []
    from rag_evaluator.view.review_routes import review_routes

    return review_routes(state)
