"""How pairs of evidence and sentence are written for a family, and where its score is read."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from rag_evaluator.verifiers import guardian
from rag_evaluator.verifiers.batches import Encoded, Reader
from rag_evaluator.verifiers.families import Family

# Any in this module: objects of transformers and torch.

Pair = tuple[str, str]  # evidence, sentence


def inert(tokenizer: Any, text: str) -> str:
    """A text in which names of control tokens are text: `</s>` in data ends no evidence."""
    names = "|".join(map(re.escape, sorted(tokenizer.all_special_tokens, key=len, reverse=True)))
    return re.sub(names, lambda match: f"{match[0][0]} {match[0][1:]}", text) if names else text


def encode(tokenizer: Any, family: Family, pairs: Sequence[Pair]) -> list[Encoded]:
    """What the model reads of each pair, not padded."""
    if not pairs:
        return []
    plain = [(inert(tokenizer, premise), inert(tokenizer, hypothesis)) for premise, hypothesis in pairs]
    if family.reads == "answer":
        return guardian.encode(tokenizer, plain)
    if family.template:
        eos = tokenizer.eos_token or tokenizer.sep_token
        encoded = tokenizer([family.template.format(premise=a, hypothesis=b, eos=eos) for a, b in plain])
    else:
        encoded = tokenizer([premise for premise, _ in plain], [hypothesis for _, hypothesis in plain])
    return [{name: values[row] for name, values in encoded.items()} for row in range(len(pairs))]


def reader(tokenizer: Any, family: Family, label: int) -> Reader:
    """What gives the probability of each text of a batch."""
    return READERS[family.reads](tokenizer, family, label)


def _of_label(_: Any, __: Family, label: int) -> Reader:
    return lambda model, inputs: model(**inputs).logits.float().softmax(-1)[:, label]


def _of_first(_: Any, __: Family, label: int) -> Reader:
    return lambda model, inputs: model(**inputs).logits[:, 0].float().softmax(-1)[:, label]


def _of_tokens(_: Any, family: Family, label: int) -> Reader:
    return partial(_first_step, tokens=[family.other, label])


def _first_step(model: Any, inputs: dict[str, Any], tokens: Sequence[int]) -> Any:
    """The share of the second of two tokens in a decoder's first step."""
    import torch

    shape, device = (len(inputs["input_ids"]), 1), model.device
    start = torch.full(shape, model.config.decoder_start_token_id or 0, device=device)
    first = model(**inputs, decoder_input_ids=start).logits[:, 0].float()
    return first[:, tokens].softmax(-1)[:, 1]


def _of_answer(tokenizer: Any, _: Family, __: int) -> Reader:
    yes, no = guardian.answers(tokenizer)
    return partial(guardian.grounded, yes=yes, no=no)


READERS: Mapping[str, Callable[[Any, Family, int], Reader]] = {
    "label": _of_label,
    "first": _of_first,
    "tokens": _of_tokens,
    "answer": _of_answer,
}
"""By `Family.reads`; `spans` are read in `lettucedetect.py`, from the whole answer."""
