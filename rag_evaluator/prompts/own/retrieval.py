"""The prompts of the retrieval metrics: is a chunk relevant, and does any chunk match an expected context."""

from pydantic import BaseModel, Field
from ragas.prompt.metrics.base_prompt import BasePrompt

from rag_evaluator.prompts.own.scales import BRIDGE, FILM, MUSIC, Verdict


class ChunkInput(BaseModel):
    """A question with what is expected, and one retrieved context."""

    user_input: str = Field(description="The question")
    reference: str = Field(description="The expected answer")
    reference_contexts: list[str] | None = Field(default=None, description="The contexts that should be found")
    context: str = Field(description="The retrieved context to judge")


class ChunkOutput(BaseModel):
    """Whether the context is relevant."""

    reason: str = Field(description="Why the context is relevant or not, in one sentence")
    verdict: Verdict = Field(description="1 if the context is relevant, else 0")


class MatchInput(BaseModel):
    """An expected context and what was retrieved."""

    reference_context: str = Field(description="The expected context")
    contexts: list[str] = Field(description="The retrieved contexts")


class MatchOutput(BaseModel):
    """Whether the expected context was found."""

    reason: str = Field(description="Which context matches, or why none does, in one sentence")
    verdict: Verdict = Field(description="1 if at least one context matches the expected context, else 0")


class ChunkPrompt(BasePrompt[ChunkInput, ChunkOutput]):
    """Judges one retrieved chunk."""

    input_model, output_model = ChunkInput, ChunkOutput
    instruction = (
        "Decide whether the retrieved context is relevant to the question. It is relevant if it holds information that "
        "the expected answer needs, in whatever words. Where expected contexts are given, it is also relevant if it "
        "says what one of them says, or a part of it that helps to answer. A context on the same topic that does not "
        "help to give the expected answer is not relevant. First give the reason in one sentence, then verdict 1 if "
        "the context is relevant, and 0 if it is not."
    )
    examples = [  # noqa: RUF012 - as in ragas
        (
            ChunkInput(
                user_input="When was the film 'Red Harbour' shot?",
                reference="In 1998.",
                reference_contexts=[FILM],
                context="The crew of 'Red Harbour' worked in the old port of Lisbon in the spring of 1998.",
            ),
            ChunkOutput(reason="It says that the crew of the film worked in 1998, which is the answer.", verdict=1),
        ),
        (
            ChunkInput(
                user_input="When was the film 'Red Harbour' shot?",
                reference="In 1998.",
                reference_contexts=[FILM],
                context=MUSIC,
            ),
            ChunkOutput(reason="It is about the music and does not say when the film was shot.", verdict=0),
        ),
        (
            ChunkInput(
                user_input="How long is the bridge of Arlen?",
                reference="It is 412 metres long.",
                context="The bridge of Arlen was opened in 1921 and is painted green.",
            ),
            ChunkOutput(reason="It is about the bridge, but does not say how long it is.", verdict=0),
        ),
    ]


class MatchPrompt(BasePrompt[MatchInput, MatchOutput]):
    """Looks for an expected context among those that were retrieved."""

    input_model, output_model = MatchInput, MatchOutput
    instruction = (
        "Decide whether at least one of the retrieved contexts matches the expected context. A context matches if it "
        "says what the expected context says, or the main part of it, in whatever words; it may be a longer or a "
        "shorter piece of the same text. A context that only has the same topic does not match. First give the reason "
        "in one sentence, then verdict 1 if at least one context matches, and 0 if none does."
    )
    examples = [  # noqa: RUF012
        (
            MatchInput(
                reference_context=FILM,
                contexts=[BRIDGE, "In 1998 Ana Melo came to Lisbon and shot the film 'Red Harbour' there."],
            ),
            MatchOutput(reason="The second context says who shot the film, where and when.", verdict=1),
        ),
        (
            MatchInput(reference_context=MUSIC, contexts=[FILM, BRIDGE]),
            MatchOutput(reason="No context says who wrote the music.", verdict=0),
        ),
    ]
