"""What `evaluate`, `merge` and `status` do for a panel of judges."""

from collections.abc import Callable
from pathlib import Path

from rag_evaluator.config import Config
from rag_evaluator.results.panel_names import is_panel
from rag_evaluator.run.journal import Journal, journals_in
from rag_evaluator.run.notes import now
from rag_evaluator.run.worker_journal import Start

OK = 0


def evaluate_panel(config: Config, start: Start, run: Callable[[], object], silent: bool = False) -> None:
    """Have all judges score the rows and print the tables; nothing is judged or written where all is there already."""
    from rag_evaluator.cli.console import print_summary
    from rag_evaluator.results.manifest import read_manifest, rows_of
    from rag_evaluator.results.summary import read_summary
    from rag_evaluator.tasks.panel import is_finished, panel_of

    began = now()
    if start == "fresh" or not is_finished(config):
        run()
    if silent:
        return
    panel, summary = panel_of(config.results_dir), read_summary(config.results_dir)
    print_summary(summary, rows_of(read_manifest(config.results_dir)), config, *panel.outcome(began))


def all_journals(folder: Path) -> list[Journal]:
    """The journals in a results folder; in that of a panel those of its judges first."""
    if not is_panel(folder):
        return journals_in(folder)
    from rag_evaluator.tasks.panel import panel_of

    others = journals_in(folder) if any((folder / "journal").glob("*.*/manifest.json")) else []
    return [*panel_of(folder).journals().values(), *others]


def merge_panel(folder: Path) -> list[str]:
    """Write the panel's own files from the scores of its judges; their names."""
    from rag_evaluator.tasks.panel import panel_of, table_of

    panel = panel_of(folder)
    panel.write({name: table_of(journal) for name, journal in panel.journals().items()})
    return list(panel.folders)


def print_panel_status(folder: Path, as_json: bool = False) -> int:
    """How far each judge is."""
    from rag_evaluator.cli.console import print_json, print_status, say
    from rag_evaluator.run.status import read_status
    from rag_evaluator.tasks.panel import panel_of

    panel = panel_of(folder)
    begun = {name: (place / "journal" / "manifest.json").is_file() for name, place in panel.folders.items()}
    stages = {name: read_status(place) if begun[name] else [] for name, place in panel.folders.items()}
    if as_json:
        judges = {name: [stage.to_json() for stage in own] for name, own in stages.items()}
        print_json({"judges": judges, "written": panel.is_written()})
        return OK
    for name, own in stages.items():
        say(f"judge {name}:" if begun[name] else f"judge {name}: not begun")
        for stage in own:
            print_status(stage)
    say("panel written" if panel.is_written() else "panel not written yet")
    return OK
