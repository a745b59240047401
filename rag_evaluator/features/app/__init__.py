"""The local web app: the pages of the report served from results folders, and a place to review rows."""

from rag_evaluator.facades import facade

__getattr__, __dir__, __all__ = facade(
    __name__,
    {
        "answers": "HEADERS is_name_of",
        "app": "make_app",
        "command": "end_by_signals",
        "label": "LabelItem choices given_labels items_of write_label_table",
        "state": "Folders NotThere open_folders",
        "store": "ConflictError ReviewError ReviewRecord ReviewStore",
    },
)
