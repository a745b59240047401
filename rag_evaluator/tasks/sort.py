"""`sort` as a task: questions x one column, each cell the judge's order of a question's contexts."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rag_evaluator.config.schema import make_config
from rag_evaluator.config.sections import SortConfig
from rag_evaluator.dataset import Sample, is_blank
from rag_evaluator.dataset.checked import CheckedRows
from rag_evaluator.dataset.field import json_or_text
from rag_evaluator.errors import DatasetError
from rag_evaluator.files.atomic import write_wide_json, write_wide_json_list
from rag_evaluator.judge.protocol import JudgeProtocol
from rag_evaluator.run.journal import Journal
from rag_evaluator.run.task import Plan, Record, Table
from rag_evaluator.tasks.question import (
    Make,
    Question,
    QuestionStage,
    TaskJudge,
    digest_of,
    fields_of,
    manifest_of,
    plan_of,
    questions_of,
    samples_of,
    units_of,
    without_question,
)
from rag_evaluator.tasks.sorting import LASTING, Ranking, Sorter, summarise, with_relevance

TASK, STAGE, COLUMN = "sort", "orders", "order"
ORDERS, SUMMARY, MANIFEST = "sorted_indices.json", "sort_summary.json", "sort_manifest.json"


class Sort(QuestionStage[Question]):
    """The stage of `sort`.

    Args:
        relevance: for each question, the grades of its contexts if there are some.
    """

    files = (ORDERS, SUMMARY, MANIFEST)

    def __init__(
        self,
        units: Sequence[Question],
        plan: Plan,
        about: Mapping[str, Any],
        asking: TaskJudge | None = None,
        settings: SortConfig | None = None,
        relevance: Sequence[list[int] | None] = (),
    ) -> None:
        super().__init__(units, plan, about, asking)
        self.settings = settings or SortConfig()
        self.relevance = relevance or [None] * len(units)

    def make(self, judge: JudgeProtocol) -> Make[Question]:
        assert self.asking is not None
        sorter = Sorter(judge, self.asking.prompts, self.settings)

        async def order(unit: Question) -> Record:
            ranking = await sorter.sort(unit.question, unit.contexts)
            fields = without_question(ranking.fields)
            if fields["sorted"] is not None:
                return Record(fields)
            reason = fields["reasons"]["sorted"]
            return Record(None, reason, retry=reason not in LASTING, details=fields)

        return order

    def rankings(self, table: Table[Question]) -> Iterator[Ranking]:
        """The rankings in the order of the questions, measured against relevance where it is given."""
        for unit, records in table:
            fields = {"question": unit.question, "contexts": list(unit.contexts), **fields_of(records[COLUMN][0])}
            yield with_relevance(Ranking(fields), self.relevance[unit.index])

    def write(self, table: Table[Question], folder: Path) -> None:
        seen: list[Ranking] = []

        def orders() -> Iterator[dict[str, Any]]:
            for ranking in self.rankings(table):
                seen.append(_light(ranking))
                yield dict(ranking.fields)

        write_wide_json_list(folder / ORDERS, orders())
        write_wide_json(folder / SUMMARY, summarise(seen))
        write_wide_json(folder / MANIFEST, manifest_of(table))


def sort_stage(
    questions: Sequence[str],
    contexts: Sequence[Sequence[str]],
    settings: SortConfig,
    asking: TaskJudge,
    relevance: Sequence[list[int] | None] = (),
    data: str | None = None,
    part: Mapping[str, int] | None = None,
) -> Sort:
    """The stage for questions and contexts in hand; `data` and `part` are those of `plan_of`."""
    units = units_of(questions, contexts)
    signature = asking.signature(settings)
    plan = plan_of(TASK, STAGE, units, COLUMN, signature, asking.config.chunk_size, data, part)
    return Sort(units, plan, asking.about(TASK, len(units), part), asking, settings, relevance)


def of_samples(rows: CheckedRows, asking: TaskJudge) -> Sort:
    """The stage for the rows of a dataset. Raises `DatasetError` for a column `relevance` that does not fit."""
    relevance = [_relevance(row) for row in rows]
    data = digest_of(units_of(*questions_of(rows.whole)))
    return sort_stage(*questions_of(rows), asking.config.sort, asking, relevance, data, rows.part)


def of_journal(journal: Journal) -> Sort:
    """The stage of a journal, to write its results. Raises `ResultsError` if its rows are not what was sorted."""
    config = make_config(journal.about["config"])
    samples = samples_of(journal, config, TASK)
    units = units_of(*questions_of(samples))
    relevance = [_relevance(sample) for sample in samples]
    return Sort(units, journal.plan, journal.about, None, config.sort, relevance)


def _light(ranking: Ranking) -> Ranking:
    """What a summary needs of a ranking."""
    return Ranking({name: value for name, value in ranking.fields.items() if name not in ("contexts", "verdicts")})


def _relevance(sample: Sample) -> list[int] | None:
    """The grades that the row gives its contexts, 0 not relevant; None if it gives none."""
    grades = sample.row.get("relevance")
    if isinstance(grades, str):
        try:
            grades = json.loads(grades)
        except ValueError:
            grades = None if is_blank(grades) else grades
    if grades in (None, []):
        return None
    contexts = sample.columns.get("retrieved_contexts", [])
    is_grades = isinstance(grades, list) and all(type(grade) is int and grade >= 0 for grade in grades)
    if not is_grades or len(grades) != len(contexts):
        raise DatasetError(
            f"{sample.where}: column 'relevance': expected one whole number from 0 for each of the {len(contexts)} "
            f"contexts, in their order, received {grades!r:.60}. Rename the column if it is something else."
        )
    if _is_sorted_anew(sample):
        raise DatasetError(
            f"{sample.where}: column 'relevance': the contexts are sorted by score, so that it is not known which "
            "grade belongs to which. Write the lists of the row by descending score."
        )
    return list(grades)


def _is_sorted_anew(sample: Sample) -> bool:
    """Whether the contexts may have another order than in the row: their scores have."""
    scores = sample.columns.get("document_score", [])
    return len(scores) > 1 and scores not in [json_or_text(value, is_cell=True) for value in sample.row.values()]
