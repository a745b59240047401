"""The command line."""

from rag_evaluator.facades import facade

__getattr__, __dir__, __all__ = facade(
    __name__,
    {
        "arguments": "all_commands parser_of_commands",
        "console": "GROUPS_SHOWN print_groups print_parts print_table",
        "options": "ASKED complete",
        "prompts": "OTHERS",
        "watching": "SAFE",
    },
)
