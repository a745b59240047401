"""Rows as people and libraries really write them: one row of a table for each case. What is odd is read or refused."""

import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import datasets
import numpy
import pandas
import pyarrow
import pyarrow.parquet
import pytest
from aliases import Capture
from folders import error_of
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document
from ragas.dataset_schema import EvaluationDataset, MultiTurnSample, SingleTurnSample
from ragas.messages import HumanMessage

from rag_evaluator import (
    DatasetError,
    PromptTooLongError,
    RAGEvaluator,
    Results,
    ScriptedJudge,
    evaluate,
    load_dataset,
)
from rag_evaluator.dataset import ALIASES, harmless, open_dataset
from rag_evaluator.results import Score
from tests.dataset.data_files import (
    FILES,
    Row,
    write_cells,
    write_csv,
    write_json,
    write_jsonl,
    write_parquet,
    write_text,
)

ALL = {"m": ["user_input", "response", "retrieved_contexts", "reference", "reference_contexts"]}
GOOD = ScriptedJudge({"ContextRelevanceOutput": {"rating": 2}})


def columns_of(source: Any, columns: Mapping[str, str] | None = None) -> list[Mapping[str, Any]]:
    return [sample.columns for sample in load_dataset(source, columns)]


def message_of(source: Any, needed: Sequence[str], columns: Mapping[str, str] | None = None) -> str:
    """What is said of rows in which a metric needs these columns."""
    with pytest.raises(DatasetError) as caught:
        open_dataset(source, columns).check_columns({"m": needed}, "data")
    return str(caught.value)


def score_of(row: Row, metric: str, judge: Any = GOOD) -> Score:
    return RAGEvaluator({"metrics": [metric]}, judge=judge).evaluate([row, FULL]).scores[metric][0]


FULL: Row = {"user_input": "q", "response": "a", "reference": "a", "retrieved_contexts": ["c"]}


# Blank text

INVISIBLE = [
    " ",
    "\t\r\n",
    "\u00a0\u3000",
    "\u200b",
    "\u3164\ufe0f\u034f",
    "\ufeff",
    "\u2060\u00ad",
    "\u200e\u202e",
    "\x00\x1b",
]
VISIBLE = [".", "-", "¿", "\u200b.", "。", "0", "\U0001f914"]


@pytest.mark.parametrize("text", INVISIBLE, ids=ascii)
@pytest.mark.parametrize(
    ("column", "metric"),
    [
        ("response", "exact_match"),
        ("reference", "exact_match"),
        ("user_input", "context_relevance"),
        ("retrieved_contexts", "context_relevance"),
    ],
)
def test_blank_text_is_not_scored_and_the_reason_says_that_it_is_blank(column: str, metric: str, text: str) -> None:
    value = ["", text] if column == "retrieved_contexts" else text
    verb = "are" if column == "retrieved_contexts" else "is"
    score = score_of({**FULL, column: value}, metric)
    assert math.isnan(score.value)
    assert score.reason == f"{column} {verb} blank in this row"


@pytest.mark.parametrize("text", VISIBLE, ids=ascii)
def test_text_of_punctuation_only_is_scored(text: str) -> None:
    assert score_of({"response": text, "reference": text}, "exact_match").value == 1.0


def test_contexts_are_not_shortened_to_blank_ones() -> None:
    def short_window(prompt: str, _: Any) -> Row:
        if "long" in prompt:
            raise PromptTooLongError("too long")
        return {"rating": 2}

    score = score_of(
        {"question": "q", "contexts": ["\u200b", "long"]}, "context_relevance", ScriptedJudge(short_window)
    )
    assert math.isnan(score.value)
    assert score.reason == "too long"


@pytest.mark.parametrize(
    ("row", "needed"),
    [
        ({"answer": "\u200b"}, "response"),
        ({"contexts": ["", " "]}, "retrieved_contexts"),
        ({"frage": " "}, "user_input"),
    ],
)
def test_a_column_that_is_blank_in_every_row_is_missing(row: Row, needed: str, tmp_path: Path) -> None:
    rows = [row, {**row, "note": "n"}]
    source = write_jsonl(tmp_path / "rows.jsonl", rows)
    message = message_of(source, [needed], {"frage": "user_input"} if "frage" in row else None)
    assert f"expected the column '{needed}', which m needs" in message
    assert "It is there, but blank in every row" in message


def test_a_blank_reference_answer_is_written_like_one_that_is_missing(tmp_path: Path) -> None:
    script = {"ReferenceOutput": {"answerable": 1, "reason": "r", "answer": "a"}}
    judge = ScriptedJudge(script, lambda _, options: options[0])
    lists: list[Any] = [["q"], [["c"]], ["a"], ["\u200b"]]
    scores = evaluate(*lists, metrics=["exact_match"], judge=judge, output_dir=tmp_path)
    assert scores == {"exact_match": 1.0}


# A list in `reference`


@pytest.mark.parametrize("needed", ["reference", "retrieved_contexts"])
def test_a_list_in_reference_without_scores_is_refused_and_both_readings_are_named(needed: str, tmp_path: Path) -> None:
    rows = [{"question": "q", "reference": ["a", "b"]}, {"question": "p", "reference": ["c", "d"]}]
    message = message_of(write_jsonl(tmp_path / "rows.jsonl", rows), [needed])
    assert "columns: {reference: retrieved_contexts}" in message
    if needed == "reference":
        assert "one text" in message


def test_a_list_of_one_in_reference_is_no_answer_where_another_column_has_one(tmp_path: Path) -> None:
    rows = [{"question": "q", "reference": ["c"], "correct_answer": "r"}]
    message = message_of(write_csv(tmp_path / "rows.csv", rows), ["reference"])
    assert "'reference' and 'correct_answer' are both read as reference, and differ." in message
    assert "columns: {reference: retrieved_contexts}" in message


# Lists as libraries write them into cells


def pandas_csv(path: Path, contexts: Any) -> Path:
    pandas.DataFrame({"question": ["q"], "contexts": pandas.Series([contexts], dtype=object)}).to_csv(path, index=False)
    return path


WRITTEN_BY_PYTHON: dict[str, Any] = {
    "array": numpy.array(["c1", "c2"], dtype=object),
    "array in a list": [numpy.array(["c1", "c2"], dtype=object)],
    "repr of an array": repr(numpy.array(["c1", "c2"], dtype=object)),
    "repr of a long array": repr(numpy.array(["c" * 80, "d" * 80], dtype=object)),
    "tuple": ("c1", "c2"),
    "tuple of one": ("c1",),
    "set": {"c1"},
    "documents": [Document(page_content="c1")],
    "document": Document(page_content="c1"),
}


@pytest.mark.parametrize("case", WRITTEN_BY_PYTHON)
def test_a_list_that_python_wrote_into_a_cell_is_refused(case: str, tmp_path: Path) -> None:
    message = message_of(pandas_csv(tmp_path / "data.csv", WRITTEN_BY_PYTHON[case]), ["retrieved_contexts"])
    assert "data.csv, row 2: column 'contexts' (read as retrieved_contexts)" in message
    assert "json.dumps(contexts)" in message


@pytest.mark.parametrize(
    "text",
    [
        "array() makes a list in PHP",
        "(see below) text",
        "('tis) so",
        "{braces}",
        "(1, 2)",
        "Document A says",
        '{"a": "b"}',
    ],
)
def test_text_that_only_looks_like_a_list_of_python_is_one_context(text: str, tmp_path: Path) -> None:
    assert columns_of(pandas_csv(tmp_path / "data.csv", text))[0]["retrieved_contexts"] == [text]


# Our own files, read again


def written(texts: Sequence[str], folder: Path) -> Path:
    samples = load_dataset([{"question": "q", "answer": text} for text in texts])
    Results(samples, {"one": [Score(-0.5, None)] * len(texts)}, {}, {}).write(folder)
    return folder


def answers_of(path: Path) -> list[str]:
    return [sample.columns["response"] for sample in open_dataset(path, responses="as_written")]


TEXTS = st.lists(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8).map(lambda text: text + "x")
    | st.text("'=+-@\t\r\n＝＋－＠a_x0D5F", min_size=1, max_size=12).map(lambda text: text + "x"),
    min_size=1,
    max_size=5,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50)
@given(texts=TEXTS)
@example(texts=["''-x", "'x", "\ufffex", ".¹:x"])
def test_what_scores_files_hold_is_what_was_written(texts: list[str], tmp_path: Path) -> None:
    folder = written(texts, tmp_path)
    assert answers_of(folder / "scores.csv") == texts
    assert answers_of(folder / "scores.xlsx") == texts


@given(
    text=st.text(max_size=6)
    | st.text("'=+-@\t\r\n＝5", max_size=6)
    | st.from_regex(r"[ \t]?[+-]\d{1,3}(\.\d*)?(e[+-]?\d{1,3})?", fullmatch=True)
)
@example(text="-0.25")
@example(text="-1e999")
@example(text="+1+cmd")
@example(text="-inf")
@example(text="=1+1")
def test_a_finite_number_is_written_as_it_is_and_every_other_text_that_begins_as_a_formula_gets_a_quote(
    text: str,
) -> None:
    try:
        is_number = math.isfinite(float(text))
    except ValueError:
        is_number = False
    begins = text[:1] in tuple("=+-@\t\r\n＝＋－＠")
    assert harmless(text).startswith("'" + text) is (begins and not is_number) or text.startswith("'")
    assert not is_number or harmless(text) == text


def test_negative_numbers_of_a_csv_are_numbers_in_the_scores(tmp_path: Path) -> None:
    rows = write_text(tmp_path / "rows.csv", "user_input,response,reference,logit\nq,-5,-5,-0.25\np,=1+1,4,+1e-3\n")
    RAGEvaluator({"metrics": ["exact_match"]}).evaluate(rows, folder=tmp_path / "run")
    lines = (tmp_path / "run" / "scores.csv").read_text("utf-8").splitlines()
    assert lines[1:] == ["q,-5,-5,-0.25,1.0", "p,'=1+1,4,+1e-3,0.0"]
    assert [row.row["logit"] for row in open_dataset(tmp_path / "run" / "scores.csv")] == ["-0.25", "+1e-3"]


def test_a_quote_in_a_csv_file_that_is_not_ours_stays(tmp_path: Path) -> None:
    rows = [{"question": "q", "answer": "'-5' is right"}, {"question": "-q", "answer": "-5"}]
    assert answers_of(write_csv(tmp_path / "data.csv", rows)) == ["'-5' is right", "-5"]


# What Python objects and libraries hand over

SAMPLES = [
    SingleTurnSample(user_input="q", response="a", retrieved_contexts=["c"], reference="r"),
    SingleTurnSample(user_input="p", response="b"),
]
LISTS: Row = {"question": ["q", "p"], "answer": ["a", "b"], "contexts": [["c"], None], "ground_truth": ["r", None]}
OBJECTS: dict[str, Callable[[], Any]] = {
    "ragas EvaluationDataset": lambda: EvaluationDataset(samples=SAMPLES),
    "list of ragas samples": lambda: SAMPLES,
    "dict of lists": lambda: LISTS,
    "dict of arrays": lambda: {name: numpy.array(values, dtype=object) for name, values in LISTS.items()},
    "IterableDataset": lambda: datasets.Dataset.from_dict(LISTS).to_iterable_dataset(),
}


@pytest.mark.parametrize("case", OBJECTS)
def test_objects_of_libraries_are_read(case: str) -> None:
    assert columns_of(OBJECTS[case]()) == [
        {"user_input": "q", "response": "a", "retrieved_contexts": ["c"], "reference": "r"},
        {"user_input": "p", "response": "b"},
    ]


WRONG_OBJECTS: dict[str, tuple[Any, str]] = {
    "rows that are texts": ([{"question": "a"}, "b"], "row 1: expected an object (dict), received str."),
    "one row": ({"question": "q", "answer": "a"}, "Put the rows in a list"),
    "several turns": (
        EvaluationDataset(samples=[MultiTurnSample(user_input=[HumanMessage(content="Hi")])]),
        "expected a question and an answer to it",
    ),
    "splits of a stream": (
        datasets.IterableDatasetDict(train=datasets.Dataset.from_dict(LISTS).to_iterable_dataset()),
        "Give one of them: dataset['train']",
    ),
    "a number": (5, "expected a path, a list of dicts"),
}


@pytest.mark.parametrize("case", WRONG_OBJECTS)
def test_objects_that_cannot_be_read_are_refused_with_advice(case: str) -> None:
    source, advice = WRONG_OBJECTS[case]
    with pytest.raises(DatasetError) as caught:
        load_dataset(source)
    assert advice in str(caught.value)


DOCUMENTS: dict[str, Any] = {
    "text": "c",
    "document": Document(page_content="c"),
    "model_dump": Document(page_content="c", metadata={"text": "no"}).model_dump(),
    "page_content": {"page_content": "c", "metadata": {}},
    "text key": {"text": "c", "score": 0.5},
    "content key": {"content": "c", "meta": {"content": "no"}},
    "odd metadata": Document(page_content="c", metadata={"raw": b"\x00", "model": object}),
    "both the same": {"text": "c", "content": "c"},
    "page_content first": {"page_content": "c", "text": "other"},
}


@pytest.mark.parametrize("case", DOCUMENTS)
def test_documents_are_read_by_their_text(case: str) -> None:
    assert columns_of([{"contexts": [DOCUMENTS[case], "d"]}]) == [{"retrieved_contexts": ["c", "d"]}]


@pytest.mark.parametrize("document", [{"text": "a", "content": "b"}, {"body": "a"}, {"text": 5, "id": 1}, [1]])
def test_documents_without_a_text_are_refused(document: Any) -> None:
    message = message_of([{"contexts": ["a", document]}], ["retrieved_contexts"])
    assert "item 2: expected a string or an object with one text, in one of `page_content`, `content`, " in message
    assert "`node.text`" in message


# Numbers in text columns


def write_typed_xlsx(path: Path, rows: Sequence[Row]) -> Path:
    return write_cells(path, [list(rows[0]), *[list(row.values()) for row in rows]])


SOURCES: dict[str, Callable[[Path, Sequence[Row]], Any]] = {
    "data.json": write_json,
    "data.jsonl": write_jsonl,
    "data.csv": write_csv,
    "data.tsv": write_csv,
    "data.parquet": write_parquet,
    "data.xlsx": write_typed_xlsx,
    "list": lambda _, rows: list(rows),
    "frame": lambda _, rows: pandas.DataFrame(rows),
    "Dataset": lambda _, rows: datasets.Dataset.from_list(list(rows)),
    "IterableDataset": lambda _, rows: datasets.Dataset.from_list(list(rows)).to_iterable_dataset(),
}


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize(("value", "expected"), [(42, "42"), (2.5, "2.5"), (10**15, "1000000000000000")])
def test_a_number_is_read_as_the_same_text_from_every_source(
    name: str, value: float, expected: str, tmp_path: Path
) -> None:
    rows = [
        {"question": "q", "response": value, "reference": value},
        {"question": "p", "response": value, "reference": None},
    ]
    first, second = columns_of(SOURCES[name](tmp_path / name, rows))
    assert first == {"user_input": "q", "response": expected, "reference": expected}
    assert second["response"] == expected


# Columns that nobody needs

NESTED: list[Any] = []
for _ in range(5000):
    NESTED = [NESTED]
CIRCLE: list[Any] = []
CIRCLE.append(CIRCLE)


class Broken:
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


UNNEEDED: dict[str, Row] = {
    "half a surrogate pair": {"extra": "a\ud800"},
    "half a surrogate pair in an answer": {"answer": "a\ud800"},
    "half a surrogate pair inside": {"extra": {"deep": ["\udc00"]}},
    "half a surrogate pair as a name": {"\ud800": 1, "extra": {"\ud800": 1}},
    "bytes": {"image": b"\x00\xff"},
    "an object": {"extra": object()},
    "a class": {"extra": [int, {"k": print}]},
    "a set": {"extra": {1}},
    "a number as a name": {1: "x", "1": "y"},
    "nested too deeply": {"extra": NESTED},
    "a circle": {"extra": CIRCLE},
    "an endless integer": {"extra": 10**5000},
    "an object that breaks when it is looked at": {"extra": Broken()},
    "two aliases that differ": {"answer": "a", "result": "b"},
    "two aliases of contexts": {"contexts": ["a"], "source_documents": ["b"]},
    "a list as the answer": {"answer": ["a", "b"]},
    "a list of references": {"reference": ["a", "b"]},
    "a boolean": {"answer": True, "reference": False},
    "contexts that are text": {"contexts": "c"},
    "contexts that are no texts": {"contexts": [None, {}]},
}


VALUES: dict[str, tuple[Any, Any]] = {"retrieved_contexts": (["c"], ["d"]), "reference_contexts": (["c"], ["d"])}
WRITERS: dict[str, Callable[[Path, Sequence[Row]], Any]] = {
    **dict(FILES),
    "frame": lambda _, rows: pandas.DataFrame(rows),
    "list": lambda _, rows: rows,
    "dict of lists": lambda _, rows: {name: [row[name] for row in rows] for name in rows[0]},
}


SAME_ROLE = [
    (source, *pair, canonical)
    for canonical, aliases in ALIASES.items()
    for pair in itertools.combinations((canonical, *aliases), 2)
    for source in (WRITERS if pair == (canonical, aliases[0]) else ["list"])
]


@pytest.mark.parametrize(("source", "first", "second", "canonical"), SAME_ROLE)
def test_two_columns_for_one_role_that_differ_are_an_error_with_both_names_and_the_remedy(
    source: str, first: str, second: str, canonical: str, tmp_path: Path
) -> None:
    one, other = VALUES.get(canonical, ("It has 40 beds.", "It has 99 beds."))
    same = {first: one, second: one, "id": "a"}
    data = WRITERS[source](tmp_path / source, [same, {**same, second: other}])
    message = message_of(data, [canonical])
    assert re.match(r"((data|pandas)\.\w+, |folder, )?(row|line) [123]: ", message)
    assert f"'{first}' and '{second}' are both read as {canonical}, and differ." in message
    for name, value in ((first, one), (second, other)):
        assert f"columns: {{{first}: {canonical}}}" in message
        assert load_dataset(data, {name: canonical})[1].columns[canonical] == value
    assert canonical in load_dataset(WRITERS[source](tmp_path / source, [same]))[0].columns


@pytest.mark.parametrize("case", UNNEEDED)
def test_a_column_that_nobody_needs_never_stops_a_run(case: str, tmp_path: Path) -> None:
    row = {"question": "q", "ground_truth": "r", **UNNEEDED[case]}
    samples = open_dataset([row, FULL])
    samples.check_columns({"m": ["user_input"]}, "data")
    assert samples[0].columns["user_input"] == "q"
    Results(samples, {"one": [Score(1.0, None)] * 2}, {}, {}).write(tmp_path)
    assert open_dataset(tmp_path / "scores.csv")[0].columns["user_input"] == "q"


@pytest.mark.parametrize(
    ("row", "needed", "part"),
    [
        ({"answer": b"\x00"}, "response", "a value that JSON cannot hold (type bytes)"),
    ],
)
@pytest.mark.parametrize("others", [0, 3])
def test_the_same_column_stops_the_run_where_a_metric_needs_it(row: Row, needed: str, part: str, others: int) -> None:
    message = message_of([{"answer": "fine", "contexts": ["fine"]}] * others + [row], ["user_input", needed])
    assert message.startswith(f"row {others}: ")
    assert part in message


@pytest.mark.parametrize("name", ["data.csv", "data.xlsx", "data.parquet", "frame", "data.jsonl"])
def test_a_column_that_appears_twice_stops_a_run_where_it_is_needed(name: str, tmp_path: Path) -> None:
    cells = [["answer", "question", "answer"], ["a", "q", "b"]]
    sources: dict[str, Callable[[], Any]] = {
        "data.csv": lambda: write_text(tmp_path / name, "\n".join(map(",".join, cells))),
        "data.xlsx": lambda: write_cells(tmp_path / name, cells),
        "data.parquet": lambda: write_arrow(tmp_path / name, cells),
        "frame": lambda: pandas.DataFrame(cells[1:], columns=cells[0]),
        "data.jsonl": lambda: write_text(tmp_path / name, '{"answer": "a", "question": "q", "answer": "b"}'),
    }
    source = sources[name]()
    open_dataset(source).check_columns({"m": ["user_input"]}, name)
    assert open_dataset(source)[0].row == {"answer": ["a", "b"], "question": "q"}
    message = message_of(source, ["response"])
    assert "column 'answer' (read as response): expected every column once, received it 2 times: 'a', 'b'." in message


def write_arrow(path: Path, cells: Sequence[Sequence[str]]) -> Path:
    pyarrow.parquet.write_table(pyarrow.table([[cell] for cell in cells[1]], names=cells[0]), path)
    return path


def test_generate_does_not_take_a_reference_that_cannot_be_read_for_a_missing_one(
    tmp_path: Path, capsys: Capture
) -> None:
    rows = write_jsonl(tmp_path / "rows.jsonl", [{"question": "q", "contexts": ["c"], "reference": ["a", "b"]}])
    config = write_text(tmp_path / "config.yaml", f"dataset: {rows}\nmetrics: [faithfulness]\n")
    error = error_of(capsys, "generate", config, "--set", f"output_dir={tmp_path}")
    assert "rows.jsonl, line 1: column 'reference': expected one reference answer" in error
