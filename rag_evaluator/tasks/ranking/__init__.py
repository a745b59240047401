"""The judge's order of the retrieved contexts, compared with the retriever's."""

from rag_evaluator.tasks.ranking.measures import compare_orders, retrieval_measures
from rag_evaluator.tasks.ranking.sorting import STRATEGIES, Ranking, Sorter, SortOptions, summarise, with_relevance

__all__ = [
    "STRATEGIES",
    "Ranking",
    "SortOptions",
    "Sorter",
    "compare_orders",
    "retrieval_measures",
    "summarise",
    "with_relevance",
]
