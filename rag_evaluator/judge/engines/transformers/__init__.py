"""The engine that decodes with transformers and torch."""
