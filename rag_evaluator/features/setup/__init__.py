"""What this machine and its Python have of what a run needs: read, never changed; nothing here loads a model."""

from rag_evaluator.facades import facade

__getattr__, __dir__, __all__ = facade(
    __name__,
    {
        "check_command": "exit_code",
        "check_judge": "Rehearsal",
        "init_command": "LISTS",
        "starter": "Proposal propose",
        "survey": "COLUMN_NAMES recognised",
    },
)
