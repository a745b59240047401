"""Prompts: English sources, packs of other languages, and what hands them to the metrics."""

from rag_evaluator.facades import facade

__getattr__, __dir__, __all__ = facade(
    __name__,
    {
        "adapt": "AdaptedPacks adapt_packs",
        "check": "Fault check_language check_pack is_prose label_words languages_in leaves lost must_survive",
        "language_id": "foreign",
        "loading": "LEVELS PackPrompt PackSet TracedPrompt english_pack english_source",
        "own": (
            "AnswerInput AnswerableOutput ChunkOutput CompareInput CompareOutput CustomInput CustomOutput FilterInput "
            "FilterOutput MatchOutput OwnPrompt ReduceInput ReferenceOutput RefusedOutput RubricInput RubricOutput "
            "SentencesInput SentencesOutput SupportInput SupportOutput VerifyInput VerifyOutput prompt_models"
        ),
        "pack": (
            "Key LEGACY_NAMES Pack SCHEMAS legacy_path load_pack option_texts pack_path packaged_sources read_pack "
            "write_pack"
        ),
        "translate": "Segment TranslatedText Translator divided doubts halves joined",
    },
)
