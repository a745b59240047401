"""The architectures of transformers 5.23 that our engine is tried with: one row each."""

from typing import Any

from tools.random_models import Architecture, Way

ATTENTION: Way = "plain"
"""Models whose attention has a window, sinks, a soft cap or latent keys and values."""
PARTS: Way = "refused"
"""Models of text and images that only `AutoModelForImageTextToText` knows."""

WINDOW = 16  # tokens; every prompt is longer
SWITCH = 150  # tokens; some prompts are longer: those get other rope factors
ALL = {"sliding_window": WINDOW}
MIXED = {**ALL, "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]}
LINEAR = {"layer_types": ["linear_attention", "full_attention", "linear_attention"]}
LATENT: dict[str, Any] = {  # of DeepSeek's attention and experts
    "num_key_value_heads": 4,
    "q_lora_rank": 16,
    "kv_lora_rank": 16,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 8,
    "v_head_dim": 8,
    "n_routed_experts": 4,
    "first_k_dense_replace": 1,
    "n_group": 1,
    "topk_group": 1,
}
INDEXED = {**LATENT, "index_topk": WINDOW, "index_n_heads": 8, "index_head_dim": 16}
DELTA = {  # of gated delta networks
    **LINEAR,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "shared_expert_intermediate_size": 32,
}
MAMBA = {"mamba_n_heads": 4, "mamba_d_head": 32, "mamba_d_state": 8, "mamba_chunk_size": 32}
LONGROPE = {
    "original_max_position_embeddings": SWITCH,
    "rope_parameters": {
        "rope_type": "longrope",
        "rope_theta": 10000.0,
        "short_factor": [1.0] * 8,
        "long_factor": [16.0] * 8,
        "original_max_position_embeddings": SWITCH,
    },
}
CHUNKS = {
    "attention_chunk_size": WINDOW,
    "intermediate_size_mlp": 96,
    "layer_types": ["chunked_attention", "full_attention", "chunked_attention"],
    "no_rope_layers": [1, 0, 1],
}
LLAMA3 = {"rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
DYNAMIC = {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 4.0}
PER_LAYER = {"vocab_size_per_layer_input": 4128, "hidden_size_per_layer_input": 8}
SMALL = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
QWEN_EYE = {"depth": 1, "hidden_size": 16, "intermediate_size": 16, "num_heads": 2, "out_hidden_size": 64}
QWEN_EYE = {**QWEN_EYE, "patch_size": 4, "num_position_embeddings": 16}
LLAMA_EYE = {**SMALL, "vision_output_dim": 16, "image_size": 16, "patch_size": 4, "projector_input_dim": 16}
LLAMA_EYE = {**LLAMA_EYE, "projector_output_dim": 16}
QWEN_TOKENS = {"image_token_id": 3, "video_token_id": 4, "vision_start_token_id": 5, "vision_end_token_id": 6}
MROPE = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 3, 3]}
PARTS_OF_GEMMA = {"boi_token_index": 3, "eoi_token_index": 4, "image_token_index": 5, "mm_tokens_per_image": 4}
CONDITIONAL = "ForConditionalGeneration"
IMAGES = "vision-text folder"

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
        settings={
            "rope_parameters": {
                "rope_type": "yarn",
                "rope_theta": 10000.0,
                "factor": 4.0,
                "original_max_position_embeddings": 64,
            }
        },
    ),
    "qwen2-moe": Architecture("Qwen2Moe", "MoE", ATTENTION, {"shared_expert_intermediate_size": 32}),
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
    "biogpt": Architecture("BioGpt"),
    "xglm": Architecture("XGLM", way="plain", settings={"init_std": 0.3}),
}
OTHER_ATTENTION = {  # windows, sinks, soft caps, latent keys and values
    "mistral-window": Architecture("Mistral", "window", ATTENTION, ALL),
    "mixtral-window": Architecture("Mixtral", "window, MoE", ATTENTION, ALL),
    "phi3-window": Architecture("Phi3", "window", ATTENTION, ALL),
    "phimoe-window": Architecture("Phimoe", "window, MoE", ATTENTION, ALL),
    "starcoder2-window": Architecture("Starcoder2", "window", ATTENTION, ALL),
    "qwen2-window": Architecture("Qwen2", "window", ATTENTION, {**MIXED, "use_sliding_window": True}),
    "ministral": Architecture("Ministral", "window", ATTENTION, MIXED),
    "gemma2": Architecture("Gemma2", "window, soft cap", ATTENTION, {**MIXED, "attn_logit_softcapping": 5.0}),
    "gemma3": Architecture("Gemma3", "window", ATTENTION, MIXED, text="Gemma3Text"),
    "gemma3n": Architecture(
        "Gemma3n", "window", ATTENTION, {**MIXED, **PER_LAYER, "num_kv_shared_layers": 0}, text="Gemma3nText"
    ),
    "gemma4": Architecture("Gemma4", "window", ATTENTION, {**MIXED, **PER_LAYER}, text="Gemma4Text"),
    "vaultgemma": Architecture("VaultGemma", "window, soft cap", ATTENTION, MIXED),
    "gpt-oss": Architecture("GptOss", "window, sinks, MoE", ATTENTION, MIXED),
    "olmo3": Architecture("Olmo3", "window", ATTENTION, MIXED),
    "cohere2": Architecture("Cohere2", "window, layers without rope", ATTENTION, {**MIXED, "logit_scale": 1.0}),
    "cohere2-moe": Architecture("Cohere2Moe", "window, MoE", ATTENTION, {**MIXED, "logit_scale": 1.0}),
    "exaone4-window": Architecture("Exaone4", "window", ATTENTION, MIXED),
    "exaone-moe": Architecture("ExaoneMoe", "window, MoE", ATTENTION, MIXED),
    "granite-swa": Architecture("GraniteSWA", "window, sinks", ATTENTION, MIXED),
    "granitemoe-swa": Architecture("GraniteMoeSWA", "window, sinks, MoE", ATTENTION, MIXED),
    "afmoe": Architecture("Afmoe", "window, MoE", ATTENTION, MIXED),
    "mimo-v2": Architecture("MiMoV2Flash", "window, sinks, MoE", ATTENTION, {**MIXED, "v_head_dim": 8}),
    "laguna": Architecture("Laguna", "window, MoE", ATTENTION, MIXED),
    "smollm3-window": Architecture("SmolLM3", "window", ATTENTION, {**MIXED, "use_sliding_window": True}),
    "cwm": Architecture("Cwm", "window", ATTENTION, MIXED),
    "mellum": Architecture("Mellum", "window, MoE", ATTENTION, MIXED),
    "dots1": Architecture("Dots1", "MoE; a window that no layer has", ATTENTION, {**LATENT, "n_shared_experts": 1}),
    "deepseek-v2": Architecture("DeepseekV2", "MLA, MoE", ATTENTION, LATENT),
    "deepseek-v3": Architecture("DeepseekV3", "MLA, MoE", ATTENTION, LATENT),
    "minicpm3": Architecture("MiniCPM3", "MLA", ATTENTION, LATENT),
    "glm4-moe-lite": Architecture("Glm4MoeLite", "MLA, MoE", ATTENTION, LATENT),
    "youtu": Architecture("Youtu", "MLA", ATTENTION, LATENT),
    "longcat-flash": Architecture(
        "LongcatFlash",
        "MLA, MoE",
        ATTENTION,
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
    "minimax": Architecture("MiniMax", "hybrid, MoE", "plain", {**LINEAR, "block_size": 32}),
    "mamba": Architecture("Mamba", "recurrent", "plain", {"state_size": 8}),
    "mamba2": Architecture(
        "Mamba2", "recurrent", "plain", {"num_heads": 4, "head_dim": 32, "state_size": 8, "n_groups": 1}
    ),
    "falcon-mamba": Architecture("FalconMamba", "recurrent", "plain", {"state_size": 8}),
    "recurrent-gemma": Architecture(
        "RecurrentGemma", "hybrid, window", "plain", {"attention_window_size": WINDOW, "w_init_variance_scale": 0.3}
    ),
    "bailing-hybrid": Architecture(
        "BailingHybrid", "hybrid, MLA, MoE", "plain", {**LATENT, **LINEAR, "num_mtp_layers": 0}
    ),
    "rwkv": Architecture("Rwkv", "recurrent; decoded alone", "plain"),
    "xlstm": Architecture("xLSTM", "recurrent", "plain", {"num_heads": 4, "qk_dim_factor": 1.0}),
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
    "deepseek-v3.2": Architecture("DeepseekV32", "sparse attention, MLA; decoded alone", "plain", INDEXED),
    "glm-moe-dsa": Architecture("GlmMoeDsa", "sparse attention, MLA; decoded alone", "plain", INDEXED),
}
OLD = {  # without transformers' attention interface
    "falcon": Architecture("Falcon", way="plain"),
    "falcon-alibi": Architecture("Falcon", "ALiBi", "plain", {"alibi": True}),
    "jetmoe": Architecture("JetMoe", "MoE", "plain", {"kv_channels": 16}),
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
    "gemma3-vision": Architecture(
        "Gemma3",
        f"{IMAGES}, window",
        ATTENTION,
        MIXED,
        CONDITIONAL,
        "Gemma3Text",
        {"vision_config": {**SMALL, "image_size": 16, "patch_size": 4}, **PARTS_OF_GEMMA},
    ),
    "gemma4-vision": Architecture(
        "Gemma4",
        f"{IMAGES}, window",
        ATTENTION,
        {**MIXED, **PER_LAYER},
        CONDITIONAL,
        "Gemma4Text",
        {"vision_config": SMALL, "image_token_id": 3, "video_token_id": 4, "audio_token_id": 5},
    ),
    "llama4-vision": Architecture(
        "Llama4",
        f"{IMAGES}, attention in chunks",
        "plain",
        CHUNKS,
        CONDITIONAL,
        "Llama4Text",
        {"vision_config": LLAMA_EYE},
    ),
    "qwen3.5-vision": Architecture(
        "Qwen3_5",
        f"{IMAGES}, hybrid",
        "plain",
        {**DELTA, "rope_parameters": MROPE},
        CONDITIONAL,
        "Qwen3_5Text",
        {"vision_config": QWEN_EYE, **QWEN_TOKENS},
    ),
    "mistral3-vision": Architecture(
        "Mistral3",
        IMAGES,
        PARTS,
        {},
        CONDITIONAL,
        "Mistral",
        {"vision_config": {**SMALL, "image_size": 16, "patch_size": 4}},
    ),
    "qwen2.5-vl": Architecture(
        "Qwen2_5_VL",
        IMAGES,
        PARTS,
        {"rope_parameters": MROPE},
        CONDITIONAL,
        "Qwen2_5_VLText",
        {"vision_config": {**QWEN_EYE, "fullatt_block_indexes": [0]}, **QWEN_TOKENS},
    ),
    "qwen3-vl": Architecture(
        "Qwen3VL",
        IMAGES,
        PARTS,
        {"rope_parameters": {**MROPE, "mrope_interleaved": True}},
        CONDITIONAL,
        "Qwen3VLText",
        {"vision_config": {**QWEN_EYE, "deepstack_visual_indexes": [0]}, **QWEN_TOKENS},
    ),
}
ARCHITECTURES = {**FULL, **OTHER_ATTENTION, **STATES, **LONELY, **OLD, **VISION}
