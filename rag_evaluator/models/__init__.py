"""Look-up, fingerprints and batches of models; embedding models as ragas asks for them; the door to ragas."""

from rag_evaluator.facades import facade

__getattr__, __dir__, __all__ = facade(
    __name__,
    {
        "embeddings": "LocalEmbeddings load_embeddings unwrapped",
        "event_loop": "BatchHandler MODELS Scheduler SingleFlight on_model_thread run",
        "hub": "fingerprint is_unnamed",
        "ragas_library": "InstructorBaseRagasLLM",
    },
)
