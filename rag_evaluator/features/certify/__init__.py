"""People's labels: tables of them, rows drawn for them, and what they say of a judge."""

from rag_evaluator.facades import facade

__getattr__, __dir__, __all__ = facade(
    __name__,
    {
        "agreement": "best_threshold binary_agreement cross_fitted graded_agreement",
        "certification": "statement_figures",
        "coefficients": "Coefficient newcombe_interval pairs_of",
        "conclusion": "certify_conclusion",
        "figures": "BINARY Labelled figures_of ratings_of",
        "krippendorff": "krippendorff_alpha",
        "sheet": (
            "ASKED_BY DrawRecord NUMBERS TEXTS allocate choices_of draw_path draw_stratified "
            "label_of score_strata write_draw"
        ),
        "table": "Label",
        "thresholds": "find_threshold",
        "verdict": "judge_verdict",
    },
)
