"""What a judge's answers depend on beside the prompt, as text."""

from pathlib import Path
from typing import Any

from rag_evaluator.config_sections import JudgeConfig
from rag_evaluator.files.digest import short_digest
from rag_evaluator.models.identity import arguments_part


def judge_parts(judge: JudgeConfig, identity: str) -> dict[str, Any]:
    """What the judge's answers depend on beside the prompt, by name.

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
        "thinking": _thinking(judge),
        "max_new_tokens": judge.max_new_tokens,
    }


def _thinking(judge: JudgeConfig) -> str:
    if judge.thinking == "off":
        return "off"
    markers = f",markers={short_digest(repr(judge.thinking_markers))}" if judge.thinking_markers else ""
    return f"on,tokens={judge.thinking_tokens}{markers}"
