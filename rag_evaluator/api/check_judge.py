"""The part of `check` that loads the judge: its engine, a prompt, one judged row, its window, its batches."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rag_evaluator.api.check import Checks, State
from rag_evaluator.api.evaluator import RAGEvaluator
from rag_evaluator.dataset import Sample
from rag_evaluator.errors import JudgementError, RagEvaluatorError
from rag_evaluator.judge.engine.protocol import TriesPrompts
from rag_evaluator.judge.engine.server.long_prompts import pieces
from rag_evaluator.judge.engine_judge import engine_of
from rag_evaluator.judge.paths import FASTER, PATHS
from rag_evaluator.judge.protocol import JudgeProtocol
from rag_evaluator.judge.rehearsal import Rehearsal, sequences_that_fit, shown_prompt
from rag_evaluator.judge.watched import WatchedJudge
from rag_evaluator.metrics.scorer import Scorer
from rag_evaluator.progress import ACTIVITY
from rag_evaluator.results.reasons import said
from rag_evaluator.results.score import Score
from rag_evaluator.tasks.evaluation import to_record

LOOKED_AT = 1000  # rows, for one that has all columns
LONGEST, ENOUGH = 100, 5  # rows that are measured at most; that must fit one after the other, the longest first
NAMED = 3  # rows in a message
COPIES = 6  # of a score's details: journal, details, report, workbook


async def look_at_judge(own: RAGEvaluator, rows: Sequence[Sample], found: Checks) -> None:
    """Load the models, judge one row, measure the longest ones; what fails is a check, too."""
    try:
        scorer = await _load(own, found)
    except RagEvaluatorError as error:
        found.add("engine", "failed", str(error), error=error)
        return
    try:
        await _judge_row(own, scorer, rows, found)
    except RagEvaluatorError as error:
        found.add("row", "failed", str(error), error=error)
        return
    if scorer.judge is not None:
        try:
            with ACTIVITY.phase("measuring the longest rows"):
                await _measure(own, scorer, scorer.judge, rows, found)
        except RagEvaluatorError as error:
            found.add("window", "failed", str(error), error=error)


async def _load(own: RAGEvaluator, found: Checks) -> Scorer:
    began = time.monotonic()
    with ACTIVITY.phase("loading the models"):
        scorer = await own._scorer()  # the same as a run loads
    seconds = round(time.monotonic() - began, 1)
    if scorer.judge is None:
        found.add("engine", "ok", f"no metric asks a judge; the rest is loaded in {seconds} s", {"seconds": seconds})
        return scorer
    about = dict(scorer.judge.about)
    path, why = about.get("path", ""), about.get("why") or about.get("alone")
    engine = "a judge that was given" if own.judge.is_object else own.config.judge.engine
    slow = (f"because {why}", FASTER) if why else ()
    parts = [engine, PATHS.get(path, path), *slow, f"ready in {seconds} s"]
    state: State = "warning" if why else "ok"
    details = {"engine": own.config.judge.engine, "seconds": seconds, **about}
    found.add("engine", state, ", ".join(filter(None, parts)), details)
    return scorer


async def _judge_row(own: RAGEvaluator, scorer: Scorer, rows: Sequence[Sample], found: Checks) -> None:
    """One row, judged by all metrics that it has the columns for."""
    sample, metrics = _fullest(own, rows)
    watched = None if scorer.judge is None else WatchedJudge(scorer.judge)
    asking = Scorer(scorer.metrics, scorer.specs, watched, scorer.embeddings)
    scores: dict[str, dict[str, Any]] = {}
    size = len(json.dumps(sample.row, ensure_ascii=False))
    for metric in metrics:
        began = time.monotonic()
        with ACTIVITY.phase(f"judging {sample.where} by {metric}"):
            score = await asking.score(sample, metric)
        details = {"metric": metric, **to_record(score).details, "reason": score.reason}
        size += len(json.dumps(details, ensure_ascii=False))
        scores[metric] = _scored(score, details, time.monotonic() - began)
        if watched is not None and watched.first is not None and not found.has("template", "ok"):
            _show_prompt(own, watched, metric, found)
    _add_row(sample, scores, size * COPIES, found)


def _fullest(own: RAGEvaluator, rows: Sequence[Sample]) -> tuple[Sample, list[str]]:
    """The first row that most metrics can score, and these metrics."""
    best: tuple[Sample, list[str]] = (rows[0], [])
    for place, row in enumerate(rows):
        fitting = [name for name, metric in own.metrics.items() if all(map(row.has, metric.needs(row.has)))]
        best = max(best, (row, fitting), key=lambda pair: len(pair[1]))
        if len(best[1]) == len(own.metrics) or place >= LOOKED_AT:
            break
    return best


def _scored(score: Score, details: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    return {
        "value": None if score.missing else score.value,
        "missing": score.reason if score.missing else None,
        "reasons": [str(line) for line in said(details)],
        "questions": len(score.judgements),
        "prompt_tokens": sum(judgement["prompt_tokens"] for judgement in score.judgements),
        "generated_tokens": sum(judgement["generated_tokens"] for judgement in score.judgements),
        "seconds": round(seconds, 2),
    }


def _show_prompt(own: RAGEvaluator, watched: WatchedJudge, metric: str, found: Checks) -> None:
    prompt = watched.first or ""
    text = shown_prompt(watched.judge, prompt)
    template = own.config.judge.chat_template
    tokens = f", {watched.judge.count(text)} tokens" if watched.capabilities.counts_tokens else ""
    details = {"metric": metric, "chat_template": template, "prompt": text}
    found.add("template", "ok", f"chat_template {template}; the first question of {metric}{tokens}", details)


def _add_row(sample: Sample, scores: Mapping[str, Mapping[str, Any]], size: int, found: Checks) -> None:
    details = {"row": sample.index, "where": sample.where, "scores": dict(scores), "bytes": size}
    given = [name for name, score in scores.items() if score["value"] is not None]
    missing = [name for name in scores if name not in given]
    seconds = sum(score["seconds"] for score in scores.values())
    text = f"{sample.where}: {len(given)} of {len(scores)} metrics gave a score, {seconds:.1f} s"
    if missing:
        text += f"; none by {', '.join(missing)}"
    found.add("row", "failed" if not given else "warning" if missing else "ok", text, details)


async def _measure(
    own: RAGEvaluator, scorer: Scorer, judge: JudgeProtocol, rows: Sequence[Sample], found: Checks
) -> None:
    """The longest rows against the window: which of them would lose contexts, and which would be missing."""
    rehearsal = Rehearsal(judge)
    measured = Scorer(scorer.metrics, scorer.specs, rehearsal, scorer.embeddings)
    asking = [name for name, metric in own.metrics.items() if metric.judge]
    longest = sorted(range(len(rows)), key=lambda place: -_length(rows[place]))[:LONGEST]
    if not judge.capabilities.counts_tokens:
        prompts = [await _longest_prompt(rows[place], measured, rehearsal, asking) for place in reversed(longest)]
        await _try_prompts(judge, [prompt for prompt in prompts if prompt[1]], found)
        return
    losses: list[dict[str, Any]] = []
    fit = 0
    for place in longest:
        new = [loss async for loss in _losses(rows[place], measured, rehearsal, asking)]
        losses, fit = losses + new, 0 if new else fit + 1
        if fit == ENOUGH:
            break
    _add_window(judge, rehearsal, losses, len(longest) == LONGEST and fit < ENOUGH, found)
    together = sequences_that_fit(judge, max(rehearsal.longest, 1))
    if together is not None and rehearsal.longest:
        asked = judge.capabilities.in_flight
        text = f"{together} of batch_size {asked} at a time for the longest row"
        details = {"together": together, "batch_size": asked}
        found.add("batches", "ok" if together >= asked else "warning", text, details)


async def _longest_prompt(
    row: Sample, measured: Scorer, rehearsal: Rehearsal, metrics: Sequence[str]
) -> tuple[str, str]:
    """Where a row is, and its longest prompt; empty where it has none."""
    rehearsal.longest_prompt, rehearsal.text = "", _likely_answer(row)
    for metric in metrics:
        await measured.score(row, metric)
    return row.where, rehearsal.longest_prompt


async def _try_prompts(judge: JudgeProtocol, prompts: Sequence[tuple[str, str]], found: Checks) -> None:
    """Whether a server that counts tokens itself reads the longest prompts whole.

    Args:
        prompts: where each row is, and its longest prompt.
    """
    engine = engine_of(judge)
    if not isinstance(engine, TriesPrompts) or not engine.tries_prompts:
        text = "this judge does not count tokens; whether its server cuts long prompts cannot be found out"
        advice = ": its model repeats no word. Set judge.model to a folder with the model's tokenizer"
        found.add("window", "skipped", text + (advice if isinstance(engine, TriesPrompts) else ""))
        return
    prompts = sorted(prompts, key=lambda prompt: pieces(prompt[1]))
    why = await _refusal(engine, prompts[-1][1]) if prompts else ""
    missing = [where for where, _ in await _refused(engine, prompts)] if why else []
    longest = max((len(prompt) for _, prompt in prompts), default=0)
    details = {"characters": longest, "missing": missing}
    if not missing:
        found.add("window", "ok", f"the longest prompt, {longest} characters, is read whole", details)
        return
    rows = f"{len(missing)} {'row' if len(missing) == 1 else 'rows'}"
    text = f"scores of {rows} would be missing: {', '.join(missing[::-1][:NAMED])}: {why}"
    found.add("window", "warning", text, details)


async def _refusal(engine: TriesPrompts, prompt: str) -> str:
    """Why the server does not read a prompt whole; empty where it does."""
    try:
        await engine.try_prompt(prompt)
    except JudgementError as error:
        return str(error)
    return ""


async def _refused(engine: TriesPrompts, prompts: Sequence[tuple[str, str]]) -> Sequence[tuple[str, str]]:
    """Those from the shortest on that is not read whole, by bisection; the last one is not."""
    low, high = 0, len(prompts) - 1
    while low < high:
        middle = (low + high) // 2
        if await _refusal(engine, prompts[middle][1]):
            high = middle
        else:
            low = middle + 1
    return prompts[low:]


def _likely_answer(row: Sample) -> str:
    """What answers about a row are likely to repeat."""
    return max((str(row.columns.get(name, "")) for name in ("response", "reference")), key=len)


async def _losses(row: Sample, measured: Scorer, rehearsal: Rehearsal, metrics: Sequence[str]) -> Any:
    """What the window takes of a row, metric by metric."""
    rehearsal.text = _likely_answer(row)
    given = len(row.columns.get("retrieved_contexts", ()))
    for metric in metrics:
        before = rehearsal.too_long
        score = await measured.score(row, metric)
        if rehearsal.too_long == before:
            continue
        kept = len(score.contexts or ())
        fits = score.contexts is not None and not (score.reason or "").startswith("the prompt with")
        yield {
            "where": row.where,
            "metric": metric,
            "contexts": given,
            "kept": kept if fits else 0,
            "missing": not fits,
        }


def _add_window(
    judge: JudgeProtocol, rehearsal: Rehearsal, losses: Sequence[Mapping[str, Any]], more: bool, found: Checks
) -> None:
    window = judge.capabilities.window
    details = {"window": window, "longest": rehearsal.longest, "losses": list(losses)}
    if not losses:
        found.add("window", "ok", f"{window} tokens; the longest row needs at most {rehearsal.longest}", details)
        return
    rows = dict.fromkeys(loss["where"] for loss in losses)
    told = "; ".join(_told(losses, list(rows)[:NAMED]))
    text = f"{window} tokens are too few for {'at least ' if more else ''}{len(rows)} rows: {told}"
    found.add("window", "warning", text, details)


def _told(losses: Sequence[Mapping[str, Any]], rows: Sequence[str]) -> Iterator[str]:
    for where in rows:
        own = [loss for loss in losses if loss["where"] == where]
        said = [
            f"{loss['metric']} missing"
            if loss["missing"]
            else f"{loss['metric']} with {loss['kept']} of {loss['contexts']} contexts"
            for loss in own
        ]
        yield f"{where}: {', '.join(said)}"


def _length(row: Sample) -> int:
    return sum(len(str(value)) for value in row.columns.values())
