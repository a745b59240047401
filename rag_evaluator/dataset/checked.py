"""`checked_rows`: the one step from a dataset to the rows of a run: read, checked for what reads them, and chosen.

`check_lists` is the same for questions and contexts that are given as lists.
"""

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from rag_evaluator.config import Config
from rag_evaluator.errors import ConfigError, DatasetError, did_you_mean
from rag_evaluator.files import Json, file_digest, short_digest

from .columns import ALIASES, LISTS, ColumnNames, as_key, value_of
from .contents import ReadsColumns, Samples
from .doubts import doubts_of
from .json_values import is_blank
from .loading import open_dataset
from .on_disk import Indexed
from .readers.json_files import encoding_note
from .readers.published import companions
from .readers.spreadsheets import cells_of, sheets_of
from .sample import REWRITTEN, RowChoice, Sample
from .turns import APPEND, CONVERSATION, HISTORY, REWRITE, STANDALONE, TURN

logger = logging.getLogger(__name__)
CONTEXTS = "retrieved_contexts"


@dataclass(frozen=True)
class TaskColumns:
    """The columns that a task needs, and those that must be readable where a row has them."""

    columns: Sequence[str]
    optional: Sequence[str] = ()
    may_be_empty: Sequence[str] = ()

    def needs(self, has: Callable[[str], bool]) -> Sequence[str]:
        return self.columns


@dataclass(eq=False)
class CheckedRows(Indexed[Sample]):
    """The rows of a run, in order; each has its place among them as its index.

    Attributes:
        whole: the rows of the dataset.
        choice: which of them these are.
        source: what they were read from: a path, or rows as objects; None: lists, see `check_lists`.
        columns: of the configuration; None: nothing is doubted.
    """

    whole: Samples
    choice: RowChoice
    source: Any
    columns: dict[str, str] | None = None

    def __len__(self) -> int:
        return len(self.choice.places)

    def at(self, place: int) -> Sample:
        row = self.whole[self.choice.places[place]]
        return row if row.index == place else replace(row, index=place)

    @property
    def part(self) -> dict[str, int]:
        """Which rows of the dataset these are, as `RowChoice.to_json` has it; empty: all."""
        return self.choice.to_json()

    @cached_property
    def doubts(self) -> Sequence[str]:
        """Sentences, see `doubts_of`; looked for when they are first asked for."""
        if self.columns is None:
            return ()
        about = [sheets_of(self.source), *cells_of(self.source), encoding_note(self.source)]
        return tuple(filter(None, [*about, *doubts_of(self.whole, self.columns)]))

    def named_in(self, config: Config) -> Config:
        """The configuration with the dataset that was read, None where the rows are objects, and how it is reported.

        Rows of one conversation depend on each other, unless another cluster is named; turns are a group.
        """
        path = Path(self.source).expanduser().absolute() if isinstance(self.source, str | Path) else None
        update: dict[str, Any] = {"dataset": path}
        is_named = config.cluster is None and CONVERSATION in self.whole.names
        if is_named and any(not is_blank(row.row.get(CONVERSATION)) for row in self.whole):
            update["cluster"] = CONVERSATION
        if self.has_turns and TURN not in config.group_by:
            update["group_by"] = [*config.group_by, TURN]
        return config.model_copy(update=update)

    @property
    def has_turns(self) -> bool:
        """Whether some question has turns before it."""
        return HISTORY in self.whole.present

    @cached_property
    def digest(self) -> str:
        """Of the whole dataset, see `data_digest`."""
        return data_digest(self.source if isinstance(self.source, str | Path) else self.whole)


def checked_rows(
    source: Any, config: Config, readers: Mapping[str, ReadsColumns], are_scored: bool = False
) -> CheckedRows:
    """The rows that the configuration chooses; all rows are checked.

    Args:
        source: a path, or rows as objects; None: nothing says where the rows are.
        readers: what reads the rows, by the name of the metric or task.
        are_scored: whether metrics read them, and a summary is made by the columns that the configuration names.

    Raises `ConfigError` or `DatasetError`.
    """
    if source is None:
        raise ConfigError(f"{config.place()}: 'dataset' is missing. Give the file with your rows.")
    samples = open_dataset(source, config.columns, config.responses, config.judge.history)
    names = ColumnNames(config.columns)
    name = Path(source).name if isinstance(source, str | Path) else "data"
    if unread := [own for own, column in names.mapping.items() if column in LISTS and own not in samples.names]:
        logger.warning(
            "columns names %s, and no row has it: contexts are read from the other columns", ", ".join(unread)
        )
    try:
        samples.check_columns(samples.needed_by(readers), name)
    except DatasetError as error:
        raise DatasetError(f"{error} {sheets_of(source)}".rstrip()) from None
    samples.check_readable({column for reader in readers.values() for column in reader.optional})
    for reason in names.check(samples.names, name).values():
        logger.warning("%s Nothing in this run reads it.", reason)
    rows = CheckedRows(samples, choice_of(config, len(samples)), source, config.columns)
    if rows.has_turns and not are_scored and config.judge.history == REWRITE:
        config.refuse(
            ("judge", "history"),
            f"is '{REWRITE}', which only an evaluation does. Set {APPEND}, or read its {REWRITTEN} as {STANDALONE}.",
        )
    if are_scored:
        _check_reporting(samples, config)
        _check_custom_columns(config, readers, samples)
    return rows


def rows_again(source: Any, config: Json, part: Mapping[str, int]) -> CheckedRows:
    """The rows of a run that has checked them."""
    samples = open_dataset(source, config.get("columns"), config.get("responses"), history_of(config))
    return CheckedRows(samples, RowChoice(**part) if part else RowChoice(len(samples)), source)


def history_of(config: Json) -> str:
    """What a saved configuration says of the turns before a question."""
    return str(dict(config.get("judge") or {}).get(HISTORY, APPEND))


def choice_of(config: Config, rows: int) -> RowChoice:
    """The first rows, or those that are drawn; where there are no more rows than that, all, and a warning says so."""
    for key in ("limit", "sample"):
        number = getattr(config, key)
        if number is not None and number > rows:
            logger.warning("%s is %s, and there are %s rows: all of them are taken", key, number, rows)
    return RowChoice.make(rows, config.limit, config.sample, config.sample_seed)


def _check_custom_columns(config: Config, readers: Mapping[str, ReadsColumns], samples: Samples) -> None:
    """Raises `ConfigError` if rows lack a column that own metrics read, or have one with the name of such a metric."""
    names = samples.names
    for name, reader in readers.items():
        if name not in config.custom_metrics:
            continue
        if name in names:
            config.refuse(
                ("custom_metrics", name), "is also a column of the rows, which its scores would replace. Rename one."
            )
        for position, column in enumerate(reader.columns):
            if column not in {*ALIASES, *names}:
                advice = did_you_mean(column, dict.fromkeys([*names, *ALIASES]))
                place = ("custom_metrics", name, "columns")
                # some are left out of the optional ones
                key = place if reader.optional else (*place, position)
                config.refuse(key, f"is '{column}', which no row has.{advice}")


def _check_reporting(samples: Samples, config: Config) -> None:
    """Raises `ConfigError` for a column that is blank, or not there, in all rows."""
    wanted: dict[tuple[str | int, ...], str]
    wanted = {("group_by", position): column for position, column in enumerate(config.group_by)}
    wanted |= {} if config.cluster is None else {("cluster",): config.cluster}
    for key, column in wanted.items():
        if all(as_key(value_of(sample, column)) is None for sample in samples):
            names = samples.names
            why = "blank in all rows." if column in names else f"no column of any row.{did_you_mean(column, names)}"
            raise ConfigError(f"{config.place(*key)}: {key[0]}: '{column}' is {why}")


def data_digest(source: Any) -> str:
    """16 hexadecimal digits of a dataset: of a file's bytes, with those of its companion, of a folder's files, or of
    rows given as objects.
    """
    if isinstance(source, str | Path):
        path = Path(source).expanduser()
        files = (
            sorted(part for part in path.rglob("*") if part.is_file()) if path.is_dir() else [path, *companions(path)]
        )
        parts: Iterable[bytes] = [bytes.fromhex(file_digest(file)) for file in files]
    else:
        parts = (json.dumps([row.row, row.columns], ensure_ascii=False).encode() for row in source)
    return short_digest(len(part).to_bytes(8, "big") + part for part in parts)  # no two lists of parts look alike


def check_lists(question_list: Sequence[str], contexts_list: Sequence[Sequence[str]]) -> CheckedRows:
    """The rows of questions and their contexts, which may be LangChain documents.

    Raises `DatasetError` naming the list and the position of what is wrong.
    """
    rows = _rows_of({"question_list": question_list, "contexts_list": contexts_list}, "user_input", CONTEXTS)
    return CheckedRows(rows, RowChoice(len(rows)), None)


def check_questions(questions: Sequence[str]) -> list[str]:
    """The questions as plain texts, at least one. Raises `DatasetError` as `check_lists` does."""
    return [row.columns.get("user_input", "") for row in _rows_of({"questions": questions}, "user_input")]


def optional_texts(name: str, values: Any, count: int, counted: str = "question_list") -> list[str | None]:
    """Texts of which some, or all, may be missing; as many as `counted` has."""
    if values is None:
        return [None] * count
    rows = _rows_of({name: values}, "response", may_miss=True)
    if len(rows) != count:
        raise DatasetError(f"{name} has {len(rows)} items, {counted} has {count}: expected one each.")
    return [row.columns.get("response") for row in rows]


def _rows_of(lists: Mapping[str, Any], *canonical: str, may_miss: bool = False) -> Samples:
    """The rows of lists of any library, each read as a canonical column. Any: `load_dataset` checks what is in them."""
    for name, values in lists.items():
        is_table = hasattr(values, "itertuples")  # a pandas frame: iterating gives the names of its columns
        if isinstance(values, str | Mapping) or not hasattr(values, "__len__") or is_table:
            raise DatasetError(f"{name}: expected a list, received {type(values).__name__}.")
    columns = {name: list(values) for name, values in lists.items()}
    samples = open_dataset(columns, dict(zip(lists, canonical, strict=True)))
    samples.check_readable(canonical)
    for row, name in ((row, name) for row in samples for name in lists if row.row[name] is None and not may_miss):
        raise DatasetError(f"{row.where}: column '{name}' has no value. Where nothing was retrieved, give a list, [].")
    return samples
