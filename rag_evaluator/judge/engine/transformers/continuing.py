"""How a model can go on from its own cache: with several tokens in one pass, with one, or not; found by trying."""

import logging
from collections.abc import Sequence

import torch

from rag_evaluator.judge.engine.transformers.by_generate import Generate, following
from rag_evaluator.judge.engine.transformers.cached_rows import CachedRows
from rag_evaluator.judge.engine.transformers.memory import out_of_memory
from rag_evaluator.judge.engine.transformers.neighbours import tried

TOGETHER = 64  # tokens of a row in one pass at most after its prompt: linear attention is computed in chunks of as many
FEEDS = {TOGETHER: (2, 6, 1), 1: (1, 1)}  # fewer than a convolution sees and more; the last one after a row was left out
STEPS = 1 + max(map(sum, FEEDS.values()))
logger = logging.getLogger(__name__)


def tokens_together(generate: Generate, window: int, alone: bool) -> int:
    """How many tokens of a row may be fed in one pass; 0 where only `generate` gives the model's own logits.

    A recurrent layer may begin anew with every pass of several tokens, and a cache may not let rows be left out. Such a
    model gives other logits then, or fails.

    Args:
        window: tokens of prompt and answer together that the model can read.
        alone: whether batches of one row are tried only.
    """

    def trial(short: tuple[int, ...], long: tuple[int, ...]) -> int:
        rows = [long] if alone else [short, long]
        expected = generate.logits(rows, STEPS)
        return next((most for most, feeds in FEEDS.items() if _is_right(generate, rows, feeds, expected)), 0)

    return tried(generate.model, window, STEPS, trial)


def _is_right(
    generate: Generate, rows: Sequence[tuple[int, ...]], feeds: Sequence[int], expected: torch.Tensor
) -> bool:
    """Whether the logits after each feed are those that `generate` gives, `(rows, steps, vocab)`."""
    try:
        difference = _difference(generate, rows, feeds, expected)
    except Exception as error:  # models of other architectures raise errors of any kind
        if out_of_memory(error):
            raise
        logger.debug("rows cannot be fed %s tokens: %s", feeds, error, exc_info=True)
        return False
    # Narrower than where rows are compared: a model that fails here is only slower.
    limit = 1e-5 if generate.model.dtype == torch.float32 else 5e-2
    logger.debug("rows that are fed %s tokens differ by %.2g", feeds, difference)
    return difference <= limit  # false for NaN


@torch.inference_mode()
def _difference(
    generate: Generate, prompts: Sequence[tuple[int, ...]], feeds: Sequence[int], expected: torch.Tensor
) -> float:
    """The largest difference of a logit, as a share of the largest logit."""
    tokens = following(sum(feeds))
    rows = CachedRows(generate.model, *generate.padded(prompts))
    found, seen, fed = [rows.logits], [expected[:, 0]], 0
    for count in feeds:
        if fed and fed + count == len(tokens):
            rows.keep([0])
        found.append(rows.feed([tokens[fed : fed + count]] * len(rows.mask)))
        fed += count
        seen.append(expected[: len(rows.mask), fed])
    difference = max(float((one.float() - other.float()).abs().max()) for one, other in zip(found, seen, strict=True))
    return difference / float(expected.float().abs().max())
