"""The prompt of `duel`: which of two answers is better."""

from pydantic import BaseModel, Field
from ragas.prompt.metrics.base_prompt import BasePrompt

from rag_evaluator.prompts.own.scales import BRIDGE, FILM, MUSIC, Choice


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


class DuelPrompt(BasePrompt[DuelInput, DuelOutput]):
    """Chooses between two answers."""

    input_model, output_model = DuelInput, DuelOutput
    instruction = (
        "Two answers were given to a question. Choose the better one: the one that is right and complete, and adds "
        "nothing that is not supported. Measure them by the reference if there is one, else by the contexts. Length "
        "and style do not count, and the order in which the answers are shown means nothing. Answer with choice 1 for "
        "answer_1 or 2 for answer_2, then give the reason in one sentence."
    )
    examples = [  # noqa: RUF012 - as in ragas
        (
            DuelInput(
                user_input="When was the film 'Red Harbour' shot, and where?",
                contexts=[FILM, MUSIC],
                reference="In 1998, in Lisbon.",
                answer_1="It was shot in Lisbon in 1998.",
                answer_2="It was shot in 1999 and is one of the finest films about a port that was ever made.",
            ),
            DuelOutput(choice=1, reason="The first answer gives the right year and place, the second a wrong year."),
        ),
        (
            DuelInput(
                user_input="How long is the bridge of Arlen?",
                contexts=[BRIDGE],
                answer_1="It is quite long.",
                answer_2="412 metres.",
            ),
            DuelOutput(choice=2, reason="Only the second answer gives the length that the context names."),
        ),
    ]
