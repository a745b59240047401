"""The prompts of `sort` and `generate`, in the form of ragas' own, so that packs, checks and grammars are the same."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, TypeAdapter, WithJsonSchema
from ragas.prompt.metrics.base_prompt import BasePrompt

FILM = "The film 'Red Harbour' was shot in Lisbon in 1998 and directed by Ana Melo."
MUSIC = "Its music was written by Tomas Reed, who won a prize for it in 1999."
BRIDGE = "The bridge of Arlen is 412 metres long."
READ = BeforeValidator(TypeAdapter(int).validate_python)
"""Reads `"1"` as 1, which LLMs write and the integers of ragas' models accept; a bare `Literal` does not."""
SHOWN = WithJsonSchema({"type": "integer"}, mode="validation")
"""The prompt shows the schema of `validation`: a plain integer, as in ragas' prompts. `tighten` reads the scale."""
Verdict = Annotated[Literal[0, 1], READ, SHOWN]
Choice = Annotated[Literal[1, 2], READ, SHOWN]


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


OWN_PROMPTS: Mapping[tuple[str, str], type[BasePrompt[Any, Any]]] = {
    ("sort", "filter_prompt"): FilterPrompt,
    ("sort", "compare_prompt"): ComparePrompt,
    ("generate", "answer_prompt"): AnswerPrompt,
    ("generate", "reduce_prompt"): ReducePrompt,
    ("generate", "support_prompt"): SupportPrompt,
}
"""(function, prompt) -> prompt class; the counterpart of `METRICS[...].prompts`."""
