"""How often a judge's thoughts were cut by their budget."""

from collections.abc import Iterable, Mapping
from typing import Any

SHARE = 0.2  # of thoughts: above it, answers after half a thought say something else than the judge would


def count_thoughts(judgements: Iterable[Mapping[str, Any]]) -> tuple[int, int]:
    """How many of a score's judgements, as JSON, followed a thought, and how many a thought that was cut."""
    thought = [judgement for judgement in judgements if "thinking" in judgement]
    return len(thought), sum("thinking" in judgement.get("cut", ()) for judgement in thought)


def thought_figures(thoughts: int, cut: int) -> dict[str, Any]:
    """What `summary.json` says of a metric's thoughts; nothing of a judge that does not think."""
    if not thoughts:
        return {}
    share = cut / thoughts
    found: dict[str, Any] = {"thoughts": thoughts, "cut": cut, "share_cut": share}
    if share > SHARE:
        found["warning"] = f"{cut} of {thoughts} thoughts were cut by their budget; raise judge.thinking_tokens"
    return {"thinking": found}
