"""Rows of a batch in the model's own cache: several tokens are fed in one pass, and rows that are done are left out."""

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from rag_evaluator.progress import ACTIVITY

if TYPE_CHECKING:
    from transformers import PreTrainedModel

CACHES = ("past_key_values", "cache_params")  # names that models give their cache


class CachedRows:
    """The rows of one batch, in the cache that the model makes in its first pass.

    Recurrent states and convolutions have no place for padding after the prompt, so all rows get as many tokens.

    Args:
        input_ids: `(rows, length)`, padded on the left.
        attention_mask: `(rows, length)`, 0 for padding.

    Attributes:
        logits: `(rows, vocab)` after the last token of each row.
        cache: of the model's own kind.
    """

    def __init__(self, model: "PreTrainedModel", input_ids: torch.Tensor, attention_mask: torch.Tensor) -> None:
        self.model, self.mask = model, attention_mask
        self.parameters = inspect.signature(model.forward).parameters
        self.cache: Any = None  # of transformers, or of the model's own module
        self.name = ""
        self.logits = self._pass(input_ids)

    def feed(self, tokens: Sequence[Sequence[int]]) -> torch.Tensor:
        """`(rows, vocab)` logits after new tokens, as many of each row."""
        new = torch.tensor(tokens, device=self.mask.device)
        self.mask = torch.cat([self.mask, torch.ones_like(new)], dim=1)
        self.logits = self._pass(new)
        return self.logits

    def keep(self, rows: Sequence[int]) -> None:
        """Leave out all other rows."""
        indices = torch.tensor(rows, device=self.mask.device)
        layers = self.cache.layers
        can_select = all(hasattr(layer, "batch_select_indices") for layer in layers)  # recurrent ones cannot
        (self.cache.batch_select_indices if can_select else self.cache.reorder_cache)(indices)
        self.mask, self.logits = self.mask[indices], self.logits[indices]

    @property
    def held_bytes(self) -> int:
        """Bytes of keys, values and states."""
        return sum(_bytes(vars(layer)) for layer in self.cache.layers)

    def _pass(self, input_ids: torch.Tensor) -> torch.Tensor:
        given = {"position_ids": (self.mask.cumsum(1) - 1).clamp(min=0), "logits_to_keep": 1}
        if self.cache is not None:
            given[self.name] = self.cache
        output = self.model(
            **self.model.prepare_inputs_for_generation(  # type: ignore[operator]  # torch types attributes as tensors
                input_ids,
                attention_mask=self.mask,
                use_cache=True,
                is_first_iteration=self.cache is None,
                **{name: value for name, value in given.items() if name in self.parameters},
            )
        )
        self.name = next(name for name in CACHES if getattr(output, name, None) is not None)
        self.cache = output[self.name]
        ACTIVITY.tokens += input_ids.numel()
        logits: torch.Tensor = output.logits[:, -1]
        return logits


def _bytes(value: Any) -> int:
    """Bytes of the tensors in a value. Any: layers of caches hold what their authors liked."""
    if isinstance(value, dict):
        return sum(map(_bytes, value.values()))
    return value.nbytes if isinstance(value, torch.Tensor) else 0
