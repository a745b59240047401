"""How an engine runs its model, as `about` names it, in words for people."""

from collections.abc import Iterator, Mapping

PATHS = {
    "packed": "packed batches (fast)",
    "plain": "padded batches (about 4 times the CPU time of packed ones)",
    "server": "a server that is asked",
    "vllm": "a vLLM server that is started and ended",
}
FASTER = "`engine: vllm` is faster with most such models (docs/engines.md)"


def slow_reasons(about: Mapping[str, str]) -> Iterator[str]:
    """What makes a judge slower than it could be, and what to do about it."""
    if "why" in about:
        yield f"the judge decodes {PATHS['plain']}: {about['why']}; {FASTER}"
    if "alone" in about:
        yield f"the judge is asked one row at a time (slow): {about['alone']}; {FASTER}"
