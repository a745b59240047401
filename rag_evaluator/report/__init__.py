"""What a run looks like: pages of figures and rows, made from the files of a results folder."""

from rag_evaluator.facades import facade

__getattr__, __dir__, __all__ = facade(
    __name__,
    {
        "compared": "comparison_html",
        "document": "write_report",
        "facts": "MetricLine certified facts_of means_html what_html",
        "figures": "bins_of figures_html",
        "pages": "FOLDED TextPart WORDS asset clean difference inline percent shown tokens",
        "row": "pair_html row_html",
        "row_scores": "frames_of judgement_views",
        "row_sentences": "COMPARED marked sentences_of",
        "table": "columns_of difference_key rows_of texts_of worst_places",
    },
)
