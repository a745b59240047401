"""`testset` as a task: slots x one column, each cell a candidate with its verdicts; chosen among them at the end."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rag_evaluator.config import Config, make_config
from rag_evaluator.dataset import RowChoice
from rag_evaluator.embeddings import EmbeddingsSource
from rag_evaluator.errors import ConfigError, ResultsError
from rag_evaluator.files import short_digest, write_json, write_lines, write_wide_json
from rag_evaluator.judge import JudgeProtocol
from rag_evaluator.results import DETAILS, as_written
from rag_evaluator.run import Journal, Plan, Start, Table, Worker, place_of, read_manifest
from rag_evaluator.tasks import Make, QuestionStage, TaskJudge, plan_of

from .checker import OWNERS, CandidateMaker, Checker
from .corpus import Corpus, read_corpus
from .prepare import (
    FOLDER,
    Slot,
    corpus_of,
    is_useful,
    neighbours_of,
    slots_of,
)
from .section import TestsetConfig
from .selection import details_of, rows_of, select, summary_of

TASK = "testset"
STAGE = "candidates"
COLUMN = "candidate"
ROWS = "testset.jsonl"
SUMMARY = "testset_summary.json"
QUESTIONS = f"testset_{DETAILS}"
MANIFEST = "testset_manifest.json"
ASKED_WITH = ("neighbours", "filters", "keep_hard")  # settings that a candidate depends on


class Testset(QuestionStage):
    """The stage of `testset make`.

    Args:
        units: the slots.
        corpus: of the documents.
        embeddings: None where nothing is left to be made.
    """

    __test__ = False  # for pytest
    files = (ROWS, QUESTIONS, SUMMARY, MANIFEST)

    def __init__(
        self,
        units: Sequence[Slot],
        plan: Plan,
        about: Mapping[str, Any],
        corpus: Corpus,
        asking: TaskJudge | None = None,
        embeddings: EmbeddingsSource | None = None,
    ) -> None:
        super().__init__(units, plan, about, asking)
        self.corpus = corpus
        self.embeddings = embeddings

    @property
    def settings(self) -> TestsetConfig:
        """Of the configuration of this start."""
        return make_config(self.about["config"]).section(TestsetConfig)

    def make(self, judge: JudgeProtocol) -> Make:
        assert self.asking is not None and self.embeddings is not None
        model = self.embeddings.load()
        folder = self.asking.config.results_dir / FOLDER
        neighbours = neighbours_of(self.corpus, model.embed_texts, str(self.embeddings.identity), folder)
        checker = Checker(self.asking, judge)
        return CandidateMaker(self.corpus.chunks, neighbours, model.aembed_text, checker).make

    def is_written(self, folder: Path) -> bool:
        return _last_size(folder) == self.settings.size

    def write(self, table: Table, folder: Path) -> Sequence[str]:
        settings = self.settings
        made = [(slot, records[COLUMN][0]) for slot, records in table]
        chosen, duplicates = select(made, settings)
        write_lines(folder / ROWS, rows_of(made, chosen, self.corpus.chunks))
        details = list(details_of(made, set(chosen), duplicates, self.corpus.chunks))
        write_lines(folder / QUESTIONS, details)
        write_wide_json(folder / MANIFEST, _of_size(as_written(table.about), settings.size))
        chosen_by = settings.model_dump(mode="json", include={"size", "kinds", "filters"})
        summary = summary_of(details, self.corpus, settings.size)
        write_json(folder / SUMMARY, {**summary, "settings": chosen_by})
        return self.files


def testset_stage(config: Config) -> Testset:
    """The stage for the documents of a configuration. Raises `ConfigError` if they cannot give that many questions."""
    asking = TaskJudge(TASK, config, owners=OWNERS)
    corpus = corpus_of(config)
    source = EmbeddingsSource(None, config.embeddings, config.offline)
    settings = config.section(TestsetConfig)
    places = sum(map(is_useful, corpus.chunks))
    wanted = settings.candidates or 2 * settings.size
    most = places * sum(share > 0 for share in settings.kinds.values())  # each useful chunk once for each kind
    if settings.size > most:
        raise ConfigError(
            f"{config.place('testset', 'size')}: {settings.size} questions are wanted, and {places} chunks that "
            f"are long enough give at most {most} candidates. Give more documents, or a smaller size."
        )
    slots = slots_of(corpus.chunks, settings.kinds, wanted, settings.seed)
    asked_with = {name: getattr(settings, name) for name in ASKED_WITH}
    line = asking.signature()
    parts = {**asked_with, "corpus": corpus.digest[:16], **source.parts}
    signature = line and "|".join([line, *(f"{name}:{value}" for name, value in parts.items())])
    part = RowChoice.make(most, len(slots)).to_json()
    plan = plan_of(TASK, STAGE, slots, COLUMN, signature, config.chunk_size, _data(corpus, settings), part)
    return Testset(slots, plan, asking.about(TASK, len(slots)), corpus, asking, source)


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
    if (size := _last_size(journal.results)) is not None:
        about = _of_size(about, size)
    settings = make_config(about["config"]).section(TestsetConfig)
    corpus = read_corpus(journal.results / FOLDER)
    slots = slots_of(corpus.chunks, settings.kinds, journal.plan.units, settings.seed)
    if _data(corpus, settings) != journal.plan.data:
        raise ResultsError(f"{journal.results}: its documents have changed since. Run 'testset make' again.")
    return Testset(slots, journal.plan, about, corpus)


def _of_size(about: Mapping[str, Any], size: int) -> dict[str, Any]:
    """What a manifest says, with another number of wanted questions, which every start may change."""
    config = about["config"]
    return {**about, "config": {**config, "testset": {**config["testset"], "size": size}}}


def _last_size(results: Path) -> int | None:
    """How many questions were wanted when some were chosen last; None: none were yet."""
    path = results / SUMMARY
    return json.loads(path.read_bytes())["settings"]["size"] if path.is_file() else None


def _data(corpus: Corpus, settings: TestsetConfig) -> str:
    """16 hexadecimal digits of what the slots come from, however many of them are taken."""
    shares = {kind: share for kind, share in settings.kinds.items() if share > 0}
    return short_digest(json.dumps([corpus.digest, sorted(shares.items()), settings.seed]))
