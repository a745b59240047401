"""The page of one row of a run, and of a row in several runs: what it shows, as values, and fragments of HTML."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from rag_evaluator.dataset import HISTORY, REWRITTEN, STANDALONE, ColumnNames, InputRecord, Response, Sample, lines_of
from rag_evaluator.dataset import TEXTS as TEXT_COLUMNS
from rag_evaluator.errors import RagEvaluatorError
from rag_evaluator.files import Json, JsonDict
from rag_evaluator.results import ADDED, DROPPED, REFUSED, Run, Tone, row_name, samples_of

from .facts import judged_by
from .pages import render
from .row_scores import MetricView, metric_views
from .row_sentences import as_written, marked
from .table import names_of
from .texts import FOLDED, ShownText, TextPart, difference, shown


def contexts_of(column: str, columns: Json, metrics: Sequence[MetricView], dropped: Json) -> list[JsonDict]:
    """The contexts in a column of a row, each with what is known of it.

    `marks` are verdicts on it alone, each with who said it how many times. `supports` are the sentences that it alone
    supports, by metric. `dropped` are the metrics whose judge it was not shown to, as it did not fit the window.
    """
    scores = (columns.get("document_score") or ()) if column == "retrieved_contexts" else ()
    marks: dict[int, dict[tuple[Tone, str], Counter[tuple[str, str, str]]]] = {}
    for metric in metrics:
        for judgement in (judgement for made in metric.attempts for judgement in made["judgements"]):
            if judgement.context and judgement.context[0] == column:
                of_place = marks.setdefault(judgement.context[1], {})
                for verdict in judgement.verdicts:
                    confidence = verdict.confidence if len(metric.attempts) == 1 else ""
                    source = metric.name, metric.section, confidence
                    of_place.setdefault((verdict.tone, verdict.word), Counter())[source] += 1
    judged = [(metric.name, metric.sentences) for metric in metrics if metric.sentences]
    supported = [(name, made.sentences) for name, made in judged if made.compared.evidence == column]
    return [
        {
            "text": shown(text),
            "marks": marks.get(place, {}),
            "supports": [
                (name, views)
                for name, sentences in supported
                if (views := [view for view in sentences if view.supported and view.contexts == (place,)])
            ],
            "dropped": [metric for metric, places in dropped.items() if place in places],
            "score": scores[place] if place < len(scores) else None,
        }
        for place, text in enumerate(columns.get(column) or ())
    ]


def row_values(run: Run, row: int, against: Sequence[str] | None = None) -> JsonDict:
    """What `row.html` shows of a row. Raises `IndexError` if there is none of this number, `ResultsError` for damaged
    files.

    Args:
        against: responses of other runs, with the first of which this one is compared; None: it is compared with the
            reference.
    """
    values = run.row(row)
    sample = sample_of(run, values)
    columns = dict(sample.columns) if sample else {}
    metrics = metric_views(run, row, values, columns)
    response = columns.get("response")
    reference = columns.get("reference")
    other = reference if against is None else next(iter(against), None)
    diff = difference(response, other) if response is not None and other is not None else None
    # the first metric that looked at the sentences of a text marks them
    marks = {metric.sentences.compared.text: metric for metric in reversed(metrics) if metric.sentences}
    return {
        "number": row,
        "name": row_name(row, values),
        "run": run.title,
        "judged_by": judged_by(run),
        "question": _question(sample, values) if sample and sample.asked is not None else None,
        "response": _answer(
            response, diff.first if diff else None, marks.get("response"), sample.response if sample else None
        ),
        "reference": _answer(reference, diff.second if diff and against is None else None, marks.get("reference")),
        "marks": marks,
        "diff": diff,
        "retrieved": contexts_of("retrieved_contexts", columns, metrics, values.get(DROPPED) or {}),
        "expected": contexts_of("reference_contexts", columns, metrics, {}),
        "metrics": metrics,
        "columns": list(_other_columns(values, run, columns)),
    }


def _question(sample: Sample, values: Json) -> ShownText:
    """The question of a row below the turns before it, above what has been made of both."""
    turns = lines_of(sample.columns.get(HISTORY) or [])
    made = sample.columns.get(STANDALONE) or values.get(REWRITTEN)
    parts = [TextPart(f"{line}\n", aside="before the question") for line in turns]
    parts += [TextPart(str(sample.asked)), *([TextPart(f"\nAsked as: {made}", aside="alone")] if made else [])]
    return shown(parts, FOLDED + sum(map(len, turns)))


def column_values(run: Run, values: Json) -> JsonDict:
    """The columns of a row under ragas' names; empty where they cannot be read."""
    sample = sample_of(run, values)
    return dict(sample.columns) if sample else {}


def sample_of(run: Run, values: Json) -> Sample | None:
    """A row as metrics see it; None where it cannot be read."""
    mapping = {name: column for name, column in (run.config.get("columns") or {}).items() if name in values}
    with suppress(RagEvaluatorError):
        return samples_of([values], {**run.config, "columns": mapping})[0]
    return None


def _answer(
    text: str | None,
    pieces: Sequence[TextPart] | None,
    marks: MetricView | None,
    response: Response | None = None,
) -> ShownText | None:
    """A response or reference, in the pieces of its comparison and with its sentences.

    Args:
        response: where something is around what is said, which is shown, too.
    """
    if text is None and response is None:
        return None
    parts = pieces or [TextPart(str(text or ""))]
    parts = marked(parts, marks.sentences.sentences) if marks and marks.sentences else parts
    if response is None:
        return shown(parts)
    whole = list(as_written(parts, response))
    return shown(whole, FOLDED + sum(len(part.text) for part in whole if part.aside))


def _other_columns(values: Json, run: Run, columns: Json) -> Iterator[tuple[str, ShownText]]:
    """The columns that are shown nowhere else, as text or JSON."""
    mapping = run.config.get("columns") or {}
    names = ColumnNames(mapping)
    record = InputRecord("", values)
    if names.is_log(values):
        names = ColumnNames({**mapping, "reference": "retrieved_contexts"})
    read = {
        name
        for column in (*TEXT_COLUMNS, HISTORY, STANDALONE)
        if column in columns
        for name in names.names_of(column, record)
    }
    for name, value in values.items():
        if name not in {*run.metrics, *ADDED, *read} - {REFUSED} and value is not None:
            yield name, shown(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def pair_html(runs: Sequence[Run], rows: Sequence[int | None]) -> str:
    """A row in two runs, `None` for a run without it. Raises as `row_html`.

    Each response is compared with that of the other run. What is equal on all sides stands there once.
    """
    responses = [
        None if row is None else column_values(run, run.row(row)).get("response")
        for run, row in zip(runs, rows, strict=True)
    ]
    sides: list[JsonDict] = []
    for place, (run, row, name) in enumerate(zip(runs, rows, names_of(runs), strict=True)):
        others = [text for other, text in enumerate(responses) if other != place and text is not None]
        view = None if row is None else row_values(run, row, against=others)
        sides.append({"run": name, "row": row, "view": view})
    views = [side["view"] for side in sides if side["view"]]
    contexts = [[context["text"] for context in view["retrieved"]] for view in views]
    pair = {
        "sides": sides,
        "metrics": list(_pair_metrics([side["view"] for side in sides])),
        "same_contexts": len(views) > 1 and _shared(contexts) is not None,
        **{name: _shared([view[name] for view in views]) for name in ("question", "reference", "columns")},
    }
    return render("row_pair.html", pair=pair)


def _pair_metrics(views: Sequence[Json | None]) -> Iterator[JsonDict]:
    """Each metric on every side, None where a run has none; the difference is that of the last one to the first."""
    by_side = [{metric.name: metric for metric in view["metrics"]} if view else {} for view in views]
    for name in dict.fromkeys(name for side in by_side for name in side):
        sides = [side.get(name) for side in by_side]
        values = [side.value if side else None for side in sides]
        difference = None if values[0] is None or values[-1] is None else values[-1] - values[0]
        details = any(side and side.has_details for side in sides)
        yield {"name": name, "sides": sides, "scores": values, "difference": difference, "has_details": details}


def _shared(values: Sequence[Any]) -> Any:
    """What is equal on all sides; None where they differ."""
    return values[0] if values and all(value == values[0] for value in values) else None


def row_html(run: Run, row: int) -> str:
    """A row as `<article class="row" id="row-17" data-row="17">`, with the prompts as they were sent.

    What is equal in the prompts of every row is in `frames_of`.

    Raises `IndexError` if there is no row of this number, `ResultsError` for damaged files.
    """
    return render("row.html", row=row_values(run, row))
