"""What a reviewer's browser sends: read within limits, checked, and who it is."""

import json
import re
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request

from rag_evaluator.dataset.json_values import plain
from rag_evaluator.errors import RagEvaluatorError
from rag_evaluator.reviews.record import LONGEST_NAME, ReviewRecord
from rag_evaluator.view.state import AppState

# Any in this module: JSON.

LONGEST = 20_000_000  # bytes of a request
SENT = ("id", "row", "sample", "kind", "field", "before", "after", "statement", "draw", "seen")
NAME = re.compile(r"[^\x00-\x1f\x7f]+")


class BadRequest(RagEvaluatorError):
    """A request that says something that it cannot say (400)."""


async def body_of(request: Request) -> dict[str, Any]:
    """The JSON object of a request. Raises `BadRequest`."""
    data = bytearray()
    async for part in request.stream():
        data += part
        if len(data) > LONGEST:
            raise BadRequest(f"a review may have {LONGEST:,} bytes.")
    try:
        values = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"no JSON: {error}.") from error
    if not isinstance(values, dict):
        raise BadRequest("expected a JSON object.")
    return values


def person(state: AppState, given: Any) -> str:
    """Who reviews: as the command line says, else as the browser does. Raises `BadRequest`."""
    if state.who is not None:
        return state.who
    return checked_name(given if isinstance(given, str) else "")


def checked_name(text: str) -> str:
    """A name as it is kept. Raises `BadRequest` for what is none."""
    name = known_name(text)
    if not name or len(name) > LONGEST_NAME or not NAME.fullmatch(name):
        raise BadRequest(f"who reviews? Expected a name of at most {LONGEST_NAME} characters.")
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
