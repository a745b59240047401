"""What a chat completion says: the model that answers, its text and thought, the tokens that it has read."""

import json
import re
from dataclasses import dataclass, field
from typing import Any

from rag_evaluator.errors import JudgeLostError, JudgementError
from rag_evaluator.files import Json
from rag_evaluator.judge.grammar.schema import unique_keys

from .long_prompts import tokens_read

SUFFIXES = (".gguf", "-gguf", ":latest")  # that say nothing of the model
VARIANT = re.compile(  # of a model under its own name: a dated snapshot, or a quantisation
    r"[-_.:@](\d{4}-?\d\d-?\d\d|\d{3,4}|(ud-)?i?q\d\w*|bf16|fp?(8|16|32)|int[48]|[48]-?bit|awq|gptq|mxfp4|nvfp4)"
)

NO_ANSWER = "the server gave no answer: "
ONLY_THOUGHT = (
    "its model wrote a thought (reasoning_content) and nothing after it. With judge.thinking: on a thought has tokens "
    "of its own"
)
NO_ENDS = {"content_filter": "its filter has withheld the text", "error": "it failed"}  # by finish_reason


def same_model(asked: str, answered: str) -> bool:
    """Return whether two names can be of one model: with or without path, organisation, snapshot or quantisation."""
    (first, short), (second, long) = sorted(map(_parts, (asked, answered)), key=lambda parts: len(parts[1]))
    if first and second and first != second:
        return False
    return long.startswith(short) and (long == short or VARIANT.fullmatch(long[len(short) :]) is not None)


def _parts(name: str) -> tuple[str, str]:
    """Return organisation, empty where there is none, and name; of a path its last part."""
    *folders, last = name.replace("\\", "/").casefold().split("/")
    for suffix in SUFFIXES:
        last = last.removesuffix(suffix)
    return folders[0] if len(folders) == 1 else "", last


@dataclass(frozen=True)
class ChatAnswer:
    """What a server answered.

    Attributes:
        ended: whether the answer ended by itself, and not because of its budget.
        thought: before it, if the server tells one.
        choice: all of it as the server wrote it.
        read: tokens of the prompt, as the server counts them; None: it does not say.
    """

    text: str
    ended: bool
    thought: str
    choice: Json = field(repr=False)
    read: int | None = None

    @classmethod
    def of(cls, answer: Json, asked: str) -> "ChatAnswer":
        """Read a chat completion.

        Args:
            asked: the model that was asked.

        Raises `JudgeLostError` for one of another model, and for what is none; `JudgementError` where it answers
        nothing.
        """
        name = answer.get("model")
        if isinstance(name, str) and name and not same_model(asked, name):
            raise JudgeLostError(
                f"judge.served_model: '{asked}' was asked, and the answer is from '{name:.100}'. Load '{asked}' in the "
                "server, or set judge.served_model to the model that shall judge."
            )
        try:
            choice = answer["choices"][0]
            message = choice["message"]
            finish = choice.get("finish_reason")
            if finish == "abort":  # of vLLM, with status 200 and what was written until then
                raise JudgeLostError("judge.url: the server has given up what it was writing, as it is being ended")
            thought = str(message.get("reasoning_content") or message.get("reasoning") or "")
            text = str(message.get("content") or "")
            if why := _nothing(choice, message, text, thought):
                raise JudgementError(f"{NO_ANSWER}{why}")
            return cls(text, finish != "length", thought, choice, tokens_read(answer))
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise JudgeLostError(f"judge.url: the server's answer is no chat completion: {error!r}") from error


def _nothing(choice: Json, message: Json, text: str, thought: str) -> str | None:
    """Return why a choice is no answer, whatever text it has; None if it is one."""
    finish = choice.get("finish_reason")
    if finish in NO_ENDS:
        return f"{NO_ENDS[finish]} (finish_reason: {finish})"
    if refusal := message.get("refusal"):
        return f"its model refuses: {refusal!s:.200}"
    if text.strip() or finish == "length":
        return None
    return ONLY_THOUGHT if thought else f"the text is empty (finish_reason: {finish})"


def value_of(text: str) -> Any:
    """Return the value of a whole answer. Raises `JudgementError` for no JSON, no text, a key twice. Any: JSON."""
    try:
        value = json.loads(text, object_pairs_hook=unique_keys)
        json.dumps(value, ensure_ascii=False).encode()  # half of a character is no text
    except (ValueError, RecursionError) as error:
        raise JudgementError(
            f"the server did not obey the schema: {text[:60]!r} cannot be read as JSON: {str(error)[:100]!r}"
        ) from None
    return value
