"""How pairs of evidence and sentence are written for a family, and where its score is read."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from rag_evaluator.verifiers.batches import Encoded, Reader, inert, rows_of
from rag_evaluator.verifiers.families import Family

# Any in this module: objects of transformers and torch.

Pair = tuple[str, str]  # evidence, sentence


def encode(tokenizer: Any, family: Family, pairs: Sequence[Pair]) -> list[Encoded]:
    """What the model reads of each pair, not padded."""
    if not pairs:
        return []
    plain = [(inert(tokenizer, premise), inert(tokenizer, hypothesis)) for premise, hypothesis in pairs]
    if family.template:
        eos = tokenizer.eos_token or tokenizer.sep_token
        encoded = tokenizer([family.template.format(premise=a, hypothesis=b, eos=eos) for a, b in plain])
    else:
        encoded = tokenizer([premise for premise, _ in plain], [hypothesis for _, hypothesis in plain])
    return rows_of(encoded, len(pairs))


def _first_step(model: Any, inputs: dict[str, Any], tokens: Sequence[int]) -> Any:
    """The share of the second of two tokens in a decoder's first step."""
    import torch

    shape, device = (len(inputs["input_ids"]), 1), model.device
    start = torch.full(shape, model.config.decoder_start_token_id or 0, device=device)
    first = model(**inputs, decoder_input_ids=start).logits[:, 0].float()
    return first[:, tokens].softmax(-1)[:, 1]


READERS: Mapping[str, Callable[[Family, int], Reader]] = {
    "label": lambda _, label: lambda model, inputs: model(**inputs).logits.float().softmax(-1)[:, label],
    "first": lambda _, label: lambda model, inputs: model(**inputs).logits[:, 0].float().softmax(-1)[:, label],
    "tokens": lambda family, label: partial(_first_step, tokens=[family.other, label]),
}
"""By `Family.reads`, what gives the probability of each text of a batch; `lettucedetect.py` reads `spans`."""
