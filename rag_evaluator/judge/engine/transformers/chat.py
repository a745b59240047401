"""Prompt text to token ids: the chat template, if any, and data whose special tokens are read as plain text."""

import re
import threading
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from rag_evaluator.config_sections import JudgeConfig
from rag_evaluator.errors import ModelError
from rag_evaluator.judge.engine.protocol import ThoughtFormat
from rag_evaluator.judge.engine.transformers.prompt_heads import PromptHeads
from rag_evaluator.judge.engine.transformers.templates import read_template, ready_to_answer, render
from rag_evaluator.judge.engine.transformers.thought_markers import MARKERS, VARIABLES, Rendered, opened_thought
from rag_evaluator.judge.requests import TextEnd

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


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
        self.template = read_template(tokenizer, chat_template)
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
        self.heads = PromptHeads(tokenizer.get_vocab())
        self.thoughts: ThoughtFormat | None = None
        if self.template:
            whole, spaced = render(tokenizer, self.template), render(tokenizer, self.template, " ")
            self.trims = whole == spaced  # templates may strip the message
            self.before, self.after = whole.before, ready_to_answer(whole.after, tokenizer.get_vocab())
        if thinking:
            self.thoughts = self._open_thoughts(markers)

    @classmethod
    def of(cls, tokenizer: "PreTrainedTokenizerFast", config: JudgeConfig) -> "PromptEncoder":
        """As a judge's configuration has it."""
        return cls(tokenizer, config.chat_template, config.thinking == "on", config.thinking_markers)

    def encode(self, prompt: str) -> list[int]:
        """Token ids of a prompt, with the special tokens that the model expects around it."""
        group = getattr(prompt, "group", "")
        if not self.template:
            return [*self._start, *self.heads.encode(prompt.rstrip(" "), group, self._without_specials)]
        prompt = prompt.strip() if self.trims else prompt
        if any(special in prompt for special in self.specials):
            before = self._plain(self.before) if self.before else []
            after = self._plain(self.after) if self.after else []
            return [*before, *self._without_specials(prompt), *after]
        return self.heads.encode(self.before + prompt + self.after, group, self._plain)

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
        tokenizer, vocabulary = self.tokenizer, self.tokenizer.get_vocab()
        thinking = render(tokenizer, self.template, variables=dict.fromkeys(VARIABLES, True))
        plain = render(tokenizer, self.template, variables=dict.fromkeys(VARIABLES, False))
        answering = Rendered(plain.before, ready_to_answer(plain.after, vocabulary))
        opened = opened_thought(thinking, plain, answering, self.template, vocabulary, markers)
        self.before, self.after = thinking.before, opened.after
        ends = (self.special_ids | {vocabulary.get(opened.end)}) - {vocabulary.get(opened.opening)}
        stop = TextEnd(opened.end, frozenset(token for token in ends if token is not None))
        return ThoughtFormat(stop, tuple(self._plain(opened.close)), tuple(self._plain(opened.close_cut)))

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
        start, bos = self.tokenizer("", add_special_tokens=True)["input_ids"], self.tokenizer.bos_token_id
        return list(start[:1]) if bos is not None and start[:1] == [bos] else []
