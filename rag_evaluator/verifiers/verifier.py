"""`Verifier`: the probability that texts support a sentence."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rag_evaluator.config import find_language
from rag_evaluator.errors import ModelError, PromptTooLongError, UndefinedScoreError
from rag_evaluator.hub import fingerprint

from . import lettucedetect
from .batches import DECIMALS, BatchSize, Encoded, Reader, inert, probabilities, rounded, rows_of
from .evidence import Evidence, EvidencePiece, Limit
from .families import (
    VERIFIERS,
    Family,
    check_language,
    family_name,
    settings_of,
    supported_label,
)
from .loading import FolderModel, model_folder

# Any in this module: objects of transformers and torch.

Pair = tuple[str, str]  # evidence, sentence
LEAST = 32  # tokens of evidence that must fit beside a sentence
SPARE = 4  # tokens: two texts together may have a few more than alone
UNLIMITED = 1 << 30  # words


@dataclass(frozen=True)
class Support:
    """How surely the evidence supports a sentence.

    Attributes:
        probability: of the best piece, [0, 1], as `rounded` has it.
        piece: the best piece; the first of several that are equal.
        pieces: how many there were.
        place: of the best piece among them, from 0.
        spans: of classifiers of tokens: start and end in characters of the sentence, probability of hallucination.
    """

    probability: float
    piece: EvidencePiece
    pieces: int
    place: int = 0
    spans: tuple[tuple[int, int, float], ...] = ()

    @classmethod
    def of(cls, probabilities: Sequence[float], pieces: Sequence[EvidencePiece]) -> "Support":
        """The best of several pieces with their probabilities."""
        place = probabilities.index(max(probabilities))
        return cls(probabilities[place], pieces[place], len(pieces), place)


class Verifier(FolderModel):
    """A model that says how surely a text supports a sentence, in one pass.

    Args:
        model: a folder, or a hub id that is in the Hugging Face cache.
        kind: a name of `VERIFIERS`; `auto` recognises it from config.json.
        base: of HHEM: the folder of flan-t5-base, for its configuration and tokenizer.
        language: of the texts, which says where sentences end.
        each: look at each context alone, so that the one that supports a sentence can be named.
        batch_size: pairs that are computed together; it changes no number. `auto`: 32 on a GPU, and on a
            CPU as many as have 512 tokens together.
        any_language: take a model that was made for other languages, too.

    Raises `ModelError` for what is wrong with the folder; the model is loaded with the first sentence. Batches are made
    within a call, so that numbers do not depend on other calls. Safe for several threads.

    Examples:
        >>> verifier = Verifier("/models/MiniCheck-RoBERTa-Large")
        >>> verifier.support("The bridge was opened in May 1921.", "The bridge is more than a century old.")
    """

    def __init__(
        self,
        model: str | Path,
        kind: str = "auto",
        base: str | Path | None = None,
        language: str = "english",
        each: bool = False,
        batch_size: BatchSize = "auto",
        any_language: bool = False,
    ) -> None:
        folder = model_folder(model, "verifier.model")
        self.name = family_name(folder, kind)
        self.family = VERIFIERS[self.name]
        self.language = find_language(language)
        self.each = each
        if not any_language:
            check_language(self.name, folder, self.language.name)
        self.label = supported_label(settings_of(folder), self.family)
        of_base = None if base is None else model_folder(base, "verifier.base")
        is_t5 = of_base is not None and settings_of(of_base, "verifier.base").get("model_type") == "t5"
        if is_t5 != (self.name == "hhem") or (of_base is not None and not is_t5):
            raise ModelError(
                f"verifier.base is {base}, and {folder} is a {self.name}. HHEM's folder has neither the configuration "
                "of its model nor a tokenizer: give it the folder of flan-t5-base. All others have none."
            )
        super().__init__(folder, "verifier.model", self.family.model, self.family.window, batch_size, of_base)

    @property
    def signature_parts(self) -> dict[str, str]:
        """Return what its probabilities depend on beside the texts, by name."""
        return {
            "verifier": fingerprint(self.folder),
            "kind": self.name,
            **({} if self.base is None else {"base": fingerprint(self.base)}),
            "evidence": "each" if self.each else "packed",
        }

    def support(self, premise: str | Sequence[str], hypothesis: str) -> float:
        """Return the probability that a text, or one of several, supports a sentence; see `best`."""
        return self.best(premise, hypothesis).probability

    def best(self, contexts: Sequence[str], hypothesis: str) -> Support:
        """Say how surely contexts support a sentence, and which part of them does; see `supports`."""
        return self.supports(contexts, [hypothesis])[0]

    def supports(self, contexts: Sequence[str], hypotheses: Sequence[str], question: str = "") -> list[Support]:
        """Say how surely contexts support each sentence of a text, and which part of them does.

        Args:
            contexts: a string is one context.
            question: that the text answers; only classifiers of tokens read it.

        Raises `UndefinedScoreError` for an empty sentence or no evidence, `PromptTooLongError` for a sentence that
        fills the window, as it is never cut, and for contexts that a classifier of tokens cannot read at once.
        """
        if isinstance(hypotheses, str):
            raise TypeError("hypotheses: expected a list of sentences, received one string")
        contexts = [contexts] if isinstance(contexts, str) else contexts
        if not all(hypothesis.strip() for hypothesis in hypotheses):
            raise UndefinedScoreError("there is no sentence to verify")
        if not any(context.strip() for context in contexts):
            raise UndefinedScoreError("there is no evidence")
        if not hypotheses:
            return []
        with self._lock:
            if self.family.reads == "spans":
                return self._by_tokens(contexts, hypotheses, question)
            return self._by_pieces(contexts, [" ".join(hypothesis.split()) for hypothesis in hypotheses])

    def probabilities(self, pairs: Sequence[Pair]) -> list[float]:
        """Return a probability in [0, 1] for each evidence and sentence, not rounded, in their order.

        Raises `PromptTooLongError` for a pair that the model cannot read at once.
        """
        tokenizer, model = self._loaded
        encoded = encode(tokenizer, self.family, pairs)
        longest = max((len(row["input_ids"]) for row in encoded), default=0)
        if longest > self.window:
            raise PromptTooLongError(
                f"evidence and sentence have {longest} tokens, and this verifier reads {self.window}"
            )
        read = READERS[self.family.reads](self.family, self.label)
        return probabilities(model, tokenizer, encoded, read, self.batch_size)

    def _by_pieces(self, contexts: Sequence[str], hypotheses: Sequence[str]) -> list[Support]:
        evidence = Evidence(contexts, self._count, self.language, self.each)
        pieces = [evidence.pieces(limit) for limit in self._limits(hypotheses)]
        pairs = [(piece.text, text) for text, mine in zip(hypotheses, pieces, strict=True) for piece in mine]
        shares = iter([rounded(value) for value in self.probabilities(pairs)])
        return [Support.of([next(shares) for _ in mine], mine) for mine in pieces]

    def _by_tokens(self, contexts: Sequence[str], hypotheses: Sequence[str], question: str) -> list[Support]:
        tokenizer, model = self._loaded
        prompt = lettucedetect.prompt(contexts, question, self.language.name)
        piece = EvidencePiece("\n".join(contexts), tuple(range(len(contexts))))
        return [
            Support(
                rounded(1 - probability),
                piece,
                pieces=1,
                spans=tuple((start, end, round(share, DECIMALS)) for start, end, share in spans),
            )
            for probability, spans in lettucedetect.read(model, tokenizer, prompt, hypotheses, self.window)
        ]

    def _limits(self, hypotheses: Sequence[str]) -> list[Limit]:
        """The longest piece beside each sentence: shorter than the family's only where a sentence leaves less room."""
        tokenizer = self._loaded[0]
        size = self.family.piece
        is_words = self.family.unit == "words"
        usual = self.window * 3 // 4 if is_words else size
        limits = []
        for text, row in zip(
            hypotheses, encode(tokenizer, self.family, [("", text) for text in hypotheses]), strict=True
        ):
            room = self.window - len(row["input_ids"]) - SPARE
            if room < LEAST:
                raise PromptTooLongError(
                    f"the sentence has {self._count([text])[0]} tokens, and this verifier reads {self.window} of "
                    f"evidence and sentence together: {text:.60}"
                )
            limits.append(Limit(min(room, usual), size if is_words else UNLIMITED))
        return limits

    def _count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""
        tokenizer = self._loaded[0]
        plain = [inert(tokenizer, text) for text in texts]
        return [len(ids) for ids in tokenizer(plain, add_special_tokens=False)["input_ids"]] if plain else []


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

    shape = (len(inputs["input_ids"]), 1)
    device = model.device
    start = torch.full(shape, model.config.decoder_start_token_id or 0, device=device)
    first = model(**inputs, decoder_input_ids=start).logits[:, 0].float()
    return first[:, tokens].softmax(-1)[:, 1]


READERS: Mapping[str, Callable[[Family, int], Reader]] = {
    "label": lambda _, label: lambda model, inputs: model(**inputs).logits.float().softmax(-1)[:, label],
    "first": lambda _, label: lambda model, inputs: model(**inputs).logits[:, 0].float().softmax(-1)[:, label],
    "tokens": lambda family, label: partial(_first_step, tokens=[family.other, label]),
}
"""By `Family.reads`, what gives the probability of each text of a batch; `lettucedetect.py` reads `spans`."""
