"""The figures of `benchmarks.engines` as Markdown."""

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

from benchmarks.engine_ways import WAYS
from benchmarks.report import origin, table

FIRST = "ours"  # what the others are compared with
Rounds = Sequence[dict[str, dict[str, Any]]]

HEADER = """# Engines

Written by `python -m benchmarks.engines`. The ways answer the same questions (of the 48 of `tools/requests48.jsonl`,
which the tests compare, too) with the same model in float32, on one thread. CPU seconds are those of the process and of
all that it has started, a server included, from the first question to the last answer; starting and loading are not
counted. No way finds its caches filled. The ways take turns: all once, then all again.

- **times ours**: CPU seconds divided by those of our engine in the same round; more than 1 is slower than ours.
- **computed**: prompt tokens that went through the model, after what prefix caches had. A server is asked again where
  our budget cuts an answer, or where it tells only a part of it. That adds some, most of them with vLLM, whose cache
  holds whole blocks of 128 tokens only.
- **equal tokens**: answers that are, token for token, those of our engine. **complete**: answers that obey their
  schema and were not cut by the limit of tokens.
- The old way asks for JSON in its prompt, which is longer, and has no grammar. Each question is asked once, where ragas
  would ask up to three times more for a repair of what it cannot read. Its tokens cannot be compared.

**Nothing here was measured on a GPU.** There vLLM is expected to be far ahead of our engine: 10 to 25 times, by reading
both, not by measuring. Take `engine: vllm` on a GPU node. Here vLLM is its edition for the CPU, which it is not made
for, without compilation (`--enforce-eager`).

**Ours needs batches.** With 3 questions alone (`--every 16`, demo judge, two rounds) llama.cpp needed 0.45 and 0.52 CPU
seconds, ours 0.71 and 0.61.
"""
COLUMNS = (
    "way | rounds | CPU seconds: minimum | median | maximum | times ours: median | range | questions | "
    "prompt tokens | computed | generated | equal tokens | complete"
).split(" | ")


def render(known: dict[str, Any]) -> str:
    """benchmarks/engines.md."""
    parts = [HEADER]
    for model, figures in known.items():
        limit = f" At most {figures['max_new_tokens']} new tokens an answer.\n"
        parts += [f"## {model}\n", origin(figures) + limit]
        parts += [table(COLUMNS, [_line(name, figures["rounds"]) for name in WAYS])]
        parts += [f"\n{_behind(figures['rounds'])}\n"]
    return "\n".join(parts)


def ratios(name: str, rounds: Rounds) -> list[float]:
    """CPU seconds of a way divided by ours, in each round."""
    return [figures[name]["cpu"] / figures[FIRST]["cpu"] for figures in rounds if name in figures]


def _line(name: str, rounds: Rounds) -> list[str]:
    title, _ = WAYS[name]
    measured = [figures[name] for figures in rounds if name in figures]
    if not measured:
        return [title, "not measured", *[""] * (len(COLUMNS) - 2)]
    seconds = [figures["cpu"] for figures in measured]
    times = ratios(name, rounds)
    spread = [f"{value:.1f}" for value in (min(seconds), median(seconds), max(seconds))]
    spread += [f"{median(times):.2f}", "" if name == FIRST else f"{min(times):.2f} to {max(times):.2f}"]
    counts = [_span(part, measured) for part in ("asked", "prompt_tokens", "computed", "generated")]
    return [title, str(len(measured)), *spread, *counts, _equal(measured), _span("complete", measured)]


def _span(part: str, measured: Sequence[dict[str, Any]]) -> str:
    """A count; from the lowest to the highest where rounds differ."""
    values = {figures[part] for figures in measured} - {None}
    if not values:
        return "not known"
    return " to ".join(map(str, sorted(values)[:: max(len(values) - 1, 1)]))


def _equal(measured: Sequence[dict[str, Any]]) -> str:
    asked = measured[0]["asked"]
    if measured[0]["equal"] is None:
        return "no grammar"
    fewest = min(figures["equal"] for figures in measured)
    return "yes" if fewest == asked else f"no: {fewest} of {asked}"


def _behind(rounds: Rounds) -> str:
    """Which ways needed less than ours."""
    faster = list(_faster(rounds))
    return f"**Ours is behind {' and '.join(faster)}.**" if faster else "No way needed fewer CPU seconds than ours."


def _faster(rounds: Rounds) -> Iterator[str]:
    for name, (title, _) in WAYS.items():
        times = ratios(name, rounds)
        if name != FIRST and times and median(times) < 1:
            yield f"{title} ({median(times):.2f} times our CPU seconds)"
