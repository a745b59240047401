"""The part of `check` that loads the judge: its engine, a prompt, one judged row, its window, its batches."""

import math
import time
from collections.abc import Mapping, Sequence
from heapq import nlargest
from itertools import islice
from typing import Any

from pydantic import BaseModel
from rich.filesize import decimal

from rag_evaluator.config import JudgeConfig
from rag_evaluator.dataset import Sample
from rag_evaluator.errors import JudgementError, PromptTooLongError, RagEvaluatorError
from rag_evaluator.evaluator import RAGEvaluator
from rag_evaluator.files import ACTIVITY, Json, JsonDict
from rag_evaluator.hub import devices
from rag_evaluator.judge import (
    ENDLESS,
    FASTER,
    PATHS,
    EngineJudge,
    Ids,
    JudgeProtocol,
    PackedDecoder,
    Schema,
    ScriptedJudge,
    ServerJudge,
    Window,
    about_tokens,
    as_judge,
    common_beginning,
    engine_of,
    share_out,
    tighten,
)
from rag_evaluator.metrics import times_of
from rag_evaluator.results import REASONS, Score, about, counted, explained, judgements_of
from rag_evaluator.scorer import Scorer
from rag_evaluator.tasks import to_record

from .checks import CheckReport, State, faster_dtype

LOOKED_AT = 1000  # rows, for one that has all columns
LONGEST = 100  # rows that are measured at most
ENOUGH = 5  # that must fit, or not, one after the other, longest first
NAMED = 3  # rows in a message


class Rehearsal(ScriptedJudge):
    """Invents answers that fit, so that metrics ask all they would ask, and measures what a judge would be asked.

    Args:
        judge: its window counts.

    Attributes:
        text: what invented answers say: as long as the judge's are likely to be, which repeat responses.
        longest: tokens of the longest prompt with its longest answer.
        groups: of prompts that begin alike: what they begin with, and the longest of them with its answer.
        wanted: new tokens that the longest list of texts may take.
        too_long: prompts that did not fit the window.
        chooses: whether options were weighed.

    Raises `PromptTooLongError` where the judge would.
    """

    def __init__(self, judge: JudgeProtocol) -> None:
        super().__init__(self._answer, self._shares)
        self.judge = judge
        self.text = ""
        self.longest = 0
        self.groups: dict[str, tuple[Ids, int]] = {}
        self.too_long = 0
        self.wanted = 0
        self.chooses = False

    def _answer(self, prompt: str, response_model: type[BaseModel]) -> JsonDict:
        schema = tighten(response_model, getattr(prompt, "data", None))
        budget = share_out(
            schema, ENDLESS, ENDLESS, self.judge.count if self.judge.capabilities.counts_tokens else about_tokens
        )
        self.wanted = max(self.wanted, budget.wanted)
        try:
            if isinstance(self.judge, EngineJudge):
                request = self.judge.request(prompt, response_model)
                self._measure(request.group, request.input_ids, request.budget.max_length)
            else:
                Window(self.judge).room(prompt)
        except PromptTooLongError:
            self.too_long += 1
            raise
        return dict(invented(schema, self.text))

    def _shares(self, prompt: str, options: Sequence[str]) -> Mapping[str, float]:
        self.chooses = True
        if self.judge.capabilities.counts_tokens and self.judge.room(prompt) < max(map(self.judge.count, options)):
            self.too_long += 1
            raise PromptTooLongError("the prompt with its options does not fit the model's window")
        if isinstance(self.judge, EngineJudge):
            answer = max(map(self.judge.count, options))
            self._measure(f"options of {getattr(prompt, 'name', '')}", tuple(self.judge.encoder.encode(prompt)), answer)
        return dict.fromkeys(options, 1 / len(options))

    def _measure(self, group: str, input_ids: Ids, answer: int) -> None:
        common, longest = self.groups.get(group, (input_ids, 0))
        length = len(input_ids) + answer
        self.groups[group] = common_beginning([common, input_ids]), max(longest, length)
        self.longest = max(self.longest, length)


def invented(schema: Schema, text: str) -> Any:
    """A value that a tightened schema allows: of options the last, of free lists one item. Any: JSON."""
    if "anyOf" in schema:
        return invented([part for part in schema["anyOf"] if part.get("type") != "null"][-1], text)
    if "const" in schema or "enum" in schema:
        return schema["const"] if "const" in schema else schema["enum"][-1]
    if schema["type"] == "array":
        return [invented(item, text) for item in schema.get("prefixItems") or [schema["items"]]]
    if schema["type"] == "object":
        return {name: invented(part, text) for name, part in schema.get("properties", {}).items()}
    return {"string": text, "integer": 1, "number": 1.0, "boolean": True}.get(schema["type"])


async def look_at_judge(evaluator: RAGEvaluator, rows: Sequence[Sample], report: CheckReport) -> None:
    """Load the models, judge one row, measure the longest ones; what fails is a check, too."""
    step = "engine"
    try:
        scorer = _load(evaluator, report)
        step = "row"
        await _judge_row(evaluator, scorer, rows, report)
        step = "window"
        if scorer.judge is not None:
            with ACTIVITY.phase("measuring the longest rows"):
                await _measure(evaluator, scorer, scorer.judge, rows, report)
        _add_cost(evaluator, scorer.judge, len(rows), report)
    except RagEvaluatorError as error:
        report.add(step, "failed", str(error), error=error)


def _load(evaluator: RAGEvaluator, report: CheckReport) -> Scorer:
    began = time.monotonic()
    with ACTIVITY.phase("loading the models"):
        scorer = evaluator.models.scorer(evaluator.metrics, evaluator.prompts)  # the same as a run loads
    seconds = round(time.monotonic() - began, 1)
    if scorer.judge is None:
        report.add("engine", "ok", f"no metric asks a judge; the rest is loaded in {seconds} s", {"seconds": seconds})
        return scorer
    described = dict(scorer.judge.about)
    path = described.get("path", "")
    why = described.get("why") or described.get("alone")
    engine = "a judge that was given" if evaluator.judge.is_object else evaluator.config.judge.engine
    because = evaluator.config.judge.because
    engine += f" (auto: {because})" if because else ""
    slow = (f"because {why}", FASTER) if why else ()
    parts = [engine, PATHS.get(path, path), *slow, f"ready in {seconds} s"]
    state: State = "warning" if why else "ok"
    details = {"engine": evaluator.config.judge.engine, "seconds": seconds, **described}
    details |= {"because": because} if because else {}
    report.add("engine", state, ", ".join(filter(None, parts)), details)
    _add_speed(scorer.judge, report)
    return scorer


def _add_speed(judge: JudgeProtocol, report: CheckReport) -> None:
    """The dtype of a model that runs on this CPU, how fast it is beside the other one, and the threads."""
    engine: Any = engine_of(judge)
    if not hasattr(engine, "seconds_by_dtype") or not (seconds := engine.seconds_by_dtype()):
        return
    found = devices()
    dtype = engine.dtype
    text = f"dtype {dtype}, {counted(found['threads'], 'thread')} for {counted(found['cores'], 'core')}"
    if faster := faster_dtype(seconds, dtype):
        other, ratio = faster
        text += f"; {other} is {ratio} times as fast on this CPU: judge.dtype: {other}"
    details = {"dtype": dtype, "seconds": seconds, "threads": found["threads"], "cores": found["cores"]}
    report.add("speed", "ok", text, details)


async def _judge_row(evaluator: RAGEvaluator, scorer: Scorer, rows: Sequence[Sample], report: CheckReport) -> None:
    """One row, judged by all metrics that it has the columns for."""
    sample, metrics = _fullest(evaluator, rows)
    await _show_prompt(evaluator, scorer, sample, metrics, report)
    scores: dict[str, JsonDict] = {}
    packed = getattr(getattr(engine_of(scorer.judge), "decoder", None), "packed", None) if scorer.judge else None
    before = (packed.passes, ACTIVITY.tokens) if packed else (0, 0)
    for metric in metrics:
        began = time.monotonic()
        with ACTIVITY.phase(f"judging {sample.where} by {metric}"):
            score = await scorer.score(sample, metric)
        details = {"metric": metric, **to_record(score).details, "reason": score.reason}
        scores[metric] = _scored(score, details, time.monotonic() - began)
    work = {"passes": packed.passes - before[0], "tokens": ACTIVITY.tokens - before[1]} if packed else {}
    _add_row(sample, scores, work, report)


def _fullest(evaluator: RAGEvaluator, rows: Sequence[Sample]) -> tuple[Sample, list[str]]:
    """The first row that most metrics can score, and these metrics."""
    fitting = [
        [name for name, metric in evaluator.metrics.items() if not row.missing(metric.needs(row.has))]
        for row in islice(rows, LOOKED_AT)
    ]
    place = max(range(len(fitting)), key=lambda place: len(fitting[place]))
    return rows[place], fitting[place]


def _scored(score: Score, details: Json, seconds: float) -> JsonDict:
    judgements = judgements_of(details)
    return {
        "value": None if score.missing else score.value,
        "missing": score.reason if score.missing else None,
        "flags": {flag: list(texts) for flag, texts in score.flags.items()},
        "reasons": [verdict.says() for verdict in explained([details])],
        "questions": len(judgements),
        "prompt_tokens": sum(judgement.prompt_tokens for judgement in judgements),
        "generated_tokens": sum(judgement.generated_tokens for judgement in judgements),
        "seconds": round(seconds, 2),
    }


async def _show_prompt(
    evaluator: RAGEvaluator, scorer: Scorer, sample: Sample, metrics: Sequence[str], report: CheckReport
) -> None:
    """The first question that a metric asks, with the special tokens that the model gets, unless a server adds them."""
    metric = next((name for name in metrics if evaluator.metrics[name].judge), None)
    if scorer.judge is None or metric is None:
        return
    rehearsal, rehearsing = _rehearsal_of(scorer, scorer.judge)
    await rehearsing.score(sample, metric)
    for prompt in rehearsal.prompts[:1]:
        text = str(prompt)
        engine = engine_of(scorer.judge)
        tokens = ""
        if scorer.judge.capabilities.counts_tokens:
            text = text if engine is None else engine.encoder.decode(engine.encoder.encode(prompt))
            tokens = f", {scorer.judge.count(text)} tokens"
        template = evaluator.config.judge.chat_template
        details = {"metric": metric, "chat_template": template, "prompt": text}
        doubt = getattr(getattr(engine, "encoder", None), "doubt", None)
        why = f"; {doubt}" if doubt else ""
        text = f"chat_template {template}; the first question of {metric}{tokens}{why}"
        report.add("template", "warning" if doubt else "ok", text, details)


def _rehearsal_of(scorer: Scorer, judge: JudgeProtocol) -> tuple[Rehearsal, Scorer]:
    """A rehearsal, and the scorer that asks it."""
    rehearsal = Rehearsal(judge)
    return rehearsal, Scorer(scorer.metrics, scorer.specs, as_judge(rehearsal), scorer.embeddings, scorer.language)


def _add_row(sample: Sample, scores: Mapping[str, Json], work: Json, report: CheckReport) -> None:
    details = {"row": sample.index, "where": sample.where, "scores": dict(scores), **work}
    scored = [name for name, score in scores.items() if score["value"] is not None]
    missing = [name for name in scores if name not in scored]
    seconds = sum(score["seconds"] for score in scores.values())
    text = f"{sample.where}: {len(scored)} of {len(scores)} metrics gave a score, {seconds:.1f} s"
    if missing:
        text += f"; none by {', '.join(missing)}"
    flagged = [f"{name} ({', '.join(score['flags'])})" for name, score in scores.items() if score["flags"]]
    if flagged:
        text += f"; the judge's work is doubtful for {', '.join(flagged)}"
    is_refused = any(score["missing"] in REASONS.values() for score in scores.values())
    text += "; the judge's work is refused: take a larger one" * is_refused
    is_bad = not scored or is_refused
    report.add("row", "failed" if is_bad else "warning" if missing or flagged else "ok", text, details)


async def _measure(
    evaluator: RAGEvaluator, scorer: Scorer, judge: JudgeProtocol, rows: Sequence[Sample], report: CheckReport
) -> None:
    """The longest rows against the window: which of them would lose contexts, and which would be missing."""
    rehearsal, rehearsing = _rehearsal_of(scorer, judge)
    longest = nlargest(LONGEST, rows, key=lambda row: sum(len(str(value)) for value in row.columns.values()))
    judged = [name for name, metric in evaluator.metrics.items() if metric.judge]
    losses: dict[str, list[JsonDict]] = {}
    fit = 0
    for row in longest:
        rehearsal.text = max((str(row.columns.get(name, "")) for name in ("response", "reference")), key=len)
        lost = [loss for name in judged if (loss := await _loss(row, name, rehearsing, rehearsal))]
        if not judge.capabilities.counts_tokens:
            _add_answers(evaluator.config.judge, rehearsal, report)
            longest_prompt = max(rehearsal.prompts, key=len, default="")
            await _try_prompt(judge, row.where, longest_prompt, report)
            return
        losses |= {row.where: lost} if lost else {}
        fit = 0 if lost else fit + 1
        if fit == ENOUGH:
            break
    _add_answers(evaluator.config.judge, rehearsal, report)
    _add_window(judge, rehearsal, losses, len(longest) == LONGEST and fit < ENOUGH, report)
    decoder = getattr(engine_of(judge), "decoder", None)  # None where a server decides
    if decoder is not None and rehearsal.longest:
        together = int(decoder.batch_size.that_fit(rehearsal.longest))
        asked = judge.capabilities.in_flight
        text = f"{together} of batch_size {asked} at a time for the longest row"
        details = {"together": together, "batch_size": asked}
        if isinstance(decoder, PackedDecoder):
            groups = rehearsal.groups.values()
            behind = max(length - len(common) for common, length in groups)
            common = sum(len(common) for common, _ in groups)
            details["bytes"] = decoder.bytes_at_most(behind, common, len(rows) * len(judged), rehearsal.chooses)
            details["common"] = common
            details["peak"] = decoder.held_bytes + details["bytes"]
            batches = decimal(details["bytes"])
            text += f"; a run takes {decimal(details['peak'])} of memory at most, {batches} of it for batches"
        report.add("batches", "ok" if together >= asked else "warning", text, details)


def _add_answers(config: JudgeConfig, rehearsal: Rehearsal, report: CheckReport) -> None:
    """Whether the budget of an answer holds the longest list of statements, claims, names or questions."""
    if not rehearsal.wanted or (rehearsal.judge.capabilities.window is None and config.engine != "server"):
        return
    most = config.max_new_tokens
    wanted = rehearsal.wanted
    text = f"the longest list of texts may take {wanted:,} new tokens, judge.max_new_tokens is {most:,}"
    advice = f". Its score is missing if it takes more: set judge.max_new_tokens: {wanted}" if wanted > most else ""
    details = {"wanted": wanted, "max_new_tokens": most}
    report.add("answers", "warning" if advice else "ok", text + advice, details)


async def _loss(row: Sample, metric: str, rehearsing: Scorer, rehearsal: Rehearsal) -> JsonDict | None:
    """What the window takes of a row in a metric; None: nothing."""
    before = rehearsal.too_long
    contexts = len(row.columns.get("retrieved_contexts", ()))
    score = await rehearsing.score(row, metric)
    if rehearsal.too_long == before:
        return None
    fits = score.contexts is not None and not (score.reason or "").startswith("the prompt with")
    kept = len(score.contexts or ()) if fits else 0
    return {"where": row.where, "metric": metric, "contexts": contexts, "kept": kept, "missing": not fits}


def _add_window(
    judge: JudgeProtocol,
    rehearsal: Rehearsal,
    losses: Mapping[str, Sequence[Json]],
    more: bool,
    report: CheckReport,
) -> None:
    window = judge.capabilities.window
    details = {
        "window": window,
        "longest": rehearsal.longest,
        "losses": [loss for row in losses.values() for loss in row],
    }
    text = f"{window} tokens; the longest row needs at most {rehearsal.longest}"
    if losses:
        listed = "; ".join(f"{where}: {', '.join(map(_loss_text, row))}" for where, row in list(losses.items())[:NAMED])
        text = f"{window} tokens are too few for {'at least ' if more else ''}{len(losses)} rows: {listed}"
    report.add("window", "warning" if losses else "ok", text, details)


def _loss_text(loss: Json) -> str:
    kept = "missing" if loss["missing"] else f"with {loss['kept']} of {loss['contexts']} contexts"
    return f"{loss['metric']} {kept}"


async def _try_prompt(judge: JudgeProtocol, where: str, prompt: str, report: CheckReport) -> None:
    """Whether a server that counts tokens itself reads the longest prompt of the longest row whole."""
    details = {"characters": len(prompt)}
    try:
        if isinstance(judge, ServerJudge) and await judge.try_prompt(prompt):
            report.add("window", "ok", f"the longest prompt, {len(prompt)} characters, is read whole", details)
            return
    except JudgementError as error:
        report.add("window", "warning", f"{where}, the longest row, would have no score: {error}", details)
        return
    text = "this judge does not count tokens; whether its server cuts long prompts cannot be found out"
    advice = ": its model repeats no word. Set judge.model to a folder with the model's tokenizer"
    report.add("window", "skipped", text + (advice if isinstance(judge, ServerJudge) else ""))


def _add_cost(evaluator: RAGEvaluator, judge: JudgeProtocol | None, rows: int, report: CheckReport) -> None:
    """Questions and time of the whole run, if all rows take what the one that was judged took."""
    known = {check.name: check.details for check in report.checks}
    scores = known["row"]["scores"]
    times = times_of(evaluator.metrics, evaluator.config.repeats)
    most = 1 if judge is None else judge.capabilities.in_flight
    together = max(1, min(most, known.get("batches", {}).get("together", most)))
    questions, seconds = (
        rows * sum(times[metric] * score[part] for metric, score in scores.items()) for part in ("questions", "seconds")
    )
    details = {"questions": questions, "seconds": [seconds / together, seconds], "rows": rows}
    least, longest = map(_minutes, details["seconds"])
    time = f"{least} ({together} questions at a time) to {longest} (one at a time)" if together > 1 else longest
    measured = getattr(engine_of(judge), "seconds_of_passes", lambda: None)() if judge else None
    asked = sum(score["questions"] for score in scores.values())
    if measured and asked:
        of_pass, of_token = measured
        times_of_row = questions / asked
        common = min(known.get("batches", {}).get("common", 0), known["row"]["tokens"])
        tokens = common + times_of_row * (known["row"]["tokens"] - common)
        passes = times_of_row * known["row"]["passes"] / min(together, times_of_row)
        details["expected"] = of_pass * passes + of_token * tokens
        time = f"about {_minutes(details['expected'])}"
    text = f"{about(questions)} questions to the judge and {time}, if all {rows:,} rows take what this one row took"
    report.add("cost", "ok", text, details)


def _minutes(seconds: float) -> str:
    return f"{max(1, math.ceil(seconds / 60)):,} min"
