"""Chat templates: which one a model has, what it puts around a message, and how the model opens and ends a thought."""

import json
import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import TemplateError

from rag_evaluator.errors import ModelError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

VARIABLES = ("enable_thinking", "thinking")  # of templates; the second is DeepSeek's and Granite's
OPENINGS = (
    # What the model begins a thought with, and what it ends one with.
    ("<think>\n", "</think>"),  # Qwen3, DeepSeek, R1-Distill, QwQ, GLM, MiniMax, SmolLM3, EXAONE
    ("[THINK]", "[/THINK]"),  # Magistral
)
CHANNELS = ("<|channel|>analysis<|message|>", "<|end|>")  # GPT-OSS
MARKERS = tuple(dict.fromkeys(marker.strip() for markers in OPENINGS for marker in markers))
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


@dataclass(frozen=True)
class Rendered:
    """What a template puts before and after the user's message."""

    before: str
    after: str


@dataclass(frozen=True)
class OpenedThought:
    """A prompt whose end opens a thought.

    Attributes:
        after: what follows the user's message.
        opening: the part of it before the thought.
        end: what the model ends the thought with.
        answer: what follows `end` before the answer.
    """

    after: str
    opening: str
    end: str
    answer: str

    @property
    def close(self) -> str:
        """What follows a thought that the model has ended, its end included."""
        return self.end + self.answer

    @property
    def close_cut(self) -> str:
        """The same of a thought that was cut: on a line of its own where the thought has begun on one."""
        return ("\n" if self.after.endswith("\n") else "") + self.close


def opened_thought(
    thinking: Rendered,
    plain: Rendered,
    answering: Rendered,
    template: str,
    vocabulary: Container[str],
    markers: tuple[str, str] | None = None,
) -> OpenedThought:
    """The prompt that makes the model think. Raises `ModelError` if no way is known.

    Args:
        thinking: as the template is with its variables for thinking on.
        plain: as it is with them off.
        answering: the same, ready for the answer.
        template: its source.
        vocabulary: the tokenizer's.
        markers: the user's own, in place of those that are known.
    """
    if markers is not None:
        return _with(markers, thinking, answering)
    for opening, end in OPENINGS:
        opens = thinking.after.rstrip().endswith(opening.strip())
        if opens or (opening.strip() in template and thinking != plain):
            return _with((opening, end), thinking, answering)
    if thinking.after.endswith("<|start|>assistant") and "<|channel|>" in vocabulary:
        return _with(CHANNELS, thinking, answering)
    raise ModelError(
        "judge.thinking: no way is known to make this model think: its chat template opens no thought and reads none "
        f"of the variables {', '.join(VARIABLES)}. Set judge.thinking: 'off', or name what stands before its thoughts "
        "and after them, for instance judge.thinking_markers: ['<reasoning>', '</reasoning>']."
    )


def _with(markers: tuple[str, str], thinking: Rendered, answering: Rendered) -> OpenedThought:
    opening, end = markers
    opens = thinking.after.rstrip().endswith(opening.strip())
    after = thinking.after if opens else thinking.after + opening
    answer = answering.after.rpartition(end)[2] if end in answering.after else "\n\n"
    return OpenedThought(after, opening.strip(), end, answer)


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
    known = f" It has {', '.join(names)}." if names else ""
    return ModelError(
        f"judge.chat_template: no such file: {chat_template}. Give 'auto', 'none', the path of a Jinja file, or the "
        f"name of one of the tokenizer's own templates.{known}"
    )


def read_template(tokenizer: "PreTrainedTokenizerFast", chat_template: str) -> str | None:
    if chat_template == "none":
        return None
    templates: str | dict[str, str] | None = tokenizer.chat_template
    named: dict[str, str] = templates if isinstance(templates, dict) else {}
    if chat_template in named:
        return named[chat_template]
    if chat_template != "auto":
        if not Path(chat_template).is_file():
            raise _no_template(chat_template, sorted(named))
        return Path(chat_template).read_text(encoding="utf-8")
    if not named:
        return templates if isinstance(templates, str) else None
    if "default" not in named and len(named) > 1:
        names = sorted(named)
        raise ModelError(
            f"judge.model: its tokenizer has the chat templates {', '.join(names)} and no default. Choose one, for "
            f"instance judge.chat_template: {names[0]}."
        )
    return named.get("default", next(iter(named.values())))
