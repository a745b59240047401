"""What metrics ask of prompts and of the judge, and the prompts of rubrics that options of a metric give."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import BaseModel
from ragas.metrics.collections.domain_specific_rubrics.util import format_rubrics
from ragas.metrics.collections.instance_specific_rubrics.util import InstanceRubricScoreInput

from rag_evaluator.errors import ConfigError, PromptError
from rag_evaluator.judge.protocol import JudgeSource
from rag_evaluator.judge.requests import PromptText
from rag_evaluator.metrics.metric import Metric
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


if TYPE_CHECKING:
    from rag_evaluator.prompts.loading import TracedPrompt
    from rag_evaluator.prompts.pack import Key


def with_rubrics(prompts: "Mapping[Key, TracedPrompt]", metrics: Mapping[str, Metric]) -> "dict[Key, TracedPrompt]":
    """The prompts with the rubrics that options of metrics have. Raises `PromptError`."""

    rubrics = {name: metric.options["rubrics"] for name, metric in metrics.items() if metric.options.get("rubrics")}
    return {
        key: RubricsPrompt(prompt, rubrics[key[0]]) if key[0] in rubrics else prompt for key, prompt in prompts.items()
    }


def refuse_without_probabilities(metrics: Mapping[str, Metric], judge: JudgeSource, place: Callable[..., str]) -> None:
    """Raises `ConfigError` if a metric asks for probabilities and the judge is known to give none.

    Args:
        place: `Config.place`.
    """
    asking = [name for name, metric in metrics.items() if metric.probabilities]
    if asking and judge.capabilities is not None and not judge.capabilities.probabilities:
        raise ConfigError(
            f"{place('metric_options')}: {asking[0]} with expected: true needs the probabilities of answers, which "
            "this judge does not give. Remove the option, or take a judge that gives them (a local model)."
        )
