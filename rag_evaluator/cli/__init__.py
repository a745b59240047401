"""The command line."""

from rag_evaluator.facades import facade

__getattr__, __dir__, __all__ = facade(
    __name__,
    {
        "arguments": "all_commands parser_of_commands",
        "console": "parts_of print_parts print_table",
        "prompts": "OTHERS",
        "watching": "SAFE",
    },
)
