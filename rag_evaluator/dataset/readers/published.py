"""Published sets of people's labels, in their own formats -> rows: `PUBLISHED`.

`label` is 1 where people say that the contexts support the response, 0 where they say that they do not, None where they
say neither. `spans` are the marks of people in the response, as written: start, end and label of each.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from rag_evaluator.errors import DatasetError
from rag_evaluator.files import Json, JsonDict, short_digest

from .json_files import InputRecord, library_errors, read_jsonl

PASSAGE = re.compile(r"(?:\A|\n\n)passage \d+:")
SEVERITY = ("Consistent", "Benign", "Questionable", "Unwanted")  # of FaithBench, the worst last
ACCEPTED = SEVERITY[:2]
FACTUALITY = {"Supported": 1, "Not Supported": 0}
UNDECIDED = "Challenging"  # begins what is neither

# Any in this module: the published files, JSON.


class PublishedSet(NamedTuple):
    """A published set.

    Attributes:
        columns: that its first row has; `answer.factuality`: in an object of a list.
        rows: (a row as published, its file, rows of the companion by `source_id`) -> rows of a dataset.
        companion: a file beside it, without which nobody knows question and contexts.
    """

    name: str
    columns: frozenset[str]
    rows: Callable[[Json, Path, Mapping[str, Json]], Iterable[JsonDict]]
    companion: str = ""


def _ragtruth(row: Json, path: Path, sources: Mapping[str, Json]) -> Iterator[JsonDict]:
    source = sources[str(row["source_id"])]
    info = source["source_info"]
    asked, found, _ = source["prompt"].partition(str(info))  # before the text to be summarised, or the data
    kept = {name: row[name] for name in ("id", "split", "quality")}
    about = {"user_input": asked.strip() if found else None, "task": source["task_type"], "source": source["source"]}
    yield {**kept, **about, **_marked(row, info, row["source_id"])}


def _faithjudge(row: Json, path: Path, sources: Mapping[str, Json]) -> Iterator[JsonDict]:
    info = row["source"]
    task = "Summary" if isinstance(info, str) else "Data2txt"
    for place, answer in enumerate(row["responses"], start=1):
        about = {"id": f"{row['source_id']}-{place}", "task": task, "source": "RAGTruth"}
        yield {**about, **_marked(answer, info, row["source_id"])}


def _marked(answer: Json, info: Any, source_id: str | int) -> JsonDict:
    """What both forms of RAGTruth have; a span that is true of the world, `implicit_true`, is not in the contexts."""
    spans = [{**span, "label": 0} for span in answer["labels"]]
    columns = {
        "response": answer["response"],
        "label": int(not spans),
        "spans": spans,
        "language": "en",
        "source_id": str(source_id),
        "system": answer["model"],
    }
    if isinstance(info, dict) and "passages" in info:
        passages = [part.strip() for part in PASSAGE.split(info["passages"]) if part.strip()]
        return {**columns, "user_input": info["question"], "retrieved_contexts": passages, "task": "QA"}
    return {**columns, "retrieved_contexts": [info if isinstance(info, str) else json.dumps(info, ensure_ascii=False)]}


def _aggrefact(row: Json, path: Path, sources: Mapping[str, Json]) -> Iterator[JsonDict]:
    about = {"language": "en", "task": "claim", "source": row["dataset"], "source_id": short_digest(row["doc"])}
    yield {"retrieved_contexts": [row["doc"]], "response": row["claim"], "label": int(row["label"]), **about}


def _memerag(row: Json, path: Path, sources: Mapping[str, Json]) -> Iterator[JsonDict]:
    """Sentences become spans; a row with one that is not supported has 0, with one that is undecided no label."""
    spans: list[JsonDict] = []
    response = ""
    for sentence in row["answer"]:
        text = sentence["sentence"].strip()
        response = f"{response} {text}".lstrip()
        place = {"start": len(response) - len(text), "end": len(response), "text": text}
        spans.append({**place, "label": _factuality(sentence["factuality"])})
    labels = [span["label"] for span in spans]
    yield {
        "id": str(row["query_id"]),
        "user_input": row["query"],
        "retrieved_contexts": [context["text"] for context in row["context"]],
        "response": response,
        "label": 0 if 0 in labels else None if None in labels else 1,
        "spans": spans,
        "language": path.name.partition(".")[0],
        "task": "QA",
        "source": "MEMERAG",
        "source_id": str(row["query_id"]),
    }


def _factuality(value: str | Sequence[str]) -> int | None:
    """Of several annotators what more than half of them say."""
    votes = [value] if isinstance(value, str) else value
    [(word, count)] = Counter(votes).most_common(1)
    return None if word.startswith(UNDECIDED) or 2 * count <= len(votes) else FACTUALITY[word]


def _faithbench(row: Json, path: Path, sources: Mapping[str, Json]) -> Iterator[JsonDict]:
    about = {"id": f"{path.stem}-{row['sample_id']}", "system": row["metadata"]["summarizer"]}
    yield {**about, **_annotated(row["source"], row["summary"], row["annotations"])}


def _faithbench_of_faithjudge(row: Json, path: Path, sources: Mapping[str, Json]) -> Iterator[JsonDict]:
    for made in row["summaries"]:
        about = {"id": made["sample_id"], "system": made["meta_model"]}
        yield {**about, **_annotated(row["source"], made["summary"], chain.from_iterable(made["annotations"]))}


def _faithbench_table(row: Json, path: Path, sources: Mapping[str, Json]) -> Iterator[JsonDict]:
    yield {**_summary(row["source"], row["summary"], row["worst-label"]), "system": row["LLM"]}


def _annotated(source: str, summary: str, annotations: Iterable[Json]) -> JsonDict:
    spans = []
    for mark in annotations:
        kind = max((label.partition(".")[0] for label in mark["label"]), key=SEVERITY.index)
        place = {"start": mark["summary_start"], "end": mark["summary_end"], "text": mark["summary_span"]}
        spans.append({**place, "type": kind, "label": int(kind in ACCEPTED)})
    worst = max((span["type"] for span in spans), key=SEVERITY.index, default=SEVERITY[0])
    return {**_summary(source, summary, worst), "spans": spans}


def _summary(source: str, summary: str, worst: str) -> JsonDict:
    """By the worst annotation, as its authors count; without any a summary is consistent."""
    return {
        "retrieved_contexts": [source],
        "response": summary,
        "label": int(SEVERITY.index(worst) < len(ACCEPTED)),
        "worst": worst,
        "language": "en",
        "task": "Summary",
        "source": "FaithBench",
        "source_id": short_digest(source),
    }


def _mtrag(row: Json, path: Path, sources: Mapping[str, Json]) -> Iterator[JsonDict]:
    """Faithfulness by the median of its raters, on one side of the middle of their scale."""
    rated = [each for each in row["metrics"] if each["author"] == "human" and "faithful" in each["name"].lower()]
    if not rated:
        raise DatasetError(
            f"{path.name}: it has no people's ratings of faithfulness. Give "
            "reference_subset_with_human_evaluations.json of the same folder."
        )
    numbers = {value["value"]: float(value["numeric_value"]) for value in rated[0].get("values", ())}
    scale = numbers.values() or rated[0]["range"][:2]
    middle = (min(scale) + max(scale)) / 2
    texts = {document["document_id"]: document["text"] for document in row["documents"]}
    tasks = {task["task_id"]: task for task in row["tasks"]}
    for answer in row["evaluations"]:
        task = tasks[answer["task_id"]]
        given = answer["annotations"].get(rated[0]["name"], {}).values()
        votes = [float(numbers.get(rating["value"], rating["value"])) for rating in given]
        rating = median(votes) if votes else middle
        yield {
            "id": f"{answer['task_id']} {answer['model_id']}",
            "user_input": [turn["text"] for turn in task["input"] if turn["speaker"] == "user"][-1],
            "retrieved_contexts": [texts[context["document_id"]] for context in task["contexts"]],
            "response": answer["model_response"],
            "label": None if rating == middle else int(rating > middle),
            "ratings": votes,
            "language": "en",
            "task": "conversation",
            "source": task.get("Collection", "MTRAG"),
            "source_id": answer["task_id"],
            "system": answer["model_id"],
        }


def _no_rows(row: Json, path: Path, sources: Mapping[str, Json]) -> Iterable[JsonDict]:
    raise DatasetError(f"{path.name}: the sources of RAGTruth, without responses. Give response.jsonl beside it.")


PUBLISHED = (
    PublishedSet("RAGTruth", frozenset({"source_id", "labels", "response", "split"}), _ragtruth, "source_info.jsonl"),
    PublishedSet("RAGTruth", frozenset({"source_id", "source_info", "task_type"}), _no_rows),
    PublishedSet("RAGTruth of FaithJudge", frozenset({"source_id", "source", "responses.labels"}), _faithjudge),
    PublishedSet("FaithBench of FaithJudge", frozenset({"source", "summaries.annotations"}), _faithbench_of_faithjudge),
    PublishedSet("FaithBench", frozenset({"source", "summary", "annotations", "metadata"}), _faithbench),
    PublishedSet("FaithBench", frozenset({"source", "summary", "worst-label"}), _faithbench_table),
    PublishedSet("LLM-AggreFact", frozenset({"dataset", "doc", "claim", "label"}), _aggrefact),
    PublishedSet("MEMERAG", frozenset({"query", "context", "answer.factuality"}), _memerag),
    PublishedSet("MTRAG", frozenset({"metrics.author", "tasks.task_id", "evaluations.annotations"}), _mtrag),
)
"""The first whose columns a file's first row has."""


def as_rows(source: Any, records: Iterable[InputRecord]) -> Iterator[InputRecord]:
    """Records of a published set as rows of a dataset; all others as they are.

    Raises `DatasetError` where its companion is missing, and for a row of another form.
    """
    read = iter(records)
    first = next(read, None)
    if first is None:
        return
    names = {*first.row, *(f"{name}.{key}" for name, value in first.row.items() for key in _keys(value))}
    known = next((each for each in PUBLISHED if each.columns <= names), None)
    records = chain([first], read)
    if known is None:
        yield from records
        return
    path = Path(source) if isinstance(source, str | Path) else Path()
    beside = _companion(known, path)
    for record in records:
        with library_errors(record.where, f"a row as {known.name} has them", "Give the file as it was published."):
            yield from (InputRecord(record.where, row) for row in known.rows(record.row, path, beside))


def _keys(value: Any) -> Iterable[str]:
    """The names in the first object of a list."""
    return value[0] if isinstance(value, list) and value and isinstance(value[0], dict) else ()


def _companion(known: PublishedSet, path: Path) -> Mapping[str, Json]:
    if not known.companion:
        return {}
    beside = path.expanduser().parent / known.companion
    if not beside.is_file():
        raise DatasetError(
            f"{path.name or 'dataset'}: the responses of {known.name}, whose questions and contexts are in "
            f"{known.companion}: expected that file beside it, {beside.absolute()}. Copy it there."
        )
    return {str(record.row["source_id"]): record.row for record in read_jsonl(beside)}
