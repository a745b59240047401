"""The prompt of users' own metrics: a question about some columns of a row, answered with a label."""

from pydantic import BaseModel, Field
from ragas.prompt.metrics.base_prompt import BasePrompt


class CustomInput(BaseModel):
    """The user's question, the meaning of the labels, and what it is asked about."""

    question: str = Field(description="The question to answer")
    scale: dict[str, str] = Field(description="What each label means")
    values: dict[str, str] = Field(description="The texts that the question is about, by name")


class CustomOutput(BaseModel):
    """The label that fits."""

    reason: str = Field(description="Why this label fits, in one or two sentences")
    label: int = Field(description="The number in the scale that fits best")


class CustomPrompt(BasePrompt[CustomInput, CustomOutput]):
    """Answers the user's question: reason first, then a label."""

    input_model, output_model = CustomInput, CustomOutput
    instruction = (
        "Answer the question about the given values. Use only what they say, and judge only what the question asks "
        "about. First give the reason in one or two sentences, then label, the number in the scale whose description "
        "fits best."
    )
    examples = [  # noqa: RUF012 - as in ragas
        (
            CustomInput(
                question="Does the response name a year?",
                scale={"0": "no", "1": "yes"},
                values={"response": "The film 'Red Harbour' was shot in 1998."},
            ),
            CustomOutput(reason="It names the year 1998.", label=1),
        ),
        (
            CustomInput(
                question="Does the response answer what was asked?",
                scale={"1": "not at all", "2": "in part", "3": "fully"},
                values={
                    "user_input": "Who directed the film 'Red Harbour'?",
                    "response": "It was shot in Lisbon in 1998.",
                },
            ),
            CustomOutput(reason="It says where and when the film was shot, but not who directed it.", label=1),
        ),
    ]
