"""Scores that are made several times: which ones, what their signatures say, which judges cannot repeat."""

from collections.abc import Mapping

from rag_evaluator.errors import ConfigError
from rag_evaluator.judge.protocol import JudgeSource
from rag_evaluator.metrics.metric import Metric


def times_of(metrics: Mapping[str, Metric], repeats: int) -> dict[str, int]:
    """How often each metric's scores are made: only a judge may answer differently."""
    return {name: repeats if metric.judge else 1 for name, metric in metrics.items()}


def with_repeats(signatures: Mapping[str, str], times: Mapping[str, int]) -> dict[str, str]:
    """The signatures of scores that are means of so many repeats.

    A single repeat has the signature without this part, so that raising their number loses none that is there.
    """
    return {name: f"{line}|repeats:{times[name]}" if times[name] > 1 else line for name, line in signatures.items()}


def refuse_reproducible(times: Mapping[str, int], judge: JudgeSource, place: str) -> None:
    """Raises `ConfigError` if a judge that is known to answer always the same is to repeat scores.

    Args:
        place: where the number of repeats was written.
    """
    repeats = max(times.values())
    if repeats > 1 and judge.capabilities is not None and judge.capabilities.greedy:
        raise ConfigError(
            f"{place}: repeats is {repeats}, but this judge is reproducible: it would give the same score {repeats} "
            "times. Set judge.temperature above 0, give a judge that samples, or set repeats: 1."
        )
