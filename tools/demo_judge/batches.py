"""Rows as tensors: one head shared by all rows of a batch, positions, and what each token of the answer weighs."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from random import Random

import torch
from transformers import PreTrainedTokenizerFast

from tools.demo_judge.languages import World
from tools.demo_judge.links import MET
from tools.demo_judge.tasks import LANGUAGES, TASKS, Row, heads, row
from tools.demo_judge.tokenizer import CONTEXT_TOKENS

VERDICT_WEIGHT = 6.0
SPANISH_SHARE = 0.4
LURING = 0.75
# What a part of the answer weighs: the verdict is one token in many, the values before it decide it, and the
# statements to judge are copied by the decoder's grammar, not by the judge.
_VERDICT = (re.compile(r'"(?:verdict|attributed|noncommittal|rating|choice|answerable)": (\d)'), VERDICT_WEIGHT)
_VALUES = (re.compile(r" (?:says|dice)( [^,.\n]+)"), 3.0)
_FIRST = (re.compile(r" (?:says|dice)( ?[^ ,.\n])"), 5.0)  # what was found, or nothing
_SAID = (re.compile(r"(?:The context|El contexto) (says|does not say|lo|no lo) "), 3.0)
_STATEMENTS = (re.compile(r'"statement": "(.*)"'), 0.1)
_STATEMENTS_IN_GROUPS = (_STATEMENTS[0], 1.0)
_REASONS = (re.compile(r'"reason": "(.*)"'), 0.5)
_WEIGHTS = {
    "nli": (1.0, _VALUES, _FIRST, _SAID, _STATEMENTS, _VERDICT),
    "dense_nli": (1.0, _VALUES, _FIRST, (_STATEMENTS[0], 0.0), _VERDICT),
    "classified": (3.0, _STATEMENTS_IN_GROUPS, _REASONS, (_FIRST[0], 2.0)),
    "find": (0.0, _VALUES, _FIRST),
    "rates": (0.0, _VERDICT),
    "phrases": (0.0, _SAID, _VERDICT),
}
_CONTEXT = re.compile(r'"context": "(.*)"')
_OTHERS = (1.0, _VALUES, _FIRST, _SAID, _VERDICT)


_POOL = 3  # batches made at a time, so that rows of like length come together

Shown = list[tuple[int, int, int]]  # kind of link, token that looks, token looked at or -1 for the first of all
Line = tuple[list[int], list[int], list[float], Shown]  # token ids, positions, weights, links


@dataclass(frozen=True)
class Batch:
    """Rows of about `tokens` tokens in all, padded at the end.

    head: `(head,)`, begins with bos; only bos when the rows have no head. The rest is `(rows, length)`; `weights` is
    0 for all that is not answer. shown: `(links, 4)`, row and then as in `Shown`.
    """

    head: torch.Tensor
    input_ids: torch.Tensor
    positions: torch.Tensor
    weights: torch.Tensor
    shown: torch.Tensor
    tokens: int

    def to(self, device: str) -> Batch:
        parts = (self.head, self.input_ids, self.positions, self.weights, self.shown)
        return Batch(*(part.to(device) for part in parts), self.tokens)


@dataclass(frozen=True)
class Cut:
    """A text in tokens: their ids, and which characters of the text each stands for."""

    ids: list[int]
    spans: list[tuple[int, int]]


def cut(text: str, tokenizer: PreTrainedTokenizerFast) -> Cut:
    encoded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    return Cut(encoded.input_ids, encoded["offset_mapping"])


def token_weights(made: Row, answer: Cut) -> list[float]:
    """What each token of the answer, and eos after it, weighs in the loss."""
    base, *rules = _WEIGHTS.get(made.task.removesuffix("_words"), _OTHERS)
    weights = [base] * len(answer.ids)
    for pattern, weight in rules:
        for match in pattern.finditer(made.answer):
            for index, (start, end) in enumerate(answer.spans):
                if start < match.end(1) and end > match.start(1):
                    weights[index] = weight
    return [*weights, base]


def positions(length: int, start: int, answer: int, rng: Random) -> list[int]:
    """Positions of a row of `length` tokens; some rows jump, so that far distances are seen at little cost."""
    places = list(range(start, start + length))
    if rng.random() < 0.2:
        cut, jump = rng.randrange(1, length - answer), rng.randint(1, CONTEXT_TOKENS - 1 - start - length)
        if rng.random() < 0.7:
            jump = min(jump, 1200)
        places = places[:cut] + [place + jump for place in places[cut:]]
    return places


def _line(made: Row, tokenizer: PreTrainedTokenizerFast, start: int, rng: Random) -> Line:
    body, answer = cut(made.body, tokenizer), cut(made.answer, tokenizer)
    weights = [0.0] * len(body.ids) + token_weights(made, answer)
    ids = [*body.ids, *answer.ids, tokenizer.eos_token_id]
    places = positions(len(ids), start, len(answer.ids) + 1, rng)
    starts = first_characters(made, body, answer)
    return ids, places, weights, shown_links(made, starts) + pairs_met(made, starts, ids)


def first_characters(made: Row, body: Cut, answer: Cut) -> list[int]:
    """Of the tokens of body and answer, in both together."""
    return [begin for begin, _ in body.spans] + [len(made.body) + begin for begin, _ in answer.spans]


def shown_links(made: Row, starts: list[int]) -> Shown:
    """The row's links in tokens; starts: their `first_characters`."""
    found: dict[tuple[int, int], tuple[int, int, int]] = {}  # of the characters of a token the first counts
    for link in made.links:
        query = _token(starts, link.query) - (not link.at)
        key = -1 if link.key is None else _token(starts, link.key)
        found.setdefault((link.kind, query), (link.kind, query, key))
    return list(found.values())


def pairs_met(made: Row, starts: list[int], ids: list[int]) -> Shown:
    """From each token of words to find but the first: to the one place of the context that has it and the token before
    it, or to nothing. Where the context has these two more often there is no link."""
    context = _CONTEXT.search(made.body)
    if context is None:
        return []
    met: dict[tuple[int, int], list[int]] = {}
    for index in range(_token(starts, context.start(1)) + 1, _token(starts, context.end(1))):
        met.setdefault((ids[index - 1], ids[index]), []).append(index)
    found: Shown = []
    for first, last in made.phrases:
        for index in range(_token(starts, first) + 1, _token(starts, last) + 1):
            places = met.get((ids[index - 1], ids[index]), [-1])
            found += [(MET, index, places[0])] if len(places) == 1 else []
    return found


def _token(starts: list[int], place: int) -> int:
    return bisect_right(starts, place) - 1


def _of_like_length(lines: list[Line], tokens: int) -> Iterator[list[Line]]:
    """All lines in groups of neighbours in length, of about `tokens` tokens with padding."""
    taken: list[Line] = []
    for line in sorted(lines, key=lambda line: len(line[0])):
        if taken and (len(taken) + 1) * len(line[0]) > tokens:
            yield taken
            taken = []
        taken.append(line)
    yield taken


class Heads(Enum):
    """What the rows of a batch stand under: nothing, the last tokens of a prompt's head, all of it."""

    NONE, CUT, WHOLE = range(3)


def batches(
    tokenizer: PreTrainedTokenizerFast, rng: Random, difficulty: float, under: Heads, tokens: int
) -> list[Batch]:
    """A few batches of one task, each of about `tokens` tokens, under one of the task's heads or without a head."""
    tasks = [task for task in TASKS if task.prompts] if under != Heads.NONE else list(TASKS)
    chosen = rng.choices(tasks, [task.share for task in tasks])[0]
    language = LANGUAGES["spanish" if rng.random() < SPANISH_SHARE else "english"]
    texts = heads(chosen, language.name if rng.random() < 0.7 else "english") if under != Heads.NONE else ("",)
    head_ids = tokenizer(rng.choice(texts)).input_ids
    if under == Heads.CUT:
        head_ids = head_ids[:1] + head_ids[-rng.randint(30, 300) :]
    lines: list[Line] = []
    while sum(len(ids) for ids, *_ in lines) < _POOL * tokens:
        made = row(chosen, World(rng, difficulty * rng.random() ** 0.5, language, LURING))
        lines.append(_line(made, tokenizer, len(head_ids), rng))
    return [_batch(some, head_ids, tokenizer.pad_token_id) for some in _of_like_length(lines, tokens)]


def _batch(lines: list[Line], head_ids: list[int], pad: int) -> Batch:
    width = max(len(ids) for ids, *_ in lines)
    return Batch(
        head=torch.tensor(head_ids),
        input_ids=torch.tensor([ids + [pad] * (width - len(ids)) for ids, *_ in lines]),
        positions=torch.tensor([places + [places[-1]] * (width - len(places)) for _, places, *_ in lines]),
        weights=torch.tensor([weights + [0.0] * (width - len(weights)) for _, _, weights, _ in lines]),
        shown=torch.tensor([(row, *link) for row, line in enumerate(lines) for link in line[3]]).reshape(-1, 4),
        tokens=sum(len(ids) for ids, *_ in lines) + len(head_ids),
    )
