"""`bundle`: the program, the wheels it needs and models, in a folder; a node without network installs them."""

from rag_evaluator.facades import facade

__getattr__, __dir__, __all__ = facade(
    __name__,
    {
        "contents": "models_of",
        "wheels": "program_source",
    },
)
