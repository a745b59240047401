"""Pairs computed together: sorted by length, padded on the right, in batches."""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from rag_evaluator.errors import UndefinedScoreError

# Any in this module: objects of transformers and torch.

BatchSize = int | Literal["auto"]
Encoded = Mapping[str, Sequence[int]]  # input_ids, attention_mask, token_type_ids of one text
Reader = Callable[[Any, dict[str, Any]], Any]  # model, inputs (batch, length) -> probabilities (batch,)

DECIMALS = 4  # of probabilities; later ones may differ between machines and sizes of batches
DIGITS = 3  # that count, of a probability near 0, or of what is missing near 1: by these sentences can still be ranked
ON_GPU = 32  # pairs
ON_CPU = 512  # tokens, padding included: short pairs are several times quicker together, long ones not reliably


def inert(tokenizer: Any, text: str) -> str:
    """A text in which names of control tokens are text: `</s>` in data ends no evidence."""
    names = "|".join(map(re.escape, sorted(tokenizer.all_special_tokens, key=len, reverse=True)))
    return re.sub(names, lambda match: f"{match[0][0]} {match[0][1:]}", text) if names else text


def rows_of(encoded: Mapping[str, Any], count: int) -> list[Encoded]:
    """What a tokenizer gives for several texts, text by text, not padded."""
    return [{name: values[row] for name, values in encoded.items()} for row in range(count)]


def probabilities(
    model: Any, tokenizer: Any, encoded: Sequence[Encoded], read: Reader, batch_size: BatchSize
) -> list[float]:
    """What a reader says of each text, in their order, not rounded.

    A text's number differs between batches by less than 1e-5: matrices of other shapes are multiplied in another order.
    Raises `UndefinedScoreError` where a model gives no number.
    """
    import torch

    shares = [0.0] * len(encoded)
    with torch.inference_mode():
        for places in _batches(encoded, batch_size, model.device.type):
            rows = [encoded[place] for place in places]
            inputs = tokenizer.pad(rows, padding_side="right", return_tensors="pt").to(model.device)
            for place, value in zip(places, read(model, inputs).tolist(), strict=True):
                shares[place] = value
    if not all(map(math.isfinite, shares)):
        raise UndefinedScoreError("the model gave no number: its weights hold values that are none, or overflow")
    return shares


def rounded(probability: float) -> float:
    """A probability with `DECIMALS` decimals, with more near 0 and 1: its log-odds keep about three digits."""
    rest = min(probability, 1 - probability)
    return round(probability, max(DECIMALS, DIGITS - 1 - math.floor(math.log10(rest))) if rest > 0 else DECIMALS)


def confidence(probability: float, is_positive: bool) -> float:
    """The probability of a verdict, four decimals, by that of the positive one."""
    return round(probability if is_positive else 1 - probability, DECIMALS)


def next_logits(model: Any, inputs: dict[str, Any]) -> Any:
    """What a causal model says that follows each text, (batch, vocabulary); other positions are not computed."""
    import torch

    ends = inputs["attention_mask"].sum(-1) - 1
    kept = ends.unique()  # sorted
    logits = model(**inputs, logits_to_keep=kept, use_cache=False).logits.float()
    return logits[torch.arange(len(ends), device=ends.device), torch.searchsorted(kept, ends)]


def _batches(encoded: Sequence[Encoded], batch_size: BatchSize, device: str) -> Iterator[list[int]]:
    """Places of texts of like length, the shortest first; of equal ones in their order.

    With `auto` a CPU gets batches of few tokens, padding included; a longer text is alone.
    """
    size = ON_GPU if batch_size == "auto" else batch_size
    tokens = ON_CPU if batch_size == "auto" and device == "cpu" else math.inf
    batch: list[int] = []
    for place in sorted(range(len(encoded)), key=lambda place: len(encoded[place]["input_ids"])):
        if batch and (len(batch) == size or len(encoded[place]["input_ids"]) * (len(batch) + 1) > tokens):
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch
