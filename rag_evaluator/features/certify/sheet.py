"""Which rows people label, what they are asked in the languages of the prompt packs, and the workbook for answers."""

import json
import math
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rag_evaluator.comparison import scales_for
from rag_evaluator.config import find_language
from rag_evaluator.dataset import Sample, json_or_text
from rag_evaluator.errors import ResultsError
from rag_evaluator.files import short_digest, write_json
from rag_evaluator.metrics import METRICS, SUPPORT
from rag_evaluator.results import (
    FOLDER,
    LINES,
    NAME,
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
from rag_evaluator.statistics import LEAST_OF_STRATUM, Array

EXPECTED = "Expected a number (0 or 1, or a grade), a word such as yes, no, pass, fail, correct, incorrect; or nothing."
ASKED_BY: Mapping[str, str] = {
    "faithfulness": "supported",
    "response_groundedness": "supported",
    "groundedness": "supported",
    "answer_relevancy": "answers",
    "answer_correctness": "correct",
    "factual_correctness": "correct",
    "answer_accuracy": "correct",
    "semantic_similarity": "correct",
    "context_relevance": "relevant",
    "context_relevancy": "relevant",
    "context_precision_with_reference": "relevant",
    "context_precision_without_reference": "relevant",
    "context_recall": "complete",
    "context_coverage": "complete",
    "refusal_correctness": "refusal",
    "noise_sensitivity": "errors",
}
KEYS = ROW, SAMPLE, DRAW = "row", "sample", "draw"  # columns of a table of labels, too, as those of the next line
METRIC = "metric"
LABEL = "label"
STATEMENT = "statement"
ANNOTATOR = "annotator"
SENTENCES = (METRIC, QUESTION, "evidence", STATEMENT)  # columns of a sheet of sentences
PLACES = 8  # digits of a draw's name
# names of the sheets: the first one is read again
LABELS = "labels"
INSTRUCTIONS = "instructions"
SHOWN_TEXTS = ("user_input", "retrieved_contexts", "response", "reference", "reference_contexts")
RIGHT_TO_LEFT = {"ARABIC", "HEBREW"}
# characters that a message of a cell may have
TITLE = 32
MESSAGE = 255
MAY = {"format_columns": True, "format_rows": True, "select_locked_cells": True}  # though other cells are locked
STRATA = 4
Places = NDArray[np.int64]


@dataclass(frozen=True)
class Texts:
    """The sentences and words of a language.

    Attributes:
        accept, reject: words with which people answer; label sheets offer the first of each.
        steps: how to fill in a sheet.
        grades: of metrics with grades; `{low}` and `{high}` are the ends.
        sentence: what is asked of a sentence and its evidence.
        questions: by what a metric asks for; `{metric}` is its name.
        statements: the same of a single statement; in English only, as the pages of the app.
    """

    accept: Sequence[str]
    reject: Sequence[str]
    steps: Sequence[str]
    grades: str
    sentence: str
    questions: Mapping[str, str]
    statements: Mapping[str, str] = field(default_factory=dict)


TEXTS: Mapping[str, Texts] = {
    language: Texts(**texts)
    for language, texts in json.loads(Path(__file__).with_name("texts.json").read_bytes()).items()
}


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", text).strip().rstrip(".!").casefold()


NUMBERS = {
    _folded(word): number
    for words in TEXTS.values()
    for number, group in ((1.0, words.accept), (0.0, words.reject))
    for word in group
}


def is_word(cell: Any) -> bool:
    """Whether a cell holds one of the words. Any: JSON."""
    return isinstance(cell, str) and _folded(cell) in NUMBERS


def label_of(cell: Any) -> float:
    """The number of a cell that is not blank: 1 for a word that accepts, 0 for one that rejects. Any: JSON.

    Raises `ValueError` for anything else.
    """
    if not isinstance(cell, str | int | float):
        raise ValueError("neither a number nor a word")
    number = NUMBERS[_folded(cell)] if isinstance(cell, str) and is_word(cell) else float(cell)
    if not math.isfinite(number):
        raise ValueError("no number")
    return number


def question_of(metric: str, language: str, of_statement: bool = False) -> str:
    """What is asked of people for a metric; in English where the language has no texts."""
    texts = texts_of(language)
    asked = ASKED_BY.get(metric, "other")
    return (texts.statements if of_statement else texts.questions)[asked].format(metric=metric)


def texts_of(language: str) -> Texts:
    """The texts of a language, English ones where it has none."""
    return TEXTS.get(language, TEXTS["english"])


def choices_of(language: str, low: float, high: float) -> list[str | int]:
    """What a cell offers: yes and no in the language, or the grades of a scale that is not 0 to 1 or -1 to 1."""
    if low >= 1:
        return list(range(round(low), round(high) + 1))
    words = texts_of(language)
    return [words.accept[0], words.reject[0]]


@dataclass(frozen=True)
class DrawRecord:
    """A draw as it is kept in `labels/<draw>.json` of the results folder.

    Attributes:
        data: digest of the rows of the run.
        metrics: that are to be labelled; strata are those of the first.
        kind: `stratified`; earlier versions also drew `uncertain` rows.
        rows: that were drawn, in the order in which they are shown.
        probabilities: of each row of the run, to be drawn.
        strata: of each row of the run, the number of its stratum.
        like: name of the draw of another run whose rows these are; None: drawn for this run.
    """

    data: str
    metrics: Sequence[str]
    kind: str
    size: int
    seed: int
    rows: Sequence[int]
    probabilities: Sequence[float]
    strata: Sequence[int]
    like: str | None = None

    @property
    def name(self) -> str:
        return short_digest(json.dumps(asdict(self), sort_keys=True))[:PLACES]


def draw_path(results: Path, name: str) -> Path:
    return results / FOLDER / f"{name}.json"


def draws_in(results: Path) -> list[str]:
    """The names of all draws of a run."""
    return [path.stem for path in sorted((results / FOLDER).glob("*.json")) if path.name != NAME]


def write_draw(results: Path, record: DrawRecord) -> None:
    """Keep a draw. A draw has its name from its content, so that nothing else is overwritten."""
    write_json(draw_path(results, record.name), asdict(record))


def read_draw(results: Path, name: str, data: str) -> DrawRecord:
    """A draw that a label table names. Raises `ResultsError` if it is not there, or is of other rows."""
    path = draw_path(results, Path(name).name)
    try:
        record = DrawRecord(**json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError) as error:
        raise ResultsError(
            f"{path}: cannot be read: {error}. The labels come from the draw {name}, whose probabilities 'certify "
            f"sheet' has written into the folder '{FOLDER}' of the results. Give these results, or copy that folder."
        ) from error
    if record.data != data:
        raise ResultsError(f"{path}: drawn from other rows than those of {results}. Give the results of these rows.")
    return record


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


class Draw(NamedTuple):
    """Rows drawn from all rows of a run.

    Attributes:
        rows: places of the rows, in the random order in which they are shown.
        probabilities: of every row of the run, that it is drawn; above 0, at most 1.
        strata: of every row of the run, the number of its stratum. Unscored rows are a stratum of their own, the last.
    """

    rows: Places
    probabilities: Array
    strata: Places


def draw_stratified(scores: ArrayLike, size: int, seed: int = 0, strata: int = STRATA) -> Draw:
    """From each of up to `strata` groups of similar scores, and of the unscored rows, as many as their share is.

    Args:
        scores: of all rows; NaN: no score.
        size: rows to draw. All rows are drawn if there are no more. Each stratum gets `LEAST_OF_STRATUM` at least, so
            that more rows may be drawn than the size if it is very small.
        strata: 1 draws each scored row with nearly the same probability.
    """
    groups = score_strata(scores, strata)
    rng = np.random.default_rng(seed)
    chances = np.ones(len(groups))
    rows = [np.empty(0, dtype=np.int64)]
    for stratum, count in enumerate(allocate(np.bincount(groups), size) if len(groups) else []):
        members = np.flatnonzero(groups == stratum)
        alike = np.full(len(members), 1 / len(members))
        chance = count * alike / alike.sum()
        chances[members] = np.where(chance > 1 - 1e-12, 1.0, chance)
        order = rng.permutation(len(members))  # steps of 1 from a random start along the summed probabilities
        ends = np.cumsum(chances[members][order])
        steps = np.arange(count) + rng.random()
        rows.append(members[order[np.minimum(np.searchsorted(ends, steps, side="right"), len(order) - 1)]])
    return Draw(rng.permutation(np.concatenate(rows)), chances, groups)


def score_strata(scores: ArrayLike, strata: int = STRATA) -> Places:
    """Groups of rows of similar scores, of about equal size; rows of equal scores are in one group, NaN in the last."""
    numbers = np.asarray(scores, dtype=np.float64)
    known = np.sort(numbers[~np.isnan(numbers)])
    starts = 1 + np.flatnonzero(np.diff(known) > 0)  # places where a new value begins
    edges = [starts[np.argmin(np.abs(starts - len(known) * part / strata))] for part in range(1, strata) if len(starts)]
    cuts = np.unique(known[edges]) if edges else known[:0]
    groups = np.where(np.isnan(numbers), strata, np.searchsorted(cuts, numbers, side="right"))
    return np.asarray(np.unique(groups, return_inverse=True)[1], dtype=np.int64)


def allocate(sizes: Places, size: int) -> Places:
    """Rows to draw from each stratum: its share of `size`, rounded by largest remainders, at least two."""
    exact = min(size, int(sizes.sum())) * sizes / sizes.sum()
    drawn: Places = np.minimum(np.maximum(np.floor(exact).astype(np.int64), LEAST_OF_STRATUM), sizes)
    while drawn.sum() < exact.sum() - 0.5:
        drawn[np.argmax(np.where(drawn < sizes, exact - drawn, -np.inf))] += 1
    while drawn.sum() > exact.sum() + 0.5 and np.any(drawn > LEAST_OF_STRATUM):
        drawn[np.argmax(np.where(drawn > LEAST_OF_STRATUM, drawn - exact, -np.inf))] -= 1
    return drawn
