"""Scores in memory and in files."""

from rag_evaluator.facades import facade

__getattr__, __dir__, __all__ = facade(
    __name__,
    {
        "certificate": "CERTIFICATE FORMAT KeptLabels read_certificate standing standing_lines with_labels",
        "changes": "ScorePair VerdictChange verdict_changes",
        "comparison": "Comparison LabelDifference verdict_words word",
        "comparison_conclusion": "conclude_labels conclude_pair",
        "conclusion": "judge_words judged_by judged_config toy_sentence",
        "flags": "REASONS",
        "judgement": (
            "FACTS GRADES Judgement SIGNS explained few_lines is_marked judgements_of numbers_of tone_of verdicts_of"
        ),
        "manifest": "judge_of",
        "overview": "Grid WithOverview interval means",
        "questions": "put_together questions_of refer references resolve",
        "results": "Results",
        "rows": "LABELS Score cells_of",
        "run": "Run",
        "run_conclusion": "conclude_run",
        "summary": "Remark figures thought_figures",
        "verified": "VERIFIED",
        "worst": "worst_rows",
        "writers": "FILES",
        "xlsx": "CUT XLSX_CELL",
    },
)
