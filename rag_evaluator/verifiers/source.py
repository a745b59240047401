"""`VerifierSource`: the verifier of a run, loaded when it is needed, as metrics ask it."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from rag_evaluator.config import BY_WORDS, VerifierConfig, verifier_path
from rag_evaluator.errors import ModelError, UndefinedScoreError
from rag_evaluator.hub import UNNAMED
from rag_evaluator.judge import BatchHandler, Scheduler

from .counting import WordCounter
from .system_one import SystemOne
from .verifier import Support, Verifier


@runtime_checkable
class VerifierProtocol(Protocol):
    """Whatever says how surely texts support sentences; `Verifier` does, and so may an object of yours.

    An attribute `signature_parts`, a mapping of texts, names what its numbers depend on. Without it scores of one run
    are not used by another.
    """

    def supports(self, contexts: Sequence[str], hypotheses: Sequence[str], question: str = "") -> Sequence[Support]:
        """The support of each hypothesis, in order.

        Raises `UndefinedScoreError` or `PromptTooLongError` where there is none: the score is missing then.
        """


class VerifierSource:
    """A verifier before it is loaded, and as metrics ask it: one row at a time, in the thread that owns the models.

    Args:
        verifier: a folder or hub id, `words`, a `Verifier`, or another `VerifierProtocol`; None: the configured one.
        config: settings of the verifier.
        language: of the texts.
        offline: take a server on this machine only.

    Attributes:
        config: the same with the model that was given.
        is_object: whether it was given as an object, so that no configuration says all about it.

    Raises `ModelError` for objects that verify nothing, `ConfigError` for a path with an unknown variable.
    """

    def __init__(self, verifier: Any, config: VerifierConfig, language: str, offline: bool = True) -> None:
        self.language = language
        self.offline = offline
        self.is_object = not isinstance(verifier, str | Path | None)
        if self.is_object:
            if not isinstance(verifier, VerifierProtocol):
                raise ModelError(
                    "verifier: expected a folder or hub id, a Verifier, or an object with a method supports(contexts, "
                    f"hypotheses, question), received {type(verifier).__name__}."
                )
            self.model = verifier  # in place of the one below
            verifier = str(verifier.folder) if isinstance(verifier, Verifier) else type(verifier).__name__
        elif verifier is not None:
            verifier = verifier_path(str(verifier), Path.cwd())
        self.config = config if verifier is None else config.model_copy(update={"model": verifier, "url": None})

    @cached_property
    def model(self) -> VerifierProtocol:
        """The verifier; its folder is looked at, weights are loaded with the first sentence. Raises `ModelError`."""
        config = self.config
        if config.url:
            return SystemOne(config, self.language, self.offline)
        if config.model == BY_WORDS:
            return WordCounter(self.language, config.evidence == "each")
        return Verifier(
            config.model,
            config.kind,
            config.base,
            self.language,
            config.evidence == "each",
            config.batch_size,
            config.any_language,
        )

    @property
    def parts(self) -> Mapping[str, str]:
        """What its numbers depend on beside the texts, by name. Raises `ModelError`."""
        return getattr(self.model, "signature_parts", None) or {"verifier": UNNAMED}

    @property
    def note(self) -> str:
        """What a user should know of it; empty: nothing. Raises `ModelError`."""
        return self.model.note if isinstance(self.model, WordCounter) else ""

    def load(self) -> "VerifierSource":
        """The same, with its weights in memory: damaged ones end a run before its first row. Raises `ModelError`."""
        if isinstance(self.model, Verifier | SystemOne):
            self.model.load()
        return self

    async def supports(self, contexts: Sequence[str], hypotheses: Sequence[str], question: str = "") -> list[Support]:
        """As `VerifierProtocol.supports`. Raises `UndefinedScoreError` for answers that are no `Support` each, too."""
        request = list(contexts), list(hypotheses), question
        supports: list[Support] = await Scheduler.current().submit(self._handler, request)
        if len(supports) != len(hypotheses):
            raise UndefinedScoreError(f"the verifier gave {len(supports)} of {len(hypotheses)} answers")
        for support in supports:
            if not isinstance(support, Support) or not 0 <= support.probability <= 1:  # NaN, too
                raise UndefinedScoreError(f"the verifier gave {support!r:.60}, which is no Support with a probability")
        return supports

    @cached_property
    def _handler(self) -> BatchHandler:
        return BatchHandler(lambda rows: [list(self.model.supports(*row)) for row in rows], most=1)
