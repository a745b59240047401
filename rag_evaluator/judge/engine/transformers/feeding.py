"""A sequence that is being decoded, and the tokens that the model has yet to read of it."""

from dataclasses import dataclass

from rag_evaluator.judge.engine.transformers.sequence import Decoded


@dataclass
class Fed:
    """A sequence and the tokens to feed next: of its prompt, its last choice, what the grammar forces after it."""

    sequence: Decoded
    feed: list[int]

    def follow(self) -> None:
        """Take what the grammar forces next, so that it is fed without a pass of its own."""
        while forced := self.sequence.next_forced():
            token = forced[0]
            self.sequence.push(token)
            self.feed.append(token)

    def take(self, token: int) -> None:
        """Accept the token that was chosen after all of the feed."""
        self.sequence.push(token)
        self.feed = [token]
        self.follow()
