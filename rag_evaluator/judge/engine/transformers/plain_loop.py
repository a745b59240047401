"""Decoding of one batch in the model's own cache: forced tokens in few passes, and no waiting for the longest row."""

from collections.abc import Sequence

from rag_evaluator.judge.engine.transformers.cached_rows import CachedRows
from rag_evaluator.judge.engine.transformers.feeding import Fed
from rag_evaluator.judge.engine.transformers.sequence import Chooser


def decode_rows(rows: CachedRows, entries: Sequence[Fed], chooser: Chooser, together: int) -> None:
    """Decode one batch until all of its rows are done; a row that is done is left out of the passes that follow.

    All rows of a pass get as many tokens: where each has forced tokens to be fed, these go in one pass.

    Args:
        rows: the prompts and what was forced at the beginning, computed.
        entries: of the rows; their feeds are computed.
        together: tokens of a row in one pass at most.
    """
    ready, active = list(range(len(entries))), list(entries)
    while True:
        waiting = [index for index in ready if not active[index].sequence.done]
        if waiting:
            tokens = chooser.choose([active[index].sequence for index in waiting], rows.logits[waiting])
            for index, token in zip(waiting, tokens, strict=True):
                if active[index].sequence.failure is None:
                    active[index].take(token)
        going_on = [index for index, entry in enumerate(active) if not entry.sequence.done]
        if not going_on:
            return
        if len(going_on) < len(active):
            rows.keep(going_on)
            active = [active[index] for index in going_on]
        count = min(together, *(len(entry.feed) for entry in active))
        rows.feed([entry.feed[:count] for entry in active])
        ready = [index for index, entry in enumerate(active) if len(entry.feed) == count]
        for entry in active:
            entry.feed = entry.feed[count:]
