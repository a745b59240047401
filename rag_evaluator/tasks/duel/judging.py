"""Asks a judge which of two answers is better: in both orders by log odds, then for its reason."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, create_model

from rag_evaluator.errors import JudgementError
from rag_evaluator.judge.choices import log_odds
from rag_evaluator.judge.protocol import Draw, JudgeProtocol
from rag_evaluator.judge.requests import PromptText
from rag_evaluator.prompts.loading import TracedPrompt
from rag_evaluator.prompts.own import READ, DuelInput, DuelOutput
from rag_evaluator.tasks.duel.pairs import Pair
from rag_evaluator.tasks.ranking.comparisons import share_of

Order = Literal["a_first", "b_first"]
Winner = Literal["a", "b", "tie"]
ORDERS: tuple[Order, Order] = ("a_first", "b_first")
FIRST, SECOND = DuelOutput(choice=1, reason=""), DuelOutput(choice=2, reason="")
OF_REASON: Draw = (0, 1)  # the choice is asked with the same prompt; this keeps the two answers apart
ANSWER_TOKENS = 256  # room left for the reason
DECIMALS = 6
SAME_TEXT, NO_WINNER = "both answers are the same text", "the judge prefers neither answer over both orders"


def _decided(choice: int) -> type[BaseModel]:
    """The answer with the choice that was made: what the judge says for the other one would be no reason for it."""
    kind: Any = Annotated[Literal[choice], READ]  # Any: types that are made while the program runs
    return create_model(DuelOutput.__name__, __base__=DuelOutput, choice=(kind, ...))


DECIDED = {choice: _decided(choice) for choice in (1, 2)}


@dataclass(frozen=True)
class Outcome:
    """How a pair ended.

    Attributes:
        winner: of the pair.
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

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


SAME = Outcome("tie", True, 0.5, no_reason=SAME_TEXT)


class AnswerComparison:
    """Compares the answers of pairs.

    Args:
        judge: whom to ask.
        prompt: that of `duel`.
    """

    def __init__(self, judge: JudgeProtocol, prompt: TracedPrompt) -> None:
        self.judge, self.prompt = judge, prompt

    async def compare(self, pair: Pair) -> Outcome:
        """The outcome of a pair. Raises `JudgementError`; a reason that cannot be had costs the reason only."""
        if pair.is_same:
            return SAME
        contexts = self._fitting(pair)
        prompts = [self._text(pair, contexts, order) for order in ORDERS]
        a_first, b_shown_first = await asyncio.gather(*map(self._first, prompts))
        share = round(share_of(a_first, b_shown_first), DECIMALS)
        odds = (a_first, 0.0 - b_shown_first)
        outcome = Outcome(_winner(share), False, share, *odds, contexts_shown=len(contexts), judge_calls=2)
        if outcome.winner == "tie":
            return replace(outcome, no_reason=NO_WINNER)
        order = _clearer(outcome)
        return await self._with_reason(outcome, ORDERS[order], prompts[order])

    async def _first(self, prompt: PromptText) -> float:
        """Log odds that the answer in the first place is chosen."""
        return await log_odds(self.judge, prompt, FIRST, SECOND, "choice")

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
        contexts, counts = list(pair.contexts), self.judge.capabilities.counts_tokens
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


def _winner(share: float) -> Winner:
    return "tie" if share == 0.5 else "a" if share > 0.5 else "b"


def _clearer(outcome: Outcome) -> int:
    """The place in `ORDERS` of that in which the winner was chosen with more certainty."""
    assert outcome.log_odds_a_first is not None
    assert outcome.log_odds_b_first is not None
    difference = outcome.log_odds_b_first - outcome.log_odds_a_first
    return int(difference > 0 if outcome.winner == "a" else difference < 0)
