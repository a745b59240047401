"""Settings that several rows of `tools/architectures.py` share; beside `SHAPE` of `tools/random_models.py`."""

from typing import Any

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
INDEXED = {  # with few heads many tokens have the same score, 0, and rounding decides which are read
    **LATENT,
    "index_topk": WINDOW,
    "index_n_heads": 32,
    "index_head_dim": 16,
}
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
YARN = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0}
DYNAMIC = {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 4.0}
PER_LAYER = {"vocab_size_per_layer_input": 4128, "hidden_size_per_layer_input": 8}
# of the part that reads images
SMALL = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
PIXELS = {**SMALL, "image_size": 16, "patch_size": 4}
LLAMA_EYE = {**PIXELS, "vision_output_dim": 16, "projector_input_dim": 16, "projector_output_dim": 16}
EYE = {"depth": 1, "hidden_size": 16, "intermediate_size": 16, "num_heads": 2, "out_hidden_size": 64, "patch_size": 4}
GLM_EYE = {**EYE, "image_size": 16}
QWEN_EYE = {**EYE, "num_position_embeddings": 16}
DEEP_EYE = {**QWEN_EYE, "deepstack_visual_indexes": [0]}
QWEN2_EYE = {"depth": 1, "embed_dim": 16, "hidden_size": 64, "num_heads": 2, "patch_size": 4}
VIDEO = {"image_token_id": 3, "video_token_id": 4}
QWEN_TOKENS = {**VIDEO, "vision_start_token_id": 5, "vision_end_token_id": 6}
GLM_TOKENS = {"image_start_token_id": 5, "image_end_token_id": 6, "video_start_token_id": 7, "video_end_token_id": 8}
MROPE = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 3, 3]}
GEMMA_TOKENS = {"boi_token_index": 3, "eoi_token_index": 4, "image_token_index": 5}
