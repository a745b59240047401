"""LettuceDetect: a classifier of tokens that reads all contexts and the whole answer in one pass.

Format and formula: Kovács and Recski 2025, github.com/KRLabsOrg/LettuceDetect.
"""

import itertools
import json
from collections.abc import Mapping, Sequence
from functools import cache
from string import Template
from typing import Any

from rag_evaluator.errors import PromptTooLongError, UndefinedScoreError
from rag_evaluator.resources import PACKAGE

# Any in this module: JSON, objects of transformers and torch.

HALLUCINATED = 1  # the label
DOUBT = 0.5  # a token above it is hallucinated
BETWEEN = " "  # sentences of the answer

Span = tuple[int, int, float]  # start and end in characters, probability of hallucination
Seen = tuple[float, tuple[Span, ...]]  # of a sentence: probability of hallucination, its spans


def prompt(contexts: Sequence[str], question: str, language: str) -> str:
    """What the answer answers: the question and the contexts, or the contexts to be summarised.

    A language without a prompt of its own has the English one.
    """
    words = _prompts().get(language) or _prompts()["english"]
    passages = "\n".join(f"{words['passage']} {number}: {context}" for number, context in enumerate(contexts, 1))
    if not question.strip():
        return Template(words["summary"]).substitute(text=passages)
    return Template(words["question"]).substitute(question=question, num_passages=len(contexts), context=passages)


@cache
def _prompts() -> Mapping[str, Mapping[str, str]]:
    content = json.loads((PACKAGE / "verifiers" / "lettucedetect.json").read_text(encoding="utf-8"))
    prompts: Mapping[str, Mapping[str, str]] = content["prompts"]
    return prompts


def read(model: Any, tokenizer: Any, text: str, sentences: Sequence[str], window: int) -> list[Seen]:
    """The sentences of an answer, joined by a space, below a prompt; names of control tokens are text.

    Of each sentence the highest probability of its tokens, and the spans of tokens in a row that are hallucinated, with
    their highest probability.

    Raises `PromptTooLongError` where all does not fit at once, `UndefinedScoreError` for a sentence without tokens.
    """
    import torch

    encoded = tokenizer(text, BETWEEN.join(sentences), return_offsets_mapping=True, split_special_tokens=True)
    ids = encoded["input_ids"]
    if len(ids) > window:
        raise PromptTooLongError(
            f"contexts, question and answer have {len(ids)} tokens, and this verifier reads {window} at once. It takes "
            "all contexts together: a sentence that one group supports would count as hallucinated in the others"
        )
    inputs = {
        name: torch.tensor([encoded[name]], device=model.device)
        for name in ("input_ids", "attention_mask", "token_type_ids")
        if name in encoded
    }
    with torch.inference_mode():
        shares = model(**inputs).logits[0].float().softmax(-1)[:, HALLUCINATED].tolist()
    tokens = [
        (*offsets, share)
        for offsets, share, sequence in zip(encoded["offset_mapping"], shares, encoded.sequence_ids(0), strict=True)
        if sequence == 1 and offsets[0] < offsets[1]
    ]
    starts = itertools.accumulate((len(sentence) + len(BETWEEN) for sentence in sentences), initial=0)
    return [_sentence(tokens, start, sentence) for start, sentence in zip(starts, sentences, strict=False)]


def _sentence(tokens: Sequence[Span], start: int, sentence: str) -> Seen:
    """What the tokens say that have a character of a sentence."""
    end = start + len(sentence)
    mine = [
        (max(left - start, 0), min(right, end) - start, p) for left, right, p in tokens if left < end and right > start
    ]
    if not mine:
        raise UndefinedScoreError(f"the verifier's tokenizer has no token for the sentence {sentence:.60}")
    runs = [list(run) for hallucinated, run in itertools.groupby(mine, lambda token: token[2] > DOUBT) if hallucinated]
    spans = tuple((run[0][0], run[-1][1], max(share for _, _, share in run)) for run in runs)
    return max(share for _, _, share in mine), spans
