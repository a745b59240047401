"""How a model thinks, recognised from its chat template and its tokens: what opens a thought, ends it, follows it."""

from collections.abc import Container
from dataclasses import dataclass

from rag_evaluator.errors import ModelError

VARIABLES = ("enable_thinking", "thinking")  # of templates; the second is DeepSeek's and Granite's
OPENINGS = (
    # What the model begins a thought with, and what it ends one with.
    ("<think>\n", "</think>"),  # Qwen3, DeepSeek, R1-Distill, QwQ, GLM, MiniMax, SmolLM3, EXAONE
    ("[THINK]", "[/THINK]"),  # Magistral
)
CHANNELS = ("<|channel|>analysis<|message|>", "<|end|>")  # GPT-OSS
MARKERS = tuple(dict.fromkeys(marker.strip() for markers in OPENINGS for marker in markers))


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
        opening: what of it stands before the thought.
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
