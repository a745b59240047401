"""`Reranker`: how surely a passage answers a query, by a model that was made to order search results.

Formats and formulas are those of the authors: FlagEmbedding (bge-reranker), Qwen3-Reranker (Zhang et al. 2025).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from rag_evaluator.config import RerankerConfig
from rag_evaluator.errors import ModelError, PromptTooLongError
from rag_evaluator.hub import fingerprint
from rag_evaluator.judge import BatchHandler, Scheduler, SingleFlight

from .batches import (
    DECIMALS,
    BatchSize,
    Encoded,
    Reader,
    inert,
    next_logits,
    probabilities,
    rows_of,
)
from .families import labels_of, names_of, settings_of
from .loading import FolderModel, model_folder

# Any in this module: objects of transformers and torch.

KEY = "retrieval.reranker.model"
LEAST = 32  # tokens of a passage that must fit beside a query
REMEMBERED = 256  # rows of which several metrics ask the same
ENCODERS = ("Bert", "Roberta", "XLMRoberta", "DebertaV2", "ModernBert", "Electra", "MPNet", "DistilBert")
BEFORE = (
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct "
    'provided. Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n'
)
TASK = "Given a web search query, retrieve relevant passages that answer the query"
AFTER = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"


@dataclass(frozen=True)
class RerankerKind:
    """A row of `RERANKERS`.

    Attributes:
        model: class of transformers that has its weights.
        window: tokens of query, passage and template together at most, as its authors have it.
        encode: what the model reads of a query and passages in so many tokens.
        reader: what gives the probability of each text of a batch.
    """

    model: str
    window: int
    encode: Callable[[Any, str, Sequence[str], int], list[Encoded]]
    reader: Callable[[Any], Reader]


def _pairs(tokenizer: Any, query: str, passages: Sequence[str], window: int) -> list[Encoded]:
    """Query and passage; a passage that is too long loses its end."""
    _check_room(window - len(tokenizer(query, "")["input_ids"]), query, window)
    encoded = tokenizer([query] * len(passages), list(passages), truncation="only_second", max_length=window)
    return rows_of(encoded, len(passages))


def _asked(tokenizer: Any, query: str, passages: Sequence[str], window: int) -> list[Encoded]:
    """Query and passage in Qwen's words; a passage that is too long loses its end."""
    before, after = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in (BEFORE, AFTER))
    head = f"<Instruct>: {TASK}\n<Query>: {query}\n<Document>: "
    room = window - len(before) - len(after)
    _check_room(room - len(tokenizer(head, add_special_tokens=False)["input_ids"]), query, window)
    bodies = tokenizer([head + passage for passage in passages], add_special_tokens=False)["input_ids"]
    texts = [[*before, *body[:room], *after] for body in bodies]
    return [{"input_ids": text, "attention_mask": [1] * len(text)} for text in texts]


def _by_yes(tokenizer: Any) -> Reader:
    ids = [tokenizer.convert_tokens_to_ids(word) for word in ("no", "yes")]
    if any(index is None or index == tokenizer.unk_token_id for index in ids):
        raise ModelError(f"{KEY}: its tokenizer has no token 'yes' or none 'no'.")
    return lambda model, inputs: next_logits(model, inputs)[:, ids].softmax(-1)[:, 1]


RERANKERS: Mapping[str, RerankerKind] = {
    "cross-encoder": RerankerKind(
        "AutoModelForSequenceClassification",
        512,
        _pairs,
        lambda _: lambda model, inputs: model(**inputs).logits[:, 0].float().sigmoid(),
    ),
    "qwen3-reranker": RerankerKind("AutoModelForCausalLM", 8192, _asked, _by_yes),
}
"""Kinds of rerankers: classifiers of pairs with one logit, and a model that is asked for yes or no."""


class Reranker(FolderModel):
    """A model that says how surely passages answer a query.

    Args:
        model: a folder, or a hub id that is in the Hugging Face cache.
        batch_size: passages that are computed together; it changes no number. `auto`: as suits the device.

    Raises `ModelError` for what is wrong with the folder; the model is loaded with the first query. Batches are made
    within a call. Safe for several threads.
    """

    def __init__(self, model: str | Path, batch_size: BatchSize = "auto") -> None:
        folder = model_folder(model, KEY)
        self.name = reranker_name(folder)
        self.kind = RERANKERS[self.name]
        super().__init__(folder, KEY, self.kind.model, self.kind.window, batch_size)

    @property
    def signature_parts(self) -> dict[str, str]:
        """What its probabilities depend on beside the texts, by name."""
        return {"reranker": fingerprint(self.folder), "reranks": self.name}

    def relevance(self, query: str, passages: Sequence[str]) -> list[float]:
        """How surely each passage answers the query, [0, 1], four decimals, in their order.

        A passage that does not fit is read from its beginning. Raises `PromptTooLongError` for a query that fills the
        window: it is never cut.
        """
        if not passages:
            return []
        with self._lock:
            tokenizer, model = self._loaded
            plain = [inert(tokenizer, passage) for passage in passages]
            encoded = self.kind.encode(tokenizer, inert(tokenizer, query), plain, self.window)
            shares = probabilities(model, tokenizer, encoded, self._read, self.batch_size)
        return [round(share, DECIMALS) for share in shares]

    @cached_property
    def _read(self) -> Reader:
        return self.kind.reader(self._loaded[0])


class AsyncReranker:
    """A reranker as metrics ask it: one row at a time; what several metrics ask of a row is asked once.

    It is loaded at once: what is wrong with its weights ends the run. Raises `ModelError`.
    """

    def __init__(self, reranker: Reranker) -> None:
        reranker.load()
        self._handler = BatchHandler(lambda rows: [reranker.relevance(*row) for row in rows], most=1)
        self._known = SingleFlight[tuple[str, tuple[str, ...]], list[float]](REMEMBERED)

    async def relevance(self, query: str, passages: Sequence[str]) -> list[float]:
        """As `Reranker.relevance`."""
        request = query, tuple(passages)
        return await self._known.get(request, lambda: Scheduler.current().submit(self._handler, request))


def reranker_of(config: RerankerConfig) -> Reranker:
    """The configured reranker; its folder is looked at, weights are loaded later. Raises `ModelError`."""
    assert config.model is not None, "checked with the metrics"
    return Reranker(config.model, config.batch_size)


def reranker_name(folder: Path) -> str:
    """The kind of a reranker by its config.json and the name of its folder. Raises `ModelError`."""
    settings = settings_of(folder, KEY)
    architecture = str(next(iter(settings.get("architectures") or ()), ""))
    encoder, _, head = architecture.partition("For")
    labels = len(labels_of(settings))
    if head == "SequenceClassification" and encoder in ENCODERS and labels == 1:
        return "cross-encoder"
    if architecture == "Qwen3ForCausalLM" and "reranker" in names_of(folder, settings):
        return "qwen3-reranker"
    raise ModelError(
        f"{KEY}: {folder} has a {architecture or 'model of no named architecture'} with {labels} named labels, which "
        f"is no known reranker: these are classifiers with one label of {', '.join(ENCODERS)}, as bge-reranker-v2-m3, "
        "and Qwen3-Reranker in a folder that has 'reranker' in its name."
    )


def _check_room(room: int, query: str, window: int) -> None:
    if room < LEAST:
        raise PromptTooLongError(f"the question leaves {max(room, 0)} of {window} tokens for a passage: {query:.60}")
