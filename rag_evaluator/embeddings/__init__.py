"""Embedding models as ragas asks for them; names, fingerprints and batches of models; the door to ragas."""

from rag_evaluator.embeddings.removed import find_removed

find_removed()
