"""From the users' column names and values to ragas' columns: `ALIASES`, the retrieval log."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rag_evaluator.dataset.fields import EMPTY, READ, READ_LOG, Field, text_or_list
from rag_evaluator.dataset.record import Record
from rag_evaluator.errors import DatasetError, did_you_mean

# Any in this module: the users' values, plain JSON.

ALIASES: Mapping[str, tuple[str, ...]] = {
    "user_input": ("question", "query", "input"),
    "response": ("answer", "result", "output"),
    "retrieved_contexts": ("contexts", "source_documents"),
    "reference": ("ground_truth", "ground_truths", "correct_answer"),
    "reference_contexts": ("correct_context",),
}


def accepted_names(canonical: str) -> tuple[str, ...]:
    """The canonical name first, as it wins over its aliases."""
    return (canonical, *ALIASES[canonical])


def column_names(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Every column of any row, in order of first appearance."""
    return list(dict.fromkeys(name for row in rows for name in row))


def check_mapping(columns: Mapping[str, str], records: Sequence[Record], source_name: str) -> None:
    """DatasetError unless each of the user's columns exists in some row and maps to its own canonical name."""
    there = column_names(record.row for record in records)
    for name, canonical in columns.items():
        if canonical not in ALIASES:
            raise DatasetError(
                f"{source_name}: columns maps '{name}' to '{canonical}', which is no canonical column."
                f"{did_you_mean(str(canonical), ALIASES)}"
            )
        if name not in there:
            raise DatasetError(
                f"{source_name}: columns maps '{name}' to '{canonical}', but no row has a column '{name}'."
                f"{did_you_mean(str(name), there)}"
            )
        twice = [other for other, target in columns.items() if target == canonical and other != name]
        if twice:
            raise DatasetError(
                f"{source_name}: columns maps both '{name}' and '{twice[0]}' to '{canonical}'. Keep one of them."
            )


def is_retrieval_log(records: Sequence[Record], columns: Mapping[str, str]) -> bool:
    """Whether `reference` is what a retriever found (the log `question, document_score, reference`).

    It is when mapped so, or when it is not mapped, the dataset has no other column of retrieved contexts, and either
    a `document_score` column or a list in every `reference`. The whole dataset decides, so that one row cannot be
    read as a log and the next as reference answers.
    """
    if "reference" in columns or "retrieved_contexts" in columns.values():
        return columns.get("reference") == "retrieved_contexts"
    names = set(column_names(record.row for record in records)) - set(columns)
    if names.intersection(accepted_names("retrieved_contexts")):
        return False
    given = [text_or_list(record.row.get("reference"), record.is_cells) for record in records]
    lists = [isinstance(value, list) for value in given if value not in EMPTY]
    return bool(lists) and (all(lists) or "document_score" in names)


def canonical_columns(record: Record, columns: Mapping[str, str], is_log: bool) -> dict[str, Any]:
    """The row's canonical columns, without those that are missing or empty.

    A mapped column wins over all others, a canonical name over its aliases. Two aliases are fine while they agree.
    `is_log`: `reference` is read as retrieved contexts, see `is_retrieval_log`.
    """
    mapping = {**columns, "reference": "retrieved_contexts"} if is_log else columns
    found = {}
    for canonical, read in (READ_LOG if is_log else READ).items():
        names = _names(canonical, record.row, mapping)
        values = {name: read(Field(record, name, canonical)) for name in names}
        distinct = [value for value in values.values() if value not in EMPTY]
        if any(value != distinct[0] for value in distinct):
            raise DatasetError(
                f"{record.where}: {' and '.join(map(repr, names))} are both read as {canonical}, and differ. Keep one "
                f"of them, or choose with columns: {{{names[0]}: {canonical}}}."
            )
        if distinct:
            found[canonical] = distinct[0]
    return found


def _names(canonical: str, row: Mapping[str, Any], mapping: Mapping[str, str]) -> list[str]:
    """The columns of the row to read: the mapped or canonical one where it has a value, else all aliases that do."""
    mapped = [name for name, target in mapping.items() if target == canonical]
    names = mapped or [name for name in accepted_names(canonical) if name not in mapping]
    filled = [name for name in names if row.get(name) not in EMPTY]
    return filled[:1] if canonical in filled else filled
