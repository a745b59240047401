"""`make_app`: the pages of the report, served from results folders to whoever has the token."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from rag_evaluator.errors import RagEvaluatorError
from rag_evaluator.features.app.answers import (
    Access,
    Guard,
    address,
    as_json,
    as_page,
    asset_file,
    error_answer,
    number_of,
    page,
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
    open_folders,
    stamp_of,
)
from rag_evaluator.report.document import columns_of, page_parts, texts_of
from rag_evaluator.report.facts import means_html, what_html
from rag_evaluator.report.figures import answer_html
from rag_evaluator.report.pages import clean
from rag_evaluator.report.row import pair_html, row_html
from rag_evaluator.report.row_scores import frames_of
from rag_evaluator.resources import command
from rag_evaluator.results.run import Run
from rag_evaluator.statistics.formulas import Scale
from rag_evaluator.statistics.intervals import mean_interval

FIRST_ROWS = 2000  # rows that are read while a browser waits
PATIENCE = 1.0  # seconds after which the browser hears that the index is in the making, and asks again
WITH = "with"  # in the query: a run that is shown beside the one in the path
MOST_COMPARED = 6


@dataclass(frozen=True)
class Pages:
    """The pages, the rows of their tables, and how far runs are.

    Attributes:
        figures: fragments of HTML that take seconds to make.
    """

    state: AppState
    indexes: Indexes
    figures: "FileCache[str]" = field(default_factory=lambda: FileCache(16))

    def routes(self) -> list[BaseRoute]:
        """`with=<run>` adds runs to the rows that they are compared with."""
        return [
            Route("/", self.runs),
            Route("/run/{path:path}", self.run),
            Route("/report/{path:path}", self.report),
            Route("/compare", self.compare),
            Route("/api/answer/{path:path}", self.answer),
            Route("/api/figures/{path:path}", self.run_figures),
            Route("/api/compared", self.compared_figures),
            Route("/assets/{name}", asset_file),
            Route("/api/rows/{path:path}", self.rows),
            Route("/api/row/{path:path}/{row}", self.row),
            Route("/api/frames/{path:path}", self.frames),
            Route("/api/progress", self.unfinished),
            Route("/api/progress/{path:path}", self.progress),
        ]

    def runs(self, request: Request) -> Response:
        if self.state.folders.only is not None:
            return RedirectResponse(address("/run/", self.state.folders.only), 303)
        listed = entries(self.state)
        how = command("config.yaml")
        columns = list_columns(listed)
        return page(
            "run_list.html", self.state, "Runs", entries=listed, columns=columns, seen=seen(listed), command=how
        )

    def run(self, request: Request) -> Response:
        entry = entry_of(self.state, path := request.path_params["path"])
        if entry.state == "damaged" and not entry.metrics:
            return plain_error(500, clean(entry.error))
        if not entry.metrics:
            return page("progress.html", self.state, entry.name, entry=entry, state=state_of(entry.parts))
        run = self.state.run(path)
        parts = {"means": Markup(means_html(run)), "what": Markup(what_html(run))} if entry.figures else {}
        answer = self._answer_at_once(run) if entry.figures else None
        return page("app_run.html", self.state, entry.name, entry=entry, answer=answer, **parts, **_table([run], path))

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
            self.state.comparison(paths)
        except NotThere:
            raise
        except RagEvaluatorError as error:  # such as runs without a row in common
            return plain_error(400, clean(str(error)))
        table = _table(runs, paths[0], "?" + urlencode([(WITH, path) for path in paths[1:]]))
        figures_from = "/api/compared?" + urlencode([("run", path) for path in paths])
        links = [(run.title, address("/run/", path)) for run, path in zip(runs, paths, strict=True)]
        title = f"{runs[0].title} and {', '.join(run.title for run in runs[1:])}"
        return page("app_compare.html", self.state, title, links=links, figures_from=figures_from, **table)

    def answer(self, request: Request) -> Response:
        return as_page(self._answer(self.state.run(request.path_params["path"])))

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

        with suppress(RagEvaluatorError):  # the page asks for the answer, too, and says there what is wrong
            self._answer(run)
        self._after_table(RunsTable([run]))
        return figures_html(run)

    def _answer_at_once(self, run: Run) -> Markup | None:
        """The answer for the page itself; None: the page asks for it, as it takes long or cannot be made."""
        with suppress(RagEvaluatorError):
            return Markup(self._answer(run)) if run.count <= FIRST_ROWS else None
        return None

    def _answer(self, run: Run) -> str:
        return self.figures.of(("answer", run.folder), stamp_of(run.folder), lambda: answer_html(run))

    def _compared(self, runs: Sequence[Run], paths: Sequence[str]) -> str:
        from rag_evaluator.report.compared import comparison_html
        from rag_evaluator.report.figures import runs_html

        comparison = self.state.comparison(paths)
        self._after_table(RunsTable(runs, comparison.on))
        return comparison_html(comparison) + runs_html(runs)

    def _after_table(self, table: RunsTable) -> None:
        """Both read all rows; made at the same time they would take as long together, and the table is used first.

        So the answer is made first, then what the table is sorted and searched by, then the charts.
        """
        self.indexes.of(table).ready.wait()

    def rows(self, request: Request) -> Response:
        table = self._tabled(request)
        query_pairs = [pair for pair in request.query_params.multi_items() if pair[0] != WITH]
        query = read_query(query_pairs, table.columns)
        if len(table.runs) == 1 and query.in_file_order and query.offset + query.limit <= FIRST_ROWS:
            rows = table.first(query.offset, query.limit)
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
        paths = [request.path_params["path"], *request.query_params.getlist(WITH)]
        runs = [self.state.run(path) for path in paths]
        return RunsTable(runs, self.state.comparison(paths).on if len(runs) > 1 else None)

    def unfinished(self, request: Request) -> Response:
        """How far all runs are that are not finished."""
        listed = entries(self.state)
        html = {entry.path: render("progress_short.html", entry=entry) for entry in listed if entry.parts}
        return as_json({"seen": seen(listed), "html": html})

    def progress(self, request: Request) -> Response:
        parts = parts_of(self.state.run(request.path_params["path"]).folder)
        html = {"parts": render("progress_parts.html", parts=parts)}
        return as_json({"state": state_of(parts), "parts": [part.to_json() for part in parts], "html": html})


def _building(index: RowIndex) -> Response:
    return as_json({"building": round(index.share, 3)}, 202)


def _table(runs: Sequence[Run], path: str, with_others: str = "") -> dict[str, Any]:
    """What `table.html` shows, and where its rows come from. Any: see the template."""
    rows, row = (address(prefix, path) + with_others for prefix in ("/api/rows/", "/api/row/"))
    return {
        "columns": columns_of(runs),
        "texts": texts_of(runs),
        "parts": page_parts(runs),
        "table_notes": (),
        "rows_from": rows,
        "row_from": row,
    }


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
    indexes = Indexes()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        Thread(target=mean_interval, args=([0.0, 1.0], Scale()), daemon=True).start()  # loads what intervals need
        yield
        indexes.close()

    routes = [*Pages(state, indexes).routes(), *_review_routes(state)]
    handlers = dict.fromkeys((RagEvaluatorError, HTTPException, Exception), error_answer)
    app = GuardedApp(routes=routes, exception_handlers=handlers, lifespan=lifespan)
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
