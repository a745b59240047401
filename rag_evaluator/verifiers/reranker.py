"""`Reranker`: how surely a passage answers a query, by a cross-encoder that was made to order search results.

Format and formula are those of FlagEmbedding (bge-reranker) and of `CrossEncoder` in sentence-transformers.
"""

from collections.abc import Sequence
from pathlib import Path

from rag_evaluator.config.sections import RerankerConfig
from rag_evaluator.errors import ModelError, PromptTooLongError
from rag_evaluator.models.event_loop import BatchHandler, Scheduler, SingleFlight
from rag_evaluator.models.hub import fingerprint
from rag_evaluator.verifiers.batches import DECIMALS, BatchSize, inert, probabilities, rows_of
from rag_evaluator.verifiers.families import labels_of, settings_of
from rag_evaluator.verifiers.loading import FolderModel, model_folder

KEY = "retrieval.reranker.model"
WINDOW = 512  # tokens of query and passage at most
LEAST = 32  # tokens of a passage that must fit beside a query
REMEMBERED = 256  # rows of which several metrics ask the same
ENCODERS = ("Bert", "Roberta", "XLMRoberta", "DebertaV2", "ModernBert", "Electra", "MPNet", "DistilBert")


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
        _check_kind(folder)
        super().__init__(folder, KEY, "AutoModelForSequenceClassification", WINDOW, batch_size)

    @property
    def signature_parts(self) -> dict[str, str]:
        """What its probabilities depend on beside the texts, by name."""
        return {"reranker": fingerprint(self.folder), "reranks": "cross-encoder"}

    def relevance(self, query: str, passages: Sequence[str]) -> list[float]:
        """How surely each passage answers the query, [0, 1], four decimals, in their order.

        A passage that does not fit is read from its beginning. Raises `PromptTooLongError` for a query that fills the
        window: it is never cut.
        """
        if not passages:
            return []
        with self._lock:
            tokenizer, model = self._loaded
            asked, plain = inert(tokenizer, query), [inert(tokenizer, passage) for passage in passages]
            room = self.window - len(tokenizer(asked, "")["input_ids"])
            if room < LEAST:
                raise PromptTooLongError(
                    f"the question leaves {max(room, 0)} of {self.window} tokens for a passage: {asked:.60}"
                )
            pairs = tokenizer([asked] * len(plain), plain, truncation="only_second", max_length=self.window)
            shares = probabilities(
                model,
                tokenizer,
                rows_of(pairs, len(plain)),
                lambda model, inputs: model(**inputs).logits[:, 0].float().sigmoid(),
                self.batch_size,
            )
        return [round(share, DECIMALS) for share in shares]


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


def _check_kind(folder: Path) -> None:
    """Raises `ModelError` for a model that is no cross-encoder with one label, by its config.json."""
    settings = settings_of(folder, KEY)
    architecture = str(next(iter(settings.get("architectures") or ()), ""))
    encoder, _, head = architecture.partition("For")
    labels = len(labels_of(settings))
    if head != "SequenceClassification" or encoder not in ENCODERS or labels != 1:
        raise ModelError(
            f"{KEY}: {folder} has a {architecture or 'model of no named architecture'} with {labels} named labels, "
            f"which is no known reranker: these are classifiers with one label of {', '.join(ENCODERS)}, as "
            "bge-reranker-v2-m3."
        )
