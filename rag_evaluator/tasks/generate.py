"""`generate` as a task: questions x one column, each cell a reference answer written from a question's contexts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rag_evaluator.config import make_config
from rag_evaluator.config_sections import GenerateConfig
from rag_evaluator.dataset import Sample
from rag_evaluator.dataset.checked import CheckedRows
from rag_evaluator.files.atomic import safe_names, write_lines, write_wide_json
from rag_evaluator.judge.protocol import JudgeProtocol
from rag_evaluator.run.journal import Journal
from rag_evaluator.run.plan import Plan
from rag_evaluator.run.task import Record, Table
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
from rag_evaluator.tasks.references import Generator, Reference

TASK, STAGE, COLUMN = "generate", "references", "reference"
ROWS, MANIFEST, ANSWERS = "dataset_with_reference.jsonl", "generate_manifest.json", "gt"


@dataclass(frozen=True)
class Output:
    """Where references go.

    Attributes:
        answers: folder of `GT_<question>.json`.
        samples: rows that get the references as a column; None where only the answers are written.
        chosen: positions of the rows whose references are made.
    """

    answers: Path
    samples: Sequence[Sample] | None = None
    chosen: Sequence[int] = field(default_factory=list)


class Generate(QuestionStage[Question]):
    """The stage of `generate`."""

    def __init__(
        self,
        units: Sequence[Question],
        plan: Plan,
        about: Mapping[str, Any],
        output: Output,
        asking: TaskJudge | None = None,
        settings: GenerateConfig | None = None,
    ) -> None:
        super().__init__(units, plan, about, asking)
        self.settings, self.output = settings or GenerateConfig(), output
        self.files = (MANIFEST,) if output.samples is None else (ROWS, MANIFEST)
        self.names = safe_names([unit.question for unit in units])

    def make(self, judge: JudgeProtocol) -> Make[Question]:
        assert self.asking is not None
        generator = Generator(judge, self.asking.prompts, self.settings)

        async def write(unit: Question) -> Record:
            reference = await generator.generate(unit.question, unit.contexts)
            self._save(unit, reference)
            fields = without_question(reference.to_json())
            if reference.ground_truth or not reference.failed:
                return Record(fields)
            return Record(None, reference.reason, retry=True, details=fields)

        return write

    def references(self, table: Table[Question]) -> Iterator[Reference]:
        """The references in the order of the questions."""
        for unit, records in table:
            yield Reference(unit.question, list(unit.contexts), **fields_of(records[COLUMN][0]))

    def is_written(self, folder: Path, plan: Plan) -> bool:
        return all(self._path(unit).is_file() for unit in self.units)

    def write(self, table: Table[Question], folder: Path) -> None:
        for unit, reference in zip(self.units, self.references(table), strict=True):
            self._save(unit, reference)
        if self.output.samples is not None:
            write_lines(folder / ROWS, self._rows(self.output.samples, table))
        write_wide_json(folder / MANIFEST, manifest_of(table))

    def _rows(self, samples: Sequence[Sample], table: Table[Question]) -> Iterator[dict[str, Any]]:
        """The rows of the dataset, those that had no reference with one."""
        references, chosen = self.references(table), set(self.output.chosen)
        for sample in samples:
            yield _with_reference(sample, next(references) if sample.index in chosen else None)

    def _save(self, unit: Question, reference: Reference) -> None:
        write_wide_json(self._path(unit), reference.to_json())

    def _path(self, unit: Question) -> Path:
        return self.output.answers / f"GT_{self.names[unit.index]}.json"


def generate_stage(
    questions: Sequence[str],
    contexts: Sequence[Sequence[str]],
    settings: GenerateConfig,
    asking: TaskJudge,
    output: Output,
    data: str | None = None,
    part: Mapping[str, int] | None = None,
) -> Generate:
    """The stage for questions and contexts in hand; `data` and `part` are those of `plan_of`."""
    units = units_of(questions, contexts)
    signature = asking.signature(settings.model_copy(update={"replace": False}))  # says which rows, not how
    plan = plan_of(TASK, STAGE, units, COLUMN, signature, asking.config.chunk_size, data, part)
    return Generate(units, plan, asking.about(TASK, len(units), part), output, asking, settings)


def of_samples(rows: CheckedRows, asking: TaskJudge) -> Generate:
    """The stage for the rows of a dataset that have no reference, or all with `generate.replace`."""
    config = asking.config
    chosen = _chosen(rows, config.generate)
    output = Output(config.results_dir / ANSWERS, rows, [row.index for row in chosen])
    data = digest_of(units_of(*questions_of(_chosen(rows.whole, config.generate))))
    return generate_stage(*questions_of(chosen), config.generate, asking, output, data, rows.part)


def of_journal(journal: Journal) -> Generate:
    """The stage of a journal, to write its results. Raises `ResultsError` if its rows are not there any more."""
    config = make_config(journal.about["config"])
    samples = samples_of(journal, config, TASK)
    chosen = _chosen(samples, config.generate)
    units = units_of(*questions_of(chosen))
    output = Output(journal.results / ANSWERS, samples, [sample.index for sample in chosen])
    return Generate(units, journal.plan, journal.about, output, None, config.generate)


def _chosen(samples: Sequence[Sample], settings: GenerateConfig) -> list[Sample]:
    return [sample for sample in samples if settings.replace or not sample.has("reference")]


def _with_reference(sample: Sample, reference: Reference | None) -> dict[str, Any]:
    """The row with its answer; in `ground_truth` where `reference` is a retrieval log's name for contexts."""
    if reference is None:
        return dict(sample.row)
    name = "ground_truth" if isinstance(sample.row.get("reference"), list) else "reference"
    column = {name: reference.ground_truth or None}
    return {**sample.row, **column, **({"reference_reason": reference.reason} if reference.reason else {})}
