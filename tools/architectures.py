"""The architectures of transformers 5.23 that our engine is tried with: one row each."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from tools.architecture_settings import (
    ALL,
    CHUNKS,
    DEEP_EYE,
    DELTA,
    DYNAMIC,
    GEMMA_TOKENS,
    GLM_EYE,
    GLM_TOKENS,
    INDEXED,
    LATENT,
    LINEAR,
    LLAMA3,
    LLAMA_EYE,
    LONGROPE,
    MAMBA,
    MIXED,
    MROPE,
    PER_LAYER,
    PIXELS,
    QWEN2_EYE,
    QWEN_EYE,
    QWEN_TOKENS,
    SMALL,
    VIDEO,
    WINDOW,
    YARN,
)
from tools.random_models import Architecture, Way

SPARSE = "sparse attention, MLA, MoE; decoded alone"


def _images(
    name: str,
    text: str,
    vision: Mapping[str, Any],
    about: str = "",
    rest: Mapping[str, Any] = MappingProxyType({}),
    way: Way = "packed",
    **settings: Any,
) -> Architecture:
    """A folder of a model of text and images."""
    special = ", ".join(filter(None, ("vision-text folder", about)))
    return Architecture(
        name, special, way, settings, "ForConditionalGeneration", text, {"vision_config": vision, **rest}
    )


FULL = {  # attention to all tokens before
    "llama": Architecture("Llama"),
    "llama-3.1": Architecture(
        "Llama", "Llama 3.1 rope", settings={"rope_parameters": {**LLAMA3, "original_max_position_embeddings": 64}}
    ),
    "mistral": Architecture("Mistral", settings={"sliding_window": None}),
    "ministral3": Architecture("Ministral3"),
    "mixtral": Architecture("Mixtral", "MoE", settings={"sliding_window": None}),
    "phi": Architecture("Phi", "partial rotary"),
    "phi3": Architecture("Phi3", settings={"sliding_window": None}),
    "phi4": Architecture("Phi3", "partial rotary", settings={"sliding_window": None, "partial_rotary_factor": 0.5}),
    "phimoe": Architecture("Phimoe", "MoE", settings={"sliding_window": None}),
    "starcoder2": Architecture("Starcoder2", settings={"sliding_window": None}),
    "qwen2": Architecture("Qwen2"),
    "qwen2.5-yarn": Architecture(
        "Qwen2",
        "YaRN",
        settings={"rope_parameters": {**YARN, "original_max_position_embeddings": 64}},
    ),
    "qwen2-moe": Architecture("Qwen2Moe", "MoE", "packed", {"shared_expert_intermediate_size": 32}),
    "qwen3": Architecture("Qwen3"),
    "qwen3-moe": Architecture("Qwen3Moe", "MoE"),
    "gemma": Architecture("Gemma"),
    "glm": Architecture("Glm"),
    "glm4": Architecture("Glm4"),
    "glm4-moe": Architecture("Glm4Moe", "MoE", settings=LATENT),
    "olmo": Architecture("Olmo"),
    "olmo2": Architecture("Olmo2"),
    "olmoe": Architecture("Olmoe", "MoE"),
    "flex-olmo": Architecture("FlexOlmo", "MoE"),
    "smollm3": Architecture("SmolLM3", "layers without rope"),
    "granite": Architecture("Granite"),
    "granitemoe": Architecture("GraniteMoe", "MoE"),
    "granitemoeshared": Architecture("GraniteMoeShared", "MoE"),
    "cohere": Architecture("Cohere", settings={"logit_scale": 1.0}),
    "nemotron": Architecture("Nemotron"),
    "exaone4": Architecture("Exaone4", settings={"sliding_window": None, "layer_types": ["full_attention"] * 3}),
    "gpt2": Architecture("GPT2", head="LMHeadModel"),
    "gpt-neox": Architecture("GPTNeoX"),
    "gpt-bigcode": Architecture("GPTBigCode"),
    "opt": Architecture("OPT", settings={"init_std": 0.3}),
    "minimax-m2": Architecture("MiniMaxM2", "MoE"),
    "hy-v3": Architecture("HYV3", "MoE"),
    "ernie4.5": Architecture("Ernie4_5"),
    "ernie4.5-moe": Architecture("Ernie4_5_Moe", "MoE"),
    "hunyuan-dense": Architecture("HunYuanDenseV1"),
    "hunyuan-moe": Architecture("HunYuanMoEV1", "MoE"),
    "seed-oss": Architecture("SeedOss"),
    "arcee": Architecture("Arcee"),
    "apertus": Architecture("Apertus"),
    "stablelm": Architecture("StableLm"),
    "nanochat": Architecture("NanoChat"),
    "helium": Architecture("Helium"),
    "bitnet": Architecture("BitNet"),
    "diffllama": Architecture("DiffLlama", "values of two heads", "plain"),
    "persimmon": Architecture("Persimmon"),
    "jais2": Architecture("Jais2"),
    "hyperclovax": Architecture("HyperCLOVAX"),
    "solar-open": Architecture("SolarOpen", "MoE", settings=LATENT),
    "minimax-m3": Architecture("MiniMaxM3VL", "MoE", text="MiniMaxM3VLText"),
    "aria-text": Architecture("AriaText", "MoE"),
    "ctrl": Architecture("CTRL", head="LMHeadModel"),
    "biogpt": Architecture("BioGpt"),
    "xglm": Architecture("XGLM", way="plain", settings={"init_std": 0.3}),
}
OTHER_ATTENTION = {  # windows, sinks, soft caps, latent keys and values
    "mistral-window": Architecture("Mistral", "window", "packed", ALL),
    "mixtral-window": Architecture("Mixtral", "window, MoE", "packed", ALL),
    "phi3-window": Architecture("Phi3", "window", "packed", ALL),
    "phimoe-window": Architecture("Phimoe", "window, MoE", "plain", ALL),
    "starcoder2-window": Architecture("Starcoder2", "window", "packed", ALL),
    "qwen2-window": Architecture("Qwen2", "window", "packed", {**MIXED, "use_sliding_window": True}),
    "ministral": Architecture("Ministral", "window", "packed", MIXED),
    "gemma2": Architecture("Gemma2", "window, soft cap", "packed", {**MIXED, "attn_logit_softcapping": 5.0}),
    "gemma3": Architecture("Gemma3", "window", "packed", MIXED, text="Gemma3Text"),
    "gemma3n": Architecture(
        "Gemma3n", "window", "packed", {**MIXED, **PER_LAYER, "num_kv_shared_layers": 0}, text="Gemma3nText"
    ),
    "gemma4": Architecture("Gemma4", "window", "packed", {**MIXED, **PER_LAYER}, text="Gemma4Text"),
    "gemma4-unified": Architecture("Gemma4Unified", "window", "packed", MIXED, text="Gemma4UnifiedText"),
    "vaultgemma": Architecture("VaultGemma", "window, soft cap", "packed", MIXED),
    "gpt-oss": Architecture("GptOss", "window, sinks, MoE", "packed", MIXED),
    "olmo3": Architecture("Olmo3", "window", "packed", MIXED),
    "cohere2": Architecture("Cohere2", "window, layers without rope", "packed", {**MIXED, "logit_scale": 1.0}),
    "cohere2-moe": Architecture("Cohere2Moe", "window, MoE", "packed", {**MIXED, "logit_scale": 1.0}),
    "exaone4-window": Architecture("Exaone4", "window", "packed", MIXED),
    "exaone-moe": Architecture("ExaoneMoe", "window, MoE", "packed", MIXED),
    "granite-swa": Architecture("GraniteSWA", "window, sinks", "packed", MIXED),
    "granitemoe-swa": Architecture("GraniteMoeSWA", "window, sinks, MoE", "packed", MIXED),
    "afmoe": Architecture("Afmoe", "window, MoE", "packed", MIXED),
    "mimo-v2": Architecture("MiMoV2Flash", "window, sinks, MoE", "packed", {**MIXED, "v_head_dim": 8}),
    "laguna": Architecture("Laguna", "window, MoE", "packed", MIXED),
    "smollm3-window": Architecture("SmolLM3", "window", "packed", {**MIXED, "use_sliding_window": True}),
    "cwm": Architecture("Cwm", "window", "packed", MIXED),
    "mellum": Architecture("Mellum", "window, MoE", "packed", MIXED),
    "flint": Architecture("Flint", "window, MoE", "packed", ALL),
    "kolibri1": Architecture("Kolibri1", "window, MoE", "packed", MIXED),
    "modernbert-decoder": Architecture("ModernBertDecoder", "window", "packed", {"local_attention": WINDOW}),
    "dots1": Architecture("Dots1", "MoE; a window that no layer has", "packed", {**LATENT, "n_shared_experts": 1}),
    "deepseek-v2": Architecture("DeepseekV2", "MLA, MoE", "packed", LATENT),
    "deepseek-v3": Architecture("DeepseekV3", "MLA, MoE", "packed", LATENT),
    "minicpm3": Architecture("MiniCPM3", "MLA", "packed", LATENT),
    "glm4-moe-lite": Architecture("Glm4MoeLite", "MLA, MoE", "packed", LATENT),
    "youtu": Architecture("Youtu", "MLA", "packed", LATENT),
    "axk1": Architecture("AXK1", "MLA, MoE", "packed", LATENT),
    "longcat-flash": Architecture(
        "LongcatFlash",
        "MLA, MoE",
        "packed",
        {**LATENT, "num_layers": 2, "head_dim": 8, "ffn_hidden_size": 96, "expert_ffn_hidden_size": 32}
        | {"moe_topk": 2, "zero_expert_num": 2},
    ),
    "llama4": Architecture(
        "Llama4",
        "attention in chunks, MoE",
        "plain",
        CHUNKS,
        text="Llama4Text",
    ),
}
STATES = {  # recurrent layers, alone or beside attention
    "qwen3-next": Architecture("Qwen3Next", "hybrid, MoE", "plain", DELTA),
    "qwen3.5": Architecture("Qwen3_5", "hybrid", "plain", DELTA, text="Qwen3_5Text"),
    "qwen3.5-moe": Architecture("Qwen3_5Moe", "hybrid, MoE", "plain", DELTA, text="Qwen3_5MoeText"),
    "qwen4-exp": Architecture(
        "Qwen4Exp",
        "hybrid, sparse attention, MoE",
        "plain",
        {
            **DELTA,
            "layer_types": ["linear_attention", "indexed_attention", "linear_attention"],
            "hc_lowrank": 8,
            "indexer_n_heads": 2,
            "indexer_kv_heads": 1,
            "indexer_head_dim": 16,
            "indexer_budget": WINDOW,
            "indexer_compress_ratio": 4,
        },
        text="Qwen4ExpText",
    ),
    "hrm-text": Architecture("HrmText", "layers that are run several times; decoded alone", "plain"),
    "kimi-linear": Architecture(
        "KimiLinear",
        "hybrid, MLA, MoE",
        "plain",
        {**LATENT, **LINEAR, "linear_head_dim": 8, "linear_num_heads": 4},
    ),
    "olmo-hybrid": Architecture("OlmoHybrid", "hybrid", "plain", DELTA),
    "granitemoehybrid": Architecture(
        "GraniteMoeHybrid", "hybrid, MoE", "plain", {**LINEAR, **MAMBA, "shared_intermediate_size": 32}
    ),
    "falcon-h1": Architecture("FalconH1", "hybrid", "plain", {**MAMBA, "mamba_d_ssm": 128}),
    "bamba": Architecture("Bamba", "hybrid", "plain", {**MAMBA, "attn_layer_indices": [1]}),
    "jamba": Architecture(
        "Jamba",
        "hybrid, MoE",
        "plain",
        {"attn_layer_period": 2, "attn_layer_offset": 1, "mamba_d_state": 8, "mamba_dt_rank": 4}
        | {"use_mamba_kernels": False},
    ),
    "nemotron-h": Architecture(
        "NemotronH",
        "hybrid, MoE",
        "plain",
        {"mamba_num_heads": 4, "mamba_head_dim": 32, "ssm_state_size": 8, "n_groups": 1, "chunk_size": 32}
        | {"n_routed_experts": 4, "moe_shared_expert_intermediate_size": 32, "use_mamba_kernels": False},
    ),
    "lfm2": Architecture("Lfm2", "hybrid", "plain", {"layer_types": ["conv", "full_attention", "conv"]}),
    "lfm2-moe": Architecture(
        "Lfm2Moe",
        "hybrid, MoE",
        "plain",
        {"layer_types": ["conv", "full_attention", "conv"], "num_dense_layers": 1},
    ),
    "lfm3": Architecture("Lfm3", "hybrid", "plain"),
    "minimax": Architecture("MiniMax", "hybrid, MoE; decoded alone", "plain", {**LINEAR, "block_size": 32}),
    "mamba": Architecture("Mamba", "recurrent", "plain", {"state_size": 8}),
    "mamba2": Architecture(
        "Mamba2", "recurrent", "plain", {"num_heads": 4, "head_dim": 32, "state_size": 8, "n_groups": 1}
    ),
    "falcon-mamba": Architecture("FalconMamba", "recurrent", "plain", {"state_size": 8}),
    "recurrent-gemma": Architecture(
        "RecurrentGemma",
        "hybrid, window; decoded alone",
        "plain",
        {"attention_window_size": WINDOW, "w_init_variance_scale": 0.3},
    ),
    "bailing-hybrid": Architecture(
        "BailingHybrid", "hybrid, MLA, MoE", "plain", {**LATENT, **LINEAR, "num_mtp_layers": 0}
    ),
    "rwkv": Architecture("Rwkv", "recurrent; decoded alone", "plain"),
    "xlstm": Architecture("xLSTM", "recurrent; decoded alone", "plain", {"num_heads": 4, "qk_dim_factor": 1.0}),
    "zamba2": Architecture(
        "Zamba2",
        "hybrid",
        "plain",
        {"layers_block_type": ["mamba", "hybrid", "mamba"], "n_mamba_heads": 4, "mamba_d_state": 8, "chunk_size": 32}
        | {"use_mamba_kernels": False},
    ),
    "zaya": Architecture("Zaya", "hybrid, MoE", "plain", {"num_experts_per_tok": 1, "router_hidden_size": 16}),
}
LONELY = {  # other rope factors for long rows, or attention that selects tokens
    "phi3-longrope": Architecture(
        "Phi3", "longrope, some prompts longer than the first factors", "plain", {**LONGROPE, "sliding_window": None}
    ),
    "llama-dynamic": Architecture(
        "Llama", "dynamic rope", "plain", {"max_position_embeddings": 1024, "rope_parameters": DYNAMIC}
    ),
    "deepseek-v3.2": Architecture("DeepseekV32", SPARSE, "plain", INDEXED),
    "deepseek-v4": Architecture(
        "DeepseekV4",
        SPARSE,
        "plain",
        {**INDEXED, "o_lora_rank": 16, "num_key_value_heads": 1, "sliding_window": WINDOW},
    ),
    "axk2": Architecture("AXK2", SPARSE, "plain", INDEXED),
    "hy-v4": Architecture("HYV4", SPARSE, "plain", INDEXED),
    "glm-moe-dsa": Architecture("GlmMoeDsa", SPARSE, "plain", INDEXED),
}
OLD = {  # without transformers' attention interface
    "falcon": Architecture("Falcon", way="plain"),
    "falcon-alibi": Architecture("Falcon", "ALiBi", "plain", {"alibi": True}),
    "jetmoe": Architecture("JetMoe", "MoE", "packed", {"kv_channels": 16}),
    "bloom": Architecture("Bloom", "ALiBi", "plain"),
    "mpt": Architecture("Mpt", "ALiBi", "plain"),
    "gptj": Architecture("GPTJ", way="plain", settings={"rotary_dim": 8}),
    "gpt-neo": Architecture(
        "GPTNeo",
        "window",
        "plain",
        {"attention_types": [[["global", "local", "global"], 1]], "window_size": WINDOW},
    ),
    "codegen": Architecture("CodeGen", way="plain", settings={"rotary_dim": 8}),
    "doge": Architecture("Doge", "dynamic mask", "plain"),
    "openai-gpt": Architecture("OpenAIGPT", head="LMHeadModel", way="plain"),
}
VISION = {  # folders of models of text and images
    "gemma3-vision": _images(
        "Gemma3", "Gemma3Text", PIXELS, "window", {"mm_tokens_per_image": 4, **GEMMA_TOKENS}, "packed", **MIXED
    ),
    "gemma4-vision": _images(
        "Gemma4", "Gemma4Text", SMALL, "window", VIDEO | {"audio_token_id": 5}, "packed", **MIXED, **PER_LAYER
    ),
    "llama4-vision": _images("Llama4", "Llama4Text", LLAMA_EYE, "attention in chunks", {}, "plain", **CHUNKS),
    "qwen3.5-vision": _images(
        "Qwen3_5", "Qwen3_5Text", QWEN_EYE, "hybrid", QWEN_TOKENS, "plain", **DELTA, rope_parameters=MROPE
    ),
    "mistral3-vision": _images("Mistral3", "Mistral", PIXELS, sliding_window=None),
    "qwen2-vl": _images("Qwen2VL", "Qwen2VLText", QWEN2_EYE, "", QWEN_TOKENS, rope_parameters=MROPE),
    "qwen2.5-vl": _images(
        "Qwen2_5_VL",
        "Qwen2_5_VLText",
        {**QWEN_EYE, "fullatt_block_indexes": [0]},
        "",
        QWEN_TOKENS,
        rope_parameters=MROPE,
    ),
    "qwen3-vl": _images(
        "Qwen3VL", "Qwen3VLText", DEEP_EYE, "", QWEN_TOKENS, rope_parameters={**MROPE, "mrope_interleaved": True}
    ),
    "qwen3-vl-moe": _images(
        "Qwen3VLMoe",
        "Qwen3VLMoeText",
        DEEP_EYE,
        "MoE",
        QWEN_TOKENS,
        rope_parameters={**MROPE, "mrope_interleaved": True},
    ),
    "llava": _images("Llava", "Llama", {**PIXELS, "model_type": "clip_vision_model"}, "", {"image_token_index": 3}),
    "internvl": _images(
        "InternVL", "Qwen2", {**SMALL, "image_size": [16, 16], "patch_size": [4, 4]}, "", {"image_token_id": 3}
    ),
    "glm4v": _images(
        "Glm4v", "Glm4vText", GLM_EYE, "", VIDEO | GLM_TOKENS, rope_parameters={**MROPE, "partial_rotary_factor": 1.0}
    ),
}
ARCHITECTURES = {**FULL, **OTHER_ATTENTION, **STATES, **LONELY, **OLD, **VISION}
