"""Prompt text to token ids: the chat template, if any, and data whose special tokens are read as plain text."""

import logging
import re
import threading
from collections.abc import Container, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import TemplateError

from rag_evaluator.config import JudgeConfig
from rag_evaluator.dataset import ASSISTANT, CHANNEL, FINAL, THOUGHTS
from rag_evaluator.demo import DEMO_JUDGE
from rag_evaluator.errors import ModelError
from rag_evaluator.hub import load_failure
from rag_evaluator.judge.protocol import ENDLESS, ThoughtFormat

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

VARIABLES = ("enable_thinking", "thinking")  # of templates; the second is DeepSeek's and Granite's
OPENINGS = (
    # What the model begins a thought with, what it ends one with, and a thought that is empty.
    ("<think>\n", THOUGHTS["<think>"], "<think>\n\n</think>\n\n"),
    ("[THINK]", THOUGHTS["[THINK]"], "[THINK][/THINK]"),
)
CHANNELS = (f"{CHANNEL}analysis<|message|>", "<|end|>")
MARKERS = {marker.strip() for opening, end, _ in OPENINGS for marker in (opening, end)}
TEMPLATE_DAY = "26 Jul 2024"  # for templates that name the day: the same prompt on every day
FIXED_DAY = f"{{% macro strftime_now(format) %}}{TEMPLATE_DAY}{{% endmacro %}}"
NOT_THINKING = {"enable_thinking": False}  # other templates ignore it; the grammar leaves no room for a thought
PLACEHOLDER = "\u2042rag-evaluator-prompt\u2042"
NO_TEMPLATE = (
    "the judge's model has no chat template: it may be a base model, which was not taught to answer questions. Take "
    "its instruct version, set judge.chat_template to a Jinja file, or to 'none' if it is meant so"
)
logger = logging.getLogger(__name__)
Rendered = tuple[str, str]  # what a template puts before and after the user's message
PLACE = "local_files_only revision subfolder cache_dir token trust_remote_code code_revision gguf_file".split()
"""Arguments of from_pretrained that say where files are read, and not how weights are loaded."""


def render(
    tokenizer: "PreTrainedTokenizerFast", template: str, margin: str = "", variables: Mapping[str, Any] = NOT_THINKING
) -> Rendered:
    """What a template puts before and after the user's message, which has spaces around it. Raises `ModelError`.

    Templates of vision-text models may read a message as a list of parts, and overlook one that is a plain text.

    Args:
        variables: of the template. Any: what transformers takes beside them.
    """
    text = f"{margin}{PLACEHOLDER}{margin}"
    failures = []
    contents: tuple[Any, ...] = (text, [{"type": "text", "text": text}])
    for content in contents:
        try:
            rendered = tokenizer.apply_chat_template(
                [{"role": "user", "content": content}],
                chat_template=f"{FIXED_DAY}{template}",
                tokenize=False,
                add_generation_prompt=True,
                date_string=TEMPLATE_DAY,
                **variables,
            )
        except (TemplateError, TypeError, ValueError, AttributeError) as error:
            failures.append(f"not a working Jinja template: {error}")
            continue
        before, *after = str(rendered).split(PLACEHOLDER)
        if len(after) == 1:
            return before, after[0]
        failures.append(f"it does not show the user's message once but {len(after)} times. Set it to 'none'")
    raise ModelError(f"judge.chat_template: {failures[0]}.")


def markers_of(thinking: Rendered, plain: Rendered, template: str, vocabulary: Container[str]) -> tuple[str, str]:
    """What a model begins a thought with, and what it ends one with. Raises `ModelError` if that is not known.

    Args:
        thinking: as the template is with its variables for thinking on.
        plain: as it is with them off.
        template: its source.
        vocabulary: the tokenizer's.
    """
    for opening, end, _ in OPENINGS:
        if _ends_with(thinking[1], opening) or (opening.strip() in template and thinking != plain):
            return opening, end
    if thinking[1].endswith(ASSISTANT) and CHANNEL in vocabulary:
        return CHANNELS
    raise ModelError(
        "judge.thinking: no way is known to make this model think: its chat template opens no thought and reads none "
        f"of the variables {', '.join(VARIABLES)}. Set judge.thinking: 'off', or name what stands before its thoughts "
        "and after them, for instance judge.thinking_markers: ['<reasoning>', '</reasoning>']."
    )


def _ends_with(text: str, opening: str) -> bool:
    return text.rstrip().endswith(opening.strip())


def ready_to_answer(after: str, vocabulary: Container[str]) -> str:
    """The end of the prompt: a thought that it opens is closed, and the channel of the answer is opened."""
    for opening, _, empty in OPENINGS:
        if _ends_with(after, opening):
            return after.rstrip().removesuffix(opening.strip()) + empty
    has_channels = after.endswith(ASSISTANT) and CHANNEL in vocabulary
    return f"{after}{FINAL}" if has_channels else after


def check_template(chat_template: str) -> None:
    """Raises `ModelError` if the configured template is no file."""
    if chat_template not in ("auto", "none") and not Path(chat_template).is_file():
        raise ModelError(
            f"judge.chat_template: no such file: {chat_template}. Give 'auto', 'none', or the path of a Jinja file."
        )


def read_template(tokenizer: "PreTrainedTokenizerFast", chat_template: str) -> str | None:
    """The configured template; of several that a tokenizer has, the default one. Raises `ModelError`."""
    check_template(chat_template)
    if chat_template == "none":
        return None
    if chat_template != "auto":
        return Path(chat_template).read_text(encoding="utf-8")
    if not tokenizer.chat_template:
        return None
    try:
        return tokenizer.get_chat_template()
    except ValueError as error:  # of several none is the default
        raise ModelError(
            f"judge.model: {error} Write one to a file, and give its path as judge.chat_template."
        ) from error


def read_tokenizer(source: str, **kwargs: Any) -> Any:
    """The fast tokenizer of a folder or hub id. Raises `ModelError`. Any: transformers gives no common type.

    Args:
        kwargs: of from_pretrained, those of `PLACE` count.
    """
    from transformers import AutoTokenizer

    place = {name: kwargs[name] for name in PLACE if name in kwargs}
    try:
        tokenizer = AutoTokenizer.from_pretrained(source, **place)
    except Exception as error:  # each kind of tokenizer raises errors of its own
        raise ModelError(f"judge.model: the tokenizer of {source} cannot be loaded: {load_failure(error)}") from error
    check_tokenizer(tokenizer)
    return tokenizer


def check_tokenizer(tokenizer: Any) -> None:
    """Refuse a tokenizer that is no fast one. Raises `ModelError`."""
    from transformers import PreTrainedTokenizerFast

    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        kind = type(tokenizer).__name__
        raise ModelError(f"judge.model: {kind} is no fast tokenizer. Convert it to a tokenizer.json once, and save it.")


def window_of(config: Any, tokenizer: Any) -> int:
    """Tokens of prompt and answer together that a model can read; the smaller of what its files say."""
    text_config = config.get_text_config()
    names = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length")
    sizes = [getattr(text_config, name, None) for name in names] + [tokenizer.model_max_length]
    return min([ENDLESS, *(size for size in sizes if isinstance(size, int) and size > 0)])


class PromptEncoder:
    """Turns prompts into token ids in the format that the model was trained on.

    Special tokens in the data (`<|im_end|>` in a retrieved page) are read as plain text, so that no sample can end its
    own turn.

    Args:
        tokenizer: fast tokenizer of the model.
        config: its template; if it thinks, prompts end where it begins to think, and not where it begins to answer.

    Attributes:
        doubt: why the model may be unfit to answer; None where nothing says so.
        thoughts: how thoughts end; None if the judge does not think.
        answer_prefix: text the answer begins with: a space where the prompt itself must not end in one, since the
            space would split the answer's first token.
    """

    def __init__(self, tokenizer: "PreTrainedTokenizerFast", config: JudgeConfig) -> None:
        self.tokenizer = tokenizer
        self._lock = threading.Lock()  # splitting special tokens or not is a setting of the tokenizer itself
        self.template = read_template(tokenizer, config.chat_template)
        is_toy = tokenizer.name_or_path == str(DEMO_JUDGE)
        self.doubt = None if self.template or is_toy or config.chat_template == "none" else NO_TEMPLATE
        if self.doubt:
            logger.warning("%s", self.doubt)
        self.answer_prefix = "" if self.template else " "
        kept_plain = {*MARKERS, *(config.thinking_markers or ())}  # tokens that Qwen3 and others add as ordinary ones
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
            whole = render(tokenizer, self.template)
            spaced = render(tokenizer, self.template, " ")
            self.trims = whole == spaced  # templates may strip the message
            self.before = whole[0]
            self.after = ready_to_answer(whole[1], tokenizer.get_vocab())
        if config.thinking == "on":
            self.thoughts = self._open_thoughts(config.thinking_markers)

    def encode(self, prompt: str) -> list[int]:
        """Token ids of a prompt, with the special tokens that the model expects around it."""
        if not self.template:
            return [*self._start, *self._without_specials(prompt.rstrip(" "))]
        prompt = prompt.strip() if self.trims else prompt
        if any(special in prompt for special in self.specials):
            return [*self._plain(self.before), *self._without_specials(prompt), *self._plain(self.after)]
        return self._plain(self.before + prompt + self.after)

    def continuation(self, answer: str) -> list[int]:
        """Token ids of an answer as it follows a prompt."""
        if not self.answer_prefix:
            return self._without_specials(answer)
        before = self._without_specials("Output:")
        after = self._without_specials(f"Output:{self.answer_prefix}{answer}")
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
        vocabulary = self.tokenizer.get_vocab()
        thinking, plain = (
            render(self.tokenizer, self.template, variables=dict.fromkeys(VARIABLES, on)) for on in (True, False)
        )
        opening, end = markers or markers_of(thinking, plain, self.template, vocabulary)
        self.before, after = thinking
        self.after = after if _ends_with(after, opening) else after + opening
        answering = ready_to_answer(plain[1], vocabulary)
        close = end + (answering.rpartition(end)[2] if end in answering else "\n\n")
        close_cut = ("\n" if self.after.endswith("\n") else "") + close  # on a line of its own if it has begun on one
        ends = (self.special_ids | {vocabulary.get(end)}) - {vocabulary.get(opening.strip()), None}
        token_ids = frozenset(token for token in ends if token is not None)
        return ThoughtFormat(end, token_ids, tuple(self._plain(close)), tuple(self._plain(close_cut)))

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

    @cached_property
    def _start(self) -> list[int]:
        """The tokenizer's token at the beginning of a document, if it has one."""
        start = self.tokenizer("", add_special_tokens=True)["input_ids"]
        bos = self.tokenizer.bos_token_id
        return list(start[:1]) if bos is not None and start[:1] == [bos] else []
