"""Labels that people give in the app, blind: what they are asked, in order, and the table that `certify` reads."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rag_evaluator.features.app.answers import BadRequest, as_json, number_of, page
from rag_evaluator.features.app.review import Reviews, body_of, keep, person, record_of
from rag_evaluator.features.app.state import NotThere
from rag_evaluator.features.app.store import ReviewRecord, ReviewStore
from rag_evaluator.features.certify.certify import columns_read
from rag_evaluator.features.certify.sheet import (
    ANNOTATOR,
    DRAW,
    LABEL,
    METRIC,
    ROW,
    SAMPLE,
    STATEMENT,
    choices_of,
    label_of,
    question_of,
)
from rag_evaluator.files.atomic import replace_bytes, safe_names
from rag_evaluator.files.jsonl import json_line
from rag_evaluator.report.row import columns_of
from rag_evaluator.resources import command
from rag_evaluator.results.certificate import FOLDER
from rag_evaluator.results.conclusion import is_judged
from rag_evaluator.results.judgement import numbers_of
from rag_evaluator.results.run import Run
from rag_evaluator.results.tally import scales_of
from rag_evaluator.statistics.formulas import Scale

Json = Mapping[str, Any]  # Any: JSON


class LabelItem(NamedTuple):
    """One question to a person.

    Attributes:
        statement: that is labelled, as the judge has written it; None: the whole score.
    """

    row: int
    metric: str
    statement: str | None = None


class LabelChoice(NamedTuple):
    """An answer that is offered.

    Attributes:
        key: that gives it.
        word: `yes`, or a grade.
    """

    key: str
    word: str
    value: float


def choices(scale: Scale, per_statement: bool) -> list[LabelChoice]:
    """The answers to a question, as label sheets offer them: yes and no, or the grades of the scale."""
    words = choices_of("english", 0.0 if per_statement else scale.low, scale.high)
    return [
        LabelChoice(str(word)[0] if isinstance(word, str) else str(word), str(word), label_of(word)) for word in words
    ]


def metrics_to_label(run: Run) -> list[str]:
    """The metrics whose scores a judge made: people are compared with it."""
    return [metric for metric in run.metrics if is_judged(run.manifest, metric)]


def _scales(run: Run) -> Mapping[str, Scale]:
    return scales_of(run.manifest, run.summary)


def items_of(rows: Sequence[int], metrics: Sequence[str], details: Mapping[int, Sequence[Json]]) -> list[LabelItem]:
    """What is asked, row by row in the order in which they were drawn.

    Args:
        details: row -> its details, to label statements; an empty one asks for whole scores. A metric
            whose judge wrote no statements is asked for as a whole.
    """
    return [item for row in rows for metric in metrics for item in _items(row, metric, details.get(row, ()))]


def _items(row: int, metric: str, records: Sequence[Json]) -> Iterator[LabelItem]:
    first = next((record for record in records if record["metric"] == metric), None)
    statements = [] if first is None else statements_of(first)
    yield from [LabelItem(row, metric, statement) for statement in statements] or [LabelItem(row, metric)]


def statements_of(record: Json) -> list[str]:
    """The statements on which the judge gave a verdict of yes or no, each once, in order; without the verdicts."""
    statements = (verdict.statement for verdict in numbers_of(record) if verdict.value in (0.0, 1.0))
    return list(dict.fromkeys(statement for statement in statements if statement))


def given_labels(store: ReviewStore, draw: str, by: str, digests: Sequence[str]) -> dict[LabelItem, float]:
    """The labels of a person, as `store.labels` has them."""
    return {
        LabelItem(record.row, record.field, record.statement): float(record.after)
        for record in store.labels(draw, by, digests)
        if record.row is not None
    }


def label_path(store: ReviewStore, draw: str, by: str) -> Path:
    """The table of a person's labels: `labels/<draw>.<name>.jsonl`."""
    names = store.annotators(draw)
    return store.folder / FOLDER / f"{draw}.{safe_names(names)[names.index(by)]}.jsonl"


def write_label_table(store: ReviewStore, draw: str, by: str, digests: Sequence[str]) -> Path:
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


def _line(record: ReviewRecord) -> dict[str, Any]:
    line = {ROW: record.row, SAMPLE: record.sample, ANNOTATOR: record.by, METRIC: record.field}
    return {**line, STATEMENT: record.statement, LABEL: record.after, DRAW: record.draw}


@dataclass(frozen=True)
class LabelRoutes:
    """Labels."""

    reviews: Reviews

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/label/{path:path}", self.page),
            Route("/api/label/draws/{path:path}", self.draws),
            Route("/api/label/items/{path:path}", self.items),
            Route("/api/label/row/{path:path}/{row}", self.row),
            Route("/api/label/record/{path:path}", self.record, methods=["POST"]),
        ]

    def page(self, request: Request) -> Response:
        run = self.reviews.run(path := request.path_params["path"])
        draw = command("certify", "sheet", run.folder, "--out", "labels.xlsx")
        return page("label.html", self.reviews.state, run.title, True, path=path, draw=draw)

    def draws(self, request: Request) -> Response:
        """The draws of a run, with what the person has labelled of each."""
        run = self.reviews.run(request.path_params["path"])
        by = person(self.reviews.state, request.query_params.get("by"))
        store, draws = self.reviews.store(run), []
        for name, draw in self.reviews.draws(run).items():
            labelled = {item.row for item in given_labels(store, name, by, run.digests)}
            closed = store.is_closed(name, by)
            about = {"name": name, "rows": len(draw.rows), "metrics": list(draw.metrics), "kind": draw.kind}
            draws.append({**about, "labelled": len(labelled), "closed": closed})
        return as_json({"draws": draws})

    def items(self, request: Request) -> Response:
        """What is asked, in order, with the person's own answers so far."""
        run = self.reviews.run(request.path_params["path"])
        store, by = self.reviews.store(run), person(self.reviews.state, request.query_params.get("by"))
        draw = self.reviews.draws(run).get(name := request.query_params.get("draw", ""))
        if draw is None:
            raise NotThere(name)
        details = {row: run.details(row) for row in draw.rows} if request.query_params.get("per") == "statement" else {}
        labels, judged = given_labels(store, name, by, run.digests), metrics_to_label(run)
        items = items_of(draw.rows, [metric for metric in draw.metrics if metric in judged], details)
        kinds = {(item.metric, item.statement is not None) for item in items}
        return as_json(
            {
                "closed": store.is_closed(name, by),
                "items": [[*item, labels.get(item)] for item in items],
                "asks": [self._ask(run, *kind) for kind in sorted(kinds)],
                "next": command("certify", run.folder, "--labels", label_path(store, name, by)) if labels else "",
            }
        )

    def _ask(self, run: Run, metric: str, per_statement: bool) -> dict[str, Any]:
        """The question that is asked for a metric, and the answers."""
        return {
            "metric": metric,
            "statement": per_statement,
            "question": question_of(metric, "english", per_statement),
            "choices": choices(_scales(run)[metric], per_statement),
        }

    def row(self, request: Request) -> Response:
        """The texts that are needed to label some metrics in a row: neither scores nor reasons nor other columns."""
        run = self.reviews.run(request.path_params["path"])
        row = number_of(request.path_params["row"])
        try:
            columns = columns_of(run, run.row(row))
        except IndexError:
            raise NotThere(str(row)) from None
        metrics = [metric for metric in request.query_params.getlist("metric") if metric in _scales(run)]
        texts = {name: columns[name] for name in columns_read(metrics, set(columns)) if name in columns}
        return as_json({"row": row, "sample": self.reviews.sample(run, row), "texts": texts})

    async def record(self, request: Request) -> Response:
        """Keep a label, or the end of a draw: 200 once it is on disk, in `reviews.jsonl` and in the table of labels."""
        values = await body_of(request)
        return await run_in_threadpool(self._keep, request, values)

    def _keep(self, request: Request, values: Mapping[str, Any]) -> Response:
        run = self.reviews.run(path := request.path_params["path"])
        record = record_of(values, path, person(self.reviews.state, values.get("by")))
        self._check(run, record)
        answer = keep(self.reviews, run, record)
        if answer.status_code == 200 and record.kind == "label" and record.draw is not None:
            write_label_table(self.reviews.store(run), record.draw, record.by, run.digests)
        return answer

    def _check(self, run: Run, record: ReviewRecord) -> None:
        """Raises `BadRequest` for a label that nobody has asked for."""
        if record.kind not in ("label", "close"):
            raise BadRequest(f"'{record.kind:.40}' is neither a label nor the end of a draw.")
        draw = self.reviews.draws(run).get(record.draw or "")
        if draw is None:
            raise BadRequest("there is no such draw of these rows.")
        if record.kind == "close":
            return
        scale = _scales(run).get(record.field)
        if scale is None or record.field not in draw.metrics or record.row not in draw.rows:
            raise BadRequest("this row and metric were not drawn.")
        values = [choice.value for choice in choices(scale, record.statement is not None)]
        if record.after is not None and record.after not in values:
            raise BadRequest(f"a label of {record.field} is one of {', '.join(map(str, values))}.")
        if record.statement is not None and type(record.row) is int:
            asked = items_of([record.row], [record.field], {record.row: run.details(record.row)})
            if LabelItem(record.row, record.field, record.statement) not in asked:
                raise BadRequest("the judge has judged no such statement in this row.")
