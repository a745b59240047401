"""What an answer says of itself: which model has written it, and how many tokens of its prompt were read."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from rag_evaluator.errors import JudgeLostError, JudgementError
from rag_evaluator.judge.engine.server.dialects import Server, Written

REMEDY = (
    "Give the server a larger context: num_ctx in the model's Modelfile or OLLAMA_CONTEXT_LENGTH for Ollama, "
    "-c for llama.cpp, --max-model-len for vLLM, else its own option for the length of the context."
)
ROUNDING, LEAST = 0.01, -9999.0  # log probabilities: above 0 by rounding only; servers write the least for "never"
SUFFIXES = (".gguf", "-gguf", ":latest")  # that say nothing of the model
VARIANT = re.compile(  # of a model under its own name: a dated snapshot, or a quantisation
    r"[-_.:@](\d{4}-?\d\d-?\d\d|\d{3,4}|(ud-)?i?q\d\w*|bf16|fp?(8|16|32)|int[48]|[48]-?bit|awq|gptq|mxfp4|nvfp4)"
)


class CutPromptError(JudgementError):
    """The server does not read a prompt whole; the message says what to do."""


def check_model(server: Server, answer: Mapping[str, Any]) -> None:
    """Raises `JudgeLostError` for an answer of another model than the one that was asked."""
    name = answer.get("model")
    if not isinstance(name, str) or not name or name in server.aliases or same_model(server.model, name):
        return
    raise JudgeLostError(
        f"judge.served_model: '{server.model}' was asked, and the answer is from '{name:.100}'. Load "
        f"'{server.model}' in the server, or set judge.served_model to the model that shall judge."
    )


def same_model(asked: str, answered: str) -> bool:
    """Whether two names can be of one model: servers answer with a path, without the organisation, with a snapshot."""
    (first, short), (second, long) = sorted(map(_parts, (asked, answered)), key=lambda parts: len(parts[1]))
    if first and second and first != second:
        return False
    return long.startswith(short) and (long == short or VARIANT.fullmatch(long[len(short) :]) is not None)


def _parts(name: str) -> tuple[str, str]:
    """Organisation, empty where there is none, and name; of a path its last part."""
    *folders, last = name.replace("\\", "/").casefold().split("/")
    for suffix in SUFFIXES:
        last = last.removesuffix(suffix)
    return folders[0] if len(folders) == 1 else "", last


def tokens_read(answer: Mapping[str, Any]) -> int | None:
    """Tokens of the prompt that the server counts in `usage`; None where it does not say. 0 is no count."""
    usage = answer.get("usage")
    return count_of(usage.get("prompt_tokens")) if isinstance(usage, dict) else None


def logprob_of(value: Any) -> float:
    """A log probability that a server tells. Raises `ValueError` for what is none. Any: JSON."""
    if type(value) not in (int, float) or not value <= ROUNDING:  # NaN is not, either
        raise ValueError(f"a log probability is {value!r:.40}")
    return float(max(value, LEAST))


def text_of(value: Any) -> str | None:
    """What a server tells as a text, if it is one. Any: JSON."""
    return value if isinstance(value, str) else None


def written_of(token: Any, logprobs: Iterable[tuple[Any, Any]]) -> Written:
    """A token that a server has written, with (token id, log probability) pairs. Raises `ValueError`. Any: JSON."""
    pairs = [(token, 0.0), *logprobs]
    for number, _ in pairs:
        if type(number) is not int or not 0 <= number < 2**31:
            raise ValueError(f"a token id is {number!r:.40}")
    return Written(token, {number: logprob_of(logprob) for number, logprob in pairs[1:]})


def count_of(value: Any) -> int | None:
    """What a server tells as a number of something, if it is one. Any: JSON."""
    return value if type(value) is int and value > 0 else None


def check_read(read: int | None, sent: int, slack: int = 0) -> None:
    """Raises `CutPromptError` where less of a prompt was read than was sent.

    Args:
        read: tokens, as the server counts them; None: it does not say.
        sent: tokens, as we count them.
        slack: tokens by which two right counts may differ.
    """
    if read is not None and read < sent - slack:
        raise CutPromptError(f"the server cuts long prompts: it has read {read} of {sent} tokens. {REMEDY}")
