"""What a judge's answers depend on beside the prompt, as text."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rag_evaluator import __version__
from rag_evaluator.config import JudgeConfig
from rag_evaluator.files.digest import short_digest

UNNAMED = "(unnamed)"  # stands for a model that nothing tells from others of its kind
THINKING = "off"  # of every judge so far; scores of others must never pass for these


def judge_signature(judge: JudgeConfig, identity: str) -> str:
    """What the judge's answers depend on beside the prompt, as one line."""
    return as_line({"rag-evaluator": __version__, **judge_parts(judge, identity)})


def judge_parts(judge: JudgeConfig, identity: str) -> dict[str, Any]:
    """The same, by name.

    Args:
        identity: fingerprint of the model, or `UNNAMED`.
    """
    template = Path(judge.chat_template)
    return {
        "judge": identity,
        "engine": judge.engine,
        "dtype": judge.dtype,
        **arguments_part("model", judge.model_kwargs),
        "template": short_digest(template.read_bytes()) if template.is_file() else judge.chat_template,
        "decode": "greedy" if judge.temperature == 0 else f"temperature={judge.temperature},seed={judge.seed}",
        "thinking": THINKING,
        "max_new_tokens": judge.max_new_tokens,
    }


def arguments_part(key: str, kwargs: Mapping[str, Any]) -> dict[str, str]:
    """The user's arguments to a library, if any: quantisation or another pooling changes the numbers."""
    return {key: ",".join(f"{name}={value}" for name, value in sorted(kwargs.items()))} if kwargs else {}


def as_line(parts: Mapping[str, Any]) -> str:
    """Named parts as one line, in the manner of sacrebleu."""
    return "|".join(f"{key}:{value}" for key, value in parts.items())


def is_unnamed(signature: str) -> bool:
    """Whether a score or an answer depends on a model without a name: no other run may use it."""
    return f":{UNNAMED}" in signature
