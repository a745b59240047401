"""The prompts of `testset`: typed inputs and answers."""

from collections.abc import Mapping

from pydantic import BaseModel, Field

from rag_evaluator.prompts.own import ModelPair, Verdict
from rag_evaluator.prompts.pack import Key


class MadeInput(BaseModel):
    """What a question is made from."""

    contexts: list[str] = Field(description="The contexts to ask about")


class MadeOutput(BaseModel):
    """A question and its answer."""

    question: str = Field(description="The question")
    answer: str = Field(description="The answer to the question, from the contexts")


class KnownInput(BaseModel):
    """A question alone."""

    user_input: str = Field(description="The question")


class KnownOutput(BaseModel):
    """An answer from memory, if there is one."""

    known: Verdict = Field(description="1 if you know the answer, else 0")
    answer: str = Field(description="The answer; empty if you do not know it")


class AgreeInput(BaseModel):
    """A question and two answers to it."""

    user_input: str = Field(description="The question")
    reference: str = Field(description="The right answer")
    answer: str = Field(description="The answer to compare with it")


class AgreeOutput(BaseModel):
    """Whether two answers say the same."""

    verdict: Verdict = Field(description="1 if the answer says the same as the right answer, else 0")


PROMPTS: Mapping[Key, ModelPair] = {
    ("testset", "single_fact_prompt"): (MadeInput, MadeOutput),
    ("testset", "reasoning_prompt"): (MadeInput, MadeOutput),
    ("testset", "several_chunks_prompt"): (MadeInput, MadeOutput),
    ("testset", "across_documents_prompt"): (MadeInput, MadeOutput),
    ("testset", "comparison_prompt"): (MadeInput, MadeOutput),
    ("testset", "list_prompt"): (MadeInput, MadeOutput),
    ("testset", "unanswerable_prompt"): (MadeInput, MadeOutput),
    ("testset", "false_premise_prompt"): (MadeInput, MadeOutput),
    ("testset", "known_prompt"): (KnownInput, KnownOutput),
    ("testset", "agree_prompt"): (AgreeInput, AgreeOutput),
}
"""As `OWN_PROMPTS`."""
