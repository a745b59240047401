"""Pairs of answers of two runs, and the judge asked which is better: in both orders, then for its reason."""

import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, create_model

from rag_evaluator.config import Config
from rag_evaluator.dataset import RowChoice, Sample, as_key, is_blank
from rag_evaluator.errors import JudgementError, ResultsError
from rag_evaluator.files import short_digest
from rag_evaluator.judge import Draw, JudgeProtocol, PromptText, log_odds
from rag_evaluator.prompts import READ, Choice, Key, ModelPair, TracedPrompt
from rag_evaluator.results import ScoredRows, keys_of, match, nothing_in_common, require_column
from rag_evaluator.tasks import Question, share_of

NO_QUESTION = "there is no question"
OTHER_QUESTION = "the two runs have different questions in this row"
Order = Literal["a_first", "b_first"]
Winner = Literal["a", "b", "tie"]
ORDERS: tuple[Order, Order] = ("a_first", "b_first")
OF_REASON: Draw = (0, 1)  # the choice is asked with the same prompt; this keeps the two answers apart
ANSWER_TOKENS = 256  # room left for the reason
DECIMALS = 6
SAME_TEXT = "both answers are the same text"
NO_WINNER = "the judge prefers neither answer over both orders"
BY_PLACE = "the judge chose the same place in both orders"


class DuelInput(BaseModel):
    """A question with two answers, and what they are measured by."""

    user_input: str = Field(description="The question")
    contexts: list[str] | None = Field(default=None, description="The contexts to answer from")
    reference: str | None = Field(default=None, description="The expected answer")
    answer_1: str = Field(description="The first answer")
    answer_2: str = Field(description="The second answer")


class DuelOutput(BaseModel):
    """Which answer is better."""

    choice: Choice = Field(description="1 if the first answer is better, 2 if the second is")
    reason: str = Field(description="Why it is better, in one sentence")


PROMPTS: Mapping[Key, ModelPair] = {
    ("duel", "prompt"): (DuelInput, DuelOutput),
}
"""As `OWN_PROMPTS`."""


@dataclass(frozen=True)
class Pair(Question):
    """A question with the answers of both runs; `contexts` are those that the judge is shown.

    Attributes:
        key: what the rows were matched on.
        answers: of a and of b.
        reference: the expected answer, if there is one.
        fault: why the pair cannot be judged.
        cluster: pairs with the same label depend on each other; None: on no other.
    """

    key: str
    answers: tuple[str, str]
    reference: str | None
    fault: str | None
    cluster: str | None

    @cached_property
    def digest(self) -> str:
        """16 hexadecimal digits of what the judge is shown."""
        shown = [self.question, list(self.contexts), self.reference, self.answers, self.fault]
        return short_digest(json.dumps(shown, ensure_ascii=False))

    @property
    def is_same(self) -> bool:
        """Whether both answers are the same text, blanks around it and ways to write an accent apart."""
        return as_key(self.answers[0]) == as_key(self.answers[1])


@dataclass(frozen=True)
class MatchedRows:
    """The pairs of two runs, in the order of the first.

    Attributes:
        on: the column that rows were matched on.
        counts: of pairs of rows: those that both have a response (`compared`), those of which one has none, or both
            (`unanswered`); and of rows without a partner (`unmatched_a`, `unmatched_b`).
    """

    on: str
    units: Sequence[Pair]
    counts: Mapping[str, int]

    @property
    def digest(self) -> str:
        """16 hexadecimal digits of all that the results say of the rows."""
        units = [(unit.key, unit.digest, unit.cluster, 1.0) for unit in self.units]
        return short_digest(json.dumps([self.on, self.counts, units], ensure_ascii=False))

    def choose(self, part: Mapping[str, int]) -> "MatchedRows":
        """The same with some of the pairs only, see `RowChoice`."""
        places = RowChoice(**part).places if part else range(len(self.units))
        units = [replace(self.units[place], index=index) for index, place in enumerate(places)]
        return replace(self, units=units, counts={**self.counts, "compared": len(units)})


def pairs_of(runs: Sequence[ScoredRows], on: str | None, config: Config) -> MatchedRows:
    """The pairs of two runs. Several answers of each run to one question are paired in their order.

    Args:
        on: see `match`.
        config: its `cluster` is a column of a.

    Raises `ResultsError` where there is nothing to compare.
    """
    a, b = runs
    on, (in_a, in_b) = match(runs, on)
    partners = sorted(
        (first, second, key)
        for key in in_a.keys() & in_b.keys()
        for first, second in zip(in_a[key], in_b[key], strict=False)
    )
    if not partners:
        raise nothing_in_common(a, b, on)
    rows = [(a.samples[first], b.samples[second]) for first, second, _ in partners]
    answered = [place for place, sides in enumerate(rows) if all(side.has("response") for side in sides)]
    if not answered:
        raise ResultsError(
            f"{a.name} and {b.name}: {len(rows)} rows match by '{on}', and in none of them both have a response."
        )
    labels = _clusters(a, config.cluster, partners)
    units = [_pair(index, partners[place][2], *rows[place], labels[place]) for index, place in enumerate(answered)]
    counts = {
        "compared": len(units),
        "unanswered": len(partners) - len(units),
        "unmatched_a": len(a.samples) - len(partners),
        "unmatched_b": len(b.samples) - len(partners),
    }
    return MatchedRows(on, units, counts)


def _clusters(a: ScoredRows, column: str | None, partners: Sequence[tuple[int, int, str]]) -> list[str | None]:
    """The label of each pair: what a has in the column; without one, the key where several pairs share theirs."""
    if column:
        require_column(a, column, "by which rows are put together")
        values = keys_of(a.samples, column)
        return [values[first] for first, _, _ in partners]
    times = Counter(key for _, _, key in partners)
    return [key if times[key] > 1 else None for _, _, key in partners]


def _pair(index: int, key: str, a: Sample, b: Sample, cluster: str | None) -> Pair:
    questions, references = (
        [side.columns[column] for side in (a, b) if side.has(column)] for column in ("user_input", "reference")
    )
    differ = len(set(map(as_key, questions))) > 1
    return Pair(
        index=index,
        question=questions[0] if questions else "",
        contexts=_contexts(a, b),
        key=key,
        answers=(a.columns["response"], b.columns["response"]),
        reference=references[0] if references else None,
        fault=OTHER_QUESTION if differ else None if questions else NO_QUESTION,
        cluster=cluster,
    )


def _contexts(a: Sample, b: Sample) -> list[str]:
    """The expected contexts if a run has some, else what both retrieved: each once, the best ranks first.

    At the same rank the order is that of the texts, so that neither run comes first.
    """
    for side in (a, b):
        if side.has("reference_contexts"):
            return _filled(side, "reference_contexts")
    retrieved = (_filled(side, "retrieved_contexts") for side in (a, b))
    ranks = (sorted(text for text in rank if text is not None) for rank in zip_longest(*retrieved))
    return list(dict.fromkeys(text for rank in ranks for text in rank))


def _filled(sample: Sample, column: str) -> list[str]:
    texts: Any = sample.columns.get(column, [])
    return [text for text in texts if not is_blank(text)]


FIRST = DuelOutput(choice=1, reason="")
SECOND = DuelOutput(choice=2, reason="")


def _decided(choice: int) -> type[BaseModel]:
    """The answer with the choice that was made: what the judge says for the other one would be no reason for it."""
    kind: Any = Annotated[Literal[choice], READ]  # Any: types that are made while the program runs
    return create_model(DuelOutput.__name__, __base__=DuelOutput, choice=(kind, ...))


DECIDED = {choice: _decided(choice) for choice in (1, 2)}


@dataclass(frozen=True)
class Outcome:
    """How a pair ended.

    Attributes:
        winner: of the pair; a tie, too, where the judge chose the same place in both orders.
        same: both answers are the same text, and the judge was not asked.
        a_better: probability that the answer of a is better, [0, 1].
        log_odds_a_first, log_odds_b_first: of a's answer being chosen, with it in the first and in the second place.
        reason: what the judge says for its choice.
        reason_order: the order in which it was asked for the reason: where a was first, its "first answer" is a's.
        no_reason: why there is none.
        contexts_shown: contexts that fit into the prompt, from the first.
        judge_calls: questions to the judge.
    """

    winner: Winner
    same: bool
    a_better: float
    log_odds_a_first: float | None = None
    log_odds_b_first: float | None = None
    reason: str | None = None
    reason_order: Order | None = None
    no_reason: str | None = None
    contexts_shown: int = 0
    judge_calls: int = 0


SAME = Outcome("tie", True, 0.5, no_reason=SAME_TEXT)


class AnswerComparison:
    """Compares the answers of pairs.

    Args:
        judge: whom to ask.
        prompt: that of `duel`.
    """

    def __init__(self, judge: JudgeProtocol, prompt: TracedPrompt) -> None:
        self.judge = judge
        self.prompt = prompt

    async def compare(self, pair: Pair) -> Outcome:
        """The outcome of a pair. Raises `JudgementError`; a reason that cannot be had costs the reason only."""
        if pair.is_same:
            return SAME
        contexts = self._fitting(pair)
        prompts = [self._text(pair, contexts, order) for order in ORDERS]
        first_place = (log_odds(self.judge, prompt, FIRST, SECOND, "choice") for prompt in prompts)
        a_first, b_shown_first = await asyncio.gather(*first_place)
        share = round(share_of(a_first, b_shown_first), DECIMALS)
        odds = (a_first, 0.0 - b_shown_first)
        by_place = odds[0] * odds[1] < 0
        winner: Winner = "tie" if by_place or share == 0.5 else "a" if share > 0.5 else "b"
        outcome = Outcome(winner, False, share, *odds, contexts_shown=len(contexts), judge_calls=2)
        if outcome.winner == "tie":
            return replace(outcome, no_reason=BY_PLACE if by_place else NO_WINNER)
        clearer = odds.index(max(odds) if winner == "a" else min(odds))  # the order with more certainty; else the first
        return await self._with_reason(outcome, ORDERS[clearer], prompts[clearer])

    async def _with_reason(self, outcome: Outcome, order: Order, prompt: PromptText) -> Outcome:
        """The outcome with what the judge says for it; what it says of the other answer would be none."""
        wanted = DECIDED[1 if (outcome.winner == "a") == (order == "a_first") else 2]
        try:
            answer = (await self.judge.opinion(prompt, wanted, OF_REASON)).answer
        except JudgementError as error:
            return replace(outcome, no_reason=str(error), judge_calls=3)
        reason = DuelOutput.model_validate(answer.model_dump()).reason
        return replace(outcome, reason=reason, reason_order=order, judge_calls=3)

    def _fitting(self, pair: Pair) -> list[str]:
        """The contexts that fit the judge's window, left out from the last up, but never all."""
        contexts = list(pair.contexts)
        counts = self.judge.capabilities.counts_tokens
        while counts and len(contexts) > 1 and self.judge.room(self._text(pair, contexts, "a_first")) < ANSWER_TOKENS:
            contexts.pop()
        return contexts

    def _text(self, pair: Pair, contexts: Sequence[str], order: Order) -> PromptText:
        first, second = pair.answers if order == "a_first" else reversed(pair.answers)
        shown = DuelInput(
            user_input=pair.question,
            contexts=list(contexts) or None,
            reference=pair.reference,
            answer_1=first,
            answer_2=second,
        )
        return self.prompt.to_string(shown)
