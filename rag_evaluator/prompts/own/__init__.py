"""The prompts that are not ragas', in the form of ragas' own, so that packs, checks and grammars are the same."""

from collections.abc import Mapping
from typing import Any

from ragas.prompt.metrics.base_prompt import BasePrompt

from rag_evaluator.prompts.own.custom import CustomPrompt
from rag_evaluator.prompts.own.duel import DuelPrompt
from rag_evaluator.prompts.own.generate import AnswerPrompt, ReducePrompt, SupportPrompt
from rag_evaluator.prompts.own.refusal import AnswerablePrompt, RefusedPrompt
from rag_evaluator.prompts.own.retrieval import ChunkPrompt, MatchPrompt
from rag_evaluator.prompts.own.rubric import RubricPrompt
from rag_evaluator.prompts.own.sentences import SentencesPrompt
from rag_evaluator.prompts.own.sort import ComparePrompt, FilterPrompt
from rag_evaluator.prompts.own.testset import (
    AcrossDocumentsPrompt,
    AgreePrompt,
    ComparisonPrompt,
    FalsePremisePrompt,
    KnownPrompt,
    ListPrompt,
    ReasoningPrompt,
    SeveralChunksPrompt,
    SingleFactPrompt,
    UnanswerablePrompt,
)

OWN_PROMPTS: Mapping[tuple[str, str], type[BasePrompt[Any, Any]]] = {
    ("sort", "filter_prompt"): FilterPrompt,
    ("sort", "compare_prompt"): ComparePrompt,
    ("generate", "answer_prompt"): AnswerPrompt,
    ("generate", "reduce_prompt"): ReducePrompt,
    ("generate", "support_prompt"): SupportPrompt,
    ("retrieval", "chunk_prompt"): ChunkPrompt,
    ("retrieval", "match_prompt"): MatchPrompt,
    ("answer_rubric", "prompt"): RubricPrompt,
    ("context_relevancy", "prompt"): SentencesPrompt,
    ("refusal_correctness", "answerable_prompt"): AnswerablePrompt,
    ("refusal_correctness", "refused_prompt"): RefusedPrompt,
    ("duel", "prompt"): DuelPrompt,
    ("custom", "prompt"): CustomPrompt,
    ("testset", "single_fact_prompt"): SingleFactPrompt,
    ("testset", "reasoning_prompt"): ReasoningPrompt,
    ("testset", "several_chunks_prompt"): SeveralChunksPrompt,
    ("testset", "across_documents_prompt"): AcrossDocumentsPrompt,
    ("testset", "comparison_prompt"): ComparisonPrompt,
    ("testset", "list_prompt"): ListPrompt,
    ("testset", "unanswerable_prompt"): UnanswerablePrompt,
    ("testset", "false_premise_prompt"): FalsePremisePrompt,
    ("testset", "known_prompt"): KnownPrompt,
    ("testset", "agree_prompt"): AgreePrompt,
}
"""(owner, prompt) -> prompt class. An owner is a metric, several metrics that share prompts, or a task."""
