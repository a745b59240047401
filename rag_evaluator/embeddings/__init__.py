"""Embedding models as ragas asks for them; names, fingerprints and batches of models; the door to ragas."""

from rag_evaluator.embeddings.removed import find_removed
from rag_evaluator.facades import facade

find_removed()

__getattr__, __dir__, __all__ = facade(
    __name__,
    {
        "embeddings": "LocalEmbeddings find_embeddings load_embeddings unwrapped",
        "event_loop": "BatchHandler MODELS Scheduler SingleFlight run",
        "hub": "fingerprint is_unnamed",
        "ragas_library": "InstructorBaseRagasLLM",
    },
)
