"""What tells models apart: the identity of a model, and lines of named parts made with it."""

from collections.abc import Mapping
from typing import Any

from rag_evaluator.models.fingerprint import fingerprint

UNNAMED = "(unnamed)"  # stands for a model that nothing tells from others of its kind


def identity_of(model: Any, inner: Any) -> str | None:
    """Fingerprint of the folder a loaded model came from, or of the name it goes by.

    Args:
        model: what users give: a pipeline, an embedding, a ragas LLM.
        inner: the model inside it, or the name of one, as a ragas LLM has it.

    None if it has neither, or an adapter that its folder does not hold. A model whose weights were changed after it was
    loaded is not noticed: it must be saved to a folder of its own.
    """
    if has_adapter(inner):
        return None
    names = (
        getattr(model, "model_id", None),
        getattr(model, "model_name", None),
        inner if isinstance(inner, str) else getattr(inner, "name_or_path", None),
    )
    name = next((str(name) for name in names if name), None)
    return None if name is None else fingerprint(name)


def has_adapter(model: Any) -> bool:
    """Whether a peft adapter was added to a loaded model: the folder it came from says nothing of it then."""
    return bool(getattr(model, "peft_config", None))


def arguments_part(key: str, kwargs: Mapping[str, Any]) -> dict[str, str]:
    """The user's arguments to a library, if any: quantisation or another pooling changes the numbers."""
    return {key: ",".join(f"{name}={value}" for name, value in sorted(kwargs.items()))} if kwargs else {}


def as_line(parts: Mapping[str, Any]) -> str:
    """Named parts as one line, in the manner of sacrebleu."""
    return "|".join(f"{key}:{value}" for key, value in parts.items())


def is_unnamed(signature: str) -> bool:
    """Whether a score or an answer depends on a model without a name: no other run may use it."""
    return f":{UNNAMED}" in signature
