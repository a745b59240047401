"""`manifest.json`, by which a folder is known as ours: written, read, and held against the files beside it.

`prompts.json` is a part of it.
"""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rag_evaluator.config import DEMO
from rag_evaluator.dataset import RowChoice
from rag_evaluator.errors import ResultsError
from rag_evaluator.files import Json, JsonDict
from rag_evaluator.resources import command

PROGRAM = "rag_evaluator"
SCORES = "scores.jsonl"
WRITTEN = "written"  # of a manifest: how many rows were written, and the SHA-256 of the files that hold scores
SEALED = (SCORES, "scores.csv")
PART = "part"  # which rows of the dataset were taken, where it is not all
PROMPT_TEXTS = "prompt_texts"  # part of the manifest that is written to a file of its own
UNNAMED = "(unnamed)"  # in a signature, of a model that nothing tells from others
FINGERPRINT = re.compile("[0-9a-f]{16}")  # of a model's files

# Any in this module: JSON.


def misfit(summary: Json, manifest: Json) -> str:
    """Why a summary is of other metrics, or of more or fewer rows, than the manifest names; empty if it is not."""
    metrics = manifest.get("metrics")
    rows = manifest.get("rows")
    if metrics and set(metrics) != set(summary):
        return f"it has the metrics {', '.join(summary)}; manifest.json has {', '.join(metrics)}"
    for metric, row in summary.items():
        if rows is not None and row["count"] != rows:
            return f"{metric}: it counts {row['count']:,} rows; manifest.json has {rows:,}"
    return ""


def as_written(manifest: Json) -> JsonDict:
    """What a manifest file says: the program, and all but the texts of the prompts."""
    return {"program": PROGRAM, **{name: part for name, part in manifest.items() if name != PROMPT_TEXTS}}


def changed(path: Path, what: str) -> ResultsError:
    """The error for a file that is not as it was written."""
    return ResultsError(f"{path}: not as it was written: {what}. {again(path.parent)}")


def again(folder: Path) -> str:
    """What writes the files of a results folder again, as a sentence."""
    return f"'{command('merge', folder)}' writes it again, from the folder's journal."


def rows_of(manifest: Json) -> str:
    """How many rows there are, and of how many: `20 of 1,000 rows (limit)`, `1000 rows`."""
    return partial_rows(manifest) or f"{manifest.get('rows', 0)} rows"


def partial_rows(manifest: Json) -> str | None:
    """Which rows of the dataset were taken; None: all."""
    return str(RowChoice(**manifest[PART])) if manifest.get(PART) else None


def config_of(manifest: Json) -> Json:
    """The configuration in a manifest; empty where there is none."""
    config = manifest.get("config")
    return config if isinstance(config, Mapping) else {}


def refuse_foreign(folder: Path, files: Iterable[str]) -> None:
    """Raises `ResultsError` if a folder holds files under the names of results that this program has not written."""
    held = [name for name in files if (folder / name).exists()]
    if held and not is_ours(folder):
        raise ResultsError(
            f"{folder} holds {held[0]}, which this program did not write, and would replace it. Choose another name "
            "or output_dir, or move the file away."
        )


def is_ours(folder: Path) -> bool:
    """Whether results were written here: then there is a manifest, or a journal, in which there is one too."""
    try:
        manifest = json.loads((folder / "manifest.json").read_bytes())
    except (OSError, ValueError):
        manifest = None
    journals = [folder / "journal" / "manifest.json", *(folder / "journal").glob("*.*/manifest.json")]
    return names_us(manifest) or any(path.is_file() for path in journals)


def names_us(manifest: Any) -> bool:
    """Whether it is a manifest of this program; those of older versions have signatures only."""
    return isinstance(manifest, dict) and ("program" in manifest or "signatures" in manifest)


def judge_of(manifest: Json) -> Json | str | None:
    """The judge that judged, by the signatures: its configuration; the name of one without a digest; None: none."""
    lines = (manifest.get("signatures") or {}).values()
    identity = next((parts["judge"] for line in lines if "judge" in (parts := parts_of(line))), None)
    judge: Json = config_of(manifest).get("judge") or {}
    if identity == UNNAMED and judge.get("model") != DEMO:  # older folders have the demo judge's name
        return str(judge.get("model"))
    is_configured = identity is None or FINGERPRINT.fullmatch(identity) or str(judge.get("model")) in identity
    return None if identity is None and "signatures" in manifest else judge if is_configured else identity


def parts_of(signature: str) -> dict[str, str]:
    """A signature, `metric:faithfulness|ragas:0.4.3|...`, by its parts."""
    return dict(part.split(":", 1) for part in signature.split("|") if ":" in part)
