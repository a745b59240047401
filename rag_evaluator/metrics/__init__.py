"""The metrics, and what asks ragas for their scores."""

from rag_evaluator.facades import facade

__getattr__, __dir__, __all__ = facade(
    __name__,
    {
        "chosen": "chosen_metrics",
        "definitions": "RESERVED read_scale",
        "metric": "AGREE DISAGREE Metric SUPPORT",
        "own.judged": "RefusalCorrectness VALUES",
        "own.of_ragas": "RowRubrics words",
        "own.retrieval": "KNOWN UNKNOWN measured normalised overlap",
        "prompts": "RubricsPrompt all_prompts export",
        "scorer": "Recorder Scorer",
        "table": "METRICS about_metrics canonical_name plain_name select_metrics",
        "work_checks": "OPTIONAL as_whole",
    },
)
