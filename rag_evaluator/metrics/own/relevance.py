"""Verdicts on retrieved and on expected contexts: by a judge, by comparing texts, or by ids."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from rag_evaluator.config_sections import RetrievalConfig
from rag_evaluator.dataset.blank import is_blank
from rag_evaluator.metrics.own.matching import SIMILARITIES
from rag_evaluator.metrics.retrieval_rows import IDS
from rag_evaluator.prompts.own import (
    ChunkInput,
    ChunkOutput,
    MatchInput,
    MatchOutput,
    OwnPrompt,
)

if TYPE_CHECKING:
    from ragas.llms.base import InstructorBaseRagasLLM


@dataclass(frozen=True)
class Retrieved:
    """What is compared of a row.

    Attributes:
        found: texts or ids of the retrieved contexts that count, best first.
        expected: those of the reference contexts, each once and without blank ones; empty: they are not known.
        user_input, reference: empty where the metric does not read them.
        by_id: whether `found` and `expected` are ids.
    """

    found: Sequence[str]
    expected: Sequence[str]
    user_input: str = ""
    reference: str = ""
    by_id: bool = False

    @classmethod
    def of(cls, columns: Mapping[str, Any], options: RetrievalConfig) -> "Retrieved":
        """That of a row's columns. Ids are compared in place of texts where `match` is `exact` and the row has both.

        An id that was retrieved several times is one document, at its first rank.
        """
        by_id = options.match == "exact" and all(name in columns for name in IDS)
        names = IDS if by_id else ("retrieved_contexts", "reference_contexts")
        found, expected = (columns.get(name, []) for name in names)
        ranked = best_first(found, columns.get("document_score", ()))
        return cls(
            (list(dict.fromkeys(ranked)) if by_id else ranked)[: options.k],
            list(dict.fromkeys(text for text in expected if not is_blank(text))),
            columns.get("user_input", ""),
            columns.get("reference", ""),
            by_id,
        )


def best_first(found: Sequence[str], scores: Sequence[float]) -> list[str]:
    """By descending score, equal ones as given; as given where there are no scores.

    There may be fewer contexts than scores: the last are left out where they do not fit the judge's window.
    """
    if not scores:
        return list(found)
    return [text for text, _ in sorted(zip(found, scores, strict=False), key=lambda pair: pair[1], reverse=True)]


class Relevance(Protocol):
    """Verdicts on a row, 0 or 1."""

    async def of_found(self) -> list[int]:
        """Whether each retrieved context is relevant, in their order."""

    async def of_expected(self) -> list[int]:
        """Whether each reference context is matched by a retrieved one."""


@dataclass(frozen=True)
class Judged:
    """Verdicts of a judge, asked one after the other: the same questions, whatever is measured."""

    row: Retrieved
    llm: "InstructorBaseRagasLLM"
    chunk_prompt: OwnPrompt
    match_prompt: OwnPrompt

    async def of_found(self) -> list[int]:
        return [0 if is_blank(text) else await self._is_relevant(text) for text in self.row.found]

    async def of_expected(self) -> list[int]:
        contexts = [text for text in self.row.found if not is_blank(text)]
        return [await self._is_matched(text, contexts) if contexts else 0 for text in self.row.expected]

    async def _is_relevant(self, context: str) -> int:
        row = self.row
        question = ChunkInput(
            user_input=row.user_input,
            reference=row.reference,
            reference_contexts=list(row.expected) or None,
            context=context,
        )
        answer: ChunkOutput = await self.llm.agenerate(self.chunk_prompt.to_string(question), ChunkOutput)
        return answer.verdict

    async def _is_matched(self, expected: str, contexts: list[str]) -> int:
        question = MatchInput(reference_context=expected, contexts=contexts)
        answer: MatchOutput = await self.llm.agenerate(self.match_prompt.to_string(question), MatchOutput)
        return answer.verdict


@dataclass(frozen=True)
class Compared:
    """Verdicts without a judge: a retrieved context is relevant if it matches a reference context."""

    row: Retrieved
    options: RetrievalConfig

    async def of_found(self) -> list[int]:
        return [int(any(self._match(text, other) for other in self.row.expected)) for text in self.row.found]

    async def of_expected(self) -> list[int]:
        return [int(any(self._match(text, other) for other in self.row.found)) for text in self.row.expected]

    def _match(self, first: str, second: str) -> bool:
        if self.row.by_id:
            return first == second
        return SIMILARITIES[self.options.match](first, second) >= self.options.overlap
