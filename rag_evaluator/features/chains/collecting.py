"""`collect`: asks a RAG system questions, and writes what it returns as a dataset."""

import inspect
import json
import logging
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from rag_evaluator.dataset import AS_WRITTEN, accepted_names, check_questions, open_dataset, optional_texts
from rag_evaluator.errors import ConfigError, DatasetError, ResultsError
from rag_evaluator.files import ACTIVITY, Appender, Progress, automatic, json_line, write_lines
from rag_evaluator.judge import run
from rag_evaluator.tasks import shown

# Any in this module: chains and their results are of any library.

RETURNED = ("retrieved_contexts", "response")
BESIDE = ("retrieved_context_ids", "history", "standalone_question", "answerable")  # what a result may say, too
logger = logging.getLogger(__name__)
Row = dict[str, Any]


def collect(
    chain: Any,
    questions: Sequence[str],
    path: str | Path,
    references: Sequence[str | None] | None = None,
    *,
    max_concurrency: int = 8,
    progress: Progress = automatic,
) -> list[Row]:
    """Ask a RAG system questions, and write its answers and contexts as a dataset.

    Args:
        chain: a LangChain Runnable (chain, graph, agent, retriever, model) or a function of a question. What it may
            return is in docs/langchain.md.
        questions: each is asked once, also where the list has it several times.
        path: a `.jsonl` file, which gets a row after each answer. Another call asks what is missing or has an error.
        references: the expected answer to each question, None where there is none.
        max_concurrency: questions in a batch of a Runnable; a function is asked one by one.
        progress: called with (questions done, questions); see docs/progress.md. By default lines.

    Returns the rows of the file in the order of the questions: `user_input`, `retrieved_contexts`, `response`,
    `reference`, what a result has of `BESIDE`, and `error` in place of an answer. Raises `RagEvaluatorError` before
    anything is asked.
    """
    questions = check_questions(questions)
    expected = optional_texts("references", references, len(questions), "questions")
    path = Path(path).expanduser()
    reference_of = dict(zip(questions, expected, strict=True))
    if path.suffix not in (".jsonl", ".ndjson"):
        raise ConfigError(f"path: {path}: expected a name that ends in .jsonl.")
    rows = _kept(path, reference_of)
    missing = [question for question in reference_of if question not in rows]
    write_lines(path, rows.values())
    key = _key_of(chain)
    together = max(max_concurrency, 1) if hasattr(chain, "batch") else 1
    with closing(Appender(path)) as file, shown(progress, "questions") as at:
        at(len(rows), len(reference_of))
        for start in range(0, len(missing), together):
            group = missing[start : start + together]
            outputs = _ask(chain, key, max_concurrency, group)
            for question, output in zip(group, outputs, strict=True):
                if isinstance(output, Exception) and sum(other is output for other in outputs) > 1:
                    [output] = _ask(chain, key, max_concurrency, [question])  # models fail for a batch as a whole
                rows[question] = _with_reference(_row(question, output), reference_of[question])
                file.append(json_line(rows[question]))
                ACTIVITY.missing += "error" in rows[question]
                at(len(rows), len(reference_of))
    collected = [_with_reference(rows[question], text) for question, text in zip(questions, expected, strict=True)]
    write_lines(path, collected)
    if errors := [row["error"] for row in collected if "error" in row]:
        logger.warning("%d of %d questions without an answer. The first: %s", len(errors), len(collected), errors[0])
    elif not any("retrieved_contexts" in row for row in collected):
        logger.warning("no result has contexts: delete %s, and let the chain return them: docs/langchain.md", path)
    return collected


def _kept(path: Path, questions: Collection[str]) -> dict[str, Row]:
    """The rows of earlier calls by question, without errors. Raises `ResultsError` if the file has other rows."""
    rows: dict[str, Row] = {}
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
            rows[row["user_input"]] = row
        except (ValueError, KeyError, TypeError):
            if rows and not line.endswith(b"\n"):
                break  # a kill has torn the last line
            raise ResultsError(
                f"{path}, line {number}: expected a row with the text 'user_input'. Choose another path."
            ) from None
    if unwanted := [question for question in rows if question not in questions]:
        raise ResultsError(
            f"{path} has {len(unwanted)} questions that are not asked now, such as {unwanted[0]!r:.80}. Choose another "
            "path, or remove the file."
        )
    return {question: row for question, row in rows.items() if "error" not in row}


def _key_of(chain: Any) -> str | None:
    """The key under which a Runnable takes the question; None if it takes the question itself."""
    try:
        taken = chain.get_input_jsonschema()["properties"]
    except Exception:  # of a graph whose state is a typing.TypedDict, pydantic has no schema before Python 3.12
        taken = getattr(chain, "channels", ())
    return next((name for name in (*accepted_names("user_input"), "messages") if name in taken), None)


def _ask(chain: Any, key: str | None, most: int, questions: Sequence[str]) -> list[Any]:
    """What the chain returns for each question, or its exception."""
    asked: Sequence[Any] = questions
    if key is not None:
        asked = [{key: [{"role": "user", "content": text}] if key == "messages" else text} for text in questions]
    try:
        if hasattr(chain, "batch"):
            return list(chain.batch(asked, {"max_concurrency": most}, return_exceptions=True))
        output = chain(*asked)
        return [run(output) if inspect.iscoroutine(output) else output]
    except Exception as error:  # of any library; it is what the row says
        return [error] * len(asked)


def _row(question: str, output: Any) -> Row:
    """The row of a question: what was returned, or the error in its place."""
    try:
        if isinstance(output, BaseException):
            raise output
        [sample] = samples = open_dataset([{**output_row(output), "user_input": question}], responses=AS_WRITTEN)
        samples.check_readable([*RETURNED, *BESIDE])
        returned = {name: sample.columns[name] for name in RETURNED if name in sample.columns}
        if any(name in sample.row for name in accepted_names("response")):
            returned.setdefault("response", "")
        if not returned:
            raise DatasetError(f"neither a response nor contexts under a known name in {', '.join(sample.row)}.")
    except Exception as error:  # of any library; it is what the row says
        text = f"{type(error).__name__}: {error}"
        return {"user_input": question, "error": text.encode("utf-8", "backslashreplace").decode("utf-8")}
    return {
        "user_input": question,
        **returned,
        **{name: sample.columns[name] for name in BESIDE if name in sample.columns},
    }


def _with_reference(row: Row, reference: str | None) -> Row:
    columns = {name: value for name, value in row.items() if name != "reference"}
    return columns if reference is None else {**columns, "reference": reference}


def output_row(output: Any) -> Row:
    """The result of a chain, retriever or model as a row whose columns `load_dataset` knows.

    A mapping keeps its other keys. Raises `DatasetError` for what is no result.
    """
    if isinstance(output, list | tuple):
        output = {"retrieved_contexts": output}
    elif isinstance(text := _text(output), str):
        output = {"response": text}
    elif not isinstance(output, Mapping):
        raise DatasetError(
            f"the result of a RAG system: expected an answer, a list of documents or a result with both, received "
            f"{type(output).__name__}. Return a dict with 'response' and 'retrieved_contexts'."
        )
    row = dict(output)
    chat = _of_messages(output["messages"]) if output.get("messages") else {}
    graph = {"retrieved_contexts": output.get("documents"), "response": output.get("generation")}
    for canonical, value in (*graph.items(), *chat.items()):
        if value is not None and all(row.get(name) is None for name in accepted_names(canonical)):
            row[canonical] = value
    for name in {*accepted_names("response"), *accepted_names("retrieved_contexts")}.intersection(row):
        row[name] = [_text(item) for item in row[name]] if isinstance(row[name], list | tuple) else _text(row[name])
    return row


def _text(item: Any) -> Any:
    """The text of a document, message or answer; anything else as it is."""
    values = (getattr(item, name, None) for name in ("page_content", "text", "content"))
    return next((value for value in values if isinstance(value, str)), item)


def _of_messages(messages: Sequence[Any]) -> Row:
    """The last question of a chat, the answer to it, and what tools returned in between."""
    from langchain_core.messages import convert_to_messages  # a function that returns a dict needs no LangChain

    chat = convert_to_messages(messages)
    start = max((place for place, message in enumerate(chat) if message.type == "human"), default=0)
    turn = [(message, getattr(message, "artifact", None)) for message in chat[start:] if message.type == "tool"]
    found = [artifact if isinstance(artifact, list) else [message] for message, artifact in turn]
    return {
        "user_input": _text(chat[start]),
        "response": chat[-1] if chat[-1].type == "ai" else None,
        "retrieved_contexts": [document for documents in found for document in documents],
    }
