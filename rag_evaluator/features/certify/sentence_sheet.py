"""The sheet of single sentences: a line for each sentence of a drawn row that counts, without its probability."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rag_evaluator.errors import ConfigError, ResultsError
from rag_evaluator.features.certify.sheet import AskedChoice, LabelSheet, choices_of, shown_text, texts_of, write_book
from rag_evaluator.features.certify.table import LABEL, METRIC, STATEMENT
from rag_evaluator.metrics.metric import SUPPORT
from rag_evaluator.results.aligned import QUESTION
from rag_evaluator.results.run import ScoredRows
from rag_evaluator.results.verified import probabilities_of

EVIDENCE = "evidence"
COLUMNS = (METRIC, QUESTION, EVIDENCE, STATEMENT)


class SentenceLine(NamedTuple):
    """A sentence to be labelled.

    Attributes:
        row: place of the row in the run.
        evidence: what may support it, all of it.
    """

    row: int
    metric: str
    question: str | None
    evidence: str | None
    statement: str


def sentence_metrics(run: ScoredRows, metrics: Sequence[str]) -> list[str]:
    """Those of the metrics of a run, or of those given, that look at sentences. Raises `RagEvaluatorError` for others.

    Args:
        metrics: as the user names them; none: all of the run.
    """
    others = [name for name in metrics if name not in SUPPORT]
    if others:
        raise ConfigError(
            f"--sentences: {others[0]} does not look at single sentences with a verifier; {', '.join(SUPPORT)} do. "
            "Name one of these with --metric."
        )
    names = list(metrics) or [name for name in run.scores if name in SUPPORT]
    if not names:
        raise ResultsError(
            f"--sentences: {run.name} has no scores of {', '.join(SUPPORT)}, which look at single sentences. Leave out "
            "--sentences to label rows."
        )
    return names


def sentence_lines(run: ScoredRows, sheet: LabelSheet) -> list[SentenceLine]:
    """Each sentence that was counted, once a row and metric: the rows as they were drawn, their sentences in order.

    Raises `ResultsError` where there is none.
    """
    record = sheet.record
    details = run.records({(row, metric) for row in record.rows for metric in record.metrics})
    lines = [
        SentenceLine(row, metric, *_texts(sheet, row, metric), statement)
        for row in record.rows
        for metric in record.metrics
        for statement in (probabilities_of(details[row, metric][0]) if details.get((row, metric)) else ())
    ]
    if not lines:
        raise ResultsError(
            f"{run.name}: none of the {len(record.rows)} rows that were drawn has a sentence that counts."
        )
    return lines


def write_sentences(sheet: LabelSheet, lines: Sequence[SentenceLine], path: Path) -> None:
    """Write the workbook; `certify` reads it as a table of labels of statements."""
    asked = AskedChoice(LABEL, texts_of(sheet.language).sentence, choices_of(sheet.language, 0.0, 1.0))
    write_book(path, sheet, COLUMNS, ((line, [None]) for line in lines), [asked])


def _texts(sheet: LabelSheet, row: int, metric: str) -> tuple[str | None, str | None]:
    """The question of a row, and the evidence that a metric looks at."""
    columns, evidence = sheet.samples[row].columns, SUPPORT[metric].columns[0]
    return shown_text(columns.get(QUESTION)), shown_text(columns.get(evidence))
