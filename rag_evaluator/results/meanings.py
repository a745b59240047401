"""What the words and numbers of a verdict mean: `MEANINGS`, by metric and prompt."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

Tone = Literal["good", "middle", "bad", "plain"]
SIGNS: Mapping[Tone, str] = {"good": "✓", "middle": "◐", "bad": "✗", "plain": "•"}
NOT_COUNTED = "not_counted"  # its list of the sentences that are no claims
OF_SENTENCES = ("groundedness", "context_coverage", "reference_coverage", "reference_agreement")
"""Metrics whose score may be a share of sentences, or a probability of them."""
UNSUPPORTED = "the response says something that its contexts do not support"
FAULTS: Mapping[str, str] = {
    "faithfulness": UNSUPPORTED,
    "response_groundedness": UNSUPPORTED,
    "groundedness": UNSUPPORTED,
    "context_coverage": "the contexts lack something that the reference says",
    "reference_coverage": "the response lacks something that the reference says",
    "reference_agreement": "the response says something that the reference does not",
    "context_recall": "the contexts lack something that the reference says",
    "context_entity_recall": "the contexts lack a name that the reference has",
    "context_precision": "a context that does not help comes before one that does, or none helps",
    "context_relevance": "the contexts do not fully fit the question",
    "context_relevancy": "a sentence of the contexts does not help to answer",
    "answer_accuracy": "the response does not fully agree with the reference",
    "answer_correctness": "the response does not say the same as the reference",
    "factual_correctness": "the response does not claim the same as the reference",
    "refusal_correctness": "the response refuses where it should answer, or answers where it should refuse",
    "summary_score": "the summary leaves a question about the text open",
}
"""What a score below the best one says of a row; a name also stands for those that begin with it and `_`."""
SCALES: Mapping[str, tuple[float, float]] = {"answer_rubric": (1.0, 5.0)}  # of labels that are not the score itself
FACTS = frozenset(
    {"probability", "contexts", "piece", "pieces", "spans", "decided_by", "judged", "share", "combination"}
)
"""Keys in what a verifier says that are no verdicts: how sure it is, where the evidence is; the last of older runs."""
GRADES = ("score", "label", "rating", "value")  # keys whose number is a grade on the metric's scale
CHOSEN: Mapping[tuple[str, str], str] = {("context_relevancy", "numbers"): "sentences"}
"""(metric, key) of a list of numbers, from 1 -> the texts of the input that it chooses from."""
PAIRED: Mapping[tuple[str, str], str] = {("summary_score", "answers"): "questions"}
"""(metric, key) of a list -> the texts of the input that it has an item for each of."""


class Meaning(NamedTuple):
    """What a verdict says of a row, in words."""

    tone: Tone
    word: str


@dataclass(frozen=True)
class Verdicts:
    """The meanings of one key in the answers to a prompt.

    Attributes:
        metrics: whose answers these are; each name also stands for those that begin with it and `_`.
        key: of the verdict in the answer, or the name of the list that an object stands in.
        kind: what the verdict is about, in words; empty: runs are not compared by it.
        prompt: empty: any of these metrics.
        about: a column that the question names; empty: whatever it names.
    """

    metrics: tuple[str, ...]
    key: str
    kind: str
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
    Verdicts(("faithfulness",), "verdict", "claim", SUPPORTED),
    Verdicts(("factual_correctness",), "verdict", "claim of the reference", SUPPORTED, about="response"),
    Verdicts(("factual_correctness",), "verdict", "claim", SUPPORTED),
    Verdicts(("noise_sensitivity",), "verdict", "", SUPPORTED, about="reference"),
    Verdicts(("noise_sensitivity",), "verdict", "", _plain("supported", "not supported")),
    Verdicts(
        ("context_recall",), "attributed", "sentence of the reference", _two("in the contexts", "not in the contexts")
    ),
    Verdicts(("groundedness", "reference_agreement"), "verdict", "sentence of the response", SUPPORTED),
    Verdicts(
        ("context_coverage", "context_recall"),
        "verdict",
        "sentence of the reference",
        _two("in the contexts", "not in the contexts"),
    ),
    Verdicts(
        ("reference_coverage",), "verdict", "sentence of the reference", _two("in the response", "not in the response")
    ),
    Verdicts(
        (*OF_SENTENCES, "context_recall"),
        NOT_COUNTED,
        "",
        {None: Meaning("plain", "not counted")},
    ),
    Verdicts(OF_SENTENCES, "answer", "rating", {"yes": Meaning("plain", "yes"), "no": Meaning("plain", "no")}),
    Verdicts(("context_precision",), "verdict", "context", _two("useful", "not useful")),
    Verdicts(("retrieval",), "verdict", "reference context", _two("retrieved", "not retrieved"), prompt="match_prompt"),
    Verdicts(("retrieval",), "verdict", "context", _two("relevant", "not relevant")),
    Verdicts(("context_relevance",), "rating", "rating", _three(2, "not relevant", "partly relevant", "relevant")),
    Verdicts(("response_groundedness",), "rating", "rating", _three(2, "not grounded", "partly grounded", "grounded")),
    Verdicts(("answer_accuracy",), "rating", "rating", _three(4, "does not agree", "agrees in part", "agrees")),
    Verdicts(
        ("answer_relevancy",), "noncommittal", "response", {0: Meaning("good", "answers"), 1: Meaning("bad", "evasive")}
    ),
    Verdicts(("answer_correctness",), "TP", "claim", {None: Meaning("good", "in both")}),
    Verdicts(("answer_correctness",), "FP", "claim", {None: Meaning("bad", "not in the reference")}),
    Verdicts(
        ("answer_correctness",), "FN", "claim of the reference", {None: Meaning("bad", "missing in the response")}
    ),
    Verdicts(("refusal_correctness",), "verdict", "response", _plain("refuses", "answers"), prompt="refused_prompt"),
    Verdicts(
        ("refusal_correctness",),
        "verdict",
        "question",
        _plain("answerable", "not answerable"),
        prompt="answerable_prompt",
    ),
    Verdicts(("context_relevancy",), "numbers", "sentence of the contexts", _two("helps", "does not help")),
    Verdicts(
        ("summary_score",),
        "answers",
        "question about the text",
        {"1": Meaning("good", "answered"), "0": Meaning("bad", "not answered")},
    ),
)


def verdicts_of(metric: str, prompt: str, key: str, about: Collection[str]) -> Verdicts | None:
    """The row of `MEANINGS` for a key of an answer; None where there is none.

    Args:
        metric: without the name of a judge.
        about: the columns that the question names.
    """
    rows = (
        row
        for row in MEANINGS
        if row.key == key
        and any(metric == name or metric.startswith(f"{name}_") for name in row.metrics)
        and row.prompt in ("", prompt)
        and (not row.about or row.about in about)
    )
    return next(rows, None)


def is_marked(value: float | None, better: str, quarter: float | None) -> bool:
    """Whether a score is worse than three quarters of its run's, and is shown in red for that.

    Args:
        quarter: `worst_quarter` of the summary.
    """
    if value is None or quarter is None:
        return False
    return value > quarter if better == "lower" else value < quarter


def tone_of(value: float, low: float, high: float, better: str) -> Tone:
    """Where a number is on its range: the best third is good, the worst is bad; `plain` without a range.

    Of a range from below 0 only the part above it counts: cosines of texts are hardly ever negative.
    """
    low = 0.0 if low < 0 < high else low
    if not low < high:
        return "plain"
    share = (min(max(value, low), high) - low) / (high - low)
    if better == "lower":
        share = 1 - share
    return "good" if share > 2 / 3 else "bad" if share < 1 / 3 else "middle"
