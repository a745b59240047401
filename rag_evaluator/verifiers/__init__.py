"""Small models that say how surely a text supports a sentence, in one pass, without writing."""

from rag_evaluator.facades import facade

__getattr__, __dir__, __all__ = facade(
    __name__,
    {
        "counted": "LONGEST_PHRASE Sentence sentences_of",
        "evidence": "Evidence EvidencePiece Limit",
        "families": "VERIFIERS family_name languages_of",
        "lettucedetect": "prompt read",
        "reranker": "RERANKERS Reranker",
        "verifier": "Support Verifier encode",
    },
)
