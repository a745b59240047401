"""Runs a model on many rows that share a common prefix, without computing or copying the prefix per row.

The tokens of all rows are packed into one sequence for the linear layers, so a row costs no more beside a longer one.
Attention (`attention`) reads the prefix's keys and values once for all rows, and each row's own tail from a
pre-allocated cache (`TailCache`).

Whether a model can be run in this way is tried when it is loaded (`try_out`): packed rows must give the logits of each
row alone.
"""

import inspect
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any

import torch

from rag_evaluator.files import ACTIVITY
from rag_evaluator.judge.encoding.sequence import Chooser, Vocabulary, new_sequence
from rag_evaluator.judge.protocol import Ids, Request, common_beginning

from .attention import (
    Layer,
    NotPackableError,
    Prefix,
    TailCache,
    on_device,
    packed_attention_of,
    parted,
)
from .decoder import (
    HALVES,
    WINDOWS,
    ActiveSequence,
    BatchSize,
    BatchSizeSetting,
    InParts,
    Outcome,
    free_bytes,
    held_bytes,
    in_float32,
    on_gpus,
    rope_switch,
)
from .drafts import LIMITS, MOST, Draft
from .prefixes import LEAST, KeptBeginnings, PrefixCache, leaders_of

if TYPE_CHECKING:
    from transformers import PreTrainedModel

PARAMETERS = {"position_ids", "past_key_values", "logits_to_keep"}
CHUNK = 512  # tokens of a row in one pass at most
WINDOW = 8  # tokens of all attention windows while a model is tried out
# tokens; those of the tails that are fed first
PREFIX = 13
TAILS = (14, 9)
FIRST = (3, 2)
KINDS = {"full_attention", "sliding_attention"}  # layers that only attend to the tokens before
# of the largest logit
LIMIT = 1e-4
HALF_LIMIT = 5e-2
# tokens of the passes that are timed
FEW = 8
MANY = 256
KEPT_SHARE = 0.125  # of the free memory may hold beginnings that several questions have in common
PREFILL_TOKENS = 4096  # packed in one pass at most, so that memory stays bounded


class PackedModel:
    """A causal language model that can be run on packed rows.

    Use `PackedModel.of(model)`, which finds out whether the model can.

    Attributes:
        layers: number of attention layers.
        slot_bytes: memory that the keys and values of one token take.
        chunk: tokens of a row in one pass at most; less where memory was too small.
        passes: so far.
    """

    def __init__(self, model: "PreTrainedModel") -> None:
        self.model = model
        self.layers = int(model.config.get_text_config().num_hidden_layers)
        configs = [module.config for module in model.modules() if hasattr(module, "config")]
        self.configs = list({id(config): config for config in configs}.values())
        self.slot_bytes = 0
        self.chunk = CHUNK
        self.passes = 0

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
            packed.slot_bytes = try_out(packed)
        except NotPackableError:
            raise
        except Exception as error:  # models of other architectures raise errors of any kind
            message = " ".join(str(error).split())[:200]
            raise NotPackableError(f"packed rows fail with {type(error).__name__}: {message}") from error
        return packed

    def run(
        self,
        cache: TailCache,
        tokens: Sequence[Sequence[int]],
        rows: Sequence[int],
        starts: Sequence[int],
        kept: Sequence[int] | None = None,
    ) -> Any:
        """Logits `(rows, vocab)` after the last token of each row, or `(sum(kept), vocab)` after the last ones.

        Args:
            cache: tails of all rows, and the prefix they share.
            tokens: new tokens of each row, at least one.
            rows: rows of the cache they belong to.
            starts: tail slots that each row has filled already.
            kept: how many of the last tokens of each row; None: one.
        """
        tokens = list(tokens)
        starts = list(starts)
        chunk = self.chunk
        while long := [index for index, part in enumerate(tokens) if len(part) > chunk]:
            self._pass(cache, [tokens[i][:chunk] for i in long], [rows[i] for i in long], [starts[i] for i in long])
            for index in long:
                tokens[index] = tokens[index][chunk:]
                starts[index] += chunk
        return self._pass(cache, tokens, rows, starts, kept)

    def prefix(self, tokens: Sequence[int]) -> list[Layer]:
        """Keys and values of a prefix, per layer."""
        cache = TailCache(self.layers, 1, len(tokens))
        self.run(cache, [tokens], [0], [0])
        return cache.copy_of(0, len(tokens))

    def seconds(self) -> tuple[float, float]:
        """Seconds that a pass takes, and how many more each token; measured with few and with many."""
        took = []
        for tokens in (range(FEW), range(MANY)):
            self.prefix(tokens)  # the first time is longer
            began = time.perf_counter()
            self.prefix(tokens)
            took.append(time.perf_counter() - began)
        of_token = max(0.0, took[1] - took[0]) / (MANY - FEW)
        return max(0.0, took[0] - FEW * of_token), of_token

    def _pass(
        self,
        cache: TailCache,
        tokens: Sequence[Sequence[int]],
        rows: Sequence[int],
        starts: Sequence[int],
        kept: Sequence[int] | None = None,
    ) -> Any:
        """One forward pass; memory for attention grows with the columns, which is why `run` cuts long ones."""
        device = self.model.device
        kinds = parted([len(part) for part in tokens], device, self.model.dtype)
        order = sorted(range(len(tokens)), key=kinds.__getitem__)  # so that rows of a view stand behind each other
        feeds = [tokens[index] for index in order]
        counts = [len(feed) for feed in feeds]
        cache.begin(counts, [rows[index] for index in order], [starts[index] for index in order])
        step = cache.step(device)
        ends = dict(zip(order, accumulate(counts), strict=True))
        places = [
            place
            for index, count in enumerate(kept or [1] * len(counts))
            for place in range(ends[index] - count, ends[index])
        ]
        with packed_attention_of(self.configs, cache):
            output = self.model(
                input_ids=on_device(torch.tensor([list(chain.from_iterable(feeds))]), device),
                position_ids=step.positions[None],
                past_key_values=cache,
                use_cache=True,
                logits_to_keep=torch.tensor(places),  # on the CPU: the last layer may be elsewhere
            )
        ACTIVITY.tokens += sum(counts)
        self.passes += 1
        return output.logits[0]


def other_layers(config: Any) -> str | None:
    """Why, by its configuration, a model cannot be packed; for what a trial with short rows would not show."""
    if kinds := set(getattr(config, "layer_types", None) or ()) - KINDS:
        return f"it has layers of the kind {', '.join(sorted(kinds))}"
    return None if rope_switch(config) is None else "its position encoding depends on the length of the longest row"


def try_out(packed: PackedModel) -> int:
    """Compare packed logits with the model's own. Returns the bytes that keys and values of one token take.

    Two rows of different lengths share a prefix and are fed in two steps; each is compared with the model's own pass
    over it alone. Meanwhile all attention windows of the model have `WINDOW` tokens, in both ways, and prefix and
    tails are longer than that. Rows longer than the real windows could take minutes.

    A model of half precision is compared in float32 (`in_float32`). In its own type it is run, too.

    Raises `NotPackableError` where logits differ, and whatever the model raises.
    """
    model = packed.model
    size = int(model.config.get_text_config().vocab_size)
    tokens = [(7 * i + 3) % size for i in range(PREFIX + sum(TAILS))]
    prefix = tokens[:PREFIX]
    tails = (tokens[PREFIX : PREFIX + TAILS[0]], tokens[-TAILS[1] :])

    def compared() -> tuple[torch.Tensor, torch.Tensor]:
        return _own(model, [[*prefix, *tail] for tail in tails]), _packed(packed, prefix, tails)[0]

    with torch.inference_mode(), _small_windows([*model.modules(), *packed.configs]):
        with InParts():
            _, cache = _packed(packed, prefix, tails)
        (alone, logits), exact = in_float32(model, compared)
    scale = alone.abs().max()
    difference = float((logits.float() - alone.float()).abs().max() / scale)
    if not difference <= (LIMIT if exact else HALF_LIMIT):
        raise NotPackableError(f"its logits change when rows are packed, by {difference:.2g} of them")
    return sum(keys.nbytes + values.nbytes for keys, values in cache.prefixes[0]) // PREFIX


def _own(model: "PreTrainedModel", rows: Sequence[Sequence[int]]) -> torch.Tensor:
    """`(rows, vocab)` logits after the last token of each row, which is alone."""
    passes = (model(torch.tensor([row], device=model.device), logits_to_keep=1) for row in rows)
    return torch.stack([output.logits[0, -1] for output in passes])


def _packed(
    packed: PackedModel, prefix: Sequence[int], tails: Sequence[Sequence[int]]
) -> tuple[torch.Tensor, TailCache]:
    """`(rows, vocab)` logits after the last token of each row, and the cache of the rows."""
    alone = TailCache(packed.layers, 1, len(prefix))
    packed.run(alone, [prefix], [0], [0])
    if any(tail is None for tail in alone.tails):
        raise NotPackableError("not all of its layers are attention layers")
    if max((window or 0 for window in alone.windows), default=0) > WINDOW:
        raise NotPackableError("its attention windows cannot be made small to try it out")
    shared = TailCache(packed.layers, len(tails), max(map(len, tails)), alone.copy_of(0, len(prefix)))
    rows = list(range(len(tails)))
    packed.run(shared, [tail[:first] for tail, first in zip(tails, FIRST, strict=True)], rows, [0] * len(rows))
    logits = packed.run(shared, [tail[first:] for tail, first in zip(tails, FIRST, strict=True)], rows, FIRST)
    return logits, shared


@contextmanager
def _small_windows(holders: Sequence[Any]) -> Iterator[None]:
    """Let modules and configurations say meanwhile that attention windows have `WINDOW` tokens at most."""
    known = [(holder, name, vars(holder).get(name)) for holder in holders for name in WINDOWS]
    larger = [(holder, name, size) for holder, name, size in known if type(size) is int and size > WINDOW]
    for holder, name, _ in larger:
        setattr(holder, name, WINDOW)
    try:
        yield
    finally:
        for holder, name, size in larger:
            setattr(holder, name, size)


@dataclass
class PackedSequence(ActiveSequence):
    """A sequence with its place in a batch.

    Attributes:
        number: of its request.
        prefix, tail: token ids of its prompt; those of the prefix are not in `feed`.
        length: tail slots that it may fill.
        draft: guesses its next tokens; None: they are not guessed.
        position: its row of the cache.
        filled: tail slots that it has filled.
        guess: tokens that were fed behind those that it is known to have.
        place: of the logits after the latter in what a pass gives.
    """

    number: int
    prefix: Ids
    tail: Ids
    length: int
    draft: Draft | None
    position: int = 0
    filled: int = 0
    guess: list[int] = field(default_factory=list)
    place: int = 0


class PackedDecoder:
    """Decodes packed sequences, with the prefixes that they share computed once.

    One thread at a time owns it, under `torch.inference_mode`.

    Args:
        packed: the model.
        vocabulary: of its tokenizer.
        batch_size: sequences decoded together, if the memory that the model leaves holds as many; see `BatchSize.of`.

    Attributes:
        path: its name in the manifest and in `status`.
    """

    path = "packed"
    alone: str | None = None

    def __init__(self, packed: PackedModel, vocabulary: Vocabulary, batch_size: BatchSizeSetting = "auto") -> None:
        self.packed = packed
        self.vocabulary = vocabulary
        self.chooser = Chooser(vocabulary)
        self.prefixes = PrefixCache(packed.prefix)
        self.beginnings = KeptBeginnings(int(KEPT_SHARE * free_bytes(packed.model)), packed.slot_bytes)
        self.batch_size = BatchSize.of(packed.model, batch_size, packed.slot_bytes)
        self.batch_size.prefill = PREFILL_TOKENS
        self.is_half = packed.model.dtype in HALVES
        self.at_once, self.repeated = LIMITS[on_gpus(packed.model)]
        self.tail_tokens = 0  # of prompts computed, prefixes apart

    @property
    def computed(self) -> int:
        """Prompt tokens that went through the model so far."""
        return self.tail_tokens + self.prefixes.computed

    @property
    def held_bytes(self) -> int:
        """Memory that is held now: on a CPU by the process, elsewhere by tensors on all devices."""
        return held_bytes(self.packed.model)

    def bytes_at_most(self, longest: int, prefixes: int, asked: int, chooses: bool) -> int:
        """Memory that a run takes beside the weights, at most.

        It holds keys and values: of a batch of the longest, of prefixes, and where options are weighed of a batch of
        these and of beginnings. A pass has a few numbers for each token and dimension, and each row's logits thrice.

        Args:
            longest: tokens of a sequence behind its prefix, its answer included.
            prefixes: tokens of all prefixes.
            asked: questions that there are.
            chooses: whether options are weighed (`next_logits`).
        """
        rows = min(self.batch_size.that_fit(longest), asked)
        batch = rows * longest
        config = self.packed.model.config.get_text_config()
        slots = batch + min(self.prefixes.most, prefixes)
        if chooses:
            slots += batch + min(self.beginnings.kept.most, asked * longest)
        hidden = config.hidden_size
        inner = getattr(config, "intermediate_size", None) or 4 * config.hidden_size
        computed = min(self.batch_size.prefill, batch) * (4 * hidden + 3 * inner)
        logits = 3 * (rows + self.at_once) * self.vocabulary.size
        return slots * self.packed.slot_bytes + int(computed + logits) * int(self.packed.model.dtype.itemsize)

    def open(self) -> "PackedBatch":
        return PackedBatch(self)

    def decode(self, requests: Sequence[Request]) -> list[Outcome]:
        """Replies in the order of the requests; an error in place of a reply that could not be made."""
        return self.batch_size.run_or_halve(self._decode, requests)

    def next_logits(self, sequences: Sequence[Ids]) -> torch.Tensor:
        """`(sequences, vocab)` logits after each sequence; what they have in common is computed once."""
        return torch.stack(self.batch_size.run_or_halve(self._logits, sequences))

    def _decode(self, requests: Sequence[Request]) -> list[Outcome]:
        batch = self.open()
        outcomes = dict[int, Outcome]()
        while len(outcomes) < len(requests):
            outcomes |= batch.step({} if outcomes else dict(enumerate(requests)))
        return [outcomes[number] for number in range(len(requests))]

    def _logits(self, sequences: Sequence[Ids]) -> list[torch.Tensor]:
        prefix = self.prefixes.kept_by(sequences)
        tails = [sequence[len(prefix) :] for sequence in sequences]
        width = min(self.batch_size.that_fit(2 * max(map(len, tails))), len(tails))  # beside a batch that goes on
        logits: list[torch.Tensor] = []
        for start in range(0, len(tails), width):
            logits += self._tail_logits(prefix, tails[start : start + width])
        return logits

    def _tail_logits(self, prefix: Ids, tails: Sequence[Ids]) -> list[torch.Tensor]:
        """Logits after tails that fit into memory together; what they or earlier ones have in common is computed once.

        Tails that begin as another one does wait for that one, and take its keys and values.
        """
        cache = TailCache(self.packed.layers, len(tails), max(map(len, tails)), self.prefix(prefix))
        filled = [self.beginnings.fill(cache, row, prefix, tail) for row, tail in enumerate(tails)]
        leaders = leaders_of(tails, filled)
        logits: dict[int, torch.Tensor] = {}
        for are_led in (False, True):
            wave = [row for row in range(len(tails)) if (row in leaders) == are_led]
            for row in wave if are_led else ():
                leader, filled[row] = leaders[row]
                cache.put(row, cache.copy_of(leader, filled[row]))
            for part in self.by_size([tails[row][filled[row] :] for row in wave]):
                rows = [wave[place] for place in part]
                feeds = [tails[row][filled[row] :] for row in rows]
                made = self.packed.run(cache, feeds, rows, [filled[row] for row in rows])
                logits |= dict(zip(rows, made, strict=True))
                self.tail_tokens += sum(map(len, feeds))
        for row, tail in enumerate(tails):
            self.beginnings.learn(cache, row, prefix, tail, filled[row])
        return [logits[row] for row in range(len(tails))]

    def prefix(self, prefix: Ids) -> Prefix:
        """Keys and values of a prefix, which is computed, if it is not known, in passes that memory bears."""
        self.packed.chunk = min(CHUNK, self.batch_size.prefill)
        return self.prefixes.cache(prefix)

    def by_size(self, feeds: Sequence[Sequence[int]]) -> Iterator[list[int]]:
        """Indices of the feeds in parts that are small enough for one pass, a longer one alone."""
        most = self.batch_size.prefill
        part: list[int] = []
        for index, feed in enumerate(feeds):
            if part and sum(len(feeds[other]) for other in part) + len(feed) > most:
                yield part
                part = []
            part.append(index)
        if part:
            yield part


class PackedBatch:
    """Sequences that are decoded together, whatever they begin with; others take the places of those that end."""

    def __init__(self, decoder: PackedDecoder) -> None:
        self.decoder = decoder
        self.waiting: deque[PackedSequence] = deque()
        self.active: list[PackedSequence] = []
        self.cache = TailCache(decoder.packed.layers, 0, 0)

    def step(self, requests: Mapping[int, Request]) -> dict[int, Outcome]:
        """Take more requests in and decode until some are answered. Both go by numbers that the caller gives."""
        numbers = list(requests)
        given = list(requests.values())
        for prefix, members in self.decoder.prefixes.shared_by(given):
            for index in sorted(members, key=lambda index: (-len(given[index].input_ids), -index)):  # longest first
                request = given[index]
                tail = request.input_ids[len(prefix) :]
                sequence = new_sequence(request, self.decoder.vocabulary)
                length = len(tail) + request.budget.max_length
                draft = Draft(request.input_ids) if self.decoder.is_half else None
                self.waiting.append(PackedSequence(sequence, list(tail), numbers[index], prefix, tail, length, draft))
        while True:
            newcomers = self._admit()
            apart = () if self.decoder.is_half else newcomers  # in float32 the last digits would change
            for group in (apart, self.active):
                for part in self.decoder.by_size([entry.feed for entry in group]):
                    self._advance([group[index] for index in part])
            ended = [entry for entry in self.active if entry.sequence.done]
            if ended or not self.active:
                self.active = _in_place(self.cache, self.active)
                return {entry.number: entry.sequence.reply() for entry in ended}

    def _admit(self) -> list[PackedSequence]:
        """Take in the sequences that wait, as long as the memory holds them beside those that are decoded.

        One whose prompt begins as another's takes the keys and values of that; a newcomer's, in the next pass.
        """
        before = len(self.active)
        led = list[PackedSequence]()
        while self.waiting:
            entry = self.waiting[0]
            length = max([entry.length, *(other.length for other in self.active)])
            width = self.decoder.batch_size.that_fit(length)
            if len(self.active) >= width:
                break
            common, leader = self._leader(entry)
            if leader is not None and leader.filled < common:
                led.append(self.waiting.popleft())
                continue
            entry.position = len(self.active)
            if length > self.cache.length or entry.position >= self.cache.width:
                self.cache.resize(min(width, max(2 * entry.position, len(self.active) + len(self.waiting))), length)
            self.cache.prefixes[entry.position] = self.decoder.prefix(entry.prefix)
            if leader is not None:
                self.cache.move(leader.position, entry.position, common)
                entry.filled = common
                entry.feed = entry.feed[common:]
            self.decoder.tail_tokens += len(entry.feed)
            self.active.append(self.waiting.popleft())
            entry.follow()
        self.waiting.extendleft(reversed(led))
        return self.active[before:]

    def _leader(self, entry: PackedSequence) -> tuple[int, PackedSequence | None]:
        """The sequence whose prompt begins as most of that of a new one, and how many tokens of the tail that is."""
        leader = None
        least = LEAST
        tail = entry.tail[:-1]
        for other in self.active if self.decoder.is_half else ():
            if tail[:least] == other.tail[:least] and len(tail) >= least and other.prefix == entry.prefix:
                leader = other
                least = len(common_beginning([tail, other.tail])) + 1
        return least - 1, leader

    def _advance(self, active: Sequence[PackedSequence]) -> None:
        """One forward pass over the tokens to be fed, and the choice of each sequence's next token."""
        active = [entry for entry in active if not entry.sequence.done]
        if not active:
            return
        self._guess(active)
        kept = [1 + len(entry.guess) for entry in active]
        feeds = [entry.feed + entry.guess for entry in active]
        rows, filled = zip(*((entry.position, entry.filled) for entry in active), strict=True)
        logits = self.decoder.packed.run(self.cache, feeds, rows, filled, kept)
        for entry, place in zip(active, accumulate(kept, initial=0), strict=False):
            entry.place = place
            entry.filled += len(entry.feed)
        while active:
            rows_of = logits if len(active) == len(logits) else logits[[entry.place for entry in active]]
            tokens = self.decoder.chooser.choose([entry.sequence for entry in active], rows_of)
            active = [entry for entry, token in zip(active, tokens, strict=True) if self._take(entry, token)]

    def _guess(self, active: Sequence[PackedSequence]) -> None:
        """How each sequence may go on; what a short guess leaves of a pass goes to the longer ones."""
        room = self.decoder.at_once
        repeated = self.decoder.repeated
        for entry in active:
            most = min(MOST, min(self.decoder.packed.chunk, self.cache.length - entry.filled) - len(entry.feed))
            entry.guess = entry.draft.next_tokens(entry.sequence.tokens, most, repeated) if entry.draft else []
        by_length = sorted(active, key=lambda entry: len(entry.guess))
        for entry, left in zip(by_length, range(len(active), 0, -1), strict=True):
            entry.guess = entry.guess[: room // left]
            room -= len(entry.guess)

    def _take(self, entry: PackedSequence, token: int) -> bool:
        """Accept a token that was chosen; whether the logits after it, and what it forces, are there as well."""
        if entry.sequence.failure is not None:
            self.cache.clear(entry.position)
            return False
        entry.take(token)
        right = len(common_beginning([tuple(entry.feed), tuple(entry.guess)]))
        goes_on = right == len(entry.feed) and not entry.sequence.done
        right -= right == len(entry.feed) and not goes_on
        entry.filled += right
        entry.feed = entry.feed[right:]
        entry.guess = entry.guess[right:]
        entry.place += right
        return goes_on


def _in_place(cache: TailCache, active: Sequence[PackedSequence]) -> list[PackedSequence]:
    """The sequences that go on, moved up so that their rows of the cache are the first ones."""
    going_on = [entry for entry in active if not entry.sequence.done]
    holes = sorted(set(range(len(going_on))) - {entry.position for entry in going_on})
    for entry in going_on:
        if entry.position >= len(going_on):
            target = holes.pop()
            cache.move(entry.position, target, entry.filled)
            entry.position = target
    return sorted(going_on, key=lambda entry: entry.position)
