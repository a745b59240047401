"""What users call from Python."""

from rag_evaluator.facades import facade

__getattr__, __dir__, __all__ = facade(
    __name__,
    {
        "collect": "output_row",
    },
)
