"""How a model can go on from its own cache: with several tokens in one pass, with one, or not; found by trying."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from rag_evaluator.judge.engine.transformers.by_generate import ByGenerate, following
from rag_evaluator.judge.engine.transformers.cached_rows import CachedRows
from rag_evaluator.judge.engine.transformers.memory import out_of_memory, peak_watched
from rag_evaluator.judge.engine.transformers.neighbours import tried

TOGETHER = 64  # tokens of a row in one pass at most, after its prompt: a chunk of linear attention
FEEDS = {TOGETHER: (2, 6, 1), 1: (1, 1)}  # fewer than a convolution sees, more, and some after a row was left out
STEPS = 1 + max(map(sum, FEEDS.values()))
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Continuing:
    """How a model goes on from its own cache.

    Attributes:
        together: tokens of a row in one pass at most; 0 where only `generate` gives the model's own logits.
        slot_bytes: what one token of one row takes, in the cache and in the pass over the prompts; 0: not known.
        row_bytes: what a row takes beside its tokens: recurrent states, attention windows.
    """

    together: int
    slot_bytes: int = 0
    row_bytes: int = 0


def how_it_continues(generate: ByGenerate, window: int, alone: bool) -> Continuing:
    """Found by trying: a recurrent layer may begin anew with every pass of several tokens, a cache may not let rows go.

    Such a model gives other logits then, or fails.

    Args:
        window: tokens of prompt and answer together that the model can read.
        alone: whether batches of one row are tried only.
    """

    def trial(short: tuple[int, ...], long: tuple[int, ...]) -> Continuing:
        rows = [long] if alone else [short, long]
        expected = generate.logits(rows, STEPS)
        found = (_continuing(generate, rows, together, expected) for together in FEEDS)
        return next(filter(None, found), Continuing(0))

    return tried(generate.model, window, STEPS, trial)


def _continuing(
    generate: ByGenerate, prompts: Sequence[tuple[int, ...]], together: int, expected: torch.Tensor
) -> Continuing | None:
    """How the model goes on if so many tokens may be fed; None if its logits are not the expected ones.

    Args:
        expected: `(rows, steps, vocab)`.
    """
    feeds = FEEDS[together]
    try:
        difference, slot_bytes, row_bytes = _fed(generate, prompts, feeds, expected)
    except Exception as error:  # models of other architectures raise errors of any kind
        if out_of_memory(error):
            raise
        logger.debug("rows cannot be fed %s tokens: %s", feeds, error, exc_info=True)
        return None
    logger.debug("rows that are fed %s tokens differ by %.2g", feeds, difference)
    # Narrower than where rows are compared with others: a model that fails here is only slower.
    limit = 1e-5 if generate.model.dtype == torch.float32 else 5e-2
    return Continuing(together, slot_bytes, row_bytes) if difference <= limit else None  # not for NaN


@torch.inference_mode()
def _fed(
    generate: ByGenerate, prompts: Sequence[tuple[int, ...]], feeds: Sequence[int], expected: torch.Tensor
) -> tuple[float, int, int]:
    """The largest difference of a logit as a share of the largest logit, and the bytes of `Continuing`."""
    tokens = following(sum(feeds))
    input_ids, mask = generate.padded(prompts)
    with peak_watched(generate.model) as peak:
        rows = CachedRows(generate.model, input_ids, mask)
        held = [rows.held_bytes]
        passing = max(peak() - held[0], 0)
    found, seen, fed = [rows.logits], [expected[:, 0]], 0
    for count in feeds:
        if fed + count == len(tokens):
            rows.keep([0])
        found.append(rows.feed([tokens[fed : fed + count]] * len(rows.mask)))
        held.append(rows.held_bytes)
        fed += count
        seen.append(expected[: len(rows.mask), fed])
    difference = max(float((one.float() - other.float()).abs().max()) for one, other in zip(found, seen, strict=True))
    slot = (held[1] - held[0]) // (len(prompts) * feeds[0])
    row = held[0] // len(prompts) - slot * input_ids.shape[1]
    share = difference / float(expected.float().abs().max())
    return share, slot + passing // input_ids.numel(), max(row, 0)
