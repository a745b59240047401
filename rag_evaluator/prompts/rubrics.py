"""Prompts with rubrics of the user in place of those that a pack of ragas' rubric scores holds."""

import re
from collections.abc import Mapping
from dataclasses import replace

from pydantic import BaseModel
from ragas.metrics.collections.domain_specific_rubrics.util import format_rubrics
from ragas.metrics.collections.instance_specific_rubrics.util import InstanceRubricScoreInput

from rag_evaluator.errors import PromptError
from rag_evaluator.judge.requests import PromptText
from rag_evaluator.prompts.loading import PackPrompt, TracedPrompt

LINES = re.compile(r"^score\d_description:.*(?:\n+score\d_description:.*)*", flags=re.MULTILINE)
"""Rubrics in an instruction: their keys are the same in all languages."""


class RubricsPrompt(TracedPrompt):
    """A prompt of ragas' rubric scores with rubrics of the user; its language and examples stay.

    Args:
        prompt: as its pack has it.
        rubrics: key as `score1_description` -> what the score means.

    Raises `PromptError` if the instruction does not hold rubrics once.
    """

    def __init__(self, prompt: TracedPrompt, rubrics: Mapping[str, str]) -> None:
        pack = prompt.pack
        if len(LINES.findall(pack.instruction)) != 1:
            raise PromptError(
                f"the {pack.language} pack of {prompt.name} must have its rubrics once, as lines that begin with "
                "'score1_description:' and so on, so that those of metric_options can take their place."
            )
        text = format_rubrics(dict(rubrics))
        pack = replace(pack, instruction=LINES.sub(lambda _: text, pack.instruction))
        super().__init__(PackPrompt(pack, prompt.prompt), prompt.name, pack)
        self.rubrics = dict(rubrics)

    def to_string(self, data: BaseModel) -> PromptText:
        text = super().to_string(data)
        text.data = InstanceRubricScoreInput(**data.model_dump(), rubrics=self.rubrics)  # the judge reads the scale
        return text
