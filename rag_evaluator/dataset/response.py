"""`read_response`: what a response says, and what is around it: thoughts, citation marks, signs of bold."""

import re
from dataclasses import dataclass
from functools import cached_property

from .marks import ResponsePiece, divided_by_marks, said, structure_of

AS_WRITTEN = "as_written"  # what `responses` of the configuration says where all of a response counts
THOUGHT = "thought"
THOUGHTS = {
    "<think>": "</think>",  # Qwen3, DeepSeek, R1-Distill, QwQ, GLM, MiniMax, SmolLM3
    "[THINK]": "[/THINK]",  # Magistral
    "<thinking>": "</thinking>",
    "<reasoning>": "</reasoning>",
    "<thought>": "</thought>",
    "<seed:think>": "</seed:think>",
    "◁think▷": "◁/think▷",  # Kimi
}
"""What a thought begins with -> what it ends with."""
# GPT-OSS writes thoughts and answers in channels; where its special tokens are lost, their names are left
ASSISTANT = "<|start|>assistant"
CHANNEL = "<|channel|>"
FINAL = f"{CHANNEL}final<|message|>"
CHANNELS = re.compile(rf"\s*(?:{re.escape(ASSISTANT)}|{re.escape(CHANNEL)})")
NAMES_ONLY = re.compile(r"\s*analysis(?=\S).*?assistantfinal", re.DOTALL)
RETURN = re.compile(r"\s*<\|(?:end|return)\|>\s*\Z")
BEGINS = "|".join(map(re.escape, THOUGHTS))
ENDS = "|".join(map(re.escape, THOUGHTS.values()))
WITHIN = rf"(?=(?:{BEGINS})[^\s<`\"'“”‘’«»(),.](?:[^`]*?[^\s`\"'“”‘’«»(])?(?:{ENDS}))"
TAG = re.compile(
    rf"(?:^[ \t>]*|{WITHIN})(?P<begin>{BEGINS})|(?:{ENDS})\s*(?:\n\s*|\Z)|(?<=\n)(?:{ENDS})\s*",
    re.MULTILINE | re.IGNORECASE,
)
"""A thought begins on a line of its own, or stands between its tags without spaces or quotation marks, as no text about
tags does; only its end is there where the prompt has begun it."""
ANOTHER = re.compile(rf"(?P<begin>{BEGINS})", re.IGNORECASE)  # where one ends
FENCE = "```"


@dataclass(frozen=True)
class Response:
    """A response in pieces, which together are its text.

    Attributes:
        endless: what a thought begins with that never ends; empty: each one ends.
    """

    pieces: tuple[ResponsePiece, ...]
    endless: str = ""

    @property
    def said(self) -> str:
        """What metrics see; nothing where a thought never ends."""
        return "" if self.endless else said(self.pieces)

    @property
    def places(self) -> list[int]:
        """Of each letter that is said, its place in the text."""
        kinds = (piece.kind for piece in self.pieces for _ in piece.text)
        return [place for place, kind in enumerate(kinds) if not kind]

    @property
    def why_silent(self) -> str:
        """Why nothing is said, where thoughts are the reason."""
        if self.endless:
            return f"a thought begins with {self.endless} and never ends"
        return "nothing follows its thought" if THOUGHT in self.kinds and not self.said.strip() else ""

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """What is around what is said, and the parts of Markdown in it that claim nothing, each once."""
        if self.endless:
            return (f"{THOUGHT} that never ends",)
        around = [piece.kind for piece in self.pieces if piece.kind]
        return tuple(dict.fromkeys([*around, *(kind for _, _, kind in structure_of(self.said))]))


def read_response(text: str) -> Response:
    """What a response says, and what is around it."""
    thoughts, endless = _thoughts(text)
    pieces = []
    place = 0
    for start, end in thoughts:
        pieces += [*divided_by_marks(text[place:start]), ResponsePiece(text[start:end], THOUGHT)]
        place = end
    pieces += divided_by_marks(text[place:])
    return Response(tuple(piece for piece in pieces if piece.text), endless)


def _thoughts(text: str) -> tuple[list[tuple[int, int]], str]:
    """Where thoughts are, and what one begins with that never ends."""
    if CHANNELS.match(text):
        start = text.rfind(FINAL)
        end = RETURN.search(text)
        if start < 0:
            return [(0, len(text))], CHANNEL
        return [(0, start + len(FINAL)), *([end.span()] if end else [])], ""
    if match := NAMES_ONLY.match(text):
        return [match.span()], ""
    return _tagged(text)


def _tagged(text: str) -> tuple[list[tuple[int, int]], str]:
    thoughts: list[tuple[int, int]] = []
    place = at = 0
    while tag := (ANOTHER.match(text, at) if thoughts and thoughts[-1][1] == at else None) or TAG.search(text, at):
        at = tag.end()
        if text.count(FENCE, place, tag.start()) % 2:  # within code
            continue
        begin = tag["begin"] or ""
        if begin:
            closes = THOUGHTS.get(begin) or THOUGHTS.get(begin.lower()) or THOUGHTS[begin.upper()]
            end = re.compile(rf"{re.escape(closes)}\s*", re.IGNORECASE).search(text, at)
            if end is None:
                return [*thoughts, (tag.start(), len(text))], begin
            at = end.end()
        thoughts.append((tag.start() if begin else _begins(text, place, tag), at))
        place = at
    return thoughts, ""


def _begins(text: str, place: int, end: re.Match[str]) -> int:
    """Where the thought of an end begins whose beginning is within a line, or not there: then at `place`."""
    begins = [begin for begin, closes in THOUGHTS.items() if closes.lower() == end[0].strip().lower()]
    return next((at for begin in begins if (at := text.lower().find(begin.lower(), place, end.start())) >= 0), place)
