"""Prompts: English sources, packs of other languages, and what hands them to the metrics."""

from rag_evaluator.facades import facade

__getattr__, __dir__, __all__ = facade(
    __name__,
    {
        "adapt": "AdaptedPacks adapt_packs",
        "check": "Fault check_pack check_packs lost",
        "language_id": "foreign",
        "loading": "LEVELS PackPrompt PackSet TracedPrompt english_pack",
        "own": (
            "AnswerInput AnswerableOutput ChunkOutput CompareOutput CustomInput CustomOutput FilterInput "
            "FilterOutput MatchOutput OwnPrompt ReduceInput ReferenceOutput RefusedOutput RubricInput RubricOutput "
            "SentencesInput SentencesOutput SupportInput SupportOutput VerifyInput VerifyOutput prompt_models"
        ),
        "pack": ("Key LEGACY_NAMES Pack languages_in load_pack option_texts pack_file pack_path read_pack write_pack"),
        "translate": "Segment divided joined",
    },
)
