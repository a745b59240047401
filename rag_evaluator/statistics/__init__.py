"""How far a number can be trusted: intervals, comparison of runs, rules. Numbers in, numbers out."""

from rag_evaluator.facades import facade

__getattr__, __dir__, __all__ = facade(
    __name__,
    {
        "formulas": (
            "Array Estimate Scale Units difference_bounds mean_bounds moments unseen_root wilson_of_counts "
            "with_pseudo_units"
        ),
        "intervals": (
            "PASS RerunNoise difference_interval difference_test mean_interval missing_bounds pass_rate rerun_noise "
            "tie_warning"
        ),
        "labelled": "dealt",
        "paired": "MetricComparison Paired compare_scores holm rows_needed smallest_difference",
        "ppi": "LabelMean interval_p_value label_difference label_mean with_clusters",
        "rules": "Rule parse_limit parse_rule",
    },
)
