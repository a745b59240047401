"""What those add who call from Python: lists, the outputs of a chain, LangChain. No command."""

from rag_evaluator.config import Feature

FEATURE = Feature()
