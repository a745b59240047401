"""`testset check` as a task: rows x one column, each cell what the filters say of a row that exists already."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rag_evaluator.config.schema import Config, make_config
from rag_evaluator.dataset import check_readable
from rag_evaluator.dataset.checked import CheckedRows
from rag_evaluator.dataset.sample import Sample
from rag_evaluator.errors import JudgementError
from rag_evaluator.features.testset.checker import DECIMALS, DUPLICATE, NOT_FOUND, checker_of
from rag_evaluator.features.testset.prepare import Candidate, Neighbours, signature_with, unit_vectors
from rag_evaluator.features.testset.section import TestsetConfig
from rag_evaluator.features.testset.selection import SlotResult, duplicates_of
from rag_evaluator.files.atomic import short_digest, write_json, write_lines, write_wide_json
from rag_evaluator.judge.protocol import JudgeProtocol
from rag_evaluator.models.embeddings import EmbeddingsSource, embeddings_of
from rag_evaluator.results.manifest import as_written
from rag_evaluator.run.journal import Journal
from rag_evaluator.run.task import Plan, Record, Table
from rag_evaluator.tasks.question import Make, QuestionStage, TaskJudge, digest_of, plan_of, samples_of

CONTEXTS = ("reference_contexts", "retrieved_contexts")  # the first that a row has holds its answer
READ = ("user_input", "reference", "answerable", *CONTEXTS)


@dataclass(frozen=True)
class RowUnit:
    """A row to be checked; `index` is its place."""

    index: int
    sample: Sample

    @cached_property
    def digest(self) -> str:
        """16 hexadecimal digits of what is checked."""
        return short_digest(self.sample.digest_of(READ))


def contexts_of(samples: Sequence[Sample]) -> dict[str, int]:
    """All contexts of a dataset, retrieved or correct, each once -> its place in the order of first appearance."""
    texts = dict.fromkeys(text for sample in samples for name in CONTEXTS for text in sample.columns.get(name, ()))
    return {text: place for place, text in enumerate(texts)}


def missing_of(sample: Sample) -> str | None:
    """Why a row cannot be checked; None if it can."""
    if not sample.has("user_input"):
        return "no question in this row"
    if sample.columns.get("answerable") is False:
        return None
    if not sample.has("reference"):
        return "no reference in this row"
    return None if any(sample.has(name) for name in CONTEXTS) else "no context in this row"


def candidate_of(sample: Sample, contexts: Mapping[str, int], vector: Sequence[float]) -> Candidate:
    """The row as a candidate; its kind says only whether it is meant to be answered."""
    contexts_of_row: list[str] = next((sample.columns[name] for name in CONTEXTS if sample.has(name)), [])
    kind = "unanswerable" if sample.columns.get("answerable") is False else "single_fact"
    return Candidate(
        kind,
        sample.columns["user_input"].strip(),
        str(sample.columns.get("reference", "")).strip(),
        tuple(contexts[text] for text in contexts_of_row),
        tuple(contexts_of_row),
        tuple(vector),
    )


TASK, STAGE, COLUMN = "testset_check", "verdicts", "verdict"
NEEDED = ("user_input",)
OWNERS = ("testset", "generate")  # of prompts
FINDINGS = "testset_check.jsonl"
SUMMARY, MANIFEST = "testset_check_summary.json", "testset_check_manifest.json"
FLAGS: Mapping[str, str] = {
    "not_known": "too_easy",
    "names_document": "ambiguous",
    DUPLICATE: "duplicate",
    "language": "other_language",
    "not_copied": "copied",
}
"""Filter -> what people call a row that it would leave out; `answerable` has two, see `flags_of`."""


class TestsetCheck(QuestionStage[RowUnit]):
    """The stage of `testset check`.

    Args:
        units: the rows.
        contexts: of the whole dataset; None where nothing is left to be checked, as embeddings.
    """

    __test__ = False  # for pytest
    files = (FINDINGS, SUMMARY, MANIFEST)

    def __init__(
        self,
        units: Sequence[RowUnit],
        plan: Plan,
        about: Mapping[str, Any],
        asking: TaskJudge | None = None,
        contexts: Mapping[str, int] | None = None,
        embeddings: EmbeddingsSource | None = None,
    ) -> None:
        super().__init__(units, plan, about, asking)
        self.contexts, self.embeddings = contexts, embeddings

    def make(self, judge: JudgeProtocol) -> Make[RowUnit]:
        assert self.asking is not None and self.contexts is not None and self.embeddings is not None
        model, contexts = self.embeddings.load(), self.contexts
        texts = list(contexts)
        vectors = unit_vectors(np.asarray(model.embed_texts(texts) or [[0.0]], np.float32))
        neighbours = Neighbours(vectors, [str(place) for place in range(len(vectors))])
        checker = checker_of(self.asking, judge, model.aembed_text, texts, neighbours)

        async def check(unit: RowUnit) -> Record:
            reason = missing_of(unit.sample)
            if reason is not None:
                return Record(None, reason)
            try:
                vector = await checker.embed(unit.sample.columns["user_input"])
                candidate = candidate_of(unit.sample, contexts, vector)
                _, verdicts = await checker.verdicts(candidate, all_filters=True)
            except JudgementError as error:
                return Record(None, str(error), retry=True)
            fields = candidate.to_json()
            return Record({**fields, "verdicts": verdicts, "vector": [round(part, DECIMALS) for part in vector]})

        return check

    def findings(self, table: Table[RowUnit]) -> list[dict[str, Any]]:
        """What is said of each row, in order."""
        records = [(unit, records[COLUMN][0]) for unit, records in table]
        made = [
            SlotResult(unit.index, "", {**record.value, "keep": True, "correct": {"chunks": record.value["chunks"]}})
            for unit, record in records
            if not record.missing
        ]
        filters = make_config(self.about["config"]).section(TestsetConfig).filters
        repeats = duplicates_of(made) if DUPLICATE in filters else {}
        findings = []
        for unit, record in records:
            verdicts = (record.value or {}).get("verdicts", {})
            finding = {
                "row": unit.index,
                "id": unit.sample.row.get("id"),
                "sample": unit.sample.digest,
                "user_input": unit.sample.columns.get("user_input"),
                "flags": flags_of(verdicts, repeats.get(unit.index)),
                "reason": record.reason,
                "verdicts": verdicts,
            }
            findings.append(finding)
        return findings

    def write(self, table: Table[RowUnit], folder: Path) -> None:
        findings = self.findings(table)
        write_lines(folder / FINDINGS, findings)
        write_json(folder / SUMMARY, findings_summary(findings))
        write_wide_json(folder / MANIFEST, as_written(table.about))


def flags_of(verdicts: Mapping[str, Mapping[str, Any]], repeats: int | None = None) -> dict[str, str]:
    """What is wrong with a row, by flag, with its reason: too_easy, ambiguous, not_answerable, wrong_reference, ...

    A row whose own contexts do not give its reference is not called ambiguous, too.
    """
    flags = {
        FLAGS[name]: str(verdict["reason"])
        for name, verdict in verdicts.items()
        if name in FLAGS and not verdict["keep"]
    }
    answerable = verdicts.get("answerable", {"keep": True})
    if not answerable["keep"]:
        flags.pop("ambiguous", None)
        flag = "not_answerable" if answerable["reason"] == NOT_FOUND else "wrong_reference"
        flags[flag] = str(answerable["reason"])
    if repeats is not None:
        flags["duplicate"] = f"nearly the same question as row {repeats}"
    return flags


def check_stage(rows: CheckedRows, config: Config, judge: Any = None, embeddings: Any = None) -> TestsetCheck:
    """The stage for the rows of a dataset. Raises `DatasetError` for a column that cannot be read.

    Args:
        judge, embeddings: as `check_testset` takes them; None takes the configured ones.
    """
    asking = TaskJudge(TASK, config, judge, OWNERS)
    source = embeddings_of(embeddings, config.embeddings, config.offline)
    check_readable(rows.whole, READ)  # a column that is there and cannot be read is not taken for none
    units, whole = ([RowUnit(sample.index, sample) for sample in part] for part in (rows, rows.whole))
    contexts = contexts_of(rows.whole)
    settings, pool = config.section(TestsetConfig), short_digest("\n".join(contexts))
    parts = {"neighbours": settings.neighbours, "filters": settings.filters, "contexts": pool}
    signature = signature_with(asking, source, parts)
    plan = plan_of(TASK, STAGE, units, COLUMN, signature, config.chunk_size, digest_of(whole), rows.part)
    return TestsetCheck(units, plan, asking.about(TASK, len(units), rows.part), asking, contexts, source)


def of_journal(journal: Journal) -> TestsetCheck:
    """The stage of a journal, to write its results. Raises `ResultsError` if its rows are not there any more."""
    samples = samples_of(journal, make_config(journal.about["config"]), TASK, NEEDED)
    return TestsetCheck([RowUnit(sample.index, sample) for sample in samples], journal.plan, journal.about)


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
