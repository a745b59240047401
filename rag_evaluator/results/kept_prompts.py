"""The full questions to the judge: read from a results folder, or kept in its `prompts/`, a file per chunk."""

import gzip
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from itertools import groupby
from pathlib import Path
from typing import Any

from rag_evaluator.dataset import Sample, open_dataset
from rag_evaluator.errors import RagEvaluatorError, ResultsError
from rag_evaluator.files.atomic import scratch
from rag_evaluator.files.jsonl import json_line
from rag_evaluator.files.published import writing
from rag_evaluator.results.details import read_records
from rag_evaluator.results.manifest import PROMPT_TEXTS, SCORES
from rag_evaluator.results.questions import questions_of
from rag_evaluator.results.rows import Table

Reading = Callable[[], Sequence[Sample]]
FOLDER = "prompts"
ROWS_TOGETHER = 256  # whose questions share a file where there are no chunks
LEVEL = 6  # of compression: half the time of the highest, and nearly as small
NAME = re.compile(r"\d{6,}\.jsonl\.gz")
HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00"  # gzip without time and name: same questions, same bytes; how ours are known


def read_questions(folder: str | Path, row: int | None = None, data: Any = None) -> Iterator[dict[str, Any]]:
    """Every question that a run asked the judge, in the order of the details.

    Args:
        folder: results folder.
        row: position in the dataset, from 0; None gives those of all rows.
        data: the rows that were judged, as `RAGEvaluator.evaluate` takes them; None takes the dataset of the run, or
            the scored rows where that is not there any more or has changed.

    Yields `row`, `metric`, `prompt` (its name in the metric), `prompt_digest`, `text` (exactly as it was sent, before
    the model's chat template), and `repeat` where scores were repeated. Raises `ResultsError` where that cannot be put
    together.
    """
    folder = Path(folder)
    prompts, manifest = (_read_json(folder / name) for name in ("prompts.json", "manifest.json"))
    config = manifest.get("config", {})
    rows = [data] if data is not None else [*_dataset_of(config), folder / SCORES, folder / "scores.csv"]
    readings = [cache(partial(open_dataset, source, config.get("columns"))) for source in rows]
    for record in read_records(folder):
        if row is None or record["row"] == row:
            yield from _questions(record, readings, prompts)


def keep_prompts(table: Table, folder: Path, chunk_size: int, keep: bool) -> None:
    """Write the questions about all rows into `prompts/` of a results folder; those of an earlier run are removed.

    Args:
        chunk_size: rows whose questions share a file.
        keep: False only removes.

    Raises `ResultsError` if they cannot be written, or would replace files of somebody else.
    """
    target = folder / FOLDER
    with writing(target):
        if keep:
            _replace(target, table, chunk_size)
        elif _remove(target) and not any(target.iterdir()):
            target.rmdir()


def are_kept(folder: Path, chunks: int) -> bool:
    """Whether the questions of so many chunks are there."""
    return all((folder / FOLDER / _name(chunk)).is_file() for chunk in range(chunks))


def _replace(target: Path, table: Table, chunk_size: int) -> None:
    with scratch(target.parent) as temporary:
        written = list(_write(table, temporary, chunk_size))
        for path in (target, *(target / path.name for path in written)):
            if path.exists() and not path.is_dir() and not _is_ours(path):
                raise ResultsError(f"{path}: not written by this program. Move it away, or set keep_prompts: false.")
        _remove(target)
        target.mkdir(exist_ok=True)
        for path in written:
            path.replace(target / path.name)


def _write(table: Table, folder: Path, chunk_size: int) -> Iterator[Path]:
    prompts = table.manifest.get(PROMPT_TEXTS, {})
    for chunk, rows in groupby(table, lambda scored: scored.sample.index // chunk_size):
        path = folder / _name(chunk)
        with path.open("wb") as file, gzip.GzipFile("", "wb", LEVEL, file, mtime=0) as packed:
            for scored in rows:
                for line in _lines(scored.sample, scored.details(), prompts):
                    packed.write(line)
        yield path


def _lines(sample: Sample, details: Any, prompts: Mapping[str, Any]) -> Iterator[bytes]:
    for line in map(json.loads, details):
        yield from map(json_line, questions_of(line, sample.columns, prompts))


def _name(chunk: int) -> str:
    return f"{chunk:06d}.jsonl.gz"


def _remove(folder: Path) -> bool:
    """Remove the files that this program wrote; whether there were any."""
    ours = [path for path in folder.iterdir() if _is_ours(path)] if folder.is_dir() else []
    for path in ours:
        path.unlink()
    return bool(ours)


def _is_ours(path: Path) -> bool:
    if not NAME.fullmatch(path.name) or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(HEAD)) == HEAD


def _questions(line: Mapping[str, Any], readings: Sequence[Reading], prompts: Mapping[str, Any]) -> list[Any]:
    """The questions from the first reading of the rows that gives what was sent: digests tell."""
    for reading in readings[:-1]:
        with suppress(RagEvaluatorError, IndexError):
            return list(questions_of(line, reading()[line["row"]].columns, prompts))
    samples = readings[-1]()
    columns = samples[line["row"]].columns if line["row"] < len(samples) else {}
    return list(questions_of(line, columns, prompts))


def _dataset_of(config: Mapping[str, Any]) -> list[Path]:
    dataset = config.get("dataset")
    return [Path(dataset)] if dataset and Path(dataset).exists() else []


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise ResultsError(f"{path.parent}: holds no results of an evaluation: {path.name}: {error}.") from None
    if not isinstance(value, dict):
        raise ResultsError(f"{path.parent}: holds no results of an evaluation: {path.name} is no object.")
    return value
