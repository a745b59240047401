"""A panel: one evaluator for each judge; they work one after the other, so that one model is in memory at a time."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_evaluator.config import Config, with_arguments
from rag_evaluator.config_judges import PanelJudge, name_judges
from rag_evaluator.config_sections import JudgeConfig
from rag_evaluator.errors import RagEvaluatorError
from rag_evaluator.judge.source import source_of
from rag_evaluator.progress import Progress, silent
from rag_evaluator.results.panel import PanelTable
from rag_evaluator.results.results import Results
from rag_evaluator.results.rows import Table
from rag_evaluator.run.journal import Journal
from rag_evaluator.run.worker_journal import Start
from rag_evaluator.run.workers import ALONE, Worker
from rag_evaluator.signals import Stop
from rag_evaluator.tasks.evaluation import Evaluation, ScoredTable
from rag_evaluator.tasks.panel import Panel, begin, configs_of, panel_table, table_of

if TYPE_CHECKING:
    from rag_evaluator.api.evaluator import RAGEvaluator

Make = Callable[[Config, Any], "RAGEvaluator"]  # of one judge: its configuration, and the judge if one was given


def with_judges(config: Config, judges: Mapping[str, Any]) -> Config:
    """The configuration of a panel whose judges were given from Python, by name. Any: what a judge can be."""
    settings = {name: source_of(judge, config.judge, config.offline).config for name, judge in judges.items()}
    panel = [with_arguments(PanelJudge.model_validate(own.model_dump()), name=name) for name, own in settings.items()]
    named = name_judges(panel, lambda *key: "judge")
    return config.model_copy(update={"judges": named, "judge": JudgeConfig()})


class PanelEvaluator:
    """Judges a dataset with several judges.

    Args:
        config: with `judges`.
        given: judges that were given as objects, by name; the others are those of the configuration.
        make: makes the evaluator of one judge.
    """

    def __init__(self, config: Config, given: Mapping[str, Any], make: Make) -> None:
        self.config = config
        self.evaluators = {name: make(own, given.get(name)) for name, own in configs_of(config).items()}

    @property
    def metrics(self) -> Mapping[str, Any]:
        """Those of the first judge, which has all."""
        return next(iter(self.evaluators.values())).metrics

    def stages(self, data: Any) -> dict[str, Evaluation]:
        """What each judge has to do, checked as far as that needs no model. Raises `RagEvaluatorError`."""
        next(iter(self.evaluators.values())).rows(data)  # a fault of the rows is no judge's
        found = {}
        for place, (name, evaluator) in enumerate(self.evaluators.items()):
            with self._of(place, name):
                evaluator.judge.check()
                found[name] = evaluator.stage(data)
        return found

    @contextmanager
    def _of(self, place: int, name: str) -> Iterator[None]:
        """Says in an error which judge it is about."""
        try:
            yield
        except RagEvaluatorError as error:
            where = self.config.place("judges", place)
            raise type(error)(f"{where}: judges[{place}] ({name}): {error}") from None

    def signatures(self) -> dict[str, str]:
        return self._table({name: _Unscored(own.signatures()) for name, own in self.evaluators.items()}).signatures

    def in_memory(self, data: Any, progress: Progress = silent) -> Results:
        """Score every sample with every judge, without a folder."""
        stages = self.stages(data)
        shown = _Shown(stages, progress)
        judges: dict[str, Results] = {}
        for name, evaluator in self.evaluators.items():
            judges[name] = evaluator.evaluate(data, shown.of(name))
            evaluator.judge.release()
        return _results(self._table(judges), stages, None)

    def in_folder(self, data: Any, progress: Progress, folder: Path, start: Start) -> Results:
        """The same in a results folder, that of the panel."""
        stages = self._run(folder, data, ALONE, progress, None, start)
        table = self._table(_tables(self._in(folder), stages))
        return _results(table, stages, table)

    def run(
        self, folder: Path, data: Any, worker: Worker, progress: Progress, stop: Stop | None, start: Start
    ) -> Journal:
        """One worker's part of all judges' runs; the journal of the first judge, which has all metrics."""
        self._run(folder, data, worker, progress, stop, start)
        return next(iter(self._in(folder).journals().values()))

    def _run(
        self, folder: Path, data: Any, worker: Worker, progress: Progress, stop: Stop | None, start: Start
    ) -> dict[str, Evaluation]:
        stages, panel = self.stages(data), self._in(folder)
        if start == "continue":
            panel.refuse_fewer_rows({name: stage.plan for name, stage in stages.items()})
        begin(self.config, folder, start)
        shown = _Shown(stages, progress)
        for name, place in panel.folders.items():
            self.evaluators[name].run(place, data, worker, shown.of(name), stop, start)
            self.evaluators[name].judge.release()
        if not panel.is_written():
            panel.write(_tables(panel, stages))
        return stages

    def _in(self, folder: Path) -> Panel:
        return Panel(self.config, folder, self.metrics)

    def _table(self, judges: Mapping[str, Table]) -> PanelTable:
        return panel_table(self.config, self.metrics, judges)


def _tables(panel: Panel, stages: Mapping[str, Evaluation]) -> dict[str, ScoredTable]:
    """The finished scores of the judges."""
    return {name: table_of(journal, stages[name]) for name, journal in panel.journals().items()}


def _results(table: PanelTable, stages: Mapping[str, Evaluation], judged: PanelTable | None) -> Results:
    """The scores of a table; light ones where the judgements stay on disk."""
    scores: dict[str, list[Any]] = {name: [] for name in table.metrics}
    for row in table:
        for name, score in row.scores.items():
            scores[name].append(score if judged is None else score.without_judgements())
    samples = next(iter(stages.values())).units
    return Results(samples, scores, table.signatures, table.manifest, judged)


class _Unscored:
    """A table of which only the signatures are known."""

    def __init__(self, signatures: Mapping[str, str]) -> None:
        self.metrics, self.manifest = list(signatures), {"signatures": dict(signatures)}

    def columns(self) -> list[str]:
        return []

    def __iter__(self) -> Iterator[Any]:
        return iter(())


class _Shown:
    """Progress over the runs of all judges."""

    def __init__(self, stages: Mapping[str, Evaluation], progress: Progress) -> None:
        self.cells = {name: stage.plan.cells for name, stage in stages.items()}
        self.progress = progress

    def of(self, judge: str) -> Progress:
        names = list(self.cells)
        before = sum(self.cells[name] for name in names[: names.index(judge)])
        return lambda done, total: self.progress(before + done, sum(self.cells.values()))
