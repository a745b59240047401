"""`probe`: changes the user's own rows for the worse, by rules, and looks whether the judge notices."""

from rag_evaluator.facades import facade

__getattr__, __dir__, __all__ = facade(
    __name__,
    {
        "changes": "good_side",
        "conclusion": "probe_conclusion",
        "control": "control_of",
        "facts": "EVASIVE Names are_near holds normalised numbers shared",
        "feature": "ProbeConfig",
        "figures": "ChangedRow PROBES pairs_of report units_of",
        "verdicts": "FLIPS Pairs Word figures_of judge_cells sign_flip_p_value",
    },
)
