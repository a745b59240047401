"""`make_app`: the pages of the report, served from results folders to whoever has the token."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from rag_evaluator.errors import RagEvaluatorError
from rag_evaluator.report import (
    answer_html,
    comparison_html,
    figures_html,
    frames_of,
    means_html,
    pair_html,
    row_html,
    table_values,
    what_html,
    worst_html,
)
from rag_evaluator.resources import command
from rag_evaluator.results import Run

from .answers import (
    BadRequest,
    Guard,
    address,
    as_json,
    as_page,
    error_answer,
    number_of,
    page,
)
from .index import RowIndex, RunsTable, first_rows, read_query
from .runs import entries, entry_of, list_columns
from .state import AppState, FileCache, NotThere, open_folders, stamp_of

FIRST_ROWS = 2000  # rows that are read without an index, which takes seconds to make
WITH = "with"  # in the query: a run that is shown beside the one in the path
MOST_COMPARED = 6
ASSETS: list[str | tuple[str, str]] = [("rag_evaluator.report", "assets"), (str(__package__), "assets")]


@dataclass(frozen=True)
class Pages:
    """The pages, and the rows of their tables.

    Attributes:
        answers, figures_made: HTML that takes seconds to make.
        indexes: tables of rows; each takes about half the disk space of its `scores.jsonl`.
    """

    state: AppState
    answers: FileCache[str] = field(default_factory=lambda: FileCache(16))
    figures_made: FileCache[str] = field(default_factory=lambda: FileCache(16))
    indexes: FileCache[RowIndex] = field(default_factory=lambda: FileCache(4))

    def routes(self) -> list[BaseRoute]:
        """`with=<run>` adds runs to the rows that they are compared with."""
        return [
            Route("/", self.runs),
            Route("/run/{path:path}", self.run),
            Route("/compare", self.compare),
            Mount("/assets", StaticFiles(packages=ASSETS, follow_symlink=True)),
            Route("/api/answer/{path:path}", self.answer),
            Route("/api/figures/{path:path}", self.figures),
            Route("/api/rows/{path:path}", self.rows),
            Route("/api/row/{path:path}/{row}", self.row),
            Route("/api/frames/{path:path}", self.frames),
        ]

    def runs(self, request: Request) -> Response:
        if self.state.folders.only is not None:
            return RedirectResponse(address("/run/", self.state.folders.only), 303)
        listed = entries(self.state)
        how = command("config.yaml")
        return page("run_list.html", self.state, "Runs", entries=listed, columns=list_columns(listed), command=how)

    def run(self, request: Request) -> Response:
        entry = entry_of(self.state, path := request.path_params["path"])
        if not entry.metrics:
            return page("progress.html", self.state, entry.name, entry=entry)
        run = self.state.run(path)
        parts = {"means": Markup(means_html(run)), "what": Markup(what_html(run))} if entry.lines else {}
        return page("app_run.html", self.state, entry.name, entry=entry, **parts, **_table([run], [path]))

    def compare(self, request: Request) -> Response:
        paths = request.query_params.getlist("run")
        if not 2 <= len(paths) <= MOST_COMPARED or len(set(paths)) < len(paths):
            raise BadRequest(f"To compare runs, pick two to {MOST_COMPARED} different ones in the list of runs.")
        runs = [self.state.run(path) for path in paths]
        try:
            self.state.comparison(paths)
        except RagEvaluatorError as error:  # such as runs without a row in common
            raise BadRequest(str(error)) from error
        links = [(run.title, address("/run/", path)) for run, path in zip(runs, paths, strict=True)]
        title = f"{runs[0].title} and {', '.join(run.title for run in runs[1:])}"
        whats = [Markup(what_html(run, run.title, f"what-{place}")) for place, run in enumerate(runs)]
        return page("app_compare.html", self.state, title, links=links, whats=whats, **_table(runs, paths))

    def answer(self, request: Request) -> Response:
        return as_page(self._answer(self.state.run(request.path_params["path"])))

    def figures(self, request: Request) -> Response:
        paths, table = self._table(request)
        return as_page(self.figures_made.of(*_known(table), lambda: self._figures(paths, table)))

    def _figures(self, paths: Sequence[str], table: RunsTable) -> str:
        """All of them read all rows; made at the same time they would take as long together.

        So the answer is made first, then what the table is sorted and searched by, then the charts.
        """
        if len(paths) == 1:
            self._answer(table.runs[0])
            self._index(table)
            return figures_html(table.runs[0])
        self._index(table)
        comparison = self.state.comparison(paths)
        return f"{comparison_html(comparison)}\n{worst_html(table.runs, comparison.on)}"

    def _answer(self, run: Run) -> str:
        return self.answers.of(run.folder, stamp_of(run.folder), lambda: answer_html(run))

    def _index(self, table: RunsTable) -> RowIndex:
        return self.indexes.of(*_known(table), lambda: RowIndex(table))

    def rows(self, request: Request) -> Response:
        _, table = self._table(request)
        asked = {name: value for name, value in request.query_params.items() if name != WITH}
        query = read_query(asked, table.runs)
        if len(table.runs) == 1 and query.in_file_order and query.offset + query.limit <= FIRST_ROWS:
            total = table.runs[0].count
            rows = first_rows(table.runs[0], query.offset, query.limit)
            return as_json({"total": total, "all": total, "rows": rows})
        index = self._index(table)
        total, rows = index.page(query)
        return as_json({"total": total, "all": index.count, "rows": rows})

    def row(self, request: Request) -> Response:
        number = number_of(request.path_params["row"])
        _, table = self._table(request)
        if len(table.runs) == 1:
            try:
                return as_page(row_html(table.runs[0], number))
            except IndexError:
                raise NotThere(str(number)) from None
        if (numbers := self._index(table).numbers(number)) is None:
            raise NotThere(str(number))
        return as_page(pair_html(table.runs, numbers))

    def frames(self, request: Request) -> Response:
        """Answer with the heads of prompts, which the fragments of rows only name."""
        _, table = self._table(request)
        return as_json({key: text for run in table.runs for key, text in frames_of(run).items()})

    def _table(self, request: Request) -> tuple[list[str], RunsTable]:
        """Return the paths of the runs that a request names, and the table of their rows."""
        paths = [request.path_params["path"], *request.query_params.getlist(WITH)]
        if len(paths) > MOST_COMPARED:
            raise NotThere(", ".join(paths))
        runs = [self.state.run(path) for path in paths]
        return paths, RunsTable(runs, self.state.comparison(paths).on if len(runs) > 1 else None)


def _known(table: RunsTable) -> tuple[Any, Any]:
    """Return by what something that is made from a table is kept, and by what it is known to be old."""
    folders = tuple(run.folder for run in table.runs)
    return (folders, table.on), tuple(map(stamp_of, folders))


def _table(runs: Sequence[Run], paths: Sequence[str]) -> dict[str, Any]:
    """Return what `table.html` shows, and where rows and figures come from. Any: see the template."""
    others = "?" + urlencode([(WITH, path) for path in paths[1:]]) if len(paths) > 1 else ""
    places = {f"{kind}_from": address(f"/api/{kind}/", paths[0]) + others for kind in ("rows", "row", "figures")}
    return {**table_values(runs), "table_notes": (), **places}


def make_app(results: Path, token: str, host: str, port: int, who: str | None = None) -> Guard:
    """The web app. Raises `ResultsError` if there is no such folder.

    Args:
        results: folder with runs below it, or the folder of a run.
        token: what the link has; each request sends it.
        host, port: where the server listens.
        who: the name of the person who reviews; None: nothing can be changed.
    """
    state = AppState(open_folders(results), who)
    routes = Pages(state).routes()
    if who is not None:  # the guard lets in only who has the token, from a page of this server
        from .review import Reviews

        reviews = Reviews(state, who)
        if state.has_labels:
            from .label import LabelRoutes, drawn_rows, judged_choices

            reviews = Reviews(state, who, drawn_rows, judged_choices)
            routes += LabelRoutes(reviews).routes()
        routes += reviews.routes()
    handlers = dict.fromkeys((RagEvaluatorError, HTTPException, Exception), error_answer)
    app = Starlette(routes=routes, exception_handlers=handlers)
    app.router.redirect_slashes = False
    return Guard(app, token, host, port, writes=who is not None)
