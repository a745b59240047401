"""Questions that need the turns before them, written anew by the judge so that they stand alone."""

import math

from rag_evaluator.dataset import HISTORY, Sample, is_blank, lines_of
from rag_evaluator.errors import JudgeLostError
from rag_evaluator.files import Records
from rag_evaluator.judge import CachedJudge, JudgeProtocol
from rag_evaluator.prompts import RewriteInput, RewriteOutput, TracedPrompt
from rag_evaluator.results import Score

from .recorder import Recorder
from .work_checks import check_work

NO_REWRITE = "the question could not be rewritten"


class Rewrites:
    """What the judge makes of the questions of rows; each is asked once, whatever reads it.

    Args:
        judge: who writes them.
        signature: what its answers depend on beside the question; None: nobody knows.
        prompt: in the language of the rows.
    """

    def __init__(self, judge: JudgeProtocol, signature: str | None, prompt: TracedPrompt) -> None:
        self.judge = judge
        self.signature = signature
        self.prompt = prompt
        self.keep(None)

    def keep(self, records: Records | None) -> None:
        """Ask through the answers that a journal keeps."""
        self._asked = CachedJudge(self.judge, self.signature, records)

    async def of(self, sample: Sample) -> Score:
        """The question of a row in a score of no value; its reason says why there is none. Raises `JudgeLostError`."""
        recorder = Recorder(self._asked, {})
        turns = lines_of(sample.columns[HISTORY])
        prompt = self.prompt.to_string(RewriteInput(history=turns, user_input=sample.asked))
        try:
            answer = await recorder.agenerate(prompt, RewriteOutput)
        except JudgeLostError:
            raise
        except Exception as error:  # whatever a model raises costs this row only
            return Score(math.nan, f"{NO_REWRITE}: {error}", lasting=recorder.too_long)
        flags, forbidden = check_work(recorder.answers, [sample.row, sample.columns])
        forbidden = forbidden or ("it is blank" if is_blank(answer.question) else None)
        if forbidden:
            return Score(math.nan, f"{NO_REWRITE}: {forbidden}", lasting=True, flags=flags)
        return Score(math.nan, question=answer.question)
