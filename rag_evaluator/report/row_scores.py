"""The scores of a row as a page shows them: each metric with what the judge said, and the prompts as they were sent.

The text of a prompt before its input is the same in every row: a page has it once, see `frames_of`.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from rag_evaluator.errors import ResultsError
from rag_evaluator.files import Json, JsonDict, short_digest
from rag_evaluator.results import (
    GRADES,
    REASON_KEYS,
    SCALES,
    WORST_QUARTER,
    JudgedVerdict,
    Judgement,
    Run,
    Tone,
    input_values,
    is_marked,
    judgements_of,
    questions_of,
    tone_of,
)

from .pages import clean, percent
from .row_sentences import Sentences, sentences_of
from .texts import ShownText, short, shown

DETAILED = ("sentences", "judgements", "reason", "flags", "outcome", "repeat")  # of a score: what a page shows of it
CONTEXTS = {"retrieved_contexts": "retrieved context", "reference_contexts": "reference context"}
Prompt = tuple[str, str, int, str, str]  # name, key of its head in `frames_of`, characters of that, input, tail


@dataclass(frozen=True)
class VerdictView:
    """One verdict, rating or statement of a judge.

    Attributes:
        tone: whether it is good news.
        word: what it says, in words: 'not supported', 'label 2'.
        label: the name of the statement in the answer, where it is none of a statement.
        statement: what it is about; None where that is what the whole question is about.
        confidence: of the verdict, as percent; empty where the judge gave none.
    """

    tone: Tone
    word: str
    label: str = ""
    statement: ShownText | None = None
    reason: ShownText | None = None
    confidence: str = ""


@dataclass(frozen=True)
class JudgementView:
    """An answer of the judge.

    Attributes:
        about: what the question named, in words: 'retrieved context 2', 'reference'.
        context: column and position of the context that the verdict is about; None: it is about more.
        error: why there is no answer; None where that is shown elsewhere.
        used: lists of texts in the answer that a later question is about: (name, number of texts).
    """

    prompt: str
    about: tuple[str, ...]
    context: tuple[str, int] | None
    error: ShownText | None
    verdicts: tuple[VerdictView, ...]
    used: tuple[tuple[str, int], ...]


def judgement_views(
    judgements: Sequence[Judgement], columns: Json, metric: Json, reason: str = ""
) -> list[JudgementView]:
    """The judgements of a score that have an answer, or an error that is shown nowhere else, in the order of asking.

    Args:
        columns: the row's columns under ragas' names.
        metric: what the manifest says of it: its range, and which end is the better one.
        reason: why the score is missing, which is shown already.
    """
    asked: dict[tuple[str, str], int] = {}
    answers = [judgement.response for judgement in judgements]
    used = {
        (part["judgement"], part["key"])
        for judgement in judgements
        for part in judgement.parts.values()
        if isinstance(part, Mapping) and "judgement" in part
    }
    views = []
    for place, judgement in enumerate(judgements):
        response = judgement.response
        listed = response if isinstance(response, Mapping) else {}
        later = {key: len(value) for key, value in listed.items() if (place, key) in used and isinstance(value, list)}
        values = input_values(judgement.parts, columns, answers)
        error = judgement.error or ""
        view = JudgementView(
            str(judgement.prompt),
            tuple(dict.fromkeys(name for part in judgement.parts.values() if (name := _named(part)))),
            None if judgement.verdict is None else _context(values, columns, str(judgement.prompt), asked),
            shown(error) if error and error != reason else None,
            tuple(_verdicts(judgement, values, later, metric)),
            tuple(later.items()),
        )
        if view.error or response is not None:
            views.append(view)
    return views


def _named(part: Any) -> str:
    """A part of an input in words; empty for what comes from the prompt itself."""
    if not isinstance(part, Mapping) or not ("column" in part or "judgement" in part):
        return ""
    if "judgement" in part:
        return f"its {part['key']} above"
    column = str(part["column"])
    number = part["item"] + 1 if "item" in part else part.get("items")
    if number is None:
        return column
    item = CONTEXTS.get(column, column)
    items = f"{item}s" if column in CONTEXTS else column
    return f"{items} 1 to {number}" if part.get("items", 1) > 1 else f"{item} {number}"


def _context(values: Json, columns: Json, prompt: str, asked: dict[tuple[str, str], int]) -> tuple[str, int] | None:
    """The context that a question is about: equal ones are asked about in their order."""
    for key, column in (("context", "retrieved_contexts"), ("reference_context", "reference_contexts")):
        text = values.get(key)
        contexts = columns.get(column, ())
        if isinstance(text, str):
            places = [place for place, context in enumerate(contexts) if context == text]
            count = asked.get((prompt, text), 0)
            asked[prompt, text] = count + 1
            if places:
                return column, places[min(count, len(places) - 1)]
    return None


def _verdicts(judgement: Judgement, values: Json, later: Mapping[str, int], metric: Json) -> Iterator[VerdictView]:
    """What an answer says; of a choice the probability of each option."""
    for option, share in judgement.shares.items():
        yield VerdictView("plain", f"answer {short(option)}", confidence=percent(share))
    for verdict in () if judgement.shares else judgement.verdicts():
        if verdict.items is None:
            yield _verdict(verdict, values, metric)
        elif verdict.key not in later:
            for item in verdict.of_items(values):
                yield _verdict(item, values, metric)


def _verdict(verdict: JudgedVerdict, values: Json, metric: Json) -> VerdictView:
    tone, word = _tone_and_word(verdict, values, metric)
    named = (name for name, text in verdict.texts.items() if name not in REASON_KEYS and text.strip())
    return VerdictView(
        tone,
        word,
        ", ".join(name for name in named if name != "statement"),
        shown("\n".join(verdict.about)) if verdict.about else None,
        shown("\n".join(verdict.reasons)) if verdict.reasons else None,
        percent(verdict.confidence),
    )


def _tone_and_word(verdict: JudgedVerdict, values: Json, metric: Json) -> tuple[Tone, str]:
    """Those of a key that nobody knows are plain."""
    key = verdict.key
    value = verdict.value
    if (meaning := verdict.meaning) is not None:
        return meaning.tone, meaning.word
    if value is None:
        return "plain", short(key)
    tone: Tone = "plain"
    if key in GRADES and isinstance(value, int | float):
        low, high = SCALES.get(verdict.judgement.metric) or metric.get("range") or (0.0, 0.0)
        tone = tone_of(value, low, high, metric.get("better", "higher"))
    scale = values.get("scale")
    described = scale.get(str(value)) if isinstance(scale, Mapping) else None
    number = short(f"{value:g}" if isinstance(value, float) else value)
    return tone, f"{short(key)} {number}: {short(described)}" if described else f"{short(key)} {number}"


def frames_of(run: Run) -> dict[str, str]:
    """The texts before the inputs by the key that fragments of rows refer to; each once, for any number of runs."""
    heads = [frame["head"] for named in run.prompts.values() for prompt in named.values() for frame in prompt["frames"]]
    return {short_digest(head): clean(head) for head in heads}


def prompts_of(line: Json, columns: Json, prompts: Json) -> tuple[list[Prompt], str]:
    """The prompts behind a score as they were sent, and why there are no more of them; empty where there are all.

    Their texts are clean: a template escapes them before it could clean them.

    Args:
        line: of the details.
        columns: the row's columns under ragas' names.
        prompts: what `prompts.json` holds.
    """
    shown_prompts: list[Prompt] = []
    try:
        for question in questions_of(line, columns, prompts):
            name = question["prompt"]
            text = question["text"]
            frames = prompts.get(line["metric"], {}).get(name, {}).get("frames", ())
            around = [(frame["head"], frame["tail"]) for frame in frames]
            fitting = [(head, tail) for head, tail in around if text.startswith(head) and text.endswith(tail)]
            head, tail = max(fitting, key=lambda pair: len(pair[0]), default=("", ""))
            middle = text[len(head) : len(text) - len(tail)]
            shown_prompts.append((name, short_digest(head) if head else "", len(head), clean(middle), clean(tail)))
    except (ResultsError, KeyError, TypeError, AttributeError) as error:
        return shown_prompts, str(error) if isinstance(error, ResultsError) else repr(error)
    return shown_prompts, ""


@dataclass(frozen=True)
class MetricView:
    """A metric of the row.

    Attributes:
        section: by which links find it in the row; a name may have signs that no id has.
        stage: `retrieval` or `generation`; empty where nobody knows.
        tone: whether the score is good news; plain where there is none, or nobody knows the range.
        marked: see `is_marked`.
        attempts: what is behind the score, see `_attempt`; several where it was made several times.
    """

    name: str
    section: str
    stage: str
    tone: Tone
    marked: bool
    better: str
    value: float | None
    attempts: Sequence[Json]

    @property
    def sentences(self) -> Sentences | None:
        """Those of the score; of one that was made several times the first ones."""
        return next((made["sentences"] for made in self.attempts if made["sentences"]), None)

    @property
    def missing(self) -> ShownText | None:
        """Why there is no score."""
        reasons = (made["reason"] for made in self.attempts if made["reason"])
        return next(reasons, None) if self.value is None else None

    @property
    def has_details(self) -> bool:
        """Whether there is more to show than the value."""
        return any(made[name] for made in self.attempts for name in DETAILED)


def metric_views(run: Run, row: int, values: Json, columns: Json) -> tuple[MetricView, ...]:
    """The metrics in the order of the run."""
    lines: dict[str, list[Json]] = {}
    for line in run.details(row):
        lines.setdefault(str(line["metric"]), []).append(line)
    prompts: Json = {}
    with suppress(ResultsError):
        prompts = run.prompts

    views = []
    for place, name in enumerate(run.metrics):
        about = run.manifest.get("metrics", {}).get(name) or {}
        value = values.get(name)
        section = f"m{place}"
        attempts = [_attempt(line, about, columns, prompts, section) for line in lines.get(name, ())]
        stage = str(about.get("stage") or "")
        better = str(about.get("better") or "")
        low, high = about.get("range") or (0.0, 0.0)
        tone: Tone = "plain" if value is None else tone_of(value, low, high, better)
        marked = is_marked(value, better, run.summary.get(name, {}).get(WORST_QUARTER))
        views.append(MetricView(name, section, stage, tone, marked, better, value, attempts))
    return tuple(views)


def _attempt(line: Json, about: Json, columns: Json, prompts: Json, section: str) -> JsonDict:
    """A score as it was made once.

    `repeat` counts from 1, None: it was made once only. `outcome` is what the value stands for, of a metric that names
    that. `flags` are what was seen in the judge's work, with the texts that it is about. `judgements` are those
    without `sentences`.
    """
    reason = line.get("reason")
    repeat = line.get("repeat")
    judgements = judgements_of(line)
    sentences = sentences_of(judgements, columns, section if repeat is None else f"{section}-r{repeat + 1}")
    sent, missing = prompts_of(line, columns, prompts)
    return {
        "repeat": None if repeat is None else repeat + 1,
        "value": line.get("value"),
        "reason": shown(str(reason)) if reason else None,
        "outcome": line.get("outcome"),
        "flags": {flag: shown(" · ".join(texts)) for flag, texts in line.get("flags", {}).items()},
        "sentences": sentences,
        "judgements": judgement_views(
            judgements[sentences.used if sentences else 0 :], columns, about, str(reason or "")
        ),
        "prompts": sent,
        "prompts_missing": missing,
    }
