"""`manifest.json` of a results folder, by which the folder is known as ours, and `prompts.json`, a part of it."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rag_evaluator.dataset.choice import RowChoice
from rag_evaluator.errors import ResultsError
from rag_evaluator.files.json_text import json_text
from rag_evaluator.program import command
from rag_evaluator.results.rows import Add, Heading, Scored, ignore
from rag_evaluator.results.shapes import check_manifest
from rag_evaluator.results.written import WRITTEN, as_sealed

PROGRAM = "rag_evaluator"
PART = "part"  # which rows of the dataset were taken, where it is not all
PROMPT_TEXTS = "prompt_texts"  # part of the manifest that is written to a file of its own


@contextmanager
def manifest_json(path: Path, heading: Heading) -> Iterator[Add]:
    """Ends after the files whose digests it holds."""
    rows = 0

    def add(scored: Scored) -> None:
        nonlocal rows
        rows += 1

    yield add
    manifest = {**as_written(heading.manifest), WRITTEN: as_sealed(path.parent, rows)}
    path.write_text(json_text(manifest), encoding="utf-8")


@contextmanager
def prompts_json(path: Path, heading: Heading) -> Iterator[Add]:
    yield ignore
    path.write_text(json_text(heading.manifest.get(PROMPT_TEXTS, {})), encoding="utf-8")


def as_written(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """What a manifest file says: the program, and all but the texts of the prompts."""
    return {"program": PROGRAM, **{name: part for name, part in manifest.items() if name != PROMPT_TEXTS}}


def read_manifest(folder: Path) -> dict[str, Any]:
    """What `manifest.json` says. Raises `ResultsError` if it cannot be read, or is not what is written there."""
    path = folder / "manifest.json"
    try:
        manifest = json.loads(path.read_bytes())
        if not isinstance(manifest, dict):
            raise ValueError("it is no object")
        check_manifest(manifest)
    except (OSError, ValueError, RecursionError) as error:
        raise ResultsError(
            f"{path}: cannot be read: {error}. '{command('merge', path.parent)}' writes it again."
        ) from error
    return manifest


def rows_of(manifest: Mapping[str, Any]) -> str:
    """How many rows there are, and of how many: `20 of 1,000 rows (limit)`, `1000 rows`."""
    return partial_rows(manifest) or f"{manifest.get('rows', 0)} rows"


def partial_rows(manifest: Mapping[str, Any]) -> str | None:
    """Which rows of the dataset were taken; None: all."""
    try:
        return str(RowChoice.from_json(manifest[PART])) if manifest.get(PART) else None
    except TypeError:  # somebody has edited it
        return None


def config_of(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """The configuration in a manifest; empty where there is none."""
    config = manifest.get("config")
    return config if isinstance(config, Mapping) else {}


def refuse_foreign(folder: Path, files: Iterable[str]) -> None:
    """Raises `ResultsError` if a folder holds files under the names of results that this program has not written."""
    there = [name for name in files if (folder / name).exists()]
    if there and not _is_ours(folder):
        raise ResultsError(
            f"{folder} holds {there[0]}, which this program did not write, and would replace it. Choose another name "
            "or output_dir, or move the file away."
        )


def _is_ours(folder: Path) -> bool:
    """Whether results were written here: then there is a manifest, or a journal, in which there is one too."""
    try:
        manifest = json.loads((folder / "manifest.json").read_bytes())
    except (OSError, ValueError):
        manifest = None
    known = isinstance(manifest, dict) and ("program" in manifest or "signatures" in manifest)
    journals = [folder / "journal" / "manifest.json", *(folder / "journal").glob("*.*/manifest.json")]
    return known or any(path.is_file() for path in journals)
