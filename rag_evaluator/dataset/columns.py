"""From the users' column names and values to ragas' columns: `ALIASES`, the retrieval log."""

import json
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from rag_evaluator.errors import DatasetError, did_you_mean
from rag_evaluator.files import Json, JsonDict

from .hits import beside
from .json_values import EMPTY, as_text, is_blank
from .readers.json_files import InputRecord
from .response import read_response
from .sample import REWRITTEN, Sample
from .turns import APPEND, HISTORY, IGNORE, REWRITE, STANDALONE, TURN, in_context, number_of
from .values import LOG_ADVICE, READ, READ_LOG, Field

ALIASES: Mapping[str, tuple[str, ...]] = {
    "user_input": ("question", "query", "input"),
    "response": ("answer", "result", "output"),
    "retrieved_contexts": ("contexts", "context", "source_documents"),
    "reference": ("ground_truth", "ground_truths", "correct_answer"),
    "reference_contexts": ("correct_context",),
    "retrieved_context_ids": (),
    "reference_context_ids": (),
    "document_score": (),
    "answerable": (),
    "rubrics": (),
    "history": ("chat_history",),
    "standalone_question": (),
}
"""Canonical column -> its other names."""
ID = "id"
"""What a row is called by its owner; no metric reads it."""
TEXTS = ("user_input", "response", "retrieved_contexts", "reference", "reference_contexts")
"""Columns whose names say what they are; a column named as one of the others may be something of the user's own."""
RETRIEVED = ("retrieved_contexts", "retrieved_context_ids", "document_score")
"""Columns with an item for each context that was retrieved, in rank order."""
LISTS = ("retrieved_contexts", "reference_contexts")
"""Columns with several texts, which may be columns of the user's own, or one cell with a mark between the texts."""
DIVIDED = re.compile(rf"({'|'.join(LISTS)})\[(.+)\]", re.DOTALL)
"""`retrieved_contexts[||]`: the texts stand in one cell, with `||` between them."""
NOT_A_NUMBER = ("nan", "NaN", "<NA>")
"""Cells that say in pandas that a value is missing."""
MAY_BE_EMPTY = ("retrieved_contexts", "retrieved_context_ids")
"""Columns whose empty list says something: nothing was retrieved."""

# Any in this module: the users' values, plain JSON, before their types are checked.


def value_of(sample: Sample, column: str) -> Any:
    """What a row has in one of its own columns, or in one of ragas' by any accepted name. Any: JSON.

    A question has the turns before it, as the same words mean another thing in another conversation.
    """
    turns = sample.columns.get(HISTORY)
    if turns is not None and canonical_column(column) == "user_input" and sample.asked is not None:
        return in_context(turns, sample.asked)
    if column == TURN and column not in sample.row:
        return number_of(turns or [])
    if column in sample.row:
        return sample.row[column]
    return sample.columns.get(canonical_column(column) or column)


def as_key(value: Any) -> str | None:
    """A value as text, to be compared: composed (NFC), trimmed, 7.0 as 7; None for a blank. Any: JSON."""
    if is_blank(value):
        return None
    text = as_text(value)
    text = json.dumps(value, ensure_ascii=False, sort_keys=True) if text is None else text
    return unicodedata.normalize("NFC", text).strip()


def accepted_names(canonical: str) -> tuple[str, ...]:
    """The canonical name first."""
    return (canonical, *ALIASES[canonical])


def canonical_column(name: str) -> str | None:
    """The canonical column that a name means; None for a column of the user's own."""
    return next((canonical for canonical in ALIASES if name in accepted_names(canonical)), None)


def column_names(rows: Iterable[Json]) -> list[str]:
    """Every column of any row, in order of first appearance."""
    return list(dict.fromkeys(name for row in rows for name in row))


class ColumnNames:
    """The user's names of columns.

    Args:
        columns: of the configuration.
        readers: canonical column -> what reads it.
        as_written: whether responses are taken with all that is around what is said.
        history: what becomes of the turns before a question, `judge.history`.

    Attributes:
        mapping: name -> the canonical column that it is read as. Those of `LISTS` may be there several times: their
            texts are joined in this order.
        marks: name -> what stands between the texts of its cells; given as `retrieved_contexts[||]` in `mapping`.
    """

    def __init__(
        self,
        columns: Mapping[str, str],
        readers: Mapping[str, Callable[[Field], Any]] = READ,
        as_written: bool = False,
        history: str = APPEND,
    ) -> None:
        self.columns = columns
        self.history = history
        self.readers = readers
        self.as_written = as_written
        divided = {name: match for name, to in columns.items() if (match := DIVIDED.fullmatch(str(to)))}
        self.marks = {name: match[2] for name, match in divided.items()}
        self.mapping = {**columns, **{name: match[1] for name, match in divided.items()}}
        self._readable: dict[tuple[str, ...], list[str]] = {}

    def check(self, present: Collection[str], source_name: str) -> dict[str, str]:
        """Canonical columns of which no name is there -> a reason, an error only where a metric needs the column.

        Files of the same columns may share a configuration: of several names for a column those of the file count.
        Raises DatasetError unless each name maps to a canonical column of its own.
        """
        absent: dict[str, str] = {}
        there = [canonical for name, canonical in self.mapping.items() if name in present]
        there += [ID] if ID in present and ID not in there else []
        for name, canonical in self.mapping.items():
            mapped = f"{source_name}: columns maps '{name}' to '{canonical}', "
            if canonical not in (*ALIASES, ID):
                turned = f" The file's name comes first: '{canonical}' to '{name}'." if canonical in present else ""
                advice = turned or did_you_mean(str(canonical), ALIASES)
                raise DatasetError(f"{mapped}which is no canonical column.{advice}")
            if name not in present and canonical not in there:
                reason = f"{mapped}but no row has a column '{name}'.{did_you_mean(str(name), present)}"
                if canonical == ID:
                    raise DatasetError(reason)
                absent.setdefault(canonical, reason)
            if canonical not in LISTS and there.count(canonical) > 1:
                raise DatasetError(f"{mapped}and another column as well. Keep one of them.")
        return absent

    def is_log(self, names: Collection[str]) -> bool:
        """Whether `reference` is what a retriever found (the log `question, reference, document_score`).

        It is when mapped so, or when it is not mapped and the dataset has a column of scores and none of retrieved
        contexts. The columns of the whole dataset decide, so that one row cannot be read as a log and the
        next as answers.
        """
        if "reference" in self.mapping or "retrieved_contexts" in self.mapping.values():
            return self.mapping.get("reference") == "retrieved_contexts"
        unmapped = set(names) - set(self.mapping)
        has_scores = "document_score" in unmapped or "document_score" in self.mapping.values()
        return has_scores and not unmapped.intersection(accepted_names("retrieved_contexts"))

    def name_of(self, canonical: str) -> str:
        """The name of a column that has no other names than the user's."""
        return next((name for name, target in self.mapping.items() if target == canonical), canonical)

    def read_from(self, canonical: str, present: Collection[str]) -> list[str]:
        """The columns that may be read as a canonical one: those that are mapped to it, else its accepted names."""
        mapped = [name for name, target in self.mapping.items() if target == canonical]
        return mapped or [name for name in accepted_names(canonical) if name in present and name not in self.mapping]

    def names_of(self, canonical: str, record: InputRecord) -> list[str]:
        """The columns of a row that are read as a canonical one, those that are empty left out.

        Mapped columns win over all others.
        """
        names = self.read_from(canonical, record.row)
        values = {name: record.row.get(name) for name in names}
        if record.is_cells:
            values = {name: value for name, value in values.items() if value not in NOT_A_NUMBER}
        return list(_with_text(values, canonical))

    def of_log(self) -> "ColumnNames":
        """The same for a dataset whose `reference` is what a retriever found, see `is_log`."""
        columns = {**self.columns, "reference": "retrieved_contexts"}
        return ColumnNames(columns, READ_LOG, self.as_written, self.history)

    def sample(self, index: int, record: InputRecord) -> Sample:
        """The sample of a row."""
        columns: JsonDict = {}
        wrong: dict[str, str] = {}
        names = tuple(record.row)
        if names not in self._readable:  # most rows have the same
            self._readable[names] = [canonical for canonical in self.readers if self.read_from(canonical, names)]
        for canonical in self._readable[names]:
            try:
                value = self.value_of(canonical, record)
            except DatasetError as error:  # reported by `check_columns` where a metric needs the column
                wrong[canonical] = str(error)
            else:
                columns |= {} if value is None else {canonical: value}
        columns = {**self._beside(record, columns), **columns}
        _check_lengths(record, columns, wrong)
        columns = _by_score(columns) if self.readers is READ_LOG else columns
        named = [name for name, target in self.mapping.items() if target == ID and name != ID]
        identity = next((record.row[name] for name in named if name in record.row), None)
        row = {ID: identity, **record.row} if named else record.row
        question = columns.get("user_input")
        columns |= self._seen(columns, row)
        question = None if columns.get("user_input") == question else question
        response = None if self.as_written else read_response(columns.get("response", ""))
        if response is None or not response.kinds:
            return Sample(index, row, columns, record.where, wrong, question=question)
        columns["response"] = response.said
        if not response.said:
            del columns["response"]
        return Sample(index, row, columns, record.where, wrong, response, question)

    def _seen(self, columns: JsonDict, row: Json) -> JsonDict:
        """The question as metrics see it, where that is not the text in its column."""
        question: Any = columns.get("user_input")
        turns = columns.get(HISTORY)
        if STANDALONE in columns:
            return {"user_input": columns[STANDALONE]}
        if turns is None or is_blank(question) or self.history == IGNORE:
            return {}
        rewritten = row.get(REWRITTEN) if self.history == REWRITE else None
        return {"user_input": rewritten or in_context(turns, question)}

    def _beside(self, record: InputRecord, columns: Json) -> JsonDict:
        """Scores and ids that the objects of contexts have, where a row has no columns of them."""
        names = self.names_of("retrieved_contexts", record) if "retrieved_contexts" in columns else []
        if len(names) != 1 or self.readers is READ_LOG:
            return {}
        value = Field(record, names[0], "retrieved_contexts").parsed
        items = [item for item in value if item is not None] if isinstance(value, list) else []
        return {name: of_hits for name, of_hits in beside(items).items() if not self.read_from(name, record.row)}

    def value_of(self, canonical: str, record: InputRecord) -> Any:
        """What a row has in a canonical column, None for nothing; DatasetError where columns differ."""
        names = self.names_of(canonical, record)
        read = self.readers[canonical]
        if not names:
            return None
        fields = {name: read(Field(record, name, canonical, self.marks.get(name))) for name in names}
        values = list(_with_text(fields, canonical).values()) or [None]
        if canonical in LISTS and len(values) > 1 and names[0] in self.mapping:
            return [text for texts in values for text in texts]
        if len(values) > 1 and len(set(map(as_key, values))) > 1:
            raise DatasetError(
                f"{record.where}: {' and '.join(map(repr, names))} are both read as {canonical}, and differ. Keep "
                f"one of them, or choose with columns: {{{names[0]}: {canonical}}}."
                f"{LOG_ADVICE if 'reference' in names else ''}"
            )
        return values[0]


def _check_lengths(record: InputRecord, readable: JsonDict, wrong: dict[str, str]) -> None:
    """Ids and scores that are not one for each retrieved context are moved to what cannot be read."""
    texts, ids, scores = RETRIEVED
    if texts in wrong:
        return
    for column, item in ((ids, "an id"), (scores, "a number")):
        count = len(next((readable[name] for name in (texts, ids) if name in readable), ()))
        received = len(readable.get(column, ()))
        if column in readable and received != count:
            del readable[column]
            wrong[column] = (
                f"{record.where}: {column}: expected {item} for each of the {count} retrieved contexts, received "
                f"{received}. Correct them, or rename the column if it is something else."
            )


def _by_score(columns: JsonDict) -> JsonDict:
    """The columns of a log with what was retrieved by descending score; ties, and all without scores, as given."""
    scores = columns.get("document_score", [])
    ranks = descending(scores)
    retrieved = [name for name in RETRIEVED if len(columns.get(name, ())) == len(scores)]
    return {**columns, **{name: [columns[name][rank] for rank in ranks] for name in retrieved if scores}}


def descending(scores: Sequence[float]) -> list[int]:
    """Positions by descending score, ties as given."""
    return sorted(range(len(scores)), key=lambda place: scores[place], reverse=True)


def _with_text(values: Json, canonical: str) -> JsonDict:
    """Those that are not blank; else the first that is not empty; else the first list that says so; else none."""
    nonempty = {name: value for name, value in values.items() if value not in EMPTY}
    empty = {name: value for name, value in values.items() if value == [] and canonical in MAY_BE_EMPTY}
    filled = {name: value for name, value in nonempty.items() if not is_blank(value)}
    return filled or dict(islice((nonempty or empty).items(), 1))
