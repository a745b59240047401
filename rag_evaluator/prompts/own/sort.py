"""The prompts of `sort`: does a context hold the answer, and which of two contexts answers better."""

from pydantic import BaseModel, Field
from ragas.prompt.metrics.base_prompt import BasePrompt

from rag_evaluator.prompts.own.scales import BRIDGE, FILM, MUSIC, Choice, Verdict


class FilterInput(BaseModel):
    """A question and one retrieved context."""

    user_input: str = Field(description="The question")
    context: str = Field(description="The context to judge")


class FilterOutput(BaseModel):
    """Whether the context holds the answer."""

    verdict: Verdict = Field(description="1 if the context holds the answer to the question, else 0")


class CompareInput(BaseModel):
    """A question and two retrieved contexts."""

    user_input: str = Field(description="The question")
    context_1: str = Field(description="The first context")
    context_2: str = Field(description="The second context")


class CompareOutput(BaseModel):
    """Which context answers the question better."""

    choice: Choice = Field(description="1 if the first context answers the question better, 2 if the second does")


class FilterPrompt(BasePrompt[FilterInput, FilterOutput]):
    """The 0-1 filter of `sort`."""

    input_model, output_model = FilterInput, FilterOutput
    instruction = (
        "Decide whether the context holds the answer to the question. Use only what is written in the context. "
        "Answer with verdict 1 if it holds the answer or a part of it, and with 0 if it does not."
    )
    examples = [  # noqa: RUF012 - as in ragas
        (FilterInput(user_input="Where was the film 'Red Harbour' shot?", context=FILM), FilterOutput(verdict=1)),
        (FilterInput(user_input="Where was the film 'Red Harbour' shot?", context=MUSIC), FilterOutput(verdict=0)),
    ]


class ComparePrompt(BasePrompt[CompareInput, CompareOutput]):
    """The pairwise comparison of `sort`."""

    input_model, output_model = CompareInput, CompareOutput
    instruction = (
        "Two contexts were retrieved for a question. Choose the one that answers the question better: the one that "
        "holds the answer, or the fuller and more exact one if both do. Answer with choice 1 for context_1 or 2 for "
        "context_2. The order in which they are shown means nothing."
    )
    examples = [  # noqa: RUF012
        (
            CompareInput(user_input="Who directed the film 'Red Harbour'?", context_1=FILM, context_2=MUSIC),
            CompareOutput(choice=1),
        ),
        (
            CompareInput(user_input="Who wrote the music of 'Red Harbour'?", context_1=BRIDGE, context_2=MUSIC),
            CompareOutput(choice=2),
        ),
    ]
