"""The prompts of `generate`: answer from contexts, join answers, find the contexts that support an answer."""

from pydantic import BaseModel, Field
from ragas.prompt.metrics.base_prompt import BasePrompt

from rag_evaluator.prompts.own.scales import BRIDGE, FILM, MUSIC, Verdict


class AnswerInput(BaseModel):
    """A question and the contexts it is to be answered from."""

    user_input: str = Field(description="The question")
    contexts: list[str] = Field(description="The contexts to answer from")


class ReduceInput(BaseModel):
    """A question and answers made from parts of the contexts."""

    user_input: str = Field(description="The question")
    answers: list[str] = Field(description="Answers made from different parts of the contexts")


class ReferenceOutput(BaseModel):
    """An answer, if there is one."""

    answerable: Verdict = Field(description="1 if the question can be answered, else 0")
    answer: str = Field(description="The full answer; empty if the question cannot be answered")


class SupportInput(BaseModel):
    """A question, its answer and one context."""

    user_input: str = Field(description="The question")
    answer: str = Field(description="The answer to the question")
    context: str = Field(description="The context that may support the answer")


class SupportOutput(BaseModel):
    """Whether the context supports the answer."""

    verdict: Verdict = Field(description="1 if the context supports at least a part of the answer, else 0")


class AnswerPrompt(BasePrompt[AnswerInput, ReferenceOutput]):
    """Answers a question from contexts, for `generate`."""

    input_model, output_model = AnswerInput, ReferenceOutput
    instruction = (
        "Answer the question fully, with the details, examples and figures that the contexts give. Use only what is "
        "written in the contexts. If they do not hold the answer, set answerable to 0 and leave the answer empty."
    )
    examples = [  # noqa: RUF012
        (
            AnswerInput(user_input="When and where was the film 'Red Harbour' shot?", contexts=[BRIDGE, FILM]),
            ReferenceOutput(answerable=1, answer="The film 'Red Harbour' was shot in Lisbon in 1998."),
        ),
        (
            AnswerInput(user_input="How wide is the bridge of Arlen?", contexts=[BRIDGE, MUSIC]),
            ReferenceOutput(answerable=0, answer=""),
        ),
    ]


class ReducePrompt(BasePrompt[ReduceInput, ReferenceOutput]):
    """Joins answers made from parts of the contexts, for `generate`."""

    input_model, output_model = ReduceInput, ReferenceOutput
    instruction = (
        "The answers below were made from different parts of the contexts. Join them into one full answer to the "
        "question: keep every detail, example and figure, say nothing twice and add nothing. If none of them answers "
        "the question, set answerable to 0 and leave the answer empty."
    )
    examples = [  # noqa: RUF012
        (
            ReduceInput(
                user_input="What is known about the film 'Red Harbour'?",
                answers=[
                    "It was shot in Lisbon in 1998.",
                    "Ana Melo directed it in 1998, and Tomas Reed wrote its music.",
                ],
            ),
            ReferenceOutput(
                answerable=1,
                answer="The film 'Red Harbour' was shot in Lisbon in 1998 and directed by Ana Melo. Tomas Reed wrote "
                "its music.",
            ),
        ),
        (
            ReduceInput(
                user_input="How wide is the bridge of Arlen?",
                answers=["The contexts do not say how wide it is.", "Its music was written by Tomas Reed."],
            ),
            ReferenceOutput(answerable=0, answer=""),
        ),
    ]


class SupportPrompt(BasePrompt[SupportInput, SupportOutput]):
    """Finds the contexts that support an answer, for `generate`."""

    input_model, output_model = SupportInput, SupportOutput
    instruction = (
        "Decide whether the context supports the answer to the question. Answer with verdict 1 if at least a part of "
        "the answer can be found in the context, and with 0 if nothing of it can."
    )
    examples = [  # noqa: RUF012
        (
            SupportInput(
                user_input="Who made the film 'Red Harbour'?",
                answer="Ana Melo directed it and Tomas Reed wrote its music.",
                context=MUSIC,
            ),
            SupportOutput(verdict=1),
        ),
        (
            SupportInput(
                user_input="Who made the film 'Red Harbour'?",
                answer="Ana Melo directed it and Tomas Reed wrote its music.",
                context=BRIDGE,
            ),
            SupportOutput(verdict=0),
        ),
    ]
