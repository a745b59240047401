"""How often the context at each rank is useful: from the verdicts of metrics that judge contexts one by one."""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rag_evaluator.report.run_files import RunFiles
from rag_evaluator.report.tally import Tally
from rag_evaluator.trust.estimate import Estimate
from rag_evaluator.trust.intervals import mean_interval
from rag_evaluator.trust.scale import Scale

RANKED = ("context_precision_with_reference", "context_precision_without_reference")
CHUNKS = ("retrieval_precision", "retrieval_mrr", "retrieval_ndcg", "retrieval_map")
"""Metrics that ask the same of each context, so that one of them says it for all."""
ONE_BY_ONE = ("prompt", "chunk_prompt")  # the prompts that show a judge one context
MOST = 20  # ranks that are shown


@dataclass(frozen=True)
class Rank:
    """The contexts at one rank, from 1; the mean is the share of useful ones."""

    rank: int
    share: Estimate


@dataclass
class _Verdicts:
    """At one rank: in which rows there is a verdict, and which."""

    rows: "array[int]" = field(default_factory=lambda: array("q"))
    values: "array[float]" = field(default_factory=lambda: array("d"))


def by_rank(run: RunFiles, tally: Tally) -> dict[str, list[Rank]]:
    """Metric -> its ranks. Without metrics that judge contexts one by one nothing is read."""
    wanted = _wanted(run.metrics)
    if not wanted:
        return {}
    found: dict[str, list[_Verdicts]] = {metric: [] for metric in wanted}
    most = (run.config.get("retrieval") or {}).get("k")
    for metric, row, verdicts in _rows(run.all_details(set(wanted)), most):
        ranks = found[metric]
        ranks.extend(_Verdicts() for _ in range(len(ranks), min(len(verdicts), MOST)))
        for rank, verdict in zip(ranks, verdicts, strict=False):
            rank.rows.append(row)
            rank.values.append(verdict)
    return {name: [_rank(place, at, tally) for place, at in enumerate(ranks)] for name, ranks in found.items() if ranks}


def _wanted(metrics: Sequence[str]) -> list[str]:
    """Metrics, also those of a panel's judges, `context_precision_with_reference@qwen`."""
    chosen: dict[tuple[str, str], str] = {}
    for metric in metrics:
        base, _, judge = metric.partition("@")
        if base in RANKED or base in CHUNKS:
            chosen.setdefault(("chunks" if base in CHUNKS else base, judge), metric)
    return list(chosen.values())


def _rows(records: Iterator[Mapping[str, Any]], most: int | None) -> Iterator[tuple[str, int, list[float]]]:
    """Metric, row and its verdicts by rank, the mean of several repeats: their lines follow each other."""
    key, repeats = None, list[list[float]]()
    for record in records:
        new = record["metric"], record["row"]
        if new != key:
            yield from _joined(key, repeats)
            key, repeats = new, []
        if verdicts := verdicts_of(record, most):
            repeats.append(verdicts)
    yield from _joined(key, repeats)


def _joined(key: tuple[str, int] | None, repeats: list[list[float]]) -> Iterator[tuple[str, int, list[float]]]:
    if key is not None and repeats:
        yield *key, [sum(column) / len(column) for column in zip(*repeats, strict=False)]


def verdicts_of(record: Mapping[str, Any], most: int | None = None) -> list[float]:
    """The verdicts of a score by rank; empty where it is not sure which context each one is of.

    Args:
        most: contexts that metrics of `CHUNKS` look at; None: all.
    """
    asked = [part for part in record.get("judgements") or () if part.get("prompt") in ONE_BY_ONE]
    answers = [part.get("response") for part in asked]
    verdicts = [float(said) for answer in answers if isinstance(said := _verdict(answer), int | float)]
    contexts, limit = len(record.get("contexts") or ()), most if record["metric"].partition("@")[0] in CHUNKS else None
    return verdicts if len(verdicts) == len(asked) == (contexts if limit is None else min(contexts, limit)) else []


def _verdict(answer: Any) -> Any:
    return answer.get("verdict") if isinstance(answer, Mapping) else None


def _rank(place: int, verdicts: _Verdicts, tally: Tally) -> Rank:
    facts = tally.facts.of(verdicts.rows)
    return Rank(place + 1, mean_interval(verdicts.values, Scale(), tally.level, facts.clusters, facts.weights))
