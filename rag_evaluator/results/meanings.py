"""What a judge's verdicts mean: which are good news, and their words on the page. A new prompt is a row here."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Tone = Literal["good", "middle", "bad", "plain"]
SIGNS: Mapping[Tone, str] = {"good": "✓", "middle": "◐", "bad": "✗", "plain": "•"}


@dataclass(frozen=True)
class Meaning:
    """What a verdict says of a row, in words."""

    tone: Tone
    word: str


@dataclass(frozen=True)
class Verdicts:
    """The meanings of one key in the answers to a prompt.

    Attributes:
        metrics: whose answers these are; each name also stands for those that begin with it and `_`.
        key: of the verdict in the answer, or the name of the list that an object stands in.
        prompt: empty: any of these metrics.
        about: a column that the question names; empty: whatever it names.
    """

    metrics: tuple[str, ...]
    key: str
    meanings: Mapping[Any, Meaning]  # Any: a number or a text, as JSON has it
    prompt: str = ""
    about: str = ""


def _two(good: str, bad: str) -> dict[Any, Meaning]:
    return {1: Meaning("good", good), 0: Meaning("bad", bad)}


def _plain(yes: str, no: str) -> dict[Any, Meaning]:
    return {1: Meaning("plain", yes), 0: Meaning("plain", no)}


def _three(most: int, bad: str, middle: str, good: str) -> dict[Any, Meaning]:
    return {0: Meaning("bad", bad), most // 2: Meaning("middle", middle), most: Meaning("good", good)}


SUPPORTED = _two("supported", "not supported")
MEANINGS: tuple[Verdicts, ...] = (
    Verdicts(("faithfulness", "factual_correctness"), "verdict", SUPPORTED),
    Verdicts(("noise_sensitivity",), "verdict", SUPPORTED, about="reference"),
    Verdicts(("noise_sensitivity",), "verdict", _plain("supported", "not supported")),
    Verdicts(("context_recall",), "attributed", _two("in the contexts", "not in the contexts")),
    Verdicts(("context_precision",), "verdict", _two("useful", "not useful")),
    Verdicts(("retrieval",), "verdict", _two("retrieved", "not retrieved"), prompt="match_prompt"),
    Verdicts(("retrieval",), "verdict", _two("relevant", "not relevant")),
    Verdicts(("context_relevance",), "rating", _three(2, "not relevant", "partly relevant", "relevant")),
    Verdicts(("response_groundedness",), "rating", _three(2, "not grounded", "partly grounded", "grounded")),
    Verdicts(("answer_accuracy",), "rating", _three(4, "does not agree", "agrees in part", "agrees")),
    Verdicts(("answer_relevancy",), "noncommittal", {0: Meaning("good", "answers"), 1: Meaning("bad", "evasive")}),
    Verdicts(("answer_correctness",), "TP", {None: Meaning("good", "in both")}),
    Verdicts(("answer_correctness",), "FP", {None: Meaning("bad", "not in the reference")}),
    Verdicts(("answer_correctness",), "FN", {None: Meaning("bad", "missing in the response")}),
    Verdicts(("refusal_correctness",), "verdict", _plain("refuses", "answers"), prompt="refused_prompt"),
    Verdicts(("refusal_correctness",), "verdict", _plain("answerable", "not answerable"), prompt="answerable_prompt"),
    Verdicts(("context_relevancy",), "numbers", _two("helps", "does not help")),
    Verdicts(("summary_score",), "answers", {"1": Meaning("good", "answered"), "0": Meaning("bad", "not answered")}),
)
SCALES: Mapping[str, tuple[float, float]] = {"answer_rubric": (1.0, 5.0)}  # of labels that are not the score itself
GRADES = ("score", "label", "rating", "value")  # keys whose number is a grade on the metric's scale
CHOSEN: Mapping[tuple[str, str], str] = {("context_relevancy", "numbers"): "sentences"}
"""(metric, key) of a list of numbers, from 1 -> the texts of the input that it chooses from."""
PAIRED: Mapping[tuple[str, str], str] = {("summary_score", "answers"): "questions"}
"""(metric, key) of a list -> the texts of the input that it has an item for each of."""


def meaning_of(metric: str, prompt: str, key: str, value: Any, about: Collection[str]) -> Meaning | None:
    """What a verdict means; None where nobody knows. Any: JSON.

    Args:
        metric: without the name of a judge.
        about: the columns that the question names.
    """
    for row in MEANINGS:
        if (
            row.key == key
            and any(metric == name or metric.startswith(f"{name}_") for name in row.metrics)
            and row.prompt in ("", prompt)
            and (not row.about or row.about in about)
        ):
            return row.meanings.get(value)
    return None


def grade_tone(metric: str, key: str, value: float, about: Mapping[str, Any]) -> Tone:
    """Where a grade is on its scale: the best third is good, the worst is bad.

    Args:
        about: what the manifest says of the metric: its range, and which end is the better one.
    """
    low, high = SCALES.get(metric) or about.get("range") or (0.0, 0.0)
    if key not in GRADES or not low < high:
        return "plain"
    share = (min(max(value, low), high) - low) / (high - low)
    if about.get("better") == "lower":
        share = 1 - share
    return "good" if share > 2 / 3 else "bad" if share < 1 / 3 else "middle"
