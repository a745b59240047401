"""The workbook in which people label rows or sentences: what it shows and asks, and how it is written."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rag_evaluator.comparison import scales_for
from rag_evaluator.config import find_language
from rag_evaluator.dataset import Sample, json_or_text, label_of
from rag_evaluator.errors import ResultsError
from rag_evaluator.metrics import METRICS, SUPPORT
from rag_evaluator.results import (
    LINES,
    OPTIONS,
    QUESTION,
    XLSX_DATE,
    KeptLabels,
    Run,
    Sheet,
    formats_of,
    kept_labels,
    new_worksheet,
    probabilities_of,
)

from .draws import DrawRecord
from .words import choices_of, question_of, texts_of

KEYS = ROW, SAMPLE, DRAW = "row", "sample", "draw"  # columns of a table of labels, too, as those of the next line
METRIC = "metric"
LABEL = "label"
STATEMENT = "statement"
ANNOTATOR = "annotator"
SENTENCES = (METRIC, QUESTION, "evidence", STATEMENT)  # columns of a sheet of sentences
# names of the sheets: the first one is read again
LABELS = "labels"
INSTRUCTIONS = "instructions"
SHOWN_TEXTS = ("user_input", "retrieved_contexts", "response", "reference", "reference_contexts")
RIGHT_TO_LEFT = {"ARABIC", "HEBREW"}
# characters that a message of a cell may have
TITLE = 32
MESSAGE = 255
MAY = {"format_columns": True, "format_rows": True, "select_locked_cells": True}  # though other cells are locked


class AskedChoice(NamedTuple):
    """A column for answers: what is asked there, and what its cells offer."""

    column: str
    question: str
    choices: Sequence[str | int]


class LabelSheet(NamedTuple):
    """What people read, and what they are asked.

    Attributes:
        columns: of texts.
        lines: row of the run and its texts, then the answers that are there already. Any: xlsxwriter's.
    """

    columns: Sequence[str]
    asked: Sequence[AskedChoice]
    lines: Sequence[tuple[Sequence[Any], Sequence[str | int | None]]]


def sheet_of_rows(run: Run, record: DrawRecord, language: str) -> LabelSheet:
    """A line for each row that was drawn, a column for each metric. Labels that one person gave are there already."""
    columns = columns_read(record.metrics, {column for sample in run.samples for column in sample.columns})
    scales = scales_for(record.metrics, [run])[0]
    kept = kept_labels(run)
    asked = []
    answers = dict[str, Mapping[int, str | int]]()
    for metric in record.metrics:
        choices = choices_of(language, scales[metric].low, scales[metric].high)
        question = question_of(metric, language)
        if isinstance(choices[0], int):
            question += f" {texts_of(language).grades.format(low=choices[0], high=choices[-1])}"
        asked.append(AskedChoice(metric, question, choices))
        answers[metric] = _answers_there(record, choices, kept[metric]) if metric in kept else {}
    lines = [
        (
            [row, *(shown_text(run.samples[row].columns.get(column)) for column in columns)],
            [answers[metric].get(row) for metric in record.metrics],
        )
        for row in record.rows
    ]
    return LabelSheet(columns, asked, lines)


def columns_read(names: Sequence[str], available: Collection[str]) -> list[str]:
    """What some metrics read of the texts that are there; of a metric of the user's own, all texts."""
    read = {column for name in names if name in METRICS for column in (*METRICS[name].columns, *METRICS[name].optional)}
    every = any(name not in METRICS for name in names)
    return [column for column in SHOWN_TEXTS if column in available and (every or column in read)]


def _answers_there(record: DrawRecord, choices: Sequence[str | int], kept: KeptLabels) -> dict[int, str | int]:
    """Row -> its label, as the cell offers it, for drawn rows that one person has labelled already.

    None where nobody knows how the labelled rows were chosen: people may leave the others blank.
    """
    known = {float(choice) if isinstance(choice, int) else label_of(choice): choice for choice in choices}
    labels = {row: label for row in record.rows if (label := kept.labels[row]) is not None}
    is_same = (kept.low, kept.high, kept.better) == (min(known), max(known), "higher")
    if kept.chosen == "unknown" or kept.annotators > 1 or not is_same or not set(labels.values()) <= known.keys():
        return {}
    return {row: known[label] for row, label in labels.items()}


def sheet_of_sentences(run: Run, record: DrawRecord, language: str) -> LabelSheet:
    """A line for each sentence that counts, once a row and metric, without its probability.

    `certify` reads it as a table of labels of statements. Raises `ResultsError` where no drawn row has a sentence.
    """
    details = run.records({(row, metric) for row in record.rows for metric in record.metrics})
    lines = [
        ([row, metric, *_texts(run.samples[row], metric), statement], [None])
        for row in record.rows
        for metric in record.metrics
        for statement in (probabilities_of(details[row, metric][0]) if details.get((row, metric)) else ())
    ]
    if not lines:
        raise ResultsError(f"{run.name}: none of the {len(record.rows)} rows that were drawn has a sentence.")
    asked = AskedChoice(LABEL, texts_of(language).sentence, choices_of(language, 0.0, 1.0))
    return LabelSheet(SENTENCES, [asked], lines)


def _texts(sample: Sample, metric: str) -> tuple[str | None, str | None]:
    """The question of a row, and the evidence that a metric looks at."""
    return shown_text(sample.columns.get(QUESTION)), shown_text(sample.columns.get(SUPPORT[metric].columns[0]))


def write_book(path: Path, sheet: LabelSheet, run: Run, record: DrawRecord, language: str) -> None:
    """Write a workbook of two sheets: the labels, and the instructions. No cell is a formula or a link."""
    import xlsxwriter

    book = xlsxwriter.Workbook(str(path), {**OPTIONS, "tmpdir": str(path.parent)})
    book.set_properties({"created": XLSX_DATE})
    formats = {**formats_of(book), "open": book.add_format({"locked": False, "valign": "top", "bg_color": "#FFF8DC"})}
    labels, instructions = (new_worksheet(book, name) for name in (LABELS, INSTRUCTIONS))
    first = len(KEYS) + len(sheet.columns)
    table = Sheet(labels, formats, [*KEYS, *sheet.columns, *(each.column for each in sheet.asked)], {}, lines=LINES)
    for (row, *texts), answers in sheet.lines:
        table.add([row, run.digests[row], record.name, *texts])
        for place, answer in enumerate(answers, start=first):
            labels.write(table.row, place, answer, formats["open"])
    table.finish(filtered=False, frozen=1)
    labels.set_column(1, len(KEYS) - 1, None, None, {"hidden": True})  # all keys but the number of the row
    for place, each in enumerate(sheet.asked, start=first):
        labels.set_column(place, place, max(len(each.column), 12) + 2)
        offer = {"validate": "list", "source": list(each.choices), "input_title": each.column[:TITLE]}
        offer |= {"input_message": each.question[:MESSAGE], "error_message": " / ".join(map(str, each.choices))}
        labels.data_validation(1, place, max(table.row, 1), place, offer)
    labels.protect("", MAY)
    instructions.set_column(0, 0, 34)
    instructions.set_column(1, 1, 90)
    questions = [(each.column, f"{each.question} ({', '.join(map(str, each.choices))})") for each in sheet.asked]
    for number, line in enumerate([*enumerate(texts_of(language).steps, start=1), *questions]):
        for place, text in enumerate(line):
            instructions.write_string(number, place, str(text), formats["wrapped"])
    instructions.activate()
    if set(find_language(language).scripts) & RIGHT_TO_LEFT:
        for worksheet in (labels, instructions):
            worksheet.right_to_left()
    book.close()


def shown_text(value: Any) -> str | None:
    """A text, or several with their ranks. Any: JSON."""
    value = json_or_text(value, True)
    if isinstance(value, list):
        return "\n\n".join(f"[{rank}] {shown_text(text)}" for rank, text in enumerate(value, start=1))
    return None if value is None else str(value)
