"""`collect`: runs a RAG system over questions and writes what it returns as a dataset; lists in place of files."""

import asyncio
import inspect
import json
import logging
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from rag_evaluator.dataset import check_readable, open_dataset
from rag_evaluator.dataset.checked import check_questions, optional_texts
from rag_evaluator.dataset.columns import ALIASES, ColumnNames, accepted_names
from rag_evaluator.dataset.readers.json_files import joined
from rag_evaluator.embeddings.event_loop import run
from rag_evaluator.errors import ConfigError, DatasetError, ResultsError
from rag_evaluator.files.atomic import write_lines, writing
from rag_evaluator.files.jsonl import Appender, json_line
from rag_evaluator.files.progress import ACTIVITY, Progress, automatic
from rag_evaluator.tasks.question import shown

# Any in this module: results of the users' systems, and objects of the libraries that made them.

OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    "retrieved_contexts": ("documents",),
    "response": ("generation", "replies", "answers"),
}
"""Names that results have beside `ALIASES`. They are read only where no other name is there: in datasets `documents`
and `answers` may be columns of their own.
"""
RETURN_CONTEXTS = (
    "let the chain return {'context': documents, 'question': question, 'response': text}, in LangChain by "
    "RunnableParallel(context=retriever, question=RunnablePassthrough()).assign(response=prompt | llm | "
    "StrOutputParser()), with the names of your prompt's variables in the place of context and question."
)
"""What to do about a chain that returns a text alone; continues a sentence. The example is in docs/langchain.md."""
KINDS = {"user": "human", "human": "human", "assistant": "ai", "ai": "ai", "tool": "tool"}
"""Role or type of a message -> its type in LangChain."""
_TEXTS = ("page_content", "get_content", "text", "content", "data")  # of LangChain, LlamaIndex, Haystack


def output_row(output: Any) -> dict[str, Any]:
    """The result of a chain, retriever or pipeline as a row whose columns `load_dataset` knows.

    A mapping keeps its other keys. Raises `DatasetError` for what is no result.
    """
    if isinstance(output, str):
        return {"response": output}
    if isinstance(output, Mapping):
        return _readable(_known(output))
    if isinstance(output, list | tuple):
        return {"retrieved_contexts": [_text(document) for document in output]}
    if hasattr(output, "source_nodes"):  # LlamaIndex
        return _readable({"response": output.response, "retrieved_contexts": output.source_nodes})
    if isinstance(text := _text(output), str):
        return {"response": text}
    raise DatasetError(
        f"the result of a RAG system: expected an answer, a list of documents or a result with both, received "
        f"{type(output).__name__}. Return a dict with 'response' and 'retrieved_contexts'."
    )


def is_named(canonical: str, row: Mapping[str, Any], columns: Mapping[str, str]) -> bool:
    """Whether a row has a canonical column, empty or not, under a name of its own or of `columns`."""
    names = [name for name, target in columns.items() if target == canonical]
    return any(name in row for name in (*accepted_names(canonical), *names))


def unread(names: Iterable[Any], columns: Mapping[str, str]) -> list[str]:
    """Those names of a result that nobody reads."""
    read = {name for canonical in ALIASES for name in _names(canonical)} | {*columns, "messages"}
    return [str(name) for name in names if name not in read]


def _known(output: Mapping[str, Any]) -> dict[str, Any]:
    """The mapping under names that are known, also where components of a pipeline or messages of a chat hold them."""
    parts = [part for part in output.values() if isinstance(part, Mapping)]
    if not any(_has(output, canonical) for canonical in OTHER_NAMES):
        output = joined((name, value) for part in (output, *parts) for name, value in part.items())
    row = dict(output)
    for canonical, value in _of_messages(output.get("messages") or ()).items():
        if not _has(output, canonical):
            row[canonical] = value
    return row


def _has(output: Mapping[str, Any], canonical: str) -> bool:
    """Whether it has something for a canonical column, under any name."""
    return any(output.get(name) is not None for name in _names(canonical))


def _names(canonical: str) -> tuple[str, ...]:
    return accepted_names(canonical) + OTHER_NAMES.get(canonical, ())


def _readable(row: dict[str, Any]) -> dict[str, Any]:
    """The row with texts in the place of messages, nodes and documents, under names that datasets have."""
    for canonical, aliases in OTHER_NAMES.items():
        named = [row[name] for name in aliases if name in row]
        if named and all(row.get(name) is None for name in accepted_names(canonical)):
            row[canonical] = named[0]
    answer = _only(row.get("response"))
    if hasattr(answer, "documents") and not _has(row, "retrieved_contexts"):
        row["retrieved_contexts"] = answer.documents  # Haystack's answers hold what they were made from
    if "response" in row:
        row["response"] = answer
    for name in {*accepted_names("response"), *accepted_names("retrieved_contexts")}.intersection(row):
        row[name] = [_text(item) for item in row[name]] if isinstance(row[name], list | tuple) else _text(row[name])
    return row


def _only(values: Any) -> Any:
    """The item of a list of one. Of several, only the user knows which one counts."""
    return values[0] if isinstance(values, list) and len(values) == 1 else values


def _text(item: Any) -> Any:
    """The text of a document, node, message or answer; anything else as it is."""
    item = getattr(item, "node", item)
    for name in _TEXTS:
        value = getattr(item, name, None)
        if isinstance(value, str):
            return value
        if name == "get_content" and callable(value):
            return value()
    if isinstance(item, Mapping) and _kind(item) in KINDS.values() and isinstance(item.get("content"), str):
        return item["content"]
    return item


def _of_messages(messages: Sequence[Any]) -> dict[str, Any]:
    """The last question of a chat, the answer to it, and what tools found in between."""
    kinds = [_kind(message) for message in messages]
    start = len(kinds) - kinds[::-1].index("human") if "human" in kinds else 0
    turn = list(zip(kinds, messages, strict=True))[start:]
    row: dict[str, Any] = {"user_input": _text(messages[start - 1])} if start else {}
    if turn and turn[-1][0] == "ai":
        row["response"] = turn[-1][1]
    documents = [document for kind, message in turn if kind == "tool" for document in _found(message)]
    return {**row, "retrieved_contexts": documents} if turn else row


def _kind(message: Any) -> str | None:
    """`human`, `ai` or `tool`; also of messages as dicts, under the names that services have."""
    named = message.get("role", message.get("type")) if isinstance(message, Mapping) else getattr(message, "type", None)
    return KINDS.get(named, named) if isinstance(named, str) else None


def _found(message: Any) -> list[Any]:
    """The documents that a tool returned, else its text."""
    artifact = getattr(message, "artifact", None)
    return artifact if isinstance(artifact, list) else [message]


# Any in this module: chains and their results are of any library.

Ask = Callable[[Sequence[str]], Iterable[Any]]
"""The results of some questions, in order; an exception in the place of one that failed."""


def asking(chain: Any, input_key: str | None, max_concurrency: int) -> Ask:
    """How to ask a chain.

    Args:
        chain: a Runnable, a function of a question, or a coroutine function.
        input_key: the question is given as `{input_key: question}`; None finds out what the chain takes.
        max_concurrency: questions of a Runnable that are under way at a time.

    Raises `ConfigError` for anything else.
    """
    if hasattr(chain, "invoke") and hasattr(chain, "batch"):
        key = input_key or _key_of(chain)
        return lambda questions: _batch(chain, [_input(question, key) for question in questions], max_concurrency)
    if inspect.iscoroutinefunction(chain) or inspect.iscoroutinefunction(getattr(chain, "__call__", None)):  # noqa: B004
        return lambda questions: run(_gather(chain, [_input(question, input_key) for question in questions]))
    if callable(chain):
        return lambda questions: (_caught(chain, _input(question, input_key)) for question in questions)
    raise ConfigError(
        f"chain: expected a LangChain Runnable or a function of a question, received {type(chain).__name__}. Give the "
        "method that answers, such as query_engine.query."
    )


def _key_of(chain: Any) -> str | None:
    """The key under which a Runnable takes the question; None if it takes the question itself."""
    try:
        taken = chain.get_input_jsonschema().get("properties")
    except Exception:  # of a graph whose state is a typing.TypedDict, pydantic has no schema before Python 3.12
        taken = None
    taken = taken or getattr(chain, "channels", ())  # of a graph
    return next((name for name in (*accepted_names("user_input"), "messages") if name in taken), None)


def _input(question: str, key: str | None) -> Any:
    if key is None:
        return question
    return {key: [{"role": "user", "content": question}] if key == "messages" else question}


def _batch(chain: Any, inputs: Sequence[Any], max_concurrency: int) -> list[Any]:
    """The results of a batch. Those that share an error are asked alone: models fail for a batch as a whole."""

    def results(some: Sequence[Any]) -> list[Any]:
        try:
            return list(chain.batch(list(some), {"max_concurrency": max_concurrency}, return_exceptions=True))
        except Exception as error:
            return [error] * len(some)

    outputs = results(inputs)
    times = Counter(id(output) for output in outputs if isinstance(output, Exception))
    return [
        results([item])[0] if times[id(output)] > 1 else output for item, output in zip(inputs, outputs, strict=True)
    ]


async def _gather(function: Any, inputs: Sequence[Any]) -> list[Any]:
    return await asyncio.gather(*map(function, inputs), return_exceptions=True)


def _caught(function: Callable[[Any], Any], item: Any) -> Any:
    try:
        return function(item)
    except Exception as error:  # kept in the row of the question
        return error


RETURNED = ("retrieved_contexts", "response")
SUFFIXES = (".jsonl", ".ndjson")
WANTS_DICT = re.compile("must be a dict|Expected mapping type|string indices")  # errors of chains that got a text
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
            function, too. It returns an answer and its contexts in a form of docs/langchain.md. Any: of any library.
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
        progress: called with (questions done, questions); see docs/progress.md. By default a bar or lines.

    Returns the rows as they are in the file, in the order of the questions: `user_input`, `retrieved_contexts`,
    `response`, `reference`, and `error` in place of an answer where the chain failed. Raises `RagEvaluatorError` for
    wrong arguments before anything is asked.
    """
    questions = check_questions("questions", questions)
    expected = optional_texts("references", references, len(questions), "questions")
    path, columns = _checked(Path(path).expanduser()), columns or {}
    ColumnNames(columns).check(columns, "collect")
    if max_concurrency < 1:
        raise ConfigError(f"max_concurrency is {max_concurrency}: expected 1 or more.")
    ask = asking(chain, input_key, max_concurrency)
    wanted = dict(zip(reversed(questions), reversed(expected), strict=True))
    rows = _kept(path, wanted, retry_errors)
    missing = [question for question in dict.fromkeys(questions) if question not in rows]
    earlier, others = len(rows), list[str]()
    with closing(_appender(path)) as file, shown(progress, "questions") as at:
        at(len(rows), len(wanted))
        for question, output in _outputs(ask, missing, max_concurrency):
            rows[question] = _with_reference(_row(question, output, columns), wanted[question])
            file.append(json_line(rows[question]))
            others = others or (unread(output, columns) if isinstance(output, Mapping) else [])
            ACTIVITY.missing += "error" in rows[question]
            at(len(rows), len(wanted))
    collected = [_with_reference(rows[question], text) for question, text in zip(questions, expected, strict=True)]
    write_lines(path, collected)
    _warn_of_errors(collected, input_key)
    if any("error" not in row for row in collected) and not any("retrieved_contexts" in row for row in collected):
        ways = [
            f"{earlier} of {len(rows)} rows are from an earlier call; delete {path} to ask again" if earlier else "",
            *(
                f"if {_quoted(others)} holds them, give columns={{{name!r}: 'retrieved_contexts'}}"
                for name in others[:1]
            ),
            RETURN_CONTEXTS,
        ]
        way = ", or ".join(filter(None, ways))
        logger.warning("no result has contexts, which metrics such as faithfulness need: %s", way)
    return collected


def _checked(path: Path) -> Path:
    if path.suffix not in SUFFIXES:
        raise ConfigError(f"path: {path}: expected a name that ends in {' or '.join(SUFFIXES)}.")
    return path


def _kept(path: Path, wanted: Collection[str], retry_errors: bool) -> dict[str, Row]:
    """The rows of earlier calls by question; those to be asked again are removed from the file."""
    rows = {row["user_input"]: row for row in _read(path)} if path.exists() else {}
    unwanted = [question for question in rows if question not in wanted]
    if unwanted:
        raise ResultsError(
            f"{path} has {len(unwanted)} questions that are not asked now, such as {unwanted[0]!r:.80}. Choose another "
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
    """Each question with what came back, asked in groups. Raises what must stop a program: LangChain returns it."""
    for start in range(0, len(questions), together):
        group = questions[start : start + together]
        for question, output in zip(group, ask(group), strict=True):
            if isinstance(output, BaseException) and not isinstance(output, Exception):
                raise output
            yield question, output


def _row(question: str, output: Any, columns: Mapping[str, str]) -> Row:
    """The row of a question: what was returned, or the error in its place."""
    try:
        if isinstance(output, Exception):
            raise output
        samples = open_dataset([{**output_row(output), "user_input": question}], columns)
        check_readable(samples, RETURNED)
        [sample] = samples
        returned = {name: sample.columns[name] for name in RETURNED if name in sample.columns}
        if is_named("response", sample.row, columns):
            returned.setdefault("response", "")
        if not returned:
            raise DatasetError(_unnamed(output))
    except Exception as error:  # of any library; nothing is lost: it is what the row says
        text = f"{type(error).__name__}: {error}".encode("utf-8", "backslashreplace").decode("utf-8")
        return {"user_input": question, "error": text}
    return {"user_input": question, **returned}


def _with_reference(row: Row, reference: str | None) -> Row:
    columns = {name: value for name, value in row.items() if name != "reference"}
    return columns if reference is None else {**columns, "reference": reference}


def _unnamed(output: Any) -> str:
    names = list(output) if isinstance(output, Mapping) else []
    text = "neither a response nor contexts in what was returned"
    if not names:
        return f"{text}: {output!r:.80}."
    return f"{text}, but {_quoted(names)}. Say which name is what, for instance columns={{{names[0]!r}: 'response'}}."


def _quoted(names: Iterable[Any]) -> str:
    return ", ".join(map(repr, names))


def _warn_of_errors(rows: Sequence[Row], input_key: str | None) -> None:
    errors = [row["error"] for row in rows if "error" in row]
    if errors:
        wants_dict = input_key is None and WANTS_DICT.search(errors[0])
        hint = ' If the chain takes a dict, give input_key="question".' if wants_dict else ""
        logger.warning("%d of %d questions without an answer.%s The first: %s", len(errors), len(rows), hint, errors[0])
