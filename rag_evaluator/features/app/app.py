"""`make_app`: the pages of the report, served from results folders to whoever has the token."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from rag_evaluator.features.app.answers import HANDLERS, Access, Guard
from rag_evaluator.features.app.index import Indexes
from rag_evaluator.features.app.pages import Pages, RowApi, progress_routes
from rag_evaluator.features.app.state import AppState, RunComparisons, open_folders


class GuardedApp(Starlette):
    """An app whose guard is around everything, pages of errors included."""

    access: Access

    def build_middleware_stack(self) -> ASGIApp:
        return Guard(super().build_middleware_stack(), self.access)


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
    indexes, comparisons = Indexes(), RunComparisons(state)

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
    app.access = Access(token, host, port, writes=review)
    return app


def _review_routes(state: AppState) -> list[BaseRoute]:
    """The routes of `--review`. The guard has let in only who has the token, from a page of this server."""
    if not state.review:
        return []
    from rag_evaluator.features.app.label_routes import LabelRoutes
    from rag_evaluator.features.app.review_pages import Reviews
    from rag_evaluator.features.app.review_routes import ReviewRoutes

    reviews = Reviews(state)
    return [*ReviewRoutes(reviews).routes(), *LabelRoutes(reviews).routes()]
