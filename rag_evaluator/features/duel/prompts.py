"""The prompt of `duel`: typed input and answer."""

from collections.abc import Mapping

from pydantic import BaseModel, Field

from rag_evaluator.prompts.own import Choice, ModelPair
from rag_evaluator.prompts.pack import Key


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
