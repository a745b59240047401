"""Runs beside each other: compare, gate, and what both read."""

from rag_evaluator.facades import facade

__getattr__, __dir__, __all__ = facade(
    __name__,
    {
        "compare": "adjusted difference_of",
        "gate_verdicts": "GateVerdicts Measured Verdict check_rules",
    },
)
