"""Every error a user can cause. The command line prints them without a traceback and exits with 2.

RagEvaluatorError
├── ConfigError          config.yaml, --set, a key or a metric name
├── DatasetError         the input rows
├── PromptError          a prompt pack
├── ModelError           the judge's or the embeddings' model cannot be loaded or used
├── ResultsError         the output folder
│   └── MissingChunksError   workers have not finished; exit code 75
├── JudgeLostError       the judge's engine is gone: the run stops; exit code 75
└── JudgementError       one judgement could not be made: the score is NaN with this reason
    ├── PromptTooLongError
    ├── BudgetError
    └── UndefinedScoreError
        └── NotApplicableError
"""

import difflib
from collections.abc import Iterable
from contextvars import ContextVar

AS_NEAR = 0.06  # difference of ratios
SHELL: ContextVar[bool] = ContextVar("SHELL", default=False)
"""Whether the user reads messages in a shell: then they name flags, else arguments of the Python functions."""

FRESH = 'start over with --fresh (in Python start="fresh" or fresh=True)'
UPDATE = 'keep the scores that still hold with --update (in Python start="update")'


class RagEvaluatorError(Exception):
    """Base of all errors raised on purpose; the message says what was expected, where, and what to do."""


class ConfigError(RagEvaluatorError):
    """A configuration key, value or metric name is wrong."""


class DatasetError(RagEvaluatorError):
    """The input rows cannot be read or do not fit the chosen metrics."""


class PromptError(RagEvaluatorError):
    """A prompt pack is missing, incomplete or does not fit its metric."""


class ModelError(RagEvaluatorError):
    """A model cannot be loaded, or is of a kind that cannot judge."""


class ResultsError(RagEvaluatorError):
    """The output folder cannot be written."""


class MissingChunksError(ResultsError):
    """Results cannot be merged yet: some chunks are not finished. The command line exits with 75: try again."""


class JudgeLostError(RagEvaluatorError):
    """The judge's engine is gone. The run stops, no score is missing because of it; the command line exits with 75."""


class JudgementError(RagEvaluatorError):
    """One judgement could not be made; the score it belongs to becomes NaN with this message as its reason."""


class PromptTooLongError(JudgementError):
    """The prompt and the shortest useful answer do not fit into the model's window together."""


class BudgetError(JudgementError):
    """The answer reached its limit before it was complete, and its part is not meaningful.

    Attributes:
        part: what is whole of it, a response model; None: nothing.
    """

    def __init__(self, message: str, part: object = None) -> None:
        super().__init__(message)
        self.part = part


class UndefinedScoreError(JudgementError):
    """The metric is not defined for these texts; trying again would not change it."""


class NotApplicableError(UndefinedScoreError):
    """The texts hold nothing that the metric scores, as a refusal does not: no score was lost."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """` Did you mean 'x'?` for the nearest known name, or all known names when none is near; starts with a space.

    Two are named where they are as near, but for a letter.
    """
    options = list(known)
    near = difflib.get_close_matches(name.lower(), options, n=2, cutoff=0.6)
    ratios = [difflib.SequenceMatcher(None, name.lower(), option).ratio() for option in near]
    nearest = [option for option, ratio in zip(near, ratios, strict=True) if ratios[0] - ratio < AS_NEAR]
    return f" Did you mean {' or '.join(map(repr, nearest))}?" if near else f" Known: {', '.join(options)}."
