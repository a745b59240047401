"""`context_relevancy`: the share of the contexts' sentences that help to answer the question."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragas.metrics.collections.base import BaseMetric
from ragas.metrics.result import MetricResult

from rag_evaluator.errors import JudgementError, UndefinedScoreError
from rag_evaluator.languages import LANGUAGES, Language, sentences
from rag_evaluator.prompts.own import OwnPrompt, SentencesInput, SentencesOutput

if TYPE_CHECKING:
    from ragas.llms.base import InstructorBaseRagasLLM

HELPFUL, INSUFFICIENT = "sentences help", "insufficient information"
OUTCOMES = (HELPFUL, INSUFFICIENT)


class ContextRelevancy(BaseMetric):
    """Sentences that help to answer / all sentences, [0, 1].

    The context relevance of the RAGAS paper (Es et al. 2023, section 3). There the judge copies sentences; here it
    writes their numbers, so that none can be changed or invented.

    Args:
        llm: a judge as ragas sees one.
        language: of the contexts: it decides where a sentence ends.
    """

    llm: "InstructorBaseRagasLLM"

    def __init__(
        self,
        llm: "InstructorBaseRagasLLM",
        language: Language = LANGUAGES["english"],
        name: str = "context_relevancy",
    ) -> None:
        self.llm, self.language = llm, language
        self.prompt = OwnPrompt("context_relevancy", "prompt")
        super().__init__(name=name)

    async def ascore(self, user_input: str, retrieved_contexts: Sequence[str]) -> MetricResult:  # type: ignore[override]  # as in ragas
        """The value; the reason is one of `OUTCOMES`. Raises `JudgementError`."""
        texts = [sentence for context in retrieved_contexts for sentence in sentences_of(context, self.language)]
        if not texts:
            raise UndefinedScoreError("the contexts have no sentence")
        numbered = [f"{number}: {text}" for number, text in enumerate(texts, start=1)]
        prompt = self.prompt.to_string(SentencesInput(user_input=user_input, sentences=numbered))
        answer: SentencesOutput = await self.llm.agenerate(prompt, SentencesOutput)
        chosen = answer.numbers
        if chosen != sorted(set(chosen)) or not all(1 <= number <= len(texts) for number in chosen):
            raise JudgementError(f"the judge chose the sentences {chosen!r:.80}, expected ascending 1 to {len(texts)}")
        return MetricResult(value=len(chosen) / len(texts), reason=HELPFUL if chosen else INSUFFICIENT)


def sentences_of(text: str, language: Language) -> list[str]:
    """The sentences of a text, in order, without spaces around them; what has no letter and no digit is none."""
    stripped = map(str.strip, sentences(text, language))
    return [sentence for sentence in stripped if any(map(str.isalnum, sentence))]
