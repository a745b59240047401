"""Prompt text to token ids: the chat template, if any, and data whose special tokens are read as plain text."""

import json
import re
import threading
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import TemplateError

from rag_evaluator.config_sections import JudgeConfig
from rag_evaluator.errors import ModelError
from rag_evaluator.judge.engine.protocol import ThoughtFormat
from rag_evaluator.judge.engine.transformers.thought_markers import MARKERS, VARIABLES, Rendered, opened_thought
from rag_evaluator.judge.requests import TextEnd

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


class PromptEncoder:
    """Turns prompts into token ids in the format that the model was trained on.

    Special tokens in the data (`<|im_end|>` in a retrieved page) are read as plain text, so that no sample can end its
    own turn.

    Args:
        tokenizer: fast tokenizer of the model.
        chat_template: `auto` (the tokenizer's own, if any), `none`, the path of a Jinja file, or the name of one of the
            tokenizer's own templates.
        thinking: whether prompts end where the model begins to think, and not where it begins to answer.
        markers: what stands before a thought and after it; None takes what is known of the model.

    Attributes:
        thoughts: how thoughts end; None if `thinking` is not asked for.
        answer_prefix: text the answer begins with: a space where the prompt itself must not end in one, since the
            space would split the answer's first token.
    """

    def __init__(
        self,
        tokenizer: "PreTrainedTokenizerFast",
        chat_template: str = "auto",
        thinking: bool = False,
        markers: tuple[str, str] | None = None,
    ) -> None:
        self.tokenizer = tokenizer
        self._lock = threading.Lock()  # splitting special tokens or not is a setting of the tokenizer itself
        self.template = _read_template(tokenizer, chat_template)
        self.answer_prefix = "" if self.template else " "
        kept_plain = {*MARKERS, *(markers or ())}  # added tokens of Qwen3 and others, but not special ones
        known = {
            number: token.content
            for number, token in tokenizer.added_tokens_decoder.items()
            if token.content and (token.special or token.content in kept_plain)
        }
        self.specials = list(known.values())
        self.special_ids = known.keys() - {tokenizer.unk_token_id}
        self.inside_specials = re.compile(
            "|".join(f"(?<={re.escape(s[0])})(?={re.escape(s[1:])})" for s in self.specials)
        )
        self.thoughts: ThoughtFormat | None = None
        if self.template:
            whole, spaced = self._render(""), self._render(" ")
            self.trims = whole == spaced  # templates may strip the message
            self.before, self.after = whole.before, self._ready_to_answer(whole.after)
        if thinking:
            self.thoughts = self._open_thoughts(markers)

    @classmethod
    def of(cls, tokenizer: "PreTrainedTokenizerFast", config: JudgeConfig) -> "PromptEncoder":
        """As a judge's configuration has it."""
        return cls(tokenizer, config.chat_template, config.thinking == "on", config.thinking_markers)

    def encode(self, prompt: str) -> list[int]:
        """Token ids of a prompt, with the special tokens that the model expects around it."""
        if not self.template:
            return self._with_specials(prompt.rstrip(" "))
        prompt = prompt.strip() if self.trims else prompt
        if any(special in prompt for special in self.specials):
            before = self._plain(self.before) if self.before else []
            after = self._plain(self.after) if self.after else []
            return [*before, *self._without_specials(prompt), *after]
        return self._plain(self.before + prompt + self.after)

    def continuation(self, answer: str) -> list[int]:
        """Token ids of an answer as it follows a prompt."""
        if not self.answer_prefix:
            return self._without_specials(answer)
        before, after = (
            self._without_specials("Output:"),
            self._without_specials(f"Output:{self.answer_prefix}{answer}"),
        )
        return after[len(before) :] if after[: len(before)] == before else self._without_specials(answer)

    def count(self, text: str) -> int:
        """Number of tokens of a text on its own."""
        return len(self._without_specials(text))

    def decode(self, token_ids: Sequence[int]) -> str:
        """The text of token ids, special tokens included."""
        with self._lock:
            return str(self.tokenizer.decode(list(token_ids), clean_up_tokenization_spaces=False))

    def _open_thoughts(self, markers: tuple[str, str] | None) -> ThoughtFormat:
        """Make prompts end where a thought begins. Raises `ModelError` if it is not known how the model thinks."""
        if not self.template:
            raise ModelError(
                "judge.thinking: this model has no chat template, so there is no way to make it think. Set "
                "judge.thinking: 'off', or judge.chat_template."
            )
        thinking = self._render("", dict.fromkeys(VARIABLES, True))
        plain = self._render("", dict.fromkeys(VARIABLES, False))
        answering = Rendered(plain.before, self._ready_to_answer(plain.after))
        vocabulary = self.tokenizer.get_vocab()
        opened = opened_thought(thinking, plain, answering, self.template, vocabulary, markers)
        self.before, self.after = thinking.before, opened.after
        ends = (self.special_ids | {vocabulary.get(opened.end)}) - {vocabulary.get(opened.opening)}
        stop = TextEnd(opened.end, frozenset(token for token in ends if token is not None))
        return ThoughtFormat(stop, tuple(self._plain(opened.close)), tuple(self._plain(opened.close_cut)))

    def _render(self, margin: str, variables: Mapping[str, Any] = NOT_THINKING) -> Rendered:
        """What the template puts before and after the user's message, which has spaces around it.

        Any: what transformers takes beside a template's own variables.
        """
        try:
            text = self.tokenizer.apply_chat_template(
                [{"role": "user", "content": f"{margin}{PLACEHOLDER}{margin}"}],
                chat_template=f"{FIXED_DAY}{self.template}",
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

    def _ready_to_answer(self, after: str) -> str:
        """The end of the prompt: a thought that it opens is closed, and the channel of the answer is opened."""
        for ending, token, ready in ENDINGS:
            if not token or token in self.tokenizer.get_vocab():
                after = ending.sub(ready, after)
        return after

    def _plain(self, text: str) -> list[int]:
        """Ids of a text whose special tokens keep their meaning."""
        with self._lock:
            return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def _without_specials(self, text: str) -> list[int]:
        """Ids of a text in which special tokens are plain characters."""
        with self._lock:
            ids = list(self.tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"])
        if not self.special_ids.intersection(ids):
            return ids
        parts = self.inside_specials.split(text)  # a Unigram vocabulary holds them as ordinary pieces, too
        return ids if len(parts) == 1 else [token for part in parts for token in self._without_specials(part)]

    def _with_specials(self, text: str) -> list[int]:
        """Ids of a text as a document: with the tokenizer's token at the beginning, without the one at the end."""
        return [*self._start, *self._without_specials(text)]

    @cached_property
    def _start(self) -> list[int]:
        """The tokenizer's token at the beginning of a document, if it has one."""
        start, bos = self.tokenizer("", add_special_tokens=True)["input_ids"], self.tokenizer.bos_token_id
        return list(start[:1]) if bos is not None and start[:1] == [bos] else []


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


def _read_template(tokenizer: "PreTrainedTokenizerFast", chat_template: str) -> str | None:
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
