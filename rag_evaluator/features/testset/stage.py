"""`testset` as a task: slots x one column, each cell a candidate with its verdicts; chosen among them at the end."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_evaluator.config.schema import Config, make_config, with_arguments
from rag_evaluator.dataset.sample import RowChoice
from rag_evaluator.errors import ConfigError, ResultsError
from rag_evaluator.features.testset.checker import OWNERS, CandidateMaker, Checker
from rag_evaluator.features.testset.corpus import Corpus, read_corpus
from rag_evaluator.features.testset.prepare import (
    FOLDER,
    Slot,
    corpus_of,
    neighbours_of,
    slots_of,
    useful,
)
from rag_evaluator.features.testset.section import TestsetConfig
from rag_evaluator.features.testset.selection import SlotResult, details_of, rows_of, select, summary_of, write_sheet
from rag_evaluator.files.atomic import short_digest, write_json, write_lines, write_whole, write_wide_json
from rag_evaluator.files.jsonl import read_lines
from rag_evaluator.files.progress import Progress, automatic
from rag_evaluator.judge.protocol import JudgeProtocol
from rag_evaluator.models.embeddings import EmbeddingsSource, embeddings_of
from rag_evaluator.results.manifest import as_written
from rag_evaluator.results.rows import DETAILS
from rag_evaluator.run.journal import Journal, place_of, read_manifest
from rag_evaluator.run.table import Table
from rag_evaluator.run.task import Plan
from rag_evaluator.run.worker_journal import Start
from rag_evaluator.run.workers import Worker
from rag_evaluator.tasks.question import (
    Make,
    QuestionStage,
    Settings,
    TaskJudge,
    judge_source,
    plan_of,
    run_and_keep,
    settings_of,
)

if TYPE_CHECKING:
    import pandas as pd

TASK, STAGE, COLUMN = "testset", "candidates", "candidate"
ROWS, BOOK, SUMMARY = "testset.jsonl", "testset.xlsx", "testset_summary.json"
QUESTIONS = f"testset_{DETAILS}"
MANIFEST = "testset_manifest.json"
ASKED_WITH = ("neighbours", "filters", "keep_hard")  # settings that a candidate depends on


class Testset(QuestionStage):
    """The stage of `testset make`.

    Args:
        units: the slots.
        corpus: of the documents.
        useful: places of the chunks that questions are made from.
        embeddings: None where nothing is left to be made.
    """

    __test__ = False  # for pytest
    files = (ROWS, BOOK, QUESTIONS, SUMMARY, MANIFEST)

    def __init__(
        self,
        units: Sequence[Slot],
        plan: Plan,
        about: Mapping[str, Any],
        corpus: Corpus,
        useful: Sequence[int],
        asking: TaskJudge | None = None,
        embeddings: EmbeddingsSource | None = None,
    ) -> None:
        super().__init__(units, plan, about, asking)
        self.corpus, self.useful, self.embeddings = corpus, useful, embeddings

    @property
    def settings(self) -> TestsetConfig:
        """Of the configuration of this start."""
        return make_config(self.about["config"]).section(TestsetConfig)

    def make(self, judge: JudgeProtocol) -> Make:
        assert self.asking is not None and self.embeddings is not None
        model, folder = self.embeddings.load(), self.asking.config.results_dir / FOLDER
        neighbours = neighbours_of(self.corpus, model.embed_texts, self.embeddings.identity or "", folder)
        checker = Checker(self.asking, judge)
        return CandidateMaker(self.corpus.chunks, frozenset(self.useful), neighbours, model.aembed_text, checker).make

    def is_written(self, folder: Path) -> bool:
        try:
            summary = read_summary(folder)
        except ResultsError:
            return False
        return bool(summary["settings"] == _of_selection(self.settings))

    def write(self, table: Table, folder: Path) -> None:
        settings, made = self.settings, []
        for unit, records in table:
            record = records[COLUMN][0]
            made.append(SlotResult(unit.index, unit.kind, record.value, record.reason))
        selection = select(made, settings)
        rows = list(rows_of(made, selection, self.corpus.chunks))
        write_lines(folder / ROWS, rows)
        write_whole(folder / BOOK, lambda to: write_sheet(to, rows))
        write_lines(folder / QUESTIONS, details_of(made, selection, self.corpus.chunks))
        write_wide_json(folder / MANIFEST, _of_size(as_written(table.about), settings.size))
        summary = summary_of(made, selection, self.corpus, settings.size)
        write_json(folder / SUMMARY, {**summary, "settings": _of_selection(settings)})


def testset_stage(config: Config, judge: Any = None, embeddings: Any = None) -> Testset:
    """The stage for the documents of a configuration. Raises `ConfigError` if they cannot give that many questions.

    Args:
        judge, embeddings: as `make_testset` takes them; None takes the configured ones.
    """
    asking, corpus = TaskJudge(TASK, config, judge, OWNERS), corpus_of(config)
    source = embeddings_of(embeddings, config.embeddings, config.offline)
    settings = config.section(TestsetConfig)
    places = useful(corpus.chunks)
    wanted = settings.candidates or 2 * settings.size
    most = len(places) * sum(share > 0 for share in settings.kinds.values())  # each useful chunk once for each kind
    if settings.size > most:
        raise ConfigError(
            f"{config.place('testset', 'size')}: {settings.size} questions are wanted, and {len(places)} chunks that "
            f"are long enough give at most {most} candidates. Give more documents, or a smaller size."
        )
    slots = slots_of(corpus.chunks, places, settings.kinds, wanted, settings.seed)
    asked_with = {name: getattr(settings, name) for name in ASKED_WITH}
    line = asking.signature()
    parts = {**asked_with, "corpus": corpus.digest[:16], **source.parts}
    is_named = line is not None and source.identity is not None
    signature = "|".join([str(line), *(f"{name}:{value}" for name, value in parts.items())]) if is_named else None
    part = RowChoice.make(most, len(slots)).to_json()
    plan = plan_of(TASK, STAGE, slots, COLUMN, signature, config.chunk_size, _data(corpus, settings), part)
    return Testset(slots, plan, asking.about(TASK, len(slots)), corpus, places, asking, source)


def start_of(stage: Testset, results: Path, worker: Worker, start: Start) -> Start:
    """How to start where there were more candidates: those that are left out now are kept beside the run."""
    if start != "continue" or worker.count > 1:
        return start
    old = read_manifest(place_of(results, TASK, STAGE))
    has_fewer = old is not None and not stage.plan.changes(old.plan) and not stage.plan.holds_rows_of(old.plan)
    return "update" if has_fewer else start


def of_journal(journal: Journal) -> Testset:
    """The stage of a journal, to write its results. Raises `ResultsError` if the corpus is not there any more."""
    about = journal.about
    with suppress(ResultsError):  # none were written yet
        about = _of_size(about, read_summary(journal.results)["settings"]["size"])
    settings = make_config(about["config"]).section(TestsetConfig)
    corpus = read_corpus(journal.results / FOLDER)
    places = useful(corpus.chunks)
    slots = slots_of(corpus.chunks, places, settings.kinds, journal.plan.units, settings.seed)
    if _data(corpus, settings) != journal.plan.data:
        raise ResultsError(f"{journal.results}: its documents have changed since. Run 'testset make' again.")
    return Testset(slots, journal.plan, about, corpus, places)


def _of_size(about: Mapping[str, Any], size: int) -> dict[str, Any]:
    """What a manifest says, with another number of wanted questions, which every start may change."""
    config = about["config"]
    return {**about, "config": {**config, "testset": {**config["testset"], "size": size}}}


def read_summary(results: Path) -> dict[str, Any]:
    """What `testset_summary.json` says. Raises `ResultsError`."""
    try:
        summary: dict[str, Any] = json.loads((results / SUMMARY).read_bytes())
        summary["settings"], summary["chosen"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ResultsError(f"{results / SUMMARY}: cannot be read: {error!r}.") from error
    return summary


def _data(corpus: Corpus, settings: TestsetConfig) -> str:
    """16 hexadecimal digits of what the slots come from, however many of them are taken."""
    shares = {kind: share for kind, share in settings.kinds.items() if share > 0}
    return short_digest(json.dumps([corpus.digest, sorted(shares.items()), settings.seed]))


def _of_selection(settings: TestsetConfig) -> dict[str, Any]:
    """What the choice among the candidates depends on."""
    fields = settings.model_dump(mode="json")
    return {name: fields[name] for name in ("size", "kinds", "filters")}


@dataclass(frozen=True)
class MadeTestset:
    """What `make_testset` gives.

    Attributes:
        folder: where the files are.
        rows: of `testset.jsonl`; `dataset` of an evaluation can be this list once responses are added.
        summary: as in `testset_summary.json`: kinds, difficulty, what was left out and why.
    """

    folder: Path
    rows: list[dict[str, Any]] = field(repr=False)
    summary: Mapping[str, Any]  # Any: JSON

    def to_pandas(self) -> "pd.DataFrame":
        """`rows` as a frame."""
        import pandas as pd

        return pd.DataFrame(self.rows)


def make_testset(
    documents: Sequence[str | Path] | str | Path | None = None,
    size: int | None = None,
    *,
    judge: Any = None,
    embeddings: Any = None,
    language: str | None = None,
    config: Settings = None,
    output_dir: str | Path | None = None,
    fresh: bool = False,
    progress: Progress = automatic,
) -> MadeTestset:
    """Make a test set from documents: questions, reference answers and, of each, all correct contexts.

    Args:
        documents: files and folders, or a single one; None takes `testset.documents` of the configuration.
        size: questions wanted; None takes the configured size.
        judge: a model folder, a `Judge`, a `HuggingFacePipeline` or any ragas LLM; None takes the configured one.
        embeddings: a folder or hub id, or a langchain `Embeddings`; None takes the configured ones.
        language: of prompts and questions; None takes the configured one.
        config: a `Config`, a mapping with its keys or a YAML file.
        output_dir: gets the files, and a journal from which a call that was stopped continues; None: `results/<name>`.
        fresh: forget candidates of earlier calls.
        progress: called with (candidates done, candidates); see docs/progress.md. By default lines.

    Raises `RagEvaluatorError` for bad input before the judge is loaded.
    """
    settings = settings_of(config, language)
    sources = [documents] if isinstance(documents, str | Path) else documents
    paths = None if sources is None else [Path(source).expanduser().resolve() for source in sources]
    section = with_arguments(settings.section(TestsetConfig), documents=paths, size=size)
    settings = settings.model_copy(update={"testset": section})
    if output_dir is not None:
        folder = Path(output_dir).expanduser().resolve()
        settings = settings.model_copy(update={"output_dir": folder.parent, "name": folder.name})
    stage = testset_stage(settings, judge_source(judge, settings), embeddings)
    run_and_keep(stage, settings.results_dir, fresh, progress)
    rows = [row for _, row in read_lines(settings.results_dir / ROWS, json.loads)]
    return MadeTestset(settings.results_dir, rows, read_summary(settings.results_dir))
