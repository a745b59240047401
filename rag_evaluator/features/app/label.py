"""Labels that people give in the app, blind: what they are asked, in order, and the table that `certify` reads."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rag_evaluator.dataset import label_of
from rag_evaluator.errors import ResultsError
from rag_evaluator.features.certify import (
    ANNOTATOR,
    DRAW,
    LABEL,
    METRIC,
    ROW,
    SAMPLE,
    STATEMENT,
    DrawRecord,
    choices_of,
    columns_read,
    draw_rows,
    draws_in,
    question_of,
    read_draw,
)
from rag_evaluator.files import Json, JsonDict, json_line, replace_bytes, safe_names, short_digest
from rag_evaluator.resources import command
from rag_evaluator.results import FOLDER, Run, is_judged, numbers_of, scales_of
from rag_evaluator.statistics import Scale

from .answers import BadRequest, as_page, number_of, page, render
from .review import Reviews, keep_sent
from .state import NotThere
from .store import ReviewRecord, ReviewStore

DRAWN = 100  # rows of a draw that the page makes
WRONG = "wrong"  # in place of a draw's name: labels of rows that a person chose, as the judge is wrong there


def draws_of(run: Run) -> dict[str, DrawRecord]:
    """The draws of the rows as they are now, by name."""
    draws = dict[str, DrawRecord]()
    for name in draws_in(run.folder):
        try:
            draws[name] = read_draw(run.folder, name, run.data)
        except ResultsError:  # of other rows, as these were changed and judged again
            continue
    return draws


def drawn_rows(run: Run) -> dict[str, Sequence[int]]:
    """The rows of each draw."""
    return {name: draw.rows for name, draw in draws_of(run).items()}


class LabelItem(NamedTuple):
    """One question to a person.

    Attributes:
        statement: that is labelled, as the judge has written it; None: the whole score.
    """

    row: int
    metric: str
    statement: str | None = None

    def digest(self, sample: str) -> str:
        """Return by what the question is known to be another one, as its row was judged again; `sample`: its row's."""
        return short_digest(json.dumps([*self, sample]))


def choices(scale: Scale, per_statement: bool) -> list[tuple[str, str, float]]:
    """The answers to a question as label sheets offer them, yes and no or grades of the scale: key, word, value."""
    words = choices_of("english", 0.0 if per_statement else scale.low, scale.high)
    return [(str(word)[0], str(word), label_of(word)) for word in words]


def items_of(rows: Sequence[int], metrics: Sequence[str], details: Mapping[int, Sequence[Json]]) -> list[LabelItem]:
    """What is asked, row by row in the order in which they were drawn.

    These are the statements on which the judge gave a verdict of yes or no, each once, in order; else the whole score.

    Args:
        details: row -> its details, to label statements; an empty one asks for whole scores.
    """
    items: list[LabelItem] = []
    for row, metric in product(rows, metrics):
        records = [record for record in details.get(row, ()) if record["metric"] == metric]
        verdicts = [verdict for record in records for verdict in numbers_of(record)]
        statements = dict.fromkeys(verdict.statement for verdict in verdicts if verdict.value in (0.0, 1.0))
        asked = [LabelItem(row, metric, statement) for statement in statements if statement]
        items += asked or [LabelItem(row, metric)]
    return items


def given_labels(store: ReviewStore, draw: str, by: str, digests: Sequence[str]) -> dict[LabelItem, float]:
    """The labels of a person, as `store.labels` has them."""
    return {
        LabelItem(record.row, record.field, record.statement): float(record.after)
        for record in store.labels(draw, by, digests)
        if record.row is not None
    }


def label_path(store: ReviewStore, draw: str | None, by: str) -> Path:
    """The table of a person's labels: `labels/<draw>.<name>.jsonl`; `labels/wrong.<name>.jsonl` of rows not drawn."""
    names = list(dict.fromkeys(record.by for record in store.of_draw(draw)))  # in the order of their first labels
    return store.folder / FOLDER / f"{draw or WRONG}.{safe_names(names)[names.index(by)]}.jsonl"


def write_label_table(store: ReviewStore, draw: str | None, by: str, digests: Sequence[str]) -> Path:
    """Write the labels of a person again, as `reviews.jsonl` has them, in the long form that `certify` reads.

    Args:
        digests: of the rows of the run.
    """
    with store.locked():
        path = label_path(store, draw, by)
        path.parent.mkdir(exist_ok=True)
        lines = map(json_line, map(_line, store.labels(draw, by, digests)))
        replace_bytes(path.with_name(f".{path.name}.new"), b"".join(lines), path)
    return path


def _line(record: ReviewRecord) -> JsonDict:
    line = {ROW: record.row, SAMPLE: record.sample, ANNOTATOR: record.by, METRIC: record.field}
    note = {} if record.note is None else {"note": record.note}
    return {**line, STATEMENT: record.statement, LABEL: record.after, DRAW: record.draw, **note}


def judged_choices(run: Run) -> dict[str, list[tuple[str, str, float]]]:
    """Metric that a judge scored -> the labels that a whole score of it can have, see `choices`."""
    scales = scales_of(run.manifest, run.summary)
    return {name: choices(scales[name], False) for name in run.metrics if is_judged(run.manifest, name)}


class DrawQuestions:
    """What a person is asked about the rows of a draw, and the answers so far. Raises `NotThere` where there is none.

    Args:
        path: of the run.
        about: name of the `draw`; `per`: `statement`, or else whole scores are labelled.
    """

    def __init__(self, reviews: Reviews, path: str, about: Json) -> None:
        self.run = reviews.run(path)
        self.draw = str(about.get("draw"))
        draw = draws_of(self.run).get(self.draw)
        if draw is None:
            raise NotThere(self.draw)
        self.per = "statement" if about.get("per") == "statement" else "score"
        details = {row: self.run.details(row) for row in draw.rows} if self.per == "statement" else {}
        names = [name for name in draw.metrics if name in self.run.metrics and is_judged(self.run.manifest, name)]
        self.store = reviews.store(self.run)
        self.items = items_of(draw.rows, names, details)
        self.labels = given_labels(self.store, self.draw, reviews.who, self.run.digests)

    def choices(self, item: LabelItem) -> list[tuple[str, str, float]]:
        scales = scales_of(self.run.manifest, self.run.summary)
        return choices(scales[item.metric], item.statement is not None)


@dataclass(frozen=True)
class LabelRoutes:
    """Labels."""

    reviews: Reviews

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/label/{path:path}", self.page),
            Route("/api/label/item/{path:path}", self.item),
            Route("/api/label/draw/{path:path}", partial(keep_sent, self.draw), methods=["POST"]),
            Route("/api/label/wrong/{path:path}", partial(keep_sent, self.keep_wrong), methods=["POST"]),
            Route("/api/label/record/{path:path}", partial(keep_sent, self.keep), methods=["POST"]),
        ]

    def page(self, request: Request) -> Response:
        """The draws of a run, with what the person has labelled of each; or the place for the questions of one."""
        run = self.reviews.run(path := request.path_params["path"])
        store = self.reviews.store(run)
        by = self.reviews.who
        draws = []
        for name, draw in draws_of(run).items():
            labelled = {record.row for record in store.labels(name, by, run.digests)}
            draws.append((name, draw, len(labelled), store.is_closed(name, by)))
        values = {
            "path": path,
            "draws": draws,
            "sheet": command("certify", "sheet", run.folder, "--out", "labels.xlsx"),
            "query": request.url.query,
            "size": min(DRAWN, run.count),
        }
        return page("label.html", self.reviews.state, run.title, **values)

    def item(self, request: Request) -> Response:
        """Answer with a question and the texts that it needs: neither scores nor reasons nor other columns.

        Without a place it is the first question that has no answer; after the last one it is the end.
        """
        asked = DrawQuestions(self.reviews, request.path_params["path"], request.query_params)
        run = asked.run
        items = asked.items
        by = self.reviews.who
        about = {"draw": asked.draw, "per": asked.per}
        values: JsonDict = {
            "about": about,
            "total": len(items),
            "done": sum(item in asked.labels for item in items),
        }
        if asked.store.is_closed(asked.draw, by):
            table = label_path(asked.store, asked.draw, by) if asked.labels else None
            next_command = command("certify", run.folder, "--labels", table) if table else ""
            return as_page(render("label_end.html", closed=True, command=next_command, **values))
        named = request.query_params.get("place")
        still_open = (place for place, item in enumerate(items) if item not in asked.labels)
        place = number_of(named) if named else next(still_open, len(items))
        if place >= len(items):
            return as_page(render("label_end.html", closed=False, **values))
        item = items[place]
        columns = self.reviews.columns(run, items[place].row)
        before = items[place - 1] if place and items[place - 1] in asked.labels else None
        metrics = list(dict.fromkeys(other.metric for other in items if other.row == item.row))
        values |= {
            "place": place,
            "item": item,
            "digest": item.digest(self.reviews.sample(run, item.row)),
            "digest_before": before.digest(self.reviews.sample(run, before.row)) if before else None,
            "question": question_of(item.metric, "english", item.statement is not None),
            "choices": asked.choices(item),
            "label": asked.labels.get(item),
            "texts": {name: columns[name] for name in columns_read(metrics, set(columns))},
        }
        return as_page(render("label_item.html", **values))

    def keep(self, path: str, values: Json) -> None:
        """Keep a label, or the end of a draw, in `reviews.jsonl` and in the table of labels."""
        asked = DrawQuestions(self.reviews, path, values)
        if values.get("close") is True:
            asked.store.add(self.reviews.record(path, kind="close", draw=asked.draw))
            return
        place = values.get("place")
        if type(place) is not int or not 0 <= place < len(asked.items):
            raise BadRequest("there is no such question.")
        item = asked.items[place]
        after = values.get("after")
        sample = self.reviews.sample(asked.run, item.row)
        if values.get("item") != item.digest(sample):
            raise BadRequest("this question has changed since: its row was judged again. Load the page again.")
        offered = [value for _, _, value in asked.choices(item)]
        if after is not None and after not in offered:
            raise BadRequest(f"a label of {item.metric} is one of {', '.join(map(str, offered))}.")
        label = {"field": item.metric, "before": asked.labels.get(item), "after": after, "statement": item.statement}
        known = {"kind": "label", "row": item.row, "sample": sample, "draw": asked.draw}
        asked.store.add(self.reviews.record(path, **known, **label))
        write_label_table(asked.store, asked.draw, self.reviews.who, asked.run.digests)

    def draw(self, path: str, values: Json) -> None:
        """Draw rows to be labelled."""
        run = self.reviews.run(path)
        draw_rows(run.folder, min(DRAWN, run.count))

    def keep_wrong(self, path: str, values: Json) -> None:
        """Keep what a person says against the judge, as the label of a row that was not drawn."""
        run = self.reviews.run(path)
        row = values.get("row")
        metric = values.get("field")
        offered = [value for _, _, value in judged_choices(run).get(str(metric), ())]
        if type(row) is not int or row in self.reviews.blind(run) or values.get("after") not in offered:
            raise BadRequest(f"expected a row whose scores are shown, a metric of the judge, and a label of {offered}.")
        if values.get("sample") != (sample := self.reviews.sample(run, row)):
            raise BadRequest("this row has changed since: it was judged again. Load the page again.")
        store = self.reviews.store(run)
        by = self.reviews.who
        known = (
            record for record in store.labels(None, by, run.digests) if (record.row, record.field) == (row, metric)
        )
        before = next((record.after for record in known), None)
        said = {"field": metric, "before": before, "after": values["after"], "note": values.get("note") or None}
        store.add(self.reviews.record(path, kind="label", row=row, sample=sample, **said))
        write_label_table(store, None, by, run.digests)
