"""`Verifier`: the probability that texts support a sentence."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import Any

from rag_evaluator.config.languages import find_language
from rag_evaluator.config.schema import model_path
from rag_evaluator.embeddings.hub import find_model, fingerprint
from rag_evaluator.errors import ModelError, PromptTooLongError, UndefinedScoreError
from rag_evaluator.verifiers.evidence import EvidencePiece, pieces
from rag_evaluator.verifiers.families import TOLERANCE, VERIFIERS, Family, family_name, settings_of, supported_label
from rag_evaluator.verifiers.loading import check_files, load

# Any in this module: objects of transformers and torch.

LEAST = 32  # tokens of evidence that must fit beside a sentence
DECIMALS = 6  # later ones may differ between machines


@dataclass(frozen=True)
class Support:
    """How surely the evidence supports a sentence.

    Attributes:
        probability: of the best piece, [0, 1].
        piece: the best piece; the first of several that are equal.
        pieces: how many there were.
    """

    probability: float
    piece: EvidencePiece
    pieces: int


class Verifier:
    """A model that says how surely a text supports a sentence, in one pass.

    Args:
        model: a folder, or a hub id that is in the Hugging Face cache.
        kind: a name of `VERIFIERS`; `auto` recognises it from config.json.
        base: of HHEM: the folder of flan-t5-base, for its configuration and tokenizer.
        language: of the texts, which says where sentences end.
        each: look at each context alone, so that the one that supports a sentence can be named.

    Raises `ModelError` for what is wrong with the folder; the model is loaded with the first sentence. Each pair is
    computed alone, so that its number does not depend on the others. Safe for several threads.

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
    ) -> None:
        self.folder = _folder(model, "verifier.model")
        self.base = None if base is None else _folder(base, "verifier.base")
        self.name = family_name(self.folder, kind)
        self.language, self.each = find_language(language), each
        self.label = supported_label(settings_of(self.folder), self.family)
        check_files(self.folder, self.name, self.base)
        self._lock = RLock()

    @property
    def family(self) -> Family:
        return VERIFIERS[self.name]

    @property
    def signature(self) -> str:
        """What its probabilities depend on beside the texts."""
        base = "" if self.base is None else f"|base:{fingerprint(self.base)}"
        evidence = "each" if self.each else "packed"
        return f"verifier:{fingerprint(self.folder)}|kind:{self.name}{base}|evidence:{evidence}"

    def support(self, premise: str | Sequence[str], hypothesis: str) -> float:
        """The probability that a text, or one of several, supports a sentence; see `best`."""
        return self.best([premise] if isinstance(premise, str) else premise, hypothesis).probability

    def best(self, contexts: Sequence[str], hypothesis: str) -> Support:
        """How surely contexts support a sentence, and which part of them does.

        Raises `UndefinedScoreError` for an empty sentence or no evidence, `PromptTooLongError` for a sentence that
        fills the window: it is never cut.
        """
        hypothesis = " ".join(hypothesis.split())
        if not hypothesis:
            raise UndefinedScoreError("there is no sentence to verify")
        with self._lock:
            evidence = self.evidence(contexts, hypothesis)
            if not evidence:
                raise UndefinedScoreError("there is no evidence")
            probabilities = [self._probability(piece.text, hypothesis) for piece in evidence]
        place = probabilities.index(max(probabilities))
        return Support(probabilities[place], evidence[place], len(evidence))

    def evidence(self, contexts: Sequence[str], hypothesis: str) -> list[EvidencePiece]:
        """The pieces that are read beside a sentence. Raises `PromptTooLongError`."""
        room = self.window - len(self._encoded("", hypothesis)["input_ids"])
        if room < LEAST:
            raise PromptTooLongError(
                f"the sentence has {len(self._tokens(hypothesis))} tokens, and this verifier reads {self.window} of "
                f"evidence and sentence together: {hypothesis:.60}"
            )
        return pieces(contexts, self._fits(room), self.language, self.each)

    def published(self) -> list[tuple[str, str, float, float]]:
        """Premise, sentence, published probability and ours, of a family whose card has some; loads the model."""
        return [(*row, self.support(row[0], row[1])) for row in self.family.published]

    def matches_published(self) -> bool:
        return all(abs(expected - ours) <= TOLERANCE for _, _, expected, ours in self.published())

    @cached_property
    def window(self) -> int:
        """Tokens that the model can read at most."""
        config = self._loaded[1].config
        positions = getattr(config, "max_position_embeddings", None)
        offset = 2 if getattr(config, "model_type", "").endswith("roberta") else 0  # RoBERTa counts positions from 2
        return self.family.window if positions is None else min(self.family.window, positions - offset)

    def _fits(self, room: int) -> Callable[[str], bool]:
        size, is_words = self.family.piece, self.family.unit == "words"

        def fits(text: str) -> bool:
            tokens = len(self._tokens(text))
            return tokens <= room and (len(text.split()) if is_words else tokens) <= size

        return fits

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        return load(self.folder, self.family, self.name, self.base)

    def _tokens(self, text: str) -> list[int]:
        tokens: list[int] = self._loaded[0](self._inert(text), add_special_tokens=False)["input_ids"]
        return tokens

    def _inert(self, text: str) -> str:
        """A text in which names of control tokens are text: `</s>` in data ends no evidence."""
        for name in self._loaded[0].all_special_tokens:
            text = text.replace(name, f"{name[0]} {name[1:]}")
        return text

    def _encoded(self, premise: str, hypothesis: str) -> Any:
        tokenizer, texts = self._loaded[0], (self._inert(premise), self._inert(hypothesis))
        if not self.family.template:
            return tokenizer(*texts)
        eos = tokenizer.eos_token or tokenizer.sep_token
        return tokenizer(self.family.template.format(premise=texts[0], hypothesis=texts[1], eos=eos))

    def _probability(self, premise: str, hypothesis: str) -> float:
        import torch

        encoded = self._encoded(premise, hypothesis)
        length = len(encoded["input_ids"])
        if length > self.window:
            raise PromptTooLongError(
                f"evidence and sentence have {length} tokens, and this verifier reads {self.window}"
            )
        model = self._loaded[1]
        inputs = {name: torch.tensor([values], device=model.device) for name, values in encoded.items()}
        with torch.inference_mode():
            logits = self._logits(model, inputs)
        return round(float(logits.softmax(-1)[-1 if self.family.reads == "tokens" else self.label]), DECIMALS)

    def _logits(self, model: Any, inputs: dict[str, Any]) -> Any:
        """*Shape:* (labels,); of a decoder (2,): does not support, supports."""
        import torch

        if self.family.reads == "tokens":
            start = torch.tensor([[model.config.decoder_start_token_id or 0]], device=model.device)
            first = model(**inputs, decoder_input_ids=start).logits[0, 0].float()
            return first[[self.family.other, self.label]]
        logits = model(**inputs).logits[0].float()
        return logits[0] if self.family.reads == "first" else logits


def _folder(model: str | Path, key: str) -> Path:
    folder = Path(find_model(model_path(str(model), Path.cwd()), True, key))
    if not folder.is_dir():
        raise ModelError(f"{key}: no such folder: {model}.")
    return folder
