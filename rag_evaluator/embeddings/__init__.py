"""Models on this machine: batches, event loops, embeddings."""
