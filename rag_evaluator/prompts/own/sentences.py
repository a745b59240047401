"""The prompt of `context_relevancy`: which sentences of the contexts help to answer."""

from pydantic import BaseModel, Field
from ragas.prompt.metrics.base_prompt import BasePrompt


class SentencesInput(BaseModel):
    """A question and the numbered sentences of its contexts."""

    user_input: str = Field(description="The question")
    sentences: list[str] = Field(description="The sentences of the contexts, each with its number")


class SentencesOutput(BaseModel):
    """The sentences that help."""

    numbers: list[int] = Field(description="The numbers of the sentences that help, ascending; empty if none does")


class SentencesPrompt(BasePrompt[SentencesInput, SentencesOutput]):
    """Chooses sentences by number, so that none can be changed or invented."""

    input_model, output_model = SentencesInput, SentencesOutput
    instruction = (
        "The numbered sentences come from retrieved contexts. List the numbers of all sentences that can help to "
        "answer the question, in ascending order. Leave the list empty if no sentence helps, or if the information is "
        "insufficient to answer the question."
    )
    examples = [  # noqa: RUF012 - as in ragas
        (
            SentencesInput(
                user_input="Who made the film 'Red Harbour'?",
                sentences=[
                    "1: The film 'Red Harbour' was directed by Ana Melo.",
                    "2: It was shown in 40 countries.",
                    "3: Its music was written by Tomas Reed.",
                    "4: The bridge of Arlen is 412 metres long.",
                ],
            ),
            SentencesOutput(numbers=[1, 3]),
        ),
        (
            SentencesInput(
                user_input="How wide is the bridge of Arlen?",
                sentences=["1: The bridge of Arlen is 412 metres long.", "2: It was opened in 1921."],
            ),
            SentencesOutput(numbers=[]),
        ),
    ]
