"""What the pages for reviewers share: what a browser sends, stores and digests of the runs; flags and corrections."""

import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rag_evaluator.dataset.json_values import plain
from rag_evaluator.errors import ResultsError
from rag_evaluator.features.app.answers import BadRequest, as_json, number_of, page
from rag_evaluator.features.app.state import AppState, FileCache, NotThere, stamp_of
from rag_evaluator.features.app.store import (
    CORRECTED,
    FLAGS,
    LONGEST,
    ConflictError,
    ReviewError,
    ReviewRecord,
    ReviewStore,
)
from rag_evaluator.features.certify.sheet import DrawRecord, read_draw
from rag_evaluator.report.pages import clean
from rag_evaluator.report.row import columns_of, row_html
from rag_evaluator.report.table import worst_places
from rag_evaluator.results.certificate import FOLDER, NAME
from rag_evaluator.results.run import Run

# Any in this module: JSON.

MOST_BYTES = 20_000_000  # of a request
MOST_WORST = 1000  # rows that are listed as the worst
SENT = ("id", "row", "sample", "kind", "field", "before", "after", "statement", "draw", "seen")
PERSON = re.compile(r"[^\x00-\x1f\x7f]+")


async def body_of(request: Request) -> dict[str, Any]:
    """The JSON object of a request. Raises `BadRequest`."""
    data = bytearray()
    async for part in request.stream():
        data += part
        if len(data) > MOST_BYTES:
            raise BadRequest(f"a review may have {MOST_BYTES:,} bytes.")
    try:
        values = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"no JSON: {error}.") from error
    if not isinstance(values, dict):
        raise BadRequest("expected a JSON object.")
    return values


def person(state: AppState, name: Any) -> str:
    """Who reviews: as the command line says, else as the browser does. Raises `BadRequest`."""
    if state.who is not None:
        return state.who
    return checked_name(name if isinstance(name, str) else "")


def checked_name(text: str) -> str:
    """A name as it is kept. Raises `BadRequest` for what is none."""
    name = known_name(text)
    if not name or len(name) > LONGEST["by"] or not PERSON.fullmatch(name):
        raise BadRequest(f"who reviews? Expected a name of at most {LONGEST['by']} characters.")
    return name


def known_name(text: str) -> str:
    """A name as it is kept: the same for the same letters, in whichever way a keyboard composes them."""
    return str(plain(unicodedata.normalize("NFC", text.strip())))


def record_of(values: Mapping[str, Any], run: str, by: str) -> ReviewRecord:
    """The record that a browser sends. Raises `BadRequest` for fields that are not known."""
    wrong = sorted(set(values) - {*SENT, "by"})
    if wrong:
        raise BadRequest(f"'{wrong[0]:.40}' is no field of a review.")
    for name in ("id", "kind", "field"):
        if not isinstance(values.get(name), str):
            raise BadRequest(f"'{name}' of a review is missing.")
    sent: dict[str, Any] = {name: values.get(name) for name in SENT}
    now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return ReviewRecord(**sent, run=run, at=now, by=by)


@dataclass(frozen=True)
class Reviews:
    """The reviews of all runs below the root."""

    state: AppState
    _stores: dict[Path, ReviewStore] = field(default_factory=dict)
    _worst: FileCache[list[int]] = field(default_factory=lambda: FileCache(16))

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

    def worst(self, run: Run) -> list[int]:
        """Return the rows, the worst first, by their combined rank."""

        def found() -> list[int]:
            places = worst_places(run)
            return sorted(range(len(places)), key=places.__getitem__)

        return self._worst.of(run.folder, stamp_of(run.folder), found)

    def reviewed(self, run: Run) -> list[int]:
        """Return the rows that people have flagged or corrected, the last ones first."""
        records = reversed(self.store(run).records())
        return list(
            dict.fromkeys(record.row for record in records if record.row is not None and record.kind != "label")
        )

    def draws(self, run: Run) -> dict[str, DrawRecord]:
        """The draws of the rows as they are now, by name."""
        draws, folder = dict[str, DrawRecord](), run.folder / FOLDER
        names = [path.stem for path in sorted(folder.glob("*.json")) if path.name != NAME]
        data = run.data if names else ""
        for name in names:
            try:
                draws[name] = read_draw(run.folder, name, data)
            except ResultsError:  # of other rows, as these were changed and judged again
                continue
        return draws

    def blind(self, run: Run, by: str) -> set[int]:
        """The rows whose scores a person must not see yet: those of draws that they have begun and not closed."""
        store = self.store(run)
        return {
            row
            for name, draw in self.draws(run).items()
            if not store.is_closed(name, by) and store.labels(name, by, run.digests)
            for row in draw.rows
        }


def keep(reviews: Reviews, run: Run, record: ReviewRecord) -> Response:
    """Keep a record that is about the row as it is now."""
    if record.row is not None and (type(record.row) is not int or record.row < 0):
        raise BadRequest("'row' of a review: expected a number from 0.")
    if record.row is not None and record.sample != reviews.sample(run, record.row):
        return as_json({"error": f"row {record.row} is another one since: it was judged again.", "stale": True}, 409)
    try:
        kept = reviews.store(run).add(record)
    except ConflictError as error:
        return as_json({"error": str(error), "conflict": record_json(error.other)}, 409)
    except ReviewError as error:
        return as_json({"error": str(error)}, 400)
    return as_json({"kept": record_json(kept)})


def record_json(record: ReviewRecord) -> dict[str, Any]:
    return {name: clean(value) if name == "by" else value for name, value in asdict(record).items() if name != "run"}


# Any in this module: JSON.


@dataclass(frozen=True)
class ReviewRoutes:
    """Flags and corrections."""

    reviews: Reviews

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/review/{path:path}", self.page),
            Route("/api/review/queues/{path:path}", self.queues),
            Route("/api/review/row/{path:path}/{row}", self.row),
            Route("/api/review/record/{path:path}", self.record, methods=["POST"]),
        ]

    def page(self, request: Request) -> Response:
        run = self.reviews.run(path := request.path_params["path"])
        values = {"path": path, "flags": FLAGS, "fields": CORRECTED, "rows": run.count}
        return page("review.html", self.reviews.state, run.title, True, **values)

    def queues(self, request: Request) -> Response:
        """Answer with the rows, the worst first, and those that are reviewed; rows that the person labels blind are
        none of the worst.
        """
        run = self.reviews.run(request.path_params["path"])
        blind = self._blind(run, request)
        worst = [row for row in self.reviews.worst(run) if row not in blind][:MOST_WORST]
        return as_json({"queues": {"worst": worst, "reviewed": self.reviews.reviewed(run)}})

    def row(self, request: Request) -> Response:
        """A row with what people have said of it. Of rows that the person labels blind nothing that the judge said."""
        run = self.reviews.run(request.path_params["path"])
        row, blind = number_of(request.path_params["row"]), self._blind(run, request)
        try:
            columns = columns_of(run, run.row(row))
        except IndexError:
            raise NotThere(str(row)) from None
        sample = self.reviews.sample(run, row)
        state = self.reviews.store(run).row(row, sample)
        return as_json(
            {
                "row": row,
                "sample": sample,
                "columns": {name: columns.get(name) for name in CORRECTED},
                "last": {key: record_json(record) for key, record in state.last.items()},
                "html": None if row in blind else row_html(run, row),
            }
        )

    async def record(self, request: Request) -> Response:
        """Keep a flag or a correction: 200 once it is on disk, 409 where somebody else has changed the same."""
        values = await body_of(request)
        return await run_in_threadpool(self._keep, request, values)

    def _keep(self, request: Request, values: Mapping[str, Any]) -> Response:
        run = self.reviews.run(path := request.path_params["path"])
        record = record_of(values, path, person(self.reviews.state, values.get("by")))
        if record.kind not in ("flag", "correct"):
            raise BadRequest(f"'{record.kind:.40}' is neither a flag nor a correction.")
        return keep(self.reviews, run, record)

    def _blind(self, run: Run, request: Request) -> set[int]:
        by = self.reviews.state.who or known_name(request.query_params.get("by", ""))
        return self.reviews.blind(run, by) if by else set()
