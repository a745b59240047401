"""The prompt of `answer_rubric`: how far does a response agree with the reference."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field
from ragas.prompt.metrics.base_prompt import BasePrompt

from rag_evaluator.prompts.own.scales import READ, SHOWN

Label = Annotated[Literal[1, 2, 3, 4, 5], READ, SHOWN]


class RubricInput(BaseModel):
    """A question, its answer and the reference."""

    user_input: str = Field(description="The question")
    response: str = Field(description="The response to judge")
    reference: str = Field(description="The expected answer")


class RubricOutput(BaseModel):
    """How far the response agrees with the reference."""

    reason: str = Field(description="Where the response agrees with the reference and where not")
    label: Label = Field(description="5 full agreement, 4 slight differences, 3 in part, 2 a small part only, 1 none")


class RubricPrompt(BasePrompt[RubricInput, RubricOutput]):
    """Judges the agreement of response and reference: reason first, then a label."""

    input_model, output_model = RubricInput, RubricOutput
    instruction = (
        "Decide how far the response agrees with the reference as an answer to the question. Judge the content only: "
        "other words, another order and the tone do not count. First give the reason in one or two sentences, then "
        "label, one of these numbers:\n"
        "5: the response says what the reference says\n"
        "4: it says nearly the same and differs slightly\n"
        "3: it agrees with the reference in part\n"
        "2: it mostly differs and agrees in a small part only\n"
        "1: it differs completely, or does not answer the question"
    )
    examples = [  # noqa: RUF012 - as in ragas
        (
            RubricInput(
                user_input="Who made the film 'Red Harbour', and when?",
                response="It was directed by Ana Melo in 1998, and its music is by Tomas Reed.",
                reference="Ana Melo directed it in 1998, and Tomas Reed wrote its music.",
            ),
            RubricOutput(reason="Director, year and composer are those of the reference.", label=5),
        ),
        (
            RubricInput(
                user_input="Who made the film 'Red Harbour', and when?",
                response="The director was Ana Melo.",
                reference="Ana Melo directed it in 1998, and Tomas Reed wrote its music.",
            ),
            RubricOutput(reason="The director is right, but the year and the composer are missing.", label=3),
        ),
        (
            RubricInput(
                user_input="How long is the bridge of Arlen?",
                response="It is 95 metres long.",
                reference="The bridge of Arlen is 412 metres long.",
            ),
            RubricOutput(reason="The length is another one than in the reference.", label=1),
        ),
    ]
