"""`testset check` as a task: rows x one column, each cell what some of the filters say of a row that exists already."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from rag_evaluator.config import Config, make_config
from rag_evaluator.dataset import CheckedRows, Sample
from rag_evaluator.errors import JudgementError
from rag_evaluator.files import short_digest, write_json, write_lines, write_wide_json
from rag_evaluator.judge import JudgeProtocol
from rag_evaluator.results import as_written
from rag_evaluator.run import Journal, Record, Table
from rag_evaluator.tasks import Make, QuestionStage, TaskJudge, digest_of, plan_of, samples_of

from .checker import FILTERS, NOT_FOUND, OWNERS, Checker
from .prepare import UNANSWERABLE, Candidate
from .selection import duplicates_of

TASK = "testset_check"
STAGE = "verdicts"
COLUMN = "verdict"
NEEDED = ("user_input",)
CONTEXTS = ("reference_contexts", "retrieved_contexts")  # the first that a row has holds its answer
READ = (*NEEDED, "reference", "answerable", *CONTEXTS)
FINDINGS = "testset_check.jsonl"
SUMMARY = "testset_check_summary.json"
MANIFEST = "testset_check_manifest.json"
FLAGS: Mapping[str, str] = {"not_copied": "copied", "answerable": "wrong_reference", "not_known": "too_easy"}
"""Filter -> what people call a row that it would leave out; a row without an answer is `not_answerable`."""


@dataclass(frozen=True)
class RowUnit:
    """A row to be checked; `index` is its place."""

    index: int
    sample: Sample

    @cached_property
    def digest(self) -> str:
        """16 hexadecimal digits of what is checked."""
        return short_digest(self.sample.digest_of(READ))

    @property
    def missing(self) -> str | None:
        """Why the row cannot be checked; None if it can."""
        if not self.sample.has("user_input"):
            return "no question in this row"
        if self.sample.columns.get("answerable") is False:
            return None
        if not self.sample.has("reference"):
            return "no reference in this row"
        return None if any(map(self.sample.has, CONTEXTS)) else "no context in this row"

    @property
    def candidate(self) -> Candidate:
        """The row as a candidate; its kind says only whether it is meant to be answered."""
        columns = self.sample.columns
        kind = UNANSWERABLE if columns.get("answerable") is False else "single_fact"
        contexts: list[str] = next((columns[name] for name in CONTEXTS if self.sample.has(name)), [])
        return Candidate(kind, columns["user_input"].strip(), str(columns.get("reference", "")).strip(), contexts)


class TestsetCheck(QuestionStage):
    """The stage of `testset check`; its units are the rows."""

    __test__ = False  # for pytest
    files = (FINDINGS, SUMMARY, MANIFEST)

    def make(self, judge: JudgeProtocol) -> Make:
        assert self.asking is not None
        checker = Checker(self.asking, judge)

        async def check(unit: RowUnit) -> Record:
            if unit.missing is not None:
                return Record(None, unit.missing)
            try:
                return Record({name: await FILTERS[name](unit.candidate, checker) for name in FLAGS})
            except JudgementError as error:
                return Record(None, str(error), retry=True)

        return check

    def findings(self, table: Table) -> list[dict[str, Any]]:
        """What is said of each row, in order."""
        records = [(unit, records[COLUMN][0]) for unit, records in table]
        repeats = duplicates_of({unit.index: _asked(unit) for unit, record in records if not record.missing})
        return [
            {
                "row": unit.index,
                "id": unit.sample.row.get("id"),
                "sample": unit.sample.digest,
                "user_input": unit.sample.columns.get("user_input"),
                "flags": _flags_of(record.value or {}, repeats.get(unit.index)),
                "reason": record.reason,
                "verdicts": record.value or {},
            }
            for unit, record in records
        ]

    def write(self, table: Table, folder: Path) -> Sequence[str]:
        findings = self.findings(table)
        write_lines(folder / FINDINGS, findings)
        write_json(folder / SUMMARY, findings_summary(findings))
        write_wide_json(folder / MANIFEST, as_written(table.about))
        return self.files


def _asked(unit: RowUnit) -> dict[str, Any]:
    """The row as those are that repeat one another; about the same is what has a context in common."""
    candidate = unit.candidate
    about = {"chunks": candidate.contexts, "correct": {"chunks": ()}, "vector": ()}
    return {"question": candidate.question, "answer": candidate.answer, **about}


def _flags_of(verdicts: Mapping[str, Mapping[str, Any]], repeats: int | None) -> dict[str, str]:
    """What is wrong with a row, by flag, with its reason."""
    flags = {}
    for name, verdict in verdicts.items():
        if not verdict["keep"]:
            flags["not_answerable" if verdict["reason"] == NOT_FOUND else FLAGS[name]] = str(verdict["reason"])
    if repeats is not None:
        flags["duplicate"] = f"nearly the same question as row {repeats}"
    return flags


def check_stage(rows: CheckedRows, config: Config) -> TestsetCheck:
    """The stage for the rows of a dataset. Raises `DatasetError` for a column that cannot be read."""
    asking = TaskJudge(TASK, config, owners=OWNERS)
    rows.whole.check_readable(READ)  # a column that is there and cannot be read is not taken for none
    units, whole = ([RowUnit(sample.index, sample) for sample in part] for part in (rows, rows.whole))
    plan = plan_of(TASK, STAGE, units, COLUMN, asking.signature(), config.chunk_size, digest_of(whole), rows.part)
    return TestsetCheck(units, plan, asking.about(TASK, len(units), rows.part), asking)


def of_journal(journal: Journal) -> TestsetCheck:
    """The stage of a journal, to write its results. Raises `ResultsError` if its rows are not there any more."""
    samples = samples_of(journal, make_config(journal.about["config"]), TASK, NEEDED)
    units = [RowUnit(sample.index, sample) for sample in samples]
    return TestsetCheck(units, journal.plan, journal.about, None)


def findings_summary(findings: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """How many rows have each flag, and why some could not be checked."""
    flags = Counter(flag for finding in findings for flag in finding["flags"])
    return {
        "rows": len(findings),
        "checked": sum(finding["reason"] is None for finding in findings),
        "flagged": sum(bool(finding["flags"]) for finding in findings),
        "flags": dict(flags.most_common()),
        "not_checked": dict(Counter(finding["reason"] for finding in findings if finding["reason"]).most_common()),
    }
