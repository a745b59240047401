"""Test sets: questions made from documents, checked one by one, and those that survive chosen."""

from rag_evaluator.facades import facade

__getattr__, __dir__, __all__ = facade(
    __name__,
    {
        "checker": "AgreeOutput CandidateMaker KnownOutput MadeOutput",
        "corpus": "CHUNKS Document chunks_of read_corpus splitter_of write_corpus",
        "readers": "read_documents",
        "selection": "duplicates_of",
    },
)
