"""What fits into the judge's window: texts are counted as they stand in a prompt, and split where they are too long."""

import json
from typing import Any

from rag_evaluator.errors import PromptTooLongError
from rag_evaluator.judge.adapters import as_judge

ENDLESS = 10**9
RESERVE = 64  # tokens for a short answer, and for tokens that join differently than in the count
USEFUL = 64  # tokens: less room than that is none
BREAKS = ["\n\n", "\n", "。", "！", "？", ". ", "; ", ", ", "，", " ", ""]  # best places to split first


class Window:
    """The window of a judge, in tokens; without end where the judge counts none (scripts, remote models).

    Args:
        judge: a judge, or an LLM that `as_judge` takes.
    """

    def __init__(self, judge: Any) -> None:
        self._judge = as_judge(judge)
        self._counts = self._judge.capabilities.counts_tokens

    def room(self, prompt: str, reserve: int = RESERVE) -> int:
        """Tokens left for texts in a prompt that holds none yet, beside `reserve` for the answer.

        Raises `PromptTooLongError` if that is not enough for any text.
        """
        if not self._counts:
            return ENDLESS
        room = self._judge.room(prompt) - reserve
        if room < USEFUL:
            window = self._judge.capabilities.window
            raise PromptTooLongError(f"the prompt without any context fills the model's window of {window} tokens")
        return room

    def tokens(self, text: str) -> int:
        """Tokens of a text as JSON; 0 where there is no tokenizer to count with."""
        return self._judge.count(json.dumps(text, ensure_ascii=False)) if self._counts else 0

    def pieces(self, text: str, tokens: int) -> list[str]:
        """The text in pieces of at most so many tokens, none of it lost but blanks between them."""
        if self.tokens(text) <= tokens:
            return [text]
        from langchain_text_splitters import RecursiveCharacterTextSplitter

        splitter = RecursiveCharacterTextSplitter(
            separators=BREAKS,
            keep_separator="end",
            chunk_size=tokens,
            chunk_overlap=0,
            length_function=self.tokens,
        )
        return splitter.split_text(text)
