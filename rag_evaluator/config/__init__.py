"""The configuration: what `config.yaml` may say, how it is read, and where a fault of it is."""

from rag_evaluator.facades import facade

__getattr__, __dir__, __all__ = facade(
    __name__,
    {
        "engine_choice": "choose_engine has_gpu has_vllm with_engine",
        "features": "FOLDER Task all_features",
        "languages": "LANGUAGES find_language sentences sentences_of",
        "offline": "NO_NETWORK QUIET_LIBRARIES TALKATIVE hub is_here",
        "schema": "default_config load_config make_config with_arguments",
        "sections": (
            "DEMO EmbeddingsConfig GenerateConfig JudgeConfig OWN_KEYS PromptsConfig Reasons RetrievalConfig Section "
            "SortConfig USUAL_BATCH VerifierConfig"
        ),
    },
)
