"""`duel`: which of two runs answers better, row by row, by the judge."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rag_evaluator.comparison.saved_scores import read_scores
from rag_evaluator.errors import ConfigError
from rag_evaluator.features.duel.stage import TASK, WIN_RATE, beside, duel_overview, for_duel, of_runs, recorded_config
from rag_evaluator.files.progress import Progress, automatic
from rag_evaluator.results.overview import Overview, WithOverview, counted
from rag_evaluator.run.merge import ChunkTable
from rag_evaluator.run.stages import run_stage
from rag_evaluator.run.workers import ALONE
from rag_evaluator.tasks.question import Settings, TaskJudge, judge_source, settings_of, shown


@dataclass(frozen=True)
class Duel(WithOverview):
    """What `duel` gives.

    Attributes:
        folder: where the files are.
        summary: as in `duel_summary.json`.
        rows: as in `duel.json`.
    """

    folder: Path
    summary: Mapping[str, Any]  # Any: JSON
    rows: list[dict[str, Any]] = field(repr=False)

    def __repr__(self) -> str:
        rate = "none" if self.win_rate is None else f"{self.win_rate:.2f}"
        return (
            f"Duel({self.summary['a']} against {self.summary['b']}: {counted(len(self.rows), 'row')}, win rate {rate})"
        )

    def overview(self) -> Overview:
        return Overview(list(duel_overview(self.summary)))

    @property
    def win_rate(self) -> float | None:
        """Of a over b, [0, 1], a tie being half a win; None if no row could be judged."""
        rate: float | None = self.summary["measures"][WIN_RATE]["mean"]
        return rate


def duel(
    a: Any,
    b: Any,
    *,
    on: str | None = None,
    judge: Any = None,
    language: str | None = None,
    config: Settings = None,
    output_dir: str | Path | None = None,
    fresh: bool = False,
    progress: Progress = automatic,
) -> Duel:
    """Which of two runs answers better, row by row, by the judge; each pair of answers is shown in both orders.

    Args:
        a, b: each a results folder, `Results`, or a table of scores with responses, as in `compare`.
        on: the column by which rows are matched; None takes `id` if every row has its own, else the question.
        judge: a model folder, a `Judge`, a `HuggingFacePipeline` or any ragas LLM; None takes the configured one.
        language: of the prompt; None takes the configured one.
        config: a `Config`, a mapping with its keys or a YAML file; None takes the configuration that a was scored with.
        output_dir: gets `duel.json`, `duel_summary.json` and `duel_manifest.json`, and the judge's answers in
            `journal`, from which a call that was stopped continues. None: `duel-<a>-<b>` beside the folder of a.
        fresh: forget answers of earlier calls.
        progress: called with (rows done, rows); see docs/progress.md. By default a bar in notebooks.

    Raises `RagEvaluatorError` for bad input before a model is loaded.
    """
    runs = [read_scores(source, place, [] if on is None else [on]) for place, source in enumerate((a, b))]
    places = [_folder_of(source) for source in (a, b)]
    settings = settings_of(recorded_config(runs[0]) if config is None else config, language)
    folder = _output_folder(output_dir, *places)
    source = judge_source(judge, settings)
    names = [None if place is None else str(place) for place in places]
    stage = of_runs(runs, on, TaskJudge(TASK, for_duel(settings, folder), source), names)
    with shown(progress, stage.plan.cell_noun) as at:
        journal = run_stage(stage, folder, ALONE, at, start="fresh" if fresh else "update")
        table = ChunkTable(journal, stage)
        return Duel(folder, stage.summary(table), list(stage.rows(table)))


def _folder_of(source: Any) -> Path | None:
    """The absolute path of a results folder; None for what is given in another way."""
    path = Path(source).expanduser().resolve() if isinstance(source, str | Path) else None
    return path if path is not None and path.is_dir() else None


def _output_folder(output_dir: str | Path | None, a: Path | None, b: Path | None) -> Path:
    if output_dir is not None:
        return Path(output_dir).expanduser().resolve()
    if a is None or b is None:
        raise ConfigError("duel: give output_dir, as a and b are not both results folders.")
    return beside(a, b)
