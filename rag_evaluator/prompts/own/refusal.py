"""The prompts of `refusal_correctness`: can the question be answered, and does the response refuse."""

from pydantic import BaseModel, Field
from ragas.prompt.metrics.base_prompt import BasePrompt

from rag_evaluator.prompts.own.scales import BRIDGE, FILM, MUSIC, Verdict


class AnswerableInput(BaseModel):
    """A question and what was retrieved for it."""

    user_input: str = Field(description="The question")
    contexts: list[str] = Field(description="The retrieved contexts")


class AnswerableOutput(BaseModel):
    """Whether the contexts hold the answer."""

    reason: str = Field(description="Which context holds the answer, or what is missing, in one sentence")
    verdict: Verdict = Field(description="1 if the question can be answered from the contexts, else 0")


class RefusedInput(BaseModel):
    """A question and the response to it."""

    user_input: str = Field(description="The question")
    response: str = Field(description="The response to judge")


class RefusedOutput(BaseModel):
    """Whether the response refuses to answer."""

    reason: str = Field(description="What the response does, in one sentence")
    verdict: Verdict = Field(description="1 if the response refuses to answer, else 0")


class AnswerablePrompt(BasePrompt[AnswerableInput, AnswerableOutput]):
    """Judges whether a question can be answered from its contexts."""

    input_model, output_model = AnswerableInput, AnswerableOutput
    instruction = (
        "Decide whether the question can be answered from the contexts. Use only what is written in them. First give "
        "the reason in one sentence, then verdict 1 if the contexts hold the answer, and 0 if they do not."
    )
    examples = [  # noqa: RUF012 - as in ragas
        (
            AnswerableInput(user_input="Who wrote the music of 'Red Harbour'?", contexts=[FILM, MUSIC]),
            AnswerableOutput(reason="The second context says that Tomas Reed wrote the music.", verdict=1),
        ),
        (
            AnswerableInput(user_input="How wide is the bridge of Arlen?", contexts=[BRIDGE]),
            AnswerableOutput(reason="The context says how long the bridge is, not how wide.", verdict=0),
        ),
    ]


class RefusedPrompt(BasePrompt[RefusedInput, RefusedOutput]):
    """Judges whether a response refuses to answer."""

    input_model, output_model = RefusedInput, RefusedOutput
    instruction = (
        "Decide whether the response refuses to answer the question. It refuses if it says that it does not know, that "
        "the answer is not in the documents, or that it cannot or may not answer, and gives no answer. A wrong, short "
        "or doubtful answer is no refusal. First give the reason in one sentence, then verdict 1 if the response "
        "refuses, and 0 if it answers."
    )
    examples = [  # noqa: RUF012
        (
            RefusedInput(
                user_input="How wide is the bridge of Arlen?",
                response="I am sorry, the documents do not say how wide the bridge is.",
            ),
            RefusedOutput(reason="It says that the documents do not hold the answer.", verdict=1),
        ),
        (
            RefusedInput(
                user_input="Who directed the film 'Red Harbour'?",
                response="I am not quite sure, but it was probably Ana Melo.",
            ),
            RefusedOutput(reason="It names a director, although it is not sure.", verdict=0),
        ),
    ]
