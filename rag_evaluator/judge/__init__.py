"""The judge: a local language model behind ragas' own interface, whose answers always parse."""

from rag_evaluator.facades import facade

__getattr__, __dir__, __all__ = facade(
    __name__,
    {
        "cached": "CachedJudge Window",
        "encoding.chat": "PromptEncoder",
        "encoding.sequence": "Sequence Vocabulary expand no_tokens to_bits to_mask",
        "engine_judge": "EngineJudge engine_of probabilities",
        "engines.folders": "AdapterFolder",
        "engines.protocol": "ENGINES Engine find_engine",
        "engines.server.client": "Address",
        "engines.transformers.attention": "NotPackableError TailCache",
        "engines.transformers.decoder": (
            "BatchSize BatchSizeSetting CPU_HALF_MOST GPU_MOST LEAST_PREFILL LENGTH why_alone"
        ),
        "engines.transformers.drafts": "Draft",
        "engines.transformers.engine": "TransformersEngine logits_size",
        "engines.transformers.gguf": "check_gguf",
        "engines.transformers.linear": "reorder_weights",
        "engines.transformers.loading": "Memory find_judge load_pipeline refuse_offloaded",
        "engines.transformers.packed": "PackedDecoder PackedModel",
        "engines.transformers.plain": "PlainDecoder TOGETHER",
        "engines.vllm.engine": "VllmEngine",
        "engines.vllm.loading": "rank_of",
        "grammar.lark": "CLOSING LONGEST_REASON MIN_STRING REASONS share_out to_lark to_lark_after",
        "grammar.schema": "CUT_LISTS RULES SCALES WHOLE faults off_scale plain settle tighten",
        "judge": "IN_FLIGHT LangchainJudge LazyJudge as_judge judge_parts source_of",
        "protocol": (
            "Capabilities Draw Ids JudgeProtocol Opinion Option PromptText Reply Request Shares "
            "common_beginning log_odds log_ratio probability sigmoid validated"
        ),
    },
)
