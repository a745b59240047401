"""Reference answers written from contexts."""

from rag_evaluator.ground_truth.references import GenerateOptions, Generator, Reference

__all__ = ["GenerateOptions", "Generator", "Reference"]
