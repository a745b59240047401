"""A judge and a verifier of known verdicts about the statements of a row, for metrics in which both may decide."""

from collections.abc import Mapping
from typing import Any

from aliases import Json
from known_verifier import KnownVerifier

from rag_evaluator import RAGEvaluator, Results, ScriptedJudge

BORN = "Nolu Brak was born in Tesk."
RIVER = "Tesk lies on the Om."
BOOKS = "Nolu Brak wrote six books."
FIRST = "Nolu Brak was born in Tesk in May."
SECOND = "The town of Tesk lies on the river Om."
ROW: Json = {
    "user_input": "Where was Nolu Brak born?",
    "retrieved_contexts": [FIRST, SECOND],
    "response": "He was born in Tesk, on the Om, and wrote six books.",
    "reference": f"{BORN} {RIVER}",
}
STATEMENTS = {ROW["response"]: [BORN, RIVER, BOOKS], ROW["reference"]: [BORN, RIVER]}
KNOWN = {
    ("in May", BORN): 0.9,
    ("river Om", RIVER): 0.6,
    ("in May", BOOKS): 0.3,
    (ROW["reference"], BORN): 1.0,
    (ROW["reference"], RIVER): 0.95,
    (ROW["response"], BORN): 0.7,
    (ROW["response"], RIVER): 0.4,
}
OF_TEXT = {"faithfulness": "answer", "factual_correctness": "response", "noise_sensitivity": "text"}

JUDGED = ((FIRST, BORN), (SECOND, RIVER), (SECOND, BOOKS), (ROW["reference"], RIVER), (ROW["response"], BORN))
CERTAIN = dict.fromkeys(JUDGED, 1.0)
BY_VERIFIER = {"verdicts": "verifier"}


class Judge(ScriptedJudge):
    """Writes the statements of `STATEMENTS`, and supports those that are given.

    Args:
        supported: statements; or (part of a text, statement).

    Attributes:
        questions: about statements: the text, and the statements.
    """

    def __init__(self, *supported: str | tuple[str, str]) -> None:
        super().__init__(self._answer)
        self.supported = supported
        self.questions: list[tuple[str, tuple[str, ...]]] = []

    def _answer(self, prompt: Any, model: Any) -> Json:  # Any: a PromptText, and ragas' model
        data = prompt.data
        if "statements" in model.model_fields and hasattr(data, "statements"):
            self.questions.append((data.context, tuple(data.statements)))
            made = [self._row(data.context, statement, "verdict") for statement in data.statements]
            return {"statements": made}
        if "classifications" in model.model_fields:
            self.questions.append((data.context, (data.answer,)))
            sentences = STATEMENTS[data.answer]
            return {"classifications": [self._row(data.context, sentence, "attributed") for sentence in sentences]}
        text = next(text for name in OF_TEXT.values() if (text := getattr(data, name, None)) is not None)
        return {"claims" if "claims" in model.model_fields else "statements": STATEMENTS[text]}

    def _row(self, text: str, statement: str, key: str) -> Json:
        keys = (statement, *((part, statement) for part in (FIRST, SECOND, ROW["response"], ROW["reference"])))
        named = [name for name in keys if name in self.supported]
        verdict = int(any(isinstance(name, str) or name[0] in text for name in named))
        return {"statement": statement, "reason": f"{verdict}, says the judge", key: verdict}


def scored(
    metric: str,
    options: Mapping[str, Any],
    judge: Any = None,
    verifier: Any = None,
    row: Mapping[str, Any] = ROW,
    threshold: float = 0.5,
) -> Results:
    settings = {"metrics": [metric], "metric_options": {metric: options}, "verifier": {"threshold": threshold}}
    known = KnownVerifier(KNOWN) if verifier is None else verifier
    return RAGEvaluator(settings, judge=judge or Judge(), verifier=known).evaluate([row])
