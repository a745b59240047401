"""A judge of a user that answers questions, and nothing else."""

from collections.abc import Mapping, Sequence


class OpinionJudge:
    """Has no probabilities, no tokens and no window; a subclass has `capabilities`, `signature` and `opinion`."""

    about: Mapping[str, str] = {}

    async def choose(self, prompt: str, options: Sequence[str], draw: tuple[int, int] = (0, 0)) -> Mapping[str, float]:
        raise NotImplementedError

    def count(self, text: str) -> int:
        raise NotImplementedError

    def room(self, prompt: str) -> int:
        raise NotImplementedError

    async def aclose(self) -> None:
        """Nothing is open."""
