"""Results folders for tests in a browser: real prompts, metrics and writers; what the judge says is made up here."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from folders import lines_of
from hostile import HOSTILE, SURROGATE_MARK, with_surrogates
from known_verifier import KnownVerifier
from pydantic import BaseModel

from benchmarks import page_runs
from rag_evaluator import RAGEvaluator, Results, ScriptedJudge
from rag_evaluator.judge import PromptText
from rag_evaluator.results import Score
from rag_evaluator.verifiers import Support

METRICS = ["context_precision_with_reference", "context_recall", "context_relevance", "faithfulness", "rouge_score"]
SAMPLE = Path(__file__).parents[2] / "examples" / "dataset.jsonl"
FEW = ["context_recall", "faithfulness"]
WORD = re.compile(r"\w+")
Row = dict[str, Any]  # Any in this module: JSON


def judged(prompt: str, model: type[BaseModel], comment: str = "", strict: float = 0.7) -> dict[str, Any]:
    """A judge to whom a statement is supported if the context has most of its words.

    Args:
        comment: stands at the end of each reason and statement.
        strict: share of the words that must be there.
    """
    assert isinstance(prompt, PromptText)
    assert prompt.data is not None
    asked = prompt.data.model_dump()
    context = asked.get("context", "")

    def verdict(text: str) -> int:
        words = WORD.findall(text.lower())
        there = set(WORD.findall(context.lower()))
        return int(sum(word in there for word in words) >= strict * max(1, len(words)))

    def line(text: str, key: str) -> dict[str, Any]:
        found = verdict(text)
        said = "The context says so." if found else "The context does not say so."
        return {"statement": text, "reason": f"{said}{comment}", key: found}

    if model.__name__ == "StatementGeneratorOutput":
        return {"statements": [f"{part}{comment}" for part in sentences(asked["answer"])]}
    if "statements" in asked:
        return {"statements": [line(text, "verdict") for text in asked["statements"]]}
    if model.__name__ == "ContextRecallOutput":
        return {"classifications": [line(text, "attributed") for text in sentences(asked["answer"])]}
    if "rating" in model.model_fields:
        return {"rating": 2 * verdict(asked["user_input"])}
    return {key: value for key, value in line(asked["answer"], "verdict").items() if key != "statement"}


def sentences(text: str) -> list[str]:
    return [part.strip() for part in re.split(r"(?<=[.。؟!?])\s*", text) if part.strip()]


def evaluated(rows: Sequence[Row], judge: Any = None, **config: Any) -> Results:
    """A real evaluation; the judge is sure of some of its verdicts only."""
    made = RAGEvaluator({"metrics": METRICS, **config}, judge=judge or scripted()).evaluate(list(rows))
    return replace(made, scores={name: [confident(score) for score in scores] for name, scores in made.scores.items()})


def scripted(name: str = "made-up", **said: Any) -> ScriptedJudge:
    return ScriptedJudge(partial(judged, **said), model_id=name)


def confident(score: Score) -> Score:
    """The score with probabilities of its verdicts: 0.99, 0.9, 0.81, ... 0.54, and again."""
    counts = [len(re.findall(r'"(?:verdict|attributed|rating)"', json.dumps(one))) for one in score.judgements]
    judgements = [
        {**one, "confidence": [round(0.99 - 0.09 * (place % 6), 2) for place in range(count)]}
        for one, count in zip(score.judgements, counts, strict=True)
    ]
    return replace(score, judgements=judgements)


def sample_rows() -> list[Row]:
    return lines_of(SAMPLE)


def plain(folder: Path) -> Path:
    """The bundled sample, 12 rows, with an id and a group."""
    rows = [{"id": f"q{place}", **row} for place, row in enumerate(sample_rows())]
    return evaluated(rows, name="plain", group_by=["label"]).write(folder)


def other(folder: Path) -> Path:
    """The same questions, answered by another system: some answers are right now, some wrong."""
    rows = [{"id": f"q{place}", **row} for place, row in enumerate(sample_rows())]
    for place, row in enumerate(rows):
        row["response"] = row["reference"] if place % 3 else rows[place - 1]["response"]
    return evaluated(rows, name="other", group_by=["label"]).write(folder)


def missing(folder: Path) -> Path:
    """Scores that could not be made, for several reasons; a metric that has none; groups with and without a value."""
    rows = [{**row, "team": None if place % 4 == 0 else f"team {place % 4}"} for place, row in enumerate(sample_rows())]
    rows[3]["response"] = ""
    rows[5]["reference"] = None
    whole = evaluated(rows, name="missing", group_by=["team"])
    nothing = Score(float("nan"), "the judge's answer was cut off at 1,024 tokens")
    scores = {name: list(made) for name, made in whole.scores.items()}
    scores["faithfulness"][7] = nothing
    scores["context_relevance"] = [nothing] * len(rows)
    return replace(whole, scores=scores).write(folder)


def hostile(folder: Path) -> Path:
    """Each hostile text in each field of a row, in the judge's statements and reasons, in names and groups."""
    rows = []
    for name, text in HOSTILE.items():
        columns = {"user_input": f"{text} ?", "response": f"{text} said.", "reference": f"{text} was."}
        contexts = [f"{text} context {place}" for place in range(2)]
        rows.append({"id": f"{name} {text}", **columns, "retrieved_contexts": contexts, "team": text, text[:200]: text})
    rows[0]["retrieved_contexts"].append("a" * 2_000_000 + "<b>END</b>")
    comment = "".join(text for name, text in HOSTILE.items() if name != "long")
    results = evaluated(rows, scripted(comment=comment), metrics=FEW, group_by=["team"])
    manifest = {**results.manifest, "name": f"{SURROGATE_MARK}{HOSTILE['image']}{HOSTILE['script']}"}
    scores = {name: list(made) for name, made in results.scores.items()}
    scores["faithfulness"][2] = Score(float("nan"), f"why: {HOSTILE['script']}")
    results = replace(results, manifest=manifest, scores=scores)
    return with_surrogates(results.write(folder.parent / "<img src=x onerror=\"window.__hacked='folder'\">&amp;'"))


def scripts(folder: Path) -> Path:
    """A row in Arabic and one in Japanese."""
    rows = [
        {
            "user_input": "أين وُلدت لينا تورفيك؟",
            "retrieved_contexts": ["وُلدت لينا تورفيك في مارلو.", "تعمل لينا تورفيك (Lena Torvik) خبازةً منذ 1962."],
            "response": "وُلدت لينا تورفيك في مارلو. تعمل طبيبةً.",
            "reference": "وُلدت لينا تورفيك في مارلو.",
        },
        {
            "user_input": "マーローの町はいつできましたか。",
            "retrieved_contexts": ["マーローは1683年にできました。", "マーローは町です。"],
            "response": "1683年です。",
            "reference": "1683年にできました。",
        },
    ]
    return evaluated(rows, name="scripts", metrics=FEW).write(folder)


SENTENCES = ("groundedness", "context_coverage", "reference_coverage", "reference_agreement")


class Flagging(KnownVerifier):
    """A sentence is supported by a context that has most of its words; a part of others is flagged."""

    def _of(self, context: str, hypothesis: str) -> float:
        words = WORD.findall(hypothesis.lower())
        there = set(WORD.findall(context.lower()))
        return round(sum(word in there for word in words) / max(1, len(words)), 2)

    def supports(self, contexts: Sequence[str], hypotheses: Sequence[str], question: str = "") -> list[Support]:
        made = super().supports(contexts, hypotheses, question)
        return [
            made_support if made_support.probability >= 0.5 else replace(made_support, spans=((0, 6, 0.83),))
            for made_support in made
        ]


def verified(folder: Path) -> Path:
    """Sentences that a verifier judged, flagged parts and sentences that do not count; the last row is in Arabic."""
    rows = sample_rows()
    rows[0]["response"] = f"Is that so? {rows[0]['response']} {rows[1]['response']}"
    rows.append(
        {
            "user_input": "أين وُلدت لينا تورفيك؟",
            "retrieved_contexts": ["وُلدت لينا تورفيك في مارلو."],
            "response": "وُلدت لينا تورفيك في مارلو. تعمل طبيبةً هناك.",
            "reference": "وُلدت لينا تورفيك في مارلو.",
        }
    )
    RAGEvaluator({"metrics": SENTENCES, "name": "verified"}, verifier=Flagging({})).evaluate(rows, folder=folder)
    return folder


def long(folder: Path) -> Path:
    """120 rows with long contexts: three pages of the table."""
    return page_runs.write_run(folder, 120)


def sixty(folder: Path) -> Path:
    """60 rows, as many as a first look at a system has."""
    return page_runs.write_run(folder, 60, seed=2)


def many(folder: Path) -> Path:
    """400 rows: bars with many rows, and scores at the ends of bars."""
    return page_runs.write_run(folder, 400, seed=1)


RUNS: Mapping[str, Callable[[Path], Path]] = {
    made.__name__: made for made in (plain, other, missing, hostile, scripts, long)
}


MADE = {**RUNS, "verified": verified, "many": many, "sixty": sixty}


@dataclass
class Runs:
    """The runs of `MADE` below one folder, each made when it is first asked for."""

    folder: Path

    def __post_init__(self) -> None:
        self._made: dict[str, Path] = {}
        self._reports: dict[tuple[str, ...], Path] = {}

    def __call__(self, name: str) -> Path:
        if name not in self._made:
            self._made[name] = MADE[name](self.folder / name)
        return self._made[name]

    def report(self, *names: str) -> Path:
        """`report.html` of a run, or of several."""
        from rag_evaluator import write_report

        if names not in self._reports:
            out = self.folder.parent / f"{'-'.join(names)}.html"
            self._reports[names] = write_report(*map(self, names), out=out)
        return self._reports[names]
