"""What the probes make of rows, as `probe/rows.jsonl` has it."""

import json
import re
from pathlib import Path

from aliases import Json
from known_verifier import KnownVerifier

from rag_evaluator import CustomMetric, ScriptedJudge, probe

POLITE = CustomMetric("polite", "Is it polite?", ["response"], {0: "rude", 1: "polite"})


def normalised(text: str) -> str:
    """The words, without the signs between them."""
    return " ".join(re.findall(r"\w+", text.casefold()))


def letters(text: str) -> str:
    return normalised(text).replace(" ", "")


def kept_in(folder: Path, kind: str | None = None) -> list[Json]:
    """All changed rows that a probe has kept, or those of one probe."""
    lines = map(json.loads, (folder / "probe" / "rows.jsonl").read_text("utf-8").splitlines())
    return [line for line in lines if kind in (None, line["probe"])]


def changed_rows(
    folder: Path, rows: list[Json], language: str = "english", seed: int = 0, size: int = 100
) -> list[Json]:
    """The rows as each probe changes them; those without contexts by a metric that needs none."""
    settings = {"language": language, "probe": {"sample": size, "seed": seed}}
    if all("retrieved_contexts" in row for row in rows):
        probe({**settings, "metrics": ["groundedness"]}, rows, folder, verifier=KnownVerifier({}))
    else:
        judge = ScriptedJudge({"CustomOutput": {"reason": "so", "label": "1"}})
        probe({**settings, "metrics": [POLITE]}, rows, folder, judge)
    return kept_in(folder)
