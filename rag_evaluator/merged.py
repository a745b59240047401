"""All finished chunks of a journal as one table, checked while it is read."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from rag_evaluator.dataset import Sample, row_names
from rag_evaluator.errors import MissingChunksError, ResultsError
from rag_evaluator.journal import Journal, Part
from rag_evaluator.scores import Score
from rag_evaluator.tables import DROPPED

SHOWN = 20  # missing chunks named in a message


@dataclass(frozen=True)
class MergedRow:
    """A row with its lines from a chunk."""

    sample: Sample
    scores: Mapping[str, Score]
    lines: Sequence[bytes]

    def details(self) -> Sequence[bytes]:
        return self.lines


class Merged:
    """All chunks of a journal as a table, read one after the other.

    Raises `MissingChunksError` if chunks are missing; while it is read `ResultsError` for the first one that is
    damaged, foreign, or does not hold exactly its rows.
    """

    def __init__(self, journal: Journal, samples: Sequence[Sample]) -> None:
        missing = journal.missing()
        if missing:
            raise MissingChunksError(_missing(journal, missing))
        self.journal, self.samples = journal, samples
        self.metrics = list(journal.plan.signatures)
        self.manifest = {**journal.about, **_judge_paths(journal)}
        self.again: list[int] = []  # chunks in which another try may make a missing score, known once all are read

    def columns(self) -> list[str]:
        own = dict.fromkeys(row_names(self.samples))
        dropped = any(self.journal.read_footer(chunk).get("dropped") for chunk in range(self.journal.plan.chunks))
        last = dict.fromkeys((*self.metrics, DROPPED) if dropped or DROPPED in own else self.metrics)
        return [column for column in own if column not in last] + list(last)

    def __iter__(self) -> Iterator[MergedRow]:
        self.again = []
        for chunk in range(self.journal.plan.chunks):
            part = self.journal.read_part(chunk)
            if part.footer.get("again"):
                self.again.append(chunk)
            yield from self._rows(chunk, part)

    def _rows(self, chunk: int, part: Part) -> Iterator[MergedRow]:
        rows, width = self.journal.plan.rows_of(chunk), len(self.metrics)
        if len(part.lines) != len(rows) * width:
            raise self._wrong(chunk, f"{len(part.lines)} scores, expected {len(rows) * width}")
        for position, sample in enumerate(self.samples[rows.start : rows.stop]):
            lines = part.lines[position * width : (position + 1) * width]
            scores = {}
            for line, (metric, signature) in zip(lines, self.journal.plan.signatures.items(), strict=True):
                record = json.loads(line)
                found = (record["row"], record["sample"], record["metric"], record["signature"])
                if found != (sample.index, sample.digest, metric, signature):
                    raise self._wrong(chunk, f"row {record['row']}, {record['metric']} in place of {sample.index}")
                scores[metric] = Score.from_json(record).without_judgements()
            yield MergedRow(sample, scores, lines)

    def _wrong(self, chunk: int, what: str) -> ResultsError:
        path = self.journal.part_path(chunk)
        return ResultsError(f"{path}: does not hold its rows: {what}. Remove it, and the same command makes it again.")


def _missing(journal: Journal, missing: Sequence[int]) -> str:
    names = ", ".join(journal.part_path(chunk).name for chunk in missing[:SHOWN])
    more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
    rows = sum(len(journal.plan.rows_of(chunk)) for chunk in missing)
    return (
        f"{journal.results}: {len(missing)} of {journal.plan.chunks} chunks are missing ({rows} rows): {names}{more}. "
        "The command that began the run makes them."
    )


def _judge_paths(journal: Journal) -> dict[str, Any]:
    """How workers ran the judge (`Judge.about`), each way once: the same whoever they were, and however they ended."""
    ways = set()
    for path in (journal.folder / "workers").glob("*.json"):
        with suppress(OSError, ValueError, AttributeError):  # a note that is damaged says nothing
            note = json.loads(path.read_bytes())
            if note.get("plan") == journal.digest and "judge" in note:
                ways.add(json.dumps(note["judge"], sort_keys=True))
    return {"judge_paths": [json.loads(way) for way in sorted(ways)]} if ways else {}
