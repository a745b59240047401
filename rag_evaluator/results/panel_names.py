"""How the columns of a panel are called, and how its results folder is known."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

BETWEEN = "@"  # of metric and judge: no name of either has it


PANEL = "panel"  # part of the manifest


FOLDER, NOTE = "judges", "panel.json"  # the folder of the judges' runs, and what says that it is one


def column_of(metric: str, judge: str) -> str:
    """The column of what one judge says: `faithfulness@qwen`."""
    return f"{metric}{BETWEEN}{judge}"


def judges_of(manifest: Mapping[str, Any]) -> list[str]:
    """The names of the judges of a panel; empty for a run with one judge. Any: JSON."""
    return list(manifest.get(PANEL, {}).get("judges", {}))


def is_panel(folder: Path) -> bool:
    """Whether a results folder is that of a panel."""
    return (folder / FOLDER / NOTE).is_file()
