"""What the functions of Python share: settings and judge as users give them, and what they show of their progress."""

import logging
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from markupsafe import escape

from rag_evaluator.config.judges import refuse_panel
from rag_evaluator.config.schema import Config, load_config, make_config
from rag_evaluator.config.sections import DEMO
from rag_evaluator.embeddings.event_loop import run
from rag_evaluator.files.progress import (
    ACTIVITY,
    CallbackDisplay,
    Display,
    Displays,
    Lines,
    Progress,
    State,
    Watch,
    automatic,
    line_of,
)
from rag_evaluator.judge.judge import LazyJudge, source_of
from rag_evaluator.metrics.given_metrics import with_metrics
from rag_evaluator.run.merge import ChunkTable
from rag_evaluator.run.stages import run_stage
from rag_evaluator.run.workers import ALONE
from rag_evaluator.tasks.question import QuestionStage

logger = logging.getLogger(__name__)
progress_log = logging.getLogger("rag_evaluator.progress")

FOUR_METRICS = ("answer_relevancy", "faithfulness", "context_recall", "context_precision")
Settings = Config | Mapping[str, Any] | str | Path | None


def settings_of(config: Settings, language: str | None) -> Config:
    """The configuration as users give it, in another language if one is named. Raises `ConfigError`."""
    if isinstance(config, str | Path):
        config = load_config(config)
    if not isinstance(config, Config):
        keys = {"metrics": list(FOUR_METRICS), **(config or {})}
        config = make_config(with_metrics(keys) if isinstance(keys["metrics"], list | tuple) else keys)
    return config if language is None else config.model_copy(update={"language": language})


def judge_source(judge: Any, settings: Config) -> LazyJudge:
    """The judge as given or configured; a warning where it is the demo judge because nobody named another."""
    if judge is None:
        refuse_panel(settings.judges, "this function", settings.place)
    source = source_of(judge, settings.judge, settings.offline)
    if judge in (None, DEMO) and source.config.model == DEMO:
        logger.warning("The demo judge is a toy; give a model of your own as judge.")
    return source


def run_and_keep(stage: QuestionStage[Any], folder: Path, fresh: bool, progress: Progress) -> ChunkTable:
    """The finished cells of a stage; what holds of earlier calls is kept."""
    with shown(progress, stage.plan.cell_noun) as at:
        journal = run_stage(stage, folder, ALONE, run, at, start="fresh" if fresh else "update")
        return ChunkTable(journal, stage)


@contextmanager
def shown(progress: Progress, noun: str) -> Iterator[Progress]:
    """The counts of a call, for its callback and whoever shows more of it.

    Args:
        progress: as the caller gave it; one with a method `show(state)` is called from a thread of its own, too.
        noun: what is counted.
    """
    with ExitStack() as stack:
        counted = stack.enter_context(ACTIVITY.counted(noun))
        if displays := _displays(progress):
            stack.enter_context(Watch(Displays(*displays)))

        def at(done: int, total: int) -> None:
            counted(done, total)
            progress(done, total)

        yield at


def _displays(progress: Progress) -> list[Display]:
    displays: list[Display] = []
    if progress is automatic and in_notebook():
        displays.append(NotebookBar())
    if callable(show := getattr(progress, "show", None)):
        displays.append(CallbackDisplay(show))
    if progress is automatic and progress_log.isEnabledFor(logging.INFO):
        displays.append(Lines(lambda line: progress_log.info("%s", line)))
    return displays


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


class NotebookBar:
    """A bar below the cell that is running.

    It is HTML that is exchanged in place: bars made of widgets need ipywidgets, in the notebook and in what shows it.
    """

    def __init__(self) -> None:
        from IPython.display import display

        self.display: Any = display  # IPython has no types
        self.handle: Any = None
        self.last, self.began = "", time.monotonic()

    def show(self, state: State) -> None:
        if line_of(state) == self.last:
            return
        self.last = line_of(state)
        if self.handle is None:
            self.handle = self.display(_BarState(state), display_id=True)
        else:
            self.handle.update(_BarState(state))

    def close(self) -> None:
        """Leave the figures, without a bar."""
        if self.handle is not None:
            state = replace(ACTIVITY.state(), elapsed=time.monotonic() - self.began)
            self.handle.update(_BarState(state, with_bar=False))


class _BarState:
    """A state as a notebook shows it."""

    def __init__(self, state: State, with_bar: bool = True) -> None:
        self.line = line_of(state)
        self.bar = _bar(state) if with_bar else ""

    def __repr__(self) -> str:
        return self.line

    def _repr_html_(self) -> str:
        return f"<div>{self.bar}<small>{escape(self.line)}</small></div>"


def _bar(state: State) -> str:
    done, total = state.phase_steps if state.phase else (state.done, state.total or 0)
    known = f' value="{done}" max="{total}"' if total else ""
    return f"<progress{known}></progress> "
