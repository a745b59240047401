"""A verifier whose probabilities are written down: for exact expectations."""

from collections.abc import Mapping, Sequence
from typing import Any

from rag_evaluator.errors import UndefinedScoreError
from rag_evaluator.verifiers import EvidencePiece, Support

ROW: dict[str, Any] = {
    "user_input": "Where was Nolu Brak born?",
    "retrieved_contexts": ["Nolu Brak was born in Tesk.", "Tesk lies on the river Om."],
    "response": "He was born in Tesk. Is that near? It lies on the Om. He wrote six books.",
    "reference": "He was born in Tesk. Tesk lies on the Om.",
}
KNOWN = {
    ("born in Tesk", "He was born in Tesk."): 0.9,
    ("river Om", "It lies on the Om."): 0.6,
    ("born in Tesk", "He wrote six books."): 0.2,
    ("river Om", "Tesk lies on the Om."): 0.8,
}


class KnownVerifier:
    """Each context is a piece.

    Args:
        known: (part of a context, sentence) -> probability; of all other pairs it is `other`.
    """

    signature_parts: Mapping[str, str] = {"verifier": "known"}

    def __init__(self, known: Mapping[tuple[str, str], float], other: float = 0.1) -> None:
        self.known = known
        self.other = other
        self.asked: list[tuple[tuple[str, ...], tuple[str, ...], str]] = []

    def supports(self, contexts: Sequence[str], hypotheses: Sequence[str], question: str = "") -> list[Support]:
        self.asked.append((tuple(contexts), tuple(hypotheses), question))
        if not contexts:
            raise UndefinedScoreError("there is no evidence")
        supports = []
        for hypothesis in hypotheses:
            values = [self._of(context, hypothesis) for context in contexts]
            place = values.index(max(values))
            supports.append(Support(values[place], EvidencePiece(contexts[place], (place,)), len(contexts), place))
        return supports

    def _of(self, context: str, hypothesis: str) -> float:
        fitting = (value for (part, claim), value in self.known.items() if part in context and claim == hypothesis)
        return next(fitting, self.other)
