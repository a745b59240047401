"""Runs a model on many rows that share a common prefix, without computing or copying the prefix per row.

The tokens of all rows are packed into one sequence for the linear layers, so a row costs no more beside a longer one.
Attention (`attention`) reads the prefix's keys and values once for all rows, and each row's own tail from a
pre-allocated cache (`tail_cache`). `probe` finds out whether a model can be run in this way.
"""

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from rag_evaluator.judge.engine.transformers.attention import NotPackableError, packed_attention_of
from rag_evaluator.judge.engine.transformers.probe import other_layers, try_out
from rag_evaluator.judge.engine.transformers.tail_cache import Layer, TailCache
from rag_evaluator.progress import ACTIVITY

if TYPE_CHECKING:
    from transformers import PreTrainedModel

__all__ = ["Layer", "NotPackableError", "PackedModel", "TailCache"]

PARAMETERS = {"position_ids", "past_key_values", "logits_to_keep"}
CHUNK = 512  # tokens of a row in one pass at most


class PackedModel:
    """A causal language model that can be run on packed rows.

    Use `PackedModel.of(model)`, which finds out whether the model can.

    Attributes:
        layers: number of attention layers.
        slot_bytes: memory that the keys and values of one token take.
    """

    def __init__(self, model: "PreTrainedModel") -> None:
        self.model = model
        self.layers = int(model.config.get_text_config().num_hidden_layers)
        configs = [module.config for module in model.modules() if hasattr(module, "config")]
        self.configs = list({id(config): config for config in configs}.values())
        self.slot_bytes = 0

    @classmethod
    def of(cls, model: "PreTrainedModel") -> "PackedModel":
        """The packed form of a model. Raises `NotPackableError` where it does not give the model's own logits."""
        missing = PARAMETERS - inspect.signature(model.forward).parameters.keys()
        if missing:
            raise NotPackableError(f"its forward pass takes no {', '.join(sorted(missing))}")
        if reason := other_layers(model.config.get_text_config()):
            raise NotPackableError(reason)
        packed = cls(model)
        try:
            packed.slot_bytes = try_out(model, packed.configs, packed.layers, packed.run)
        except NotPackableError:
            raise
        except Exception as error:  # models of other architectures raise errors of any kind
            message = " ".join(str(error).split())[:200]
            raise NotPackableError(f"packed rows fail with {type(error).__name__}: {message}") from error
        return packed

    def run(self, cache: TailCache, tokens: Sequence[Sequence[int]], rows: Sequence[int], starts: Sequence[int]) -> Any:
        """Logits `(rows, vocab)` after the last token of each row.

        Args:
            cache: tails of all rows, and the prefix they share.
            tokens: new tokens of each row, at least one.
            rows: rows of the cache they belong to.
            starts: tail slots that each row has filled already.
        """
        tokens, starts = list(tokens), list(starts)
        while long := [index for index, part in enumerate(tokens) if len(part) > CHUNK]:
            self._pass(cache, [tokens[i][:CHUNK] for i in long], [rows[i] for i in long], [starts[i] for i in long])
            for index in long:
                tokens[index], starts[index] = tokens[index][CHUNK:], starts[index] + CHUNK
        return self._pass(cache, tokens, rows, starts)

    def _pass(
        self, cache: TailCache, tokens: Sequence[Sequence[int]], rows: Sequence[int], starts: Sequence[int]
    ) -> Any:
        """One forward pass; memory for attention grows with the columns, which is why `run` cuts long ones."""
        device = self.model.device
        counts = [len(part) for part in tokens]
        cache.begin(counts, rows, starts)
        step = cache.step(device)
        with packed_attention_of(self.configs, cache):
            output = self.model(
                input_ids=torch.tensor([[token for part in tokens for token in part]], device=device),
                position_ids=(step.slots + step.prefix)[None],
                past_key_values=cache,
                use_cache=True,
                logits_to_keep=torch.tensor(counts).cumsum(0) - 1,  # on the CPU: the last layer may be elsewhere
            )
        ACTIVITY.tokens += sum(counts)
        return output.logits[0]
