"""Files written whole or line by line."""

from rag_evaluator.facades import facade

__getattr__, __dir__, __all__ = facade(
    __name__,
    {
        "atomic": "file_digest safe_names short_digest wide_json_text write_wide_json",
        "gguf": "gguf_of read_header",
        "jsonl": "Appender BLOCK Records checked_line json_line read_checked read_lines",
        "progress": "ACTIVITY Activity State WIDTH Watch automatic line_of silent",
        "signals": "Stop StopSignal",
    },
)
