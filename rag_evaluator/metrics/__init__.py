"""The metrics, and what asks ragas for their scores."""
