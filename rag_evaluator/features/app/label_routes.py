"""Blind labelling: what is asked, the texts that are needed to answer, and nothing that the judge said."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rag_evaluator.errors import RagEvaluatorError
from rag_evaluator.features.app.answers import BadRequest, as_json, as_page, number_of, render
from rag_evaluator.features.app.labelling import (
    LabelItem,
    annotators,
    choices,
    given_labels,
    items_of,
    label_path,
    write_label_table,
)
from rag_evaluator.features.app.queues import rows_in
from rag_evaluator.features.app.record import ReviewRecord
from rag_evaluator.features.app.review_pages import Reviews, about_of, body_of, keep, person, record_of, review_page
from rag_evaluator.features.app.state import NotThere
from rag_evaluator.features.certify.certify import certify, columns_read, draw_rows
from rag_evaluator.features.certify.sheet import write_draw
from rag_evaluator.features.certify.texts import ASKED_BY, question_of
from rag_evaluator.report.row import columns_of
from rag_evaluator.resources import command
from rag_evaluator.results.run import Run

# Any in this module: JSON.

MOST = 1000  # rows of a queue to label
STATEMENT_QUESTIONS = {
    "supported": "Does this statement follow from the contexts?",
    "answers": "Is this statement right?",
    "correct": "Is this statement supported by the other text?",
    "relevant": "Does this statement hold?",
    "complete": "Does this statement of the reference follow from the contexts?",
    "refusal": "Does this statement hold?",
    "errors": "Is this statement right?",
    "other": "Does this statement hold, by the texts on this page?",
}
"""What is asked of a statement, by what is asked of the whole score."""


@dataclass(frozen=True)
class LabelRoutes:
    """Labels."""

    reviews: Reviews

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/label/{path:path}", self.page),
            Route("/api/label/draws/{path:path}", self.draws),
            Route("/api/label/draw/{path:path}", self.draw, methods=["POST"]),
            Route("/api/label/items/{path:path}", self.items),
            Route("/api/label/row/{path:path}/{row}", self.row),
            Route("/api/label/record/{path:path}", self.record, methods=["POST"]),
            Route("/api/label/agreement/{path:path}", self.agreement),
        ]

    def page(self, request: Request) -> Response:
        run = self.reviews.run(path := request.path_params["path"])
        metrics = about_of(run).metrics
        return review_page("label.html", self.reviews.state, title=run.title, path=path, metrics=metrics)

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

    async def draw(self, request: Request) -> Response:
        """Draw rows as `certify sheet` does."""
        values = await body_of(request)
        return await run_in_threadpool(self._draw, request.path_params["path"], values)

    def _draw(self, path: str, values: Mapping[str, Any]) -> Response:
        run, size, seed = self.reviews.run(path), values.get("size"), values.get("seed", 0)
        metrics, uncertain = values.get("metrics") or [], values.get("uncertain", False)
        if type(size) is not int or type(seed) is not int or type(uncertain) is not bool or not 0 <= seed < 2**32:
            raise BadRequest("expected 'size' and 'seed' as numbers, 'uncertain' as true or false.")
        if not isinstance(metrics, list) or not set(map(str, metrics)) <= set(about_of(run).metrics):
            raise BadRequest("expected 'metrics' as a list of metrics of this run.")
        try:
            record = draw_rows(run.folder, size, metrics, uncertain, seed).record
        except RagEvaluatorError as error:
            raise BadRequest(str(error)) from error
        write_draw(run.folder, record)
        return as_json({"name": record.name})

    def items(self, request: Request) -> Response:
        """What is asked, in order, with the person's own answers so far."""
        run = self.reviews.run(path := request.path_params["path"])
        by = person(self.reviews.state, request.query_params.get("by"))
        draw, rows, metrics = self._asked(run, path, request)
        details = {row: run.details(row) for row in rows} if request.query_params.get("per") == "statement" else {}
        labels = given_labels(self.reviews.store(run), draw, by, run.digests)
        items = items_of(rows, metrics, details)
        kinds = {(item.metric, item.statement is not None) for item in items}
        return as_json(
            {
                "draw": draw,
                "closed": draw is not None and self.reviews.store(run).is_closed(draw, by),
                "items": [[item.row, item.metric, item.statement, labels.get(item)] for item in items],
                "asks": [self._ask(run, *kind) for kind in sorted(kinds)],
            }
        )

    def _ask(self, run: Run, metric: str, per_statement: bool) -> dict[str, Any]:
        """The question that is asked for a metric, and the answers."""
        scale, kind = about_of(run).scales[metric], ASKED_BY.get(metric, "other")
        whole = question_of(metric, "english")
        return {
            "metric": metric,
            "statement": per_statement,
            "question": STATEMENT_QUESTIONS[kind] if per_statement else whole,
            "choices": [[choice.key, choice.word, choice.value] for choice in choices(scale, per_statement)],
        }

    def _asked(self, run: Run, path: str, request: Request) -> tuple[str | None, Sequence[int], Sequence[str]]:
        """The draw with its rows and metrics; or the rows of a queue, which are no draw."""
        name, queue = request.query_params.get("draw"), request.query_params.get("queue")
        metrics = about_of(run).metrics
        if name is not None:
            draw = self.reviews.draws(run).get(name)
            if draw is None:
                raise NotThere(name)
            return name, list(draw.rows), [metric for metric in draw.metrics if metric in metrics]
        chosen = request.query_params.getlist("metric") or metrics
        if not set(chosen) <= set(metrics):
            raise BadRequest("expected metrics of this run.")
        queues = [*self.reviews.queues(run, path), self.reviews.reviewed(run)]
        for each in queues:
            if each.name == queue:
                return None, list(rows_in(each))[:MOST], chosen
        raise NotThere(str(queue))

    def row(self, request: Request) -> Response:
        """The texts that are needed to label some metrics in a row: neither scores nor reasons nor other columns."""
        run = self.reviews.run(request.path_params["path"])
        row = number_of(request.path_params["row"])
        try:
            columns = columns_of(run, run.row(row))
        except IndexError:
            raise NotThere(str(row)) from None
        metrics = [metric for metric in request.query_params.getlist("metric") if metric in about_of(run).scales]
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
        if answer.status_code == 200 and record.kind == "label":
            write_label_table(self.reviews.store(run), record.draw, record.by, run.digests)
        return answer

    def _check(self, run: Run, record: ReviewRecord) -> None:
        """Raises `BadRequest` for a label that nobody has asked for."""
        if record.kind not in ("label", "close"):
            raise BadRequest(f"'{record.kind:.40}' is neither a label nor the end of a draw.")
        draw = None if record.draw is None else self.reviews.draws(run).get(record.draw)
        if record.draw is not None and draw is None:
            raise BadRequest("there is no such draw of these rows.")
        if record.kind == "close":
            return
        scale = about_of(run).scales.get(record.field)
        if scale is None or (draw is not None and (record.field not in draw.metrics or record.row not in draw.rows)):
            raise BadRequest("this row and metric were not drawn.")
        values = [choice.value for choice in choices(scale, record.statement is not None)]
        if record.after is not None and record.after not in values:
            raise BadRequest(f"a label of {record.field} is one of {', '.join(map(str, values))}.")
        if record.statement is not None and type(record.row) is int:
            asked = items_of([record.row], [record.field], {record.row: run.details(record.row)})
            if LabelItem(record.row, record.field, record.statement) not in asked:
                raise BadRequest("the judge has judged no such statement in this row.")

    def agreement(self, request: Request) -> Response:
        """How far people and judge agree; only for those who have closed the draw, and of closed labels only."""
        run = self.reviews.run(request.path_params["path"])
        by = person(self.reviews.state, request.query_params.get("by"))
        name, store = request.query_params.get("draw", ""), self.reviews.store(run)
        if name not in self.reviews.draws(run) or not store.is_closed(name, by):
            return as_json({"error": "Agreement is shown after you have closed the draw."}, 403)
        closed = [who for who in annotators(store, name) if store.is_closed(name, who)]
        tables = [label_path(store, name, who) for who in closed]
        figures, problem = _figures(run.folder, tables)
        labels = [word for table in tables for word in ("--labels", f"{run.folder}/labels/{table.name}")]
        again = command("certify", run.folder, *labels)
        values = {"figures": list(_shown(figures)), "problem": problem, "people": closed, "command": again}
        return as_page(render("agreement.html", **values))


def _figures(folder: Path, tables: Sequence[Path]) -> tuple[Mapping[str, Any], str]:
    """What `certify` says of some labels, without writing a certificate; or why it says nothing."""
    with tempfile.TemporaryDirectory(prefix="rag-evaluator-") as place:
        try:
            return certify(folder, tables, out=Path(place) / "certificate.json").certificate["metrics"], ""
        except RagEvaluatorError as error:
            return {}, str(error)


def _shown(figures: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A line for each metric, and for its statements: (value, low, high), or why there is nothing."""
    for metric, part in figures.items():
        statements = part.get("statements")
        if statements is None or "compared" in part:
            mean = part.get("label_mean") or {}
            means = {"mean": _interval(mean, "label_mean"), "judge": mean.get("judge_mean")}
            yield {
                "title": metric,
                "labels": part.get("labels"),
                "reason": part.get("reason"),
                **_agreed(part),
                **means,
            }
        if statements is not None:
            title = f"statements of {metric}"
            about = {"title": title, "labels": statements["labels"], "reason": statements.get("reason")}
            yield {**about, **_agreed(statements), "mean": None, "judge": None}


def _agreed(part: Mapping[str, Any]) -> dict[str, Any]:
    binary, graded = part.get("binary") or {}, part.get("graded") or {}
    kappa = binary.get("kappa") or graded.get("kappa_quadratic") or {}
    agreement = _interval(binary.get("agreement") or {}, "mean")
    return {"verdict": part["verdict"], "agreement": agreement, "kappa": _interval(kappa, "value")}


def _interval(figure: Mapping[str, Any], name: str) -> tuple[float, float | None, float | None] | None:
    value = figure.get(name)
    return None if value is None else (value, figure.get("ci_low"), figure.get("ci_high"))
