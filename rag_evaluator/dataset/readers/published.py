"""Published sets of people's labels, in their own formats -> rows: `PUBLISHED`.

`label` is 1 where people say that the contexts support the response, 0 where they say that they do not, None where they
say neither. `spans` are what people did not accept in the response as written: start, end and label, 0 or None.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from rag_evaluator.errors import DatasetError
from rag_evaluator.files import Json, JsonDict, short_digest

from .json_files import InputRecord, library_errors, read_jsonl

# what functions of the table find in a row beside its own columns: the file's name without suffix, the companion's row
FILE = "file"
BESIDE = "beside"
PASSAGE = re.compile(r"(?:\A|\n\n)passage \d+:")
SEVERITY = ("Consistent", "Benign", "Questionable", "Unwanted")  # of FaithBench, the worst last
ACCEPTED = 2  # so many of these
FACTUALITY = {"Supported": 1, "Not Supported": 0}
UNDECIDED = "Challenging"  # begins what is neither

# Any in this module: the published files, JSON.


class PublishedSet(NamedTuple):
    """A published set.

    Attributes:
        name: also the `source` of rows that name none; their `id` is their number.
        columns: that its first row has; `answer.factuality`: in an object of a list.
        rows: a row as published -> rows of a dataset; in English where they name no `language`.
        companion: a file beside it, by `source_id`, without which nobody knows question and contexts.
    """

    name: str
    columns: Sequence[str]
    rows: Callable[[Json], Iterable[JsonDict]]
    companion: str = ""


def _ragtruth(row: Json) -> Iterator[JsonDict]:
    source = row[BESIDE]
    info = source["source_info"]
    asked, found, _ = source["prompt"].partition(str(info))  # before the text to be summarised, or the data
    about = {"user_input": asked.strip() if found else None, "task": source["task_type"], "source": source["source"]}
    yield {**about, **{name: row[name] for name in ("id", "split", "quality")}, **_marked(row, info, row)}


def _faithjudge(row: Json) -> Iterator[JsonDict]:
    info = row["source"]
    for answer in row["responses"]:
        yield {"task": "Summary" if isinstance(info, str) else "Data2txt", **_marked(answer, info, row)}


def _marked(answer: Json, info: Any, row: Json) -> JsonDict:
    """What both forms of RAGTruth have; a span that is true of the world, `implicit_true`, is not in the contexts."""
    columns = {
        "retrieved_contexts": [info if isinstance(info, str) else json.dumps(info, ensure_ascii=False)],
        "response": answer["response"],
        "label": int(not answer["labels"]),
        "spans": [{**span, "label": 0} for span in answer["labels"]],
        "source_id": str(row["source_id"]),
        "system": answer["model"],
    }
    if isinstance(info, dict) and "passages" in info:
        passages = [part.strip() for part in PASSAGE.split(info["passages"]) if part.strip()]
        columns |= {"user_input": info["question"], "retrieved_contexts": passages, "task": "QA"}
    return columns


def _aggrefact(row: Json) -> Iterator[JsonDict]:
    about = {"task": "claim", "source": row["dataset"], "source_id": short_digest(row["doc"])}
    yield {"retrieved_contexts": [row["doc"]], "response": row["claim"], "label": int(row["label"]), **about}


def _memerag(row: Json) -> Iterator[JsonDict]:
    """A row with a sentence that is not supported has 0, with one that is undecided no label."""
    spans: list[JsonDict] = []
    response = ""
    for sentence in row["answer"]:
        text = sentence["sentence"].strip()
        response = f"{response} {text}".lstrip()
        if (label := _factuality(sentence["factuality"])) != 1:
            spans.append({"start": len(response) - len(text), "end": len(response), "label": label})
    labels = [span["label"] for span in spans]
    yield {
        "user_input": row["query"],
        "retrieved_contexts": [context["text"] for context in row["context"]],
        "response": response,
        "label": 0 if 0 in labels else None if None in labels else 1,
        "spans": spans,
        "language": row[FILE],
        "task": "QA",
        "source_id": str(row["query_id"]),
    }


def _factuality(value: str | Sequence[str]) -> int | None:
    """Of several annotators what more than half of them say."""
    votes = [value] if isinstance(value, str) else value
    [(word, count)] = Counter(votes).most_common(1)
    return None if word.startswith(UNDECIDED) or 2 * count <= len(votes) else FACTUALITY[word]


def _faithbench(row: Json) -> Iterator[JsonDict]:
    marks = row["annotations"]
    kinds = [max((label.partition(".")[0] for label in mark["label"]), key=SEVERITY.index) for mark in marks]
    worst = max(kinds, key=SEVERITY.index, default=SEVERITY[0])
    spans = [
        {"start": mark["summary_start"], "end": mark["summary_end"], "type": kind, "label": 0}
        for mark, kind in zip(marks, kinds, strict=True)
        if SEVERITY.index(kind) >= ACCEPTED
    ]
    yield {**_summary(row, worst, row["metadata"]["summarizer"]), "spans": spans}


def _faithbench_table(row: Json) -> Iterator[JsonDict]:
    yield _summary(row, row["worst-label"], row["LLM"])


def _summary(row: Json, worst: str, system: str) -> JsonDict:
    """By the worst annotation, as its authors count; without any a summary is consistent."""
    return {
        "retrieved_contexts": [row["source"]],
        "response": row["summary"],
        "label": int(SEVERITY.index(worst) < ACCEPTED),
        "worst": worst,
        "task": "Summary",
        "source_id": short_digest(row["source"]),
        "system": system,
    }


def _mtrag(row: Json) -> Iterator[JsonDict]:
    """Faithfulness by the median of its raters, on one side of the middle of their scale."""
    rated = [each for each in row["metrics"] if each["author"] == "human" and "faithful" in each["name"].lower()]
    if not rated:
        advice = "Give reference_subset_with_human_evaluations.json of the same folder."
        raise DatasetError(f"{row[FILE]}.json: it has no people's ratings of faithfulness. {advice}")
    numbers = {value["value"]: float(value["numeric_value"]) for value in rated[0].get("values", ())}
    scale = numbers.values() or rated[0]["range"][:2]
    middle = (min(scale) + max(scale)) / 2
    texts = {document["document_id"]: document["text"] for document in row["documents"]}
    tasks = {task["task_id"]: task for task in row["tasks"]}
    for answer in row["evaluations"]:
        task = tasks[answer["task_id"]]
        given = answer["annotations"].get(rated[0]["name"], {}).values()
        votes = [float(numbers.get(rating["value"], rating["value"])) for rating in given]
        rating = median(votes or [middle])
        yield {
            "user_input": [turn["text"] for turn in task["input"] if turn["speaker"] == "user"][-1],
            "retrieved_contexts": [texts[context["document_id"]] for context in task["contexts"]],
            "response": answer["model_response"],
            "label": None if rating == middle else int(rating > middle),
            "ratings": votes,
            "task": "conversation",
            "source_id": answer["task_id"],
            "system": answer["model_id"],
        }


PUBLISHED = (
    PublishedSet("RAGTruth", ("source_id", "labels", "response", "split"), _ragtruth, "source_info.jsonl"),
    PublishedSet("RAGTruth", ("source_id", "source", "responses.labels"), _faithjudge),
    PublishedSet("FaithBench", ("source", "summary", "annotations", "metadata"), _faithbench),
    PublishedSet("FaithBench", ("source", "summary", "worst-label"), _faithbench_table),
    PublishedSet("LLM-AggreFact", ("dataset", "doc", "claim", "label"), _aggrefact),
    PublishedSet("MEMERAG", ("query", "context", "answer.factuality"), _memerag),
    PublishedSet("MTRAG", ("metrics.author", "tasks.task_id", "evaluations.annotations"), _mtrag),
)
"""The first whose columns a file's first row has."""


def as_rows(source: Any, records: Iterable[InputRecord]) -> Iterator[InputRecord]:
    """Records of a published set as rows of a dataset; all others as they are.

    Raises `DatasetError` where its companion is missing, and for a row of another form.
    """
    read = iter(records)
    first = list(islice(read, 1))
    records = chain(first, read)
    names = {name for record in first for key, value in record.row.items() for name in (key, *_inner(key, value))}
    known = next((each for each in PUBLISHED if names.issuperset(each.columns)), None)
    if known is None:
        yield from records
        return
    path = Path(source) if isinstance(source, str | Path) else Path()
    sources = _companion(known, path)
    number = 0
    for record in records:
        with library_errors(record.where, f"a row as {known.name} has them", "Give the file as it was published."):
            row = {**record.row, FILE: path.name.partition(".")[0]}
            row |= {BESIDE: sources[str(row["source_id"])]} if known.companion else {}
            for made in known.rows(row):
                number += 1
                about = {"id": f"{row[FILE]}-{number}", "language": "en", "source": known.name}
                yield InputRecord(record.where, {**about, **made})


def companions(path: Path) -> list[Path]:
    """Files beside a dataset that may be read with it."""
    beside = (path.with_name(each.companion) for each in PUBLISHED if each.companion)
    return [file for file in beside if file.is_file()]


def _inner(key: str, value: Any) -> Iterable[str]:
    """The names in the first object of a list."""
    first = value[0] if isinstance(value, list) and value else None
    return [f"{key}.{name}" for name in first] if isinstance(first, dict) else ()


def _companion(known: PublishedSet, path: Path) -> Mapping[str, Json]:
    if not known.companion:
        return {}
    beside = path.expanduser().absolute().parent / known.companion
    if not beside.is_file():
        raise DatasetError(
            f"{path.name}: responses of {known.name}, whose questions and contexts are in {known.companion}: expected "
            f"{beside}. Copy it there."
        )
    return {str(record.row["source_id"]): record.row for record in read_jsonl(beside)}
