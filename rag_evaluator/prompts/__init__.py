"""Prompts: English sources, packs of other languages, and what hands them to the metrics."""
