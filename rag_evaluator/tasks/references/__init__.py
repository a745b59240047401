"""Reference answers written from contexts."""

from rag_evaluator.tasks.references.references import GenerateOptions, Generator, Reference

__all__ = ["GenerateOptions", "Generator", "Reference"]
