"""`make_app`: the pages of the report, served from results folders to whoever has the token."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from rag_evaluator import __version__
from rag_evaluator.errors import RagEvaluatorError
from rag_evaluator.features.app.answers import (
    HANDLERS,
    LINKED,
    Access,
    Guard,
    as_json,
    as_page,
    file_routes,
    number_of,
    plain_error,
    render,
)
from rag_evaluator.features.app.index import Indexes, RowIndex, RunsTable, read_query
from rag_evaluator.features.app.runs import entries, entry_of, list_columns, parts_of, seen, state_of
from rag_evaluator.features.app.state import (
    REPORT,
    AppState,
    FileCache,
    NotThere,
    RunComparisons,
    open_folders,
    stamp_of,
)
from rag_evaluator.report.document import columns_of
from rag_evaluator.report.pages import clean
from rag_evaluator.report.row import pair_html, row_html
from rag_evaluator.report.row_scores import frames_of
from rag_evaluator.resources import command
from rag_evaluator.results.run import Run

FIRST_ROWS = 2000  # rows at the beginning of the file that are read without an index
PATIENCE = 1.0  # seconds after which the browser hears that the index is in the making, and asks again
WITH = "with"  # in the query: a run that is shown beside the one in the path
MOST_COMPARED = 6


@dataclass(frozen=True)
class RowApi:
    """What the routes share."""

    state: AppState
    indexes: Indexes
    comparisons: RunComparisons

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
        table = self._tabled(request)
        query_pairs = [pair for pair in request.query_params.multi_items() if pair[0] != WITH]
        query = read_query(query_pairs, table.columns)
        if len(table.runs) == 1 and query.in_file_order and query.offset + query.limit <= FIRST_ROWS:
            rows = table.first(query.offset, query.limit)
            self.indexes.of(table)  # a thread begins to make it, for what is asked next
            return as_json({"total": table.count, "all": table.count, "rows": rows})
        index = self.indexes.of(table)
        if not index.ready.wait(PATIENCE):
            return _building(index)
        total, rows = index.page(query)
        return as_json({"total": total, "all": index.all, "rows": rows})

    def row(self, request: Request) -> Response:
        number = number_of(request.path_params["row"])
        table = self._tabled(request)
        try:
            if len(table.runs) == 1:
                return as_page(row_html(table.runs[0], number))
        except IndexError:
            raise NotThere(str(number)) from None
        index = self.indexes.of(table)
        if not index.ready.wait(PATIENCE):
            return _building(index)
        if (numbers := index.numbers(number)) is None:
            raise NotThere(str(number))
        return as_page(pair_html(table.runs, numbers))

    def frames(self, request: Request) -> Response:
        """The heads of prompts, which the fragments of rows only name."""
        paths = [request.path_params["path"], *request.query_params.getlist(WITH)]
        return as_json({key: text for path in paths for key, text in frames_of(self.state.run(path)).items()})

    def _tabled(self, request: Request) -> RunsTable:
        paths: Sequence[str] = [request.path_params["path"], *request.query_params.getlist(WITH)]
        runs = [self.state.run(path) for path in paths]
        return RunsTable(runs, self.comparisons.of(paths).on if len(runs) > 1 else None)


def _building(index: RowIndex) -> Response:
    answer: Any = {"building": round(index.share, 3)}
    return as_json(answer, 202)


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


@dataclass(frozen=True)
class Pages:
    """What the routes share."""

    state: AppState
    comparisons: RunComparisons
    indexes: Indexes
    figures: "FileCache[str]" = field(default_factory=lambda: FileCache(16))

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/", self.runs),
            Route("/run/{path:path}", self.run),
            Route("/report/{path:path}", self.report),
            Route("/compare", self.compare),
            Route("/api/figures/{path:path}", self.run_figures),
            Route("/api/compared", self.compared_figures),
            *file_routes(),
        ]

    def runs(self, request: Request) -> Response:
        if self.state.folders.only is not None:
            return RedirectResponse(address("/run/", self.state.folders.only), 303)
        listed = entries(self.state)
        return self._page(
            "run_list.html",
            "Runs",
            entries=listed,
            columns=list_columns(listed),
            seen=seen(listed),
            command=command("config.yaml"),
        )

    def run(self, request: Request) -> Response:
        entry = entry_of(self.state, path := request.path_params["path"])
        if entry.state == "damaged" and not entry.metrics:
            return plain_error(500, clean(entry.error))
        if not entry.metrics:
            return self._page("progress.html", entry.name, entry=entry, state=state_of(entry.parts))
        table = _table([self.state.run(path)], address("/api/rows/", path), address("/api/row/", path))
        return self._page("app_run.html", entry.name, entry=entry, figures_from=address("/api/figures/", path), **table)

    def report(self, request: Request) -> Response:
        """The file of a run's report, to be saved: its own scripts would not run under the policy of the app."""
        file = self.state.folders.find(request.path_params["path"]) / REPORT
        if not file.is_file():
            raise NotThere(REPORT)
        return FileResponse(file, media_type="text/html", filename=f"{file.parent.name}.html")

    def compare(self, request: Request) -> Response:
        paths = request.query_params.getlist("run")
        if not 2 <= len(paths) <= MOST_COMPARED or len(set(paths)) < len(paths):
            return plain_error(400, f"To compare runs, pick two to {MOST_COMPARED} different ones in the list of runs.")
        runs = [self.state.run(path) for path in paths]
        try:
            self.comparisons.of(paths)
        except NotThere:
            raise
        except RagEvaluatorError as error:  # such as runs without a row in common
            return plain_error(400, clean(str(error)))
        with_others = "?" + urlencode([("with", path) for path in paths[1:]])
        table = _table(
            runs, address("/api/rows/", paths[0]) + with_others, address("/api/row/", paths[0]) + with_others
        )
        figures_from = "/api/compared?" + urlencode([("run", path) for path in paths])
        links = [(run.title, address("/run/", path)) for run, path in zip(runs, paths, strict=True)]
        title = f"{runs[0].title} and {', '.join(run.title for run in runs[1:])}"
        return self._page("app_compare.html", title, links=links, figures_from=figures_from, **table)

    def run_figures(self, request: Request) -> Response:
        run = self.state.run(request.path_params["path"])
        return as_page(self.figures.of((run.folder,), stamp_of(run.folder), lambda: self._figures(run)))

    def compared_figures(self, request: Request) -> Response:
        paths = request.query_params.getlist("run")
        if not 2 <= len(paths) <= MOST_COMPARED:
            raise NotThere("compared")
        runs = [self.state.run(path) for path in paths]
        stamps = tuple(stamp for run in runs for stamp in stamp_of(run.folder))
        return as_page(self.figures.of(tuple(run.folder for run in runs), stamps, lambda: self._compared(runs, paths)))

    def _figures(self, run: Run) -> str:
        from rag_evaluator.report.figures import figures_html  # loads the library of charts

        self._after_table(RunsTable([run]))
        return figures_html(run)

    def _compared(self, runs: Sequence[Run], paths: Sequence[str]) -> str:
        from rag_evaluator.report.compared import comparison_html
        from rag_evaluator.report.figures import runs_html

        comparison = self.comparisons.of(paths)
        self._after_table(RunsTable(runs, comparison.on))
        return comparison_html(comparison) + runs_html(runs)

    def _after_table(self, table: RunsTable) -> None:
        """Both read all rows; made at the same time they would take as long together, and the table is used first."""
        self.indexes.of(table).ready.wait()

    def _page(self, template: str, title: str, **values: Any) -> Response:  # Any: see the templates
        values = {"title": title, "version": __version__, "inline": None, **LINKED, **values}
        return as_page(render(template, app=self.state, blocks=(), made_from="", address=address, **values))


def address(prefix: str, path: str) -> str:
    """The address of a run under a prefix."""
    return prefix + quote(path, safe="/")


def _table(runs: Sequence[Run], rows: str, row: str) -> dict[str, Any]:
    """What `table.html` shows, and where its rows come from."""
    return {"columns": columns_of(runs), "table_notes": (), "rows_from": rows, "row_from": row}


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
    from rag_evaluator.features.app.label import LabelRoutes
    from rag_evaluator.features.app.review import ReviewRoutes, Reviews

    reviews = Reviews(state)
    return [*ReviewRoutes(reviews).routes(), *LabelRoutes(reviews).routes()]
