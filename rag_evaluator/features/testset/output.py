"""The files of a test set: its rows, what was made and why it was left out, a summary."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rag_evaluator.features.testset.corpus import Corpus, DocumentChunk
from rag_evaluator.features.testset.prepare import KINDS
from rag_evaluator.features.testset.selection import Selection, SlotResult, reasons, why
from rag_evaluator.files.atomic import write_whole
from rag_evaluator.files.digest import short_digest
from rag_evaluator.results.xlsx import LINES, OPTIONS, XLSX_DATE, Sheet, formats_of, new_worksheet

NAME = "testset"


def write_sheet(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write the rows as a workbook that `dataset` can be. Lists are JSON in a cell; no cell is a formula."""
    write_whole(path, lambda to: _write(to, rows))


def _write(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    import xlsxwriter

    book = xlsxwriter.Workbook(str(path), {**OPTIONS, "tmpdir": str(path.parent)})
    book.set_properties({"created": XLSX_DATE})
    columns = list(dict.fromkeys(name for row in rows for name in row))
    sheet = Sheet(new_worksheet(book, NAME), formats_of(book), columns, {}, lines=LINES)
    for row in rows:
        sheet.add([_cell(row.get(column)) for column in columns])
    sheet.finish(frozen=1)
    book.close()


def _cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict | bool) else value


Row = dict[str, Any]  # JSON
NAMES: Mapping[str, Mapping[str, str]] = {
    "ragas": {},
    "seed2": {"user_input": "input", "reference": "correct_answer", "reference_contexts": "correct_context"},
}
"""Of columns; those that are not named keep their name."""


def rows_of(
    made: Sequence[SlotResult], selection: Selection, corpus: Sequence[DocumentChunk], names: str
) -> Iterator[Row]:
    """The rows of the test set."""
    by_index = {candidate.index: candidate for candidate in made}
    for index in selection.chosen:
        fields = by_index[index].fields
        assert fields is not None
        chunks = [corpus[place] for place in fields["correct"]["chunks"]]
        row: Row = {
            "id": short_digest(f"{fields['question']}\0{fields['answer']}"),
            "user_input": fields["question"],
            "reference": fields["answer"],
            "reference_contexts": [chunk.text for chunk in chunks],
            "reference_places": [place_of(chunk) for chunk in chunks],
            "answerable": KINDS[fields["kind"]].answerable,
            "kind": fields["kind"],
            "difficulty": fields["difficulty"],
            **({"second_difficulty": fields["second"]["difficulty"]} if "second" in fields else {}),
            "made_from": [corpus[place].id for place in fields["chunks"]],
            "recall_known_within": fields["correct"]["pool"],
        }
        yield {NAMES[names].get(name, name): value for name, value in row.items()}


def place_of(chunk: DocumentChunk) -> Row:
    """Where a chunk is, for users who cut the documents in their own way."""
    return {"document": chunk.document, "start": chunk.start, "end": chunk.end, "headings": list(chunk.headings)}


def details_of(made: Sequence[SlotResult], selection: Selection, corpus: Sequence[DocumentChunk]) -> Iterator[Row]:
    """Every candidate with its verdicts, and what became of it."""
    chosen = set(selection.chosen)
    for candidate in made:
        step, reason = why(candidate, selection)
        fields = dict(candidate.fields or {})
        fields.pop("vector", None)
        yield {
            "candidate": candidate.index,
            "kind": candidate.kind,
            "chosen": candidate.index in chosen,
            "left_out_by": step,
            "reason": reason or None,
            "repeats": selection.duplicates.get(candidate.index),
            "made_from": [place_of(corpus[place]) for place in fields.pop("chunks", [])],
            **fields,
        }


def summary_of(made: Sequence[SlotResult], selection: Selection, corpus: Corpus, wanted: int) -> Row:
    """What was made of what, and how much of it survived."""
    chosen = [candidate for candidate in made if candidate.index in set(selection.chosen)]
    used = {corpus[place].document for row in chosen for place in (row.fields or {})["chunks"]}
    second = [fields["second"]["difficulty"] for row in chosen if "second" in (fields := row.fields or {})]
    documents = dict.fromkeys(chunk.document for chunk in corpus)
    return {
        "wanted": wanted,
        "chosen": len(chosen),
        "survived": selection.survivors,
        "candidates": len(made),
        "left_out": reasons(made, selection),
        "kinds": _counts(chosen, "kind"),
        "difficulty": _counts(chosen, "difficulty"),
        **({"second_difficulty": _counts_of(second)} if second else {}),
        "documents": corpus.documents,
        "chunks": len(corpus),
        "documents_without_questions": [document for document in documents if document not in used],
        "unread": [{"document": entry.id, "reason": entry.reason} for entry in corpus.unread],
    }


def _counts(chosen: Sequence[SlotResult], name: str) -> dict[str, int]:
    return _counts_of((candidate.fields or {})[name] for candidate in chosen)


def _counts_of(values: Iterable[Any]) -> dict[str, int]:
    return dict(Counter(map(str, values)).most_common())
