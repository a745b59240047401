"""`duel`: which of two runs answers better, row by row, by the judge."""

from rag_evaluator.facades import facade

__getattr__, __dir__, __all__ = facade(
    __name__,
    {
        "conclusion": "duel_conclusion",
        "judging": "AnswerComparison DECIDED DuelInput DuelOutput pairs_of",
    },
)
