"""Flags and corrections: the page of a reviewer, and what all pages for reviewers share."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rag_evaluator.files import Json, JsonDict
from rag_evaluator.report import clean, column_values, row_html, worst_places
from rag_evaluator.results import Run

from .answers import BadRequest, as_json, number_of, page, render
from .state import AppState, NotThere
from .store import (
    CORRECTED,
    FLAGS,
    ConflictError,
    ReviewRecord,
    ReviewStore,
    checked,
    corrections_of,
    flags_of,
)

# Any in this module: JSON.

MOST_WORST = 1000  # rows that are listed as the worst
SENT = ("row", "sample", "kind", "field", "before", "after")
NAMES = {"user_input": "Question", "reference": "Reference", "reference_contexts": "Expected contexts"}


async def keep_sent(keep: Callable[[str, Json], object], request: Request) -> Response:
    """Answer 200 once what a browser has sent is on disk, 409 where somebody else has changed the same meanwhile."""
    try:
        values = await request.json()
    except (ValueError, RecursionError) as error:  # no JSON, or lists nested too deeply
        raise BadRequest(f"The body of this request cannot be read as JSON: {error}.") from error
    if not isinstance(values, dict):
        raise BadRequest("expected a JSON object.")
    try:
        await run_in_threadpool(keep, request.path_params["path"], values)
    except ConflictError as error:
        now = error.other.after
        text = " --- ".join(now) if isinstance(now, list) else now
        said = f"{error} It is now: {text or 'nothing'}\nSave again to replace it, or leave your text."
        return as_json({"error": clean(said), "now": now}, 409)
    return as_json({})


@dataclass(frozen=True)
class Reviews:
    """The reviews of all runs below the root, as one person gives them: pages for flags and corrections.

    Attributes:
        drawn: run -> name of a draw for blind labels -> its rows.
        offered: run -> metric -> the labels that a person can give a score: key, word, value.
    """

    state: AppState
    who: str
    drawn: Callable[[Run], Mapping[str, Sequence[int]]] = lambda run: {}
    offered: Callable[[Run], Mapping[str, Sequence[tuple[str, str, float]]]] = lambda run: {}
    _stores: dict[Path, ReviewStore] = field(default_factory=dict)

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/review/{path:path}", self.page),
            Route("/api/review/row/{path:path}/{row}", self.shown_row),
            Route("/api/review/record/{path:path}", partial(keep_sent, self.keep), methods=["POST"]),
        ]

    def run(self, path: str) -> Run:
        """A finished run. Raises `NotThere`."""
        run = self.state.run(path)
        if not (run.folder / "scores.jsonl").is_file():
            raise NotThere(path)
        return run

    def store(self, run: Run) -> ReviewStore:
        return self._stores.setdefault(run.folder, ReviewStore(run.folder))

    def sample(self, run: Run, row: int) -> str:
        """The digest of a row. Raises `NotThere`."""
        details = run.details(row)
        if not details:
            raise NotThere(str(row))
        return str(details[0]["sample"])

    def columns(self, run: Run, row: int) -> JsonDict:
        """The columns of a row under ragas' names. Raises `NotThere`."""
        try:
            return column_values(run, run.row(row))
        except IndexError:
            raise NotThere(str(row)) from None

    def record(self, path: str, **values: Any) -> ReviewRecord:
        """A record of this person, as it can be kept. Raises `ReviewError`."""
        now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        return checked(ReviewRecord(id=uuid4().hex, run=path, at=now, by=self.who, **values))

    def blind(self, run: Run) -> set[int]:
        """The rows whose scores the person must not see yet: those of draws that they have begun and not closed."""
        store = self.store(run)
        return {
            row
            for name, rows in self.drawn(run).items()
            if not store.is_closed(name, self.who) and store.labels(name, self.who, run.digests)
            for row in rows
        }

    def page(self, request: Request) -> Response:
        """The rows in their order, the worst of them, and those that people have flagged or corrected.

        Rows that the person labels blind are none of the worst.
        """
        run = self.run(path := request.path_params["path"])
        places = worst_places(run)
        blind = self.blind(run)
        worst = [row for row in sorted(range(len(places)), key=places.__getitem__) if row not in blind][:MOST_WORST]
        records = [record for record in self.store(run).records() if record.kind in ("flag", "correct")]
        reviewed = list(dict.fromkeys(record.row for record in reversed(records)))
        queues = [
            ("all", "All rows", "In the order of the dataset.", None),
            ("worst", "Worst rows", "By their combined rank, the worst first.", worst),
            ("reviewed", "Reviewed", "Somebody has flagged or corrected these, the last ones first.", reviewed),
        ]
        values = {"path": path, "flags": FLAGS, "fields": NAMES, "queues": queues, "rows": run.count}
        return page("review.html", self.state, run.title, offered=self.offered(run), **values)

    def shown_row(self, request: Request) -> Response:
        """A row with what people have said of it. Of rows that the person labels blind nothing that the judge said."""
        run = self.run(request.path_params["path"])
        row = number_of(request.path_params["row"])
        columns = self.columns(run, row)
        sample = self.sample(run, row)
        records = self.store(run).row(row, sample)
        corrected = corrections_of(records)
        shown = None if row in self.blind(run) else Markup(row_html(run, row))
        html = render("review_row.html", corrected=corrected, columns=columns, fields=NAMES, row=shown)
        now = {name: corrected[name].after if name in corrected else columns.get(name) for name in CORRECTED}
        flags = {name: record.by for name, record in flags_of(records).items()}
        return as_json({"row": row, "sample": sample, "flags": flags, "texts": now, "html": html})

    def keep(self, path: str, values: Json) -> None:
        """Keep a flag or a correction."""
        run = self.run(path)
        record = self.record(path, **{name: values.get(name) for name in SENT})
        if record.kind not in ("flag", "correct") or record.row is None:
            raise BadRequest(f"'{record.kind}' is neither a flag nor a correction.")
        if record.sample != self.sample(run, record.row):
            raise BadRequest("this row has changed since: it was judged again. Load the page again.")
        self.store(run).add(record)
