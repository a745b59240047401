"""The pages: the list of runs, a run, runs beside each other; and their figures, which come after the table."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from rag_evaluator import __version__
from rag_evaluator.errors import RagEvaluatorError
from rag_evaluator.program import command
from rag_evaluator.report.pages import clean, page_text, render
from rag_evaluator.report.rows_index import columns_of
from rag_evaluator.report.run_files import RunFiles
from rag_evaluator.view.answers import as_page
from rag_evaluator.view.compared import KeptComparisons
from rag_evaluator.view.files import LINKED, file_routes
from rag_evaluator.view.folders import REPORT, NotThere
from rag_evaluator.view.guard import plain_error
from rag_evaluator.view.index import Tabled
from rag_evaluator.view.indexes import Indexes
from rag_evaluator.view.kept import Kept
from rag_evaluator.view.progress import state_of
from rag_evaluator.view.runs import entries, entry_of, list_columns, seen
from rag_evaluator.view.state import AppState, stamp_of

MOST_COMPARED = 6


@dataclass(frozen=True)
class Pages:
    """What the routes share."""

    state: AppState
    comparisons: KeptComparisons
    indexes: Indexes
    figures: "Kept[str]" = field(default_factory=lambda: Kept(16))

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
        found = entries(self.state)
        return self._page(
            "run_list.html",
            "view.runs.title",
            entries=found,
            columns=list_columns(found),
            seen=seen(found),
            command=command("config.yaml"),
        )

    def run(self, request: Request) -> Response:
        entry = entry_of(self.state, path := request.path_params["path"])
        if entry.state == "damaged" and not entry.metrics:
            return plain_error(500, clean(entry.error))
        if not entry.metrics:
            return self._page("progress.html", title=entry.name, entry=entry, state=state_of(entry.parts))
        table = _table([self.state.run(path)], address("/api/rows/", path), address("/api/row/", path))
        return self._page(
            "app_run.html", title=entry.name, entry=entry, figures_from=address("/api/figures/", path), **table
        )

    def report(self, request: Request) -> Response:
        """The file of a run's report, to be saved: its own scripts would not run under the policy of the app."""
        file = self.state.folders.find(request.path_params["path"]) / REPORT
        if not file.is_file():
            raise NotThere(REPORT)
        return FileResponse(file, media_type="text/html", filename=f"{file.parent.name}.html")

    def compare(self, request: Request) -> Response:
        paths = request.query_params.getlist("run")
        if not 2 <= len(paths) <= MOST_COMPARED or len(set(paths)) < len(paths):
            return plain_error(400, page_text("view.compare.expected", most=MOST_COMPARED))
        runs = [self.state.run(path) for path in paths]
        try:
            self.comparisons.of(paths)
        except NotThere:
            raise
        except RagEvaluatorError as error:  # such as runs without a row in common
            return plain_error(400, clean(str(error)))
        others = "?" + urlencode([("with", path) for path in paths[1:]])
        table = _table(runs, address("/api/rows/", paths[0]) + others, address("/api/row/", paths[0]) + others)
        figures_from = "/api/compared?" + urlencode([("run", path) for path in paths])
        links = [(run.name, address("/run/", path)) for run, path in zip(runs, paths, strict=True)]
        title = page_text("page.runs", first=runs[0].name, others=", ".join(run.name for run in runs[1:]))
        return self._page("app_compare.html", title=title, links=links, figures_from=figures_from, **table)

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

    def _figures(self, run: RunFiles) -> str:
        from rag_evaluator.report.figures import figures_html  # loads the library of charts

        self._after_table(Tabled([run]))
        return figures_html(run)

    def _compared(self, runs: Sequence[RunFiles], paths: Sequence[str]) -> str:
        from rag_evaluator.report.figures import comparison_html, runs_html

        comparison = self.comparisons.of(paths)
        self._after_table(Tabled(runs, comparison.on))
        return comparison_html(comparison) + runs_html(runs)

    def _after_table(self, tabled: Tabled) -> None:
        """Both read all rows; made at the same time they would take as long together, and the table is used first."""
        self.indexes.of(tabled).ready.wait()

    def _page(self, template: str, key: str = "", **values: Any) -> Response:  # Any: see the templates
        values = {"title": page_text(key) if key else "", "version": __version__, "inline": None, **LINKED, **values}
        return as_page(render(template, app=self.state, blocks=(), made_from="", address=address, **values))


def address(prefix: str, path: str) -> str:
    """The address of a run under a prefix."""
    return prefix + quote(path, safe="/")


def _table(runs: Sequence[RunFiles], rows: str, row: str) -> dict[str, Any]:
    """What `table.html` shows, and where its rows come from."""
    return {"columns": columns_of(runs), "table_notes": (), "rows_from": rows, "row_from": row}
