"""`collect`: runs a RAG system over questions and writes what it returns as a dataset."""

import json
import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from rag_evaluator.api.chains import Ask, asking
from rag_evaluator.api.lists import check_questions, optional_texts
from rag_evaluator.api.shown import shown
from rag_evaluator.dataset import check_readable, open_dataset
from rag_evaluator.dataset.outputs import is_named, output_row
from rag_evaluator.errors import ConfigError, DatasetError, ResultsError
from rag_evaluator.files.atomic import write_lines
from rag_evaluator.files.jsonl import Appender, json_line
from rag_evaluator.files.published import writing
from rag_evaluator.progress import ACTIVITY, Progress, automatic

RETURNED = ("retrieved_contexts", "response")
SUFFIXES = (".jsonl", ".ndjson")
BEGINNING = b'{"user_input"'  # of each line
logger = logging.getLogger(__name__)
Row = dict[str, Any]  # Any: JSON


def collect(
    chain: Any,
    questions: Sequence[str],
    path: str | Path,
    references: Sequence[str | None] | None = None,
    *,
    input_key: str | None = None,
    columns: Mapping[str, str] | None = None,
    max_concurrency: int = 8,
    retry_errors: bool = True,
    progress: Progress = automatic,
) -> list[Row]:
    """Ask a RAG system questions, and write its answers and contexts as a dataset.

    Args:
        chain: a LangChain Runnable (chain, graph, agent, retriever, model), or a function of a question; a coroutine
            function, too. It returns what `rag_evaluator.dataset.outputs` reads. Any: of any library.
        questions: each is asked once, also where the list has it several times.
        path: a `.jsonl` file, which gets a row the moment there is an answer. Questions that have one there are not
            asked again. Rows of other questions are never overwritten.
        references: the expected answer to each question, None where there is none.
        input_key: the chain takes `{input_key: question}`; None finds it out from the chain's input schema, and gives
            the question as it is where that names no question. A function gets the question as it is.
        columns: result name -> canonical column, where names are not known, or two differ.
        max_concurrency: questions under way at a time. A Runnable is asked by its own `batch`, a coroutine function in
            one event loop, any other function one by one.
        retry_errors: whether questions that failed in an earlier call are asked again.
        progress: called with (questions done, questions); see docs/progress.md. By default a bar in notebooks.

    Returns the rows as they are in the file, in the order of the questions: `user_input`, `retrieved_contexts`,
    `response`, `reference`, and `error` in place of an answer where the chain failed. Raises `RagEvaluatorError` for
    wrong arguments before anything is asked.
    """
    questions = check_questions("questions", questions)
    expected = optional_texts("references", references, len(questions), "questions")
    path = _checked(Path(path).expanduser())
    if max_concurrency < 1:
        raise ConfigError(f"max_concurrency is {max_concurrency}: expected 1 or more.")
    ask = asking(chain, input_key, max_concurrency)
    wanted = dict(zip(reversed(questions), reversed(expected), strict=True))
    rows = _kept(path, wanted, retry_errors)
    missing = [question for question in dict.fromkeys(questions) if question not in rows]
    with closing(_appender(path)) as file, shown(progress, "questions") as at:
        at(len(rows), len(wanted))
        for question, output in _outputs(ask, missing, max_concurrency):
            rows[question] = _with_reference(_row(question, output, columns), wanted[question])
            file.append(json_line(rows[question]))
            ACTIVITY.missing += "error" in rows[question]
            at(len(rows), len(wanted))
    collected = [_with_reference(rows[question], text) for question, text in zip(questions, expected, strict=True)]
    write_lines(path, collected)
    _warn(collected)
    return collected


def _checked(path: Path) -> Path:
    if path.suffix not in SUFFIXES:
        raise ConfigError(f"path: {path}: expected a name that ends in {' or '.join(SUFFIXES)}.")
    return path


def _kept(path: Path, wanted: Collection[str], retry_errors: bool) -> dict[str, Row]:
    """The rows of earlier calls by question; those to be asked again are removed from the file."""
    rows = {row["user_input"]: row for row in _read(path)} if path.exists() else {}
    others = [question for question in rows if question not in wanted]
    if others:
        raise ResultsError(
            f"{path} has {len(others)} questions that are not asked now, such as {others[0]!r:.80}. Choose another "
            "path, or remove the file."
        )
    kept = {question: row for question, row in rows.items() if not (retry_errors and "error" in row)}
    if kept != rows:
        write_lines(path, kept.values())
    return kept


def _read(path: Path) -> Iterator[Row]:
    """The rows of a file without a last line that a kill has torn. Raises `ResultsError` if others wrote it."""
    with writing(path):
        *whole, torn = path.read_bytes().split(b"\n")
    for number, line in enumerate(whole, start=1):
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        if not (isinstance(row, dict) and isinstance(row.get("user_input"), str)):
            raise _foreign(path, number)
        yield row
    if torn[: len(BEGINNING)] != BEGINNING[: len(torn)]:
        raise _foreign(path, len(whole) + 1)


def _foreign(path: Path, number: int) -> ResultsError:
    return ResultsError(
        f"{path}, line {number}: expected a row with the text 'user_input', as collect writes it. Choose another path."
    )


def _appender(path: Path) -> Appender:
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        return Appender(path)


def _outputs(ask: Ask, questions: Sequence[str], together: int) -> Iterator[tuple[str, Any]]:
    """Each question with what came back, asked in groups."""
    for start in range(0, len(questions), together):
        group = questions[start : start + together]
        yield from zip(group, ask(group), strict=True)


def _row(question: str, output: Any, columns: Mapping[str, str] | None) -> Row:
    """The row of a question: what was returned, or the error in its place."""
    try:
        if isinstance(output, Exception):
            raise output
        samples = open_dataset([{**output_row(output), "user_input": question}], columns)
        check_readable(samples, RETURNED)
        [sample] = samples
        returned = {name: sample.columns[name] for name in RETURNED if name in sample.columns}
        if is_named("response", sample.row, columns or {}):
            returned.setdefault("response", "")
        if not returned:
            raise DatasetError(f"neither a response nor contexts in what was returned: {output!r:.80}.")
    except Exception as error:  # of any library; nothing is lost: it is what the row says
        text = f"{type(error).__name__}: {error}".encode("utf-8", "backslashreplace").decode("utf-8")
        return {"user_input": question, "error": text}
    return {"user_input": question, **returned}


def _with_reference(row: Row, reference: str | None) -> Row:
    others = {name: value for name, value in row.items() if name != "reference"}
    return others if reference is None else {**others, "reference": reference}


def _warn(rows: Sequence[Row]) -> None:
    errors = [row["error"] for row in rows if "error" in row]
    if errors:
        logger.warning("%d of %d questions without an answer, the first: %s", len(errors), len(rows), errors[0])
