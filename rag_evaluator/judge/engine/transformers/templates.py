"""Chat templates: which one a model has, and what it puts around a message."""

import json
import re
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import TemplateError

from rag_evaluator.errors import ModelError
from rag_evaluator.judge.engine.transformers.thought_markers import Rendered

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

TEMPLATE_DAY = "26 Jul 2024"  # for templates that name the day: the same prompt on every day
FIXED_DAY = f"{{% macro strftime_now(format) %}}{TEMPLATE_DAY}{{% endmacro %}}"
ENDINGS = (
    # How the prompt ends, a token that the model must know, and what the end becomes so that the answer can follow.
    (re.compile(r"<think>\s*\Z"), "", "<think>\n\n</think>\n\n"),  # R1-Distill, QwQ, MiniMax-M2: an empty thought
    (re.compile(r"\[THINK\]\s*\Z"), "", "[THINK][/THINK]"),  # Magistral
    (re.compile(r"<\|start\|>assistant\Z"), "<|channel|>", "<|start|>assistant<|channel|>final<|message|>"),  # GPT-OSS
)
NOT_THINKING = {"enable_thinking": False}  # other templates ignore it; the grammar leaves no room for a thought
PLACEHOLDER = "\u2042rag-evaluator-prompt\u2042"


def render(
    tokenizer: "PreTrainedTokenizerFast", template: str, margin: str = "", variables: Mapping[str, Any] = NOT_THINKING
) -> Rendered:
    """What a template puts before and after the user's message, which has spaces around it. Raises `ModelError`.

    Templates of vision-text models may read a message as a list of parts, and overlook one that is a plain text.

    Args:
        variables: of the template. Any: what transformers takes beside them.
    """
    text = f"{margin}{PLACEHOLDER}{margin}"
    failure: ModelError | None = None
    for content in (text, [{"type": "text", "text": text}]):
        try:
            return _rendered(tokenizer, template, content, variables)
        except ModelError as error:
            failure = failure or error
    assert failure is not None
    raise failure


def _rendered(
    tokenizer: "PreTrainedTokenizerFast", template: str, content: Any, variables: Mapping[str, Any]
) -> Rendered:
    """The same for a message in one of its forms."""
    try:
        text = tokenizer.apply_chat_template(
            [{"role": "user", "content": content}],
            chat_template=f"{FIXED_DAY}{template}",
            tokenize=False,
            add_generation_prompt=True,
            date_string=TEMPLATE_DAY,
            **variables,
        )
    except (TemplateError, TypeError, ValueError, AttributeError) as error:
        raise ModelError(f"judge.chat_template: not a working Jinja template: {error}.") from error
    before, *after = str(text).split(PLACEHOLDER)
    if len(after) != 1:
        raise ModelError(
            f"the chat template does not show the user's message once but {len(after)} times. "
            "Set judge.chat_template to 'none'."
        )
    return Rendered(before, after[0])


def ready_to_answer(after: str, vocabulary: Container[str]) -> str:
    """The end of the prompt: a thought that it opens is closed, and the channel of the answer is opened."""
    for ending, token, ready in ENDINGS:
        if not token or token in vocabulary:
            after = ending.sub(ready, after)
    return after


def check_template(chat_template: str, folder: Path) -> None:
    """Raises `ModelError` if the configured template is no file, and no template of the model in a folder."""
    if chat_template not in ("auto", "none") and not Path(chat_template).is_file() and folder.is_dir():
        names = _names_in(folder)
        if chat_template not in names:
            raise _no_template(chat_template, names)


def _names_in(folder: Path) -> list[str]:
    """Names of the chat templates in a model's folder: of files, or in older folders of a list in the tokenizer's."""
    names = {path.stem for path in (folder / "additional_chat_templates").glob("*.jinja")}
    try:
        listed = json.loads((folder / "tokenizer_config.json").read_bytes()).get("chat_template")
    except (OSError, ValueError, AttributeError):
        listed = None  # damaged files are reported when the tokenizer is loaded
    return sorted(names | ({template["name"] for template in listed} if isinstance(listed, list) else set()))


def _no_template(chat_template: str, names: Sequence[str]) -> ModelError:
    own = f" It has {', '.join(names)}." if names else ""
    return ModelError(
        f"judge.chat_template: no such file: {chat_template}. Give 'auto', 'none', the path of a Jinja file, or the "
        f"name of one of the tokenizer's own templates.{own}"
    )


def read_template(tokenizer: "PreTrainedTokenizerFast", chat_template: str) -> str | None:
    if chat_template == "none":
        return None
    own: str | dict[str, str] | None = tokenizer.chat_template
    named: dict[str, str] = own if isinstance(own, dict) else {}
    if chat_template in named:
        return named[chat_template]
    if chat_template != "auto":
        if not Path(chat_template).is_file():
            raise _no_template(chat_template, sorted(named))
        return Path(chat_template).read_text(encoding="utf-8")
    if not named:
        return own if isinstance(own, str) else None
    if "default" not in named and len(named) > 1:
        names = sorted(named)
        raise ModelError(
            f"judge.model: its tokenizer has the chat templates {', '.join(names)} and no default. Choose one, for "
            f"instance judge.chat_template: {names[0]}."
        )
    return named.get("default", next(iter(named.values())))
