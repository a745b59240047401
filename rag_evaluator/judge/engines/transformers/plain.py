"""Runs a model on batches of padded rows, for any causal language model: by `generate`, or in the model's own cache.

`generate` needs one pass per token for the whole batch. `CachedRows` feeds several tokens in one pass and leaves out
rows that are done. Which of them gives the model's own logits is found by trying (`find_cache_use`).
"""

import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from transformers import GenerationConfig

from rag_evaluator.files import ACTIVITY
from rag_evaluator.judge.encoding.sequence import Chooser, Decoded, Vocabulary, new_sequence
from rag_evaluator.judge.protocol import Ids, Request

from .decoder import (
    ActiveSequence,
    Answer,
    BatchSize,
    BatchSizeSetting,
    Item,
    Outcome,
    out_of_memory,
    rope_switch,
    try_rows,
    why_alone,
)

if TYPE_CHECKING:
    from transformers import PreTrainedModel

FOLLOWING = 97  # the tokens that follow in `logits`: few enough that every vocabulary has them
CACHES = ("past_key_values", "cache_params")  # names that models give their cache
TOGETHER = 64  # tokens of a row in one pass at most, after its prompt: a chunk of linear attention
FEEDS = {TOGETHER: (2, 6, 1), 1: (1, 1)}  # fewer than a convolution sees, more, and some after a row was left out
STEPS = 1 + max(map(sum, FEEDS.values()))
logger = logging.getLogger(__name__)


def following(count: int) -> list[int]:
    """Tokens that follow a row when a model is tried out, each other than the one before."""
    return [(13 * index + 2) % FOLLOWING for index in range(count)]


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
        self.model = model
        self.mask = attention_mask
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
        self.mask = self.mask[indices]
        self.logits = self.logits[indices]

    @property
    def held_bytes(self) -> int:
        """Bytes of keys, values and states."""
        return sum(_bytes(vars(layer)) for layer in self.cache.layers)

    def _pass(self, input_ids: torch.Tensor) -> torch.Tensor:
        arguments = {"position_ids": (self.mask.cumsum(1) - 1).clamp(min=0), "logits_to_keep": 1}
        if self.cache is not None:
            arguments[self.name] = self.cache
        output = self.model(
            **self.model.prepare_inputs_for_generation(  # type: ignore[operator]  # torch types attributes as tensors
                input_ids,
                attention_mask=self.mask,
                use_cache=True,
                is_first_iteration=self.cache is None,
                **{name: value for name, value in arguments.items() if name in self.parameters},
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


@dataclass(frozen=True)
class CacheUse:
    """How a model goes on from its own cache.

    Attributes:
        together: tokens of a row in one pass at most; 0 where only `generate` gives the model's own logits.
        slot_bytes: what one token of one row takes in the cache; 0: not known.
        row_bytes: what a row takes beside its tokens: recurrent states, attention windows.
    """

    together: int
    slot_bytes: int = 0
    row_bytes: int = 0


def find_cache_use(decoder: "PlainDecoder", alone: bool) -> CacheUse:
    """Found by trying: a recurrent layer may begin anew with every pass of several tokens, a cache may not let rows go.

    Such a model gives other logits then, or fails.

    Args:
        alone: whether batches of one row are tried only.
    """

    def trial(short: Ids, long: Ids) -> CacheUse:
        rows = [long] if alone else [short, long]
        expected = decoder.logits(rows, STEPS)
        ways = (_cache_use(decoder, rows, together, expected) for together in FEEDS)
        return next(filter(None, ways), CacheUse(0))

    return try_rows(decoder.model, decoder.window, STEPS, trial)


@torch.inference_mode()
def _cache_use(
    decoder: "PlainDecoder", prompts: Sequence[Ids], together: int, expected: torch.Tensor
) -> CacheUse | None:
    """How the model goes on if so many tokens may be fed; None if its logits are not the expected ones.

    Args:
        expected: `(rows, steps, vocab)`.
    """
    feeds = FEEDS[together]
    tokens = following(sum(FEEDS[together]))
    try:
        input_ids, mask = decoder.padded(prompts)
        rows = CachedRows(decoder.model, input_ids, mask)
        held = [rows.held_bytes]
        fed = 0
        differences = [_largest(rows.logits, expected[:, 0])]
        for count in feeds:
            if fed + count == len(tokens):
                rows.keep([0])
            logits = rows.feed([tokens[fed : fed + count]] * len(rows.mask))
            held.append(rows.held_bytes)
            fed += count
            differences.append(_largest(logits, expected[: len(rows.mask), fed]))
    except Exception as error:  # models of other architectures raise errors of any kind
        if out_of_memory(error):
            raise
        logger.debug("rows cannot be fed %s tokens: %s", feeds, error, exc_info=True)
        return None
    difference = max(differences) / float(expected.float().abs().max())
    logger.debug("rows that are fed %s tokens differ by %.2g", feeds, difference)
    # Narrower than where rows are compared with others: a model that fails here is only slower.
    if not difference <= (1e-5 if decoder.model.dtype == torch.float32 else 5e-2):  # NaN is not, either
        return None
    slot = (held[1] - held[0]) // (len(prompts) * feeds[0])
    return CacheUse(together, slot, max(held[0] // len(prompts) - slot * input_ids.shape[1], 0))


def _largest(logits: torch.Tensor, expected: torch.Tensor) -> float:
    return float((logits.float() - expected.float()).abs().max())


class PlainDecoder:
    """Decodes padded batches; it has what `PackedDecoder` has.

    Args:
        model: a causal language model.
        vocabulary: of its tokenizer.
        padding: token id for padding, never seen by the model.
        window: tokens of prompt and answer together that the model can read.
        batch_size: sequences decoded together, unless an answer depends on its neighbours; see `BatchSize.of`.

    Attributes:
        alone: why each sequence is decoded alone; None if batches are decoded.
        together: tokens of a row in one pass at most, after its prompt; 0: the batch is left to `generate`.
    """

    path = "plain"

    def __init__(
        self,
        model: "PreTrainedModel",
        vocabulary: Vocabulary,
        padding: int,
        window: int,
        batch_size: BatchSizeSetting = 1,
    ) -> None:
        self.model = model
        self.vocabulary = vocabulary
        self.padding = padding
        self.window = window
        self.chooser = Chooser(vocabulary)
        self.switch = rope_switch(model.config.get_text_config())
        self.computed = 0
        self.alone = why_alone(model, self.logits, window) if batch_size != 1 else None
        if self.alone:
            logger.warning(
                "judge: each row is decoded alone (judge.batch_size: 1), because of this model: %s", self.alone
            )
        asked: BatchSizeSetting = 1 if self.alone else batch_size
        cache_use = find_cache_use(self, alone=asked == 1)
        self.together = cache_use.together
        self.batch_size = BatchSize.of(model, asked, cache_use.slot_bytes, cache_use.row_bytes)

    def decode(self, requests: Sequence[Request]) -> list[Outcome]:
        """Replies in the order of the requests. Prompts are padded on the left: neighbours do not matter."""
        self.computed += sum(len(request.input_ids) for request in requests)
        lengths = [(len(request.input_ids), request.budget.max_length) for request in requests]
        return self._in_parts(self._decode, requests, lengths)

    def open(self) -> "PlainDecoder":
        return self

    def step(self, requests: Mapping[int, Request]) -> Mapping[int, Outcome]:
        """Answer all: a cache of the model's own takes no newcomers."""
        return dict(zip(requests, self.decode(list(requests.values())), strict=True))

    def next_logits(self, sequences: Sequence[Ids]) -> torch.Tensor:
        """`(sequences, vocab)` logits after each token sequence."""
        self.computed += sum(map(len, sequences))
        lengths = [(len(sequence), 1) for sequence in sequences]
        return torch.stack(self._in_parts(lambda part: list(self.logits(part)[:, 0]), sequences, lengths))

    def logits(self, rows: Sequence[Ids], steps: int = 1) -> torch.Tensor:
        """`(rows, steps, vocab)` logits of one batch by `generate`, after each row and the tokens `following` it."""
        width = max(map(len, rows))
        tokens = following(steps)
        output = self._run(
            rows,
            max_new_tokens=steps,
            output_logits=True,
            return_dict_in_generate=True,
            prefix_allowed_tokens_fn=lambda _, row: [tokens[len(row) - width]],
        )
        ACTIVITY.tokens += len(rows) * width
        return torch.stack(output.logits, dim=1)

    def padded(self, rows: Sequence[Ids]) -> tuple[torch.Tensor, torch.Tensor]:
        """`(rows, longest)` token ids, padded on the left, and attention mask."""
        width = max(map(len, rows))
        input_ids = torch.full((len(rows), width), self.padding, dtype=torch.long)
        attention_mask = torch.zeros_like(input_ids)
        for index, row in enumerate(rows):
            input_ids[index, width - len(row) :] = torch.tensor(row)
            attention_mask[index, width - len(row) :] = 1
        return input_ids.to(self.model.device), attention_mask.to(self.model.device)

    def _in_parts(
        self,
        handle: Callable[[Sequence[Item]], list[Answer]],
        items: Sequence[Item],
        lengths: Sequence[tuple[int, int]],
    ) -> list[Answer]:
        """What `handle` makes of the items, as many at a time as fit, the longest first: little is padding.

        Args:
            lengths: tokens of prompt and answer of each item.
        """
        answers: dict[int, Answer] = {}

        def handle_parts(indices: Sequence[int]) -> list[Answer]:
            left = list(indices)
            while left:
                batch = self._independent(left[: self.batch_size.that_fit(sum(lengths[left[0]]))], lengths)
                left = [index for index in left if index not in batch]
                answers.update(zip(batch, handle([items[index] for index in batch]), strict=True))
            return [answers[index] for index in indices]

        order = sorted(range(len(items)), key=lambda index: -lengths[index][0])
        self.batch_size.run_or_halve(handle_parts, order)
        return [answers[index] for index in range(len(items))]

    def _independent(self, indices: Sequence[int], lengths: Sequence[tuple[int, int]]) -> list[int]:
        """Those of some sequences, of which the first has the longest prompt, that do not change each other's answers.

        A sequence may go on until the longest answer of its batch is complete, so none may pass the model's window
        then, nor the length at which its rope changes. Those that are longer from the start stay together; one that
        reaches this length while it is written is decoded alone.

        Args:
            lengths: tokens of prompt and answer of each sequence.
        """
        longest = lengths[indices[0]][0]
        switch = self.window if self.switch is None else self.switch
        is_past = longest > switch
        limit = self.window if is_past else min(self.window, switch + 1)  # the last token is written, but not read

        def fits(index: int) -> bool:
            prompt, answer = lengths[index]
            return longest + answer <= limit and (prompt > switch) == is_past

        return list(filter(fits, indices)) or [indices[0]]

    def _decode(self, requests: Sequence[Request]) -> list[Outcome]:
        """Replies to one batch."""
        sequences = [new_sequence(request, self.vocabulary) for request in requests]
        if self.together:
            entries = [ActiveSequence(sequence, list(sequence.request.input_ids)) for sequence in sequences]
            for entry in entries:
                entry.follow()
            prompts = [tuple(entry.feed) for entry in entries]
            decode_rows(CachedRows(self.model, *self.padded(prompts)), entries, self.chooser, self.together)
        else:
            self._generate(sequences)
        return [sequence.reply() for sequence in sequences]

    def _generate(self, sequences: Sequence[Decoded]) -> None:
        """Decode one batch by `generate`, until its longest answer has come to its end or to that of its budget."""
        prompts = [sequence.request.input_ids for sequence in sequences]
        ACTIVITY.tokens += len(prompts) * max(map(len, prompts))

        def choose(_: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
            """Leave each sequence its next token only; any will do for those that are done."""
            active = [index for index, sequence in enumerate(sequences) if not sequence.done]
            tokens = {index: sequences[index].next_forced()[0] for index in active if sequences[index].next_forced()}
            free = [index for index in active if index not in tokens]
            if free:
                chosen = self.chooser.choose([sequences[index] for index in free], scores[free])
                tokens |= dict(zip(free, chosen, strict=True))
            for index, token in tokens.items():
                if sequences[index].failure is None:
                    sequences[index].push(token)
            ACTIVITY.tokens += len(sequences)
            only = torch.full_like(scores, float("-inf"))
            only[torch.arange(len(only)), [tokens.get(index, 0) for index in range(len(only))]] = 0.0
            return only

        self._run(
            prompts,
            max_new_tokens=max(sequence.request.budget.max_length for sequence in sequences),
            logits_processor=[choose],
            stopping_criteria=[
                lambda ids, _, **__: torch.tensor([sequence.done for sequence in sequences], device=ids.device)
            ],
        )

    def _run(self, rows: Sequence[Ids], **settings: Any) -> Any:
        input_ids, attention_mask = self.padded(rows)
        model: Any = self.model  # torch types attributes of modules as tensors
        theirs = model.generation_config  # its own defaults (penalties, forced tokens, sampling) are kept out
        model.generation_config = GenerationConfig(do_sample=False, num_beams=1, pad_token_id=self.padding)
        try:
            with torch.inference_mode():
                return model.generate(input_ids=input_ids, attention_mask=attention_mask, **settings)
        finally:
            model.generation_config = theirs


def decode_rows(rows: CachedRows, entries: Sequence[ActiveSequence], chooser: Chooser, together: int) -> None:
    """Decode one batch until all of its rows are done; a row that is done is left out of the passes that follow.

    All rows of a pass get as many tokens: where each has forced tokens to be fed, these go in one pass.

    Args:
        rows: the prompts and what was forced at the beginning, computed.
        entries: of the rows; their feeds are computed.
        together: tokens of a row in one pass at most.
    """
    ready = list(range(len(entries)))
    active = list(entries)
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
