"""The prompts of test sets: a question of each kind from contexts, an answer without any, two answers compared."""

from pydantic import BaseModel, Field
from ragas.prompt.metrics.base_prompt import BasePrompt

from rag_evaluator.prompts.own.scales import BRIDGE, FILM, Verdict

SCORE = "The music of the film 'Red Harbour' was written by Tomas Reed, who won a prize for it in 1999."
REED = "Tomas Reed was born in Arlen in 1961 and plays the violin."
TESK = "The bridge of Tesk was opened in 1931. It is 380 metres long and made of stone."
BRIDGES = "Between 1925 and 1931 the engineer Maria Holt built the bridges of Arlen, Tesk and Corvania."
ALONE = (
    "Name the people, places, works and years that the question is about, so that somebody who does not see the "
    "contexts understands the question, and mention no contexts or documents in it. "
)
ONLY = "Answer it with what is written in the contexts only, briefly and completely."


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


class SingleFactPrompt(BasePrompt[MadeInput, MadeOutput]):
    """Asks for one fact of one context."""

    input_model, output_model = MadeInput, MadeOutput
    instruction = f"Write a question about one fact that is written in the context, and its answer. {ALONE}{ONLY}"
    examples = [  # noqa: RUF012 - as in ragas
        (
            MadeInput(contexts=[FILM]),
            MadeOutput(question="In which city was the film 'Red Harbour' shot in 1998?", answer="In Lisbon."),
        ),
        (
            MadeInput(contexts=[TESK]),
            MadeOutput(question="In which year was the bridge of Tesk opened?", answer="In 1931."),
        ),
    ]


class ReasoningPrompt(BasePrompt[MadeInput, MadeOutput]):
    """Asks for what follows from several facts of one context."""

    input_model, output_model = MadeInput, MadeOutput
    instruction = (
        "Write a question whose answer is not written in the context but follows from two facts in it, for instance by "
        f"counting, comparing or drawing a conclusion, and its answer. {ALONE}In the answer give the facts that it "
        "follows from. Use only what is written in the context."
    )
    examples = [  # noqa: RUF012
        (
            MadeInput(contexts=[f"{FILM} {SCORE}"]),
            MadeOutput(
                question="How many years after the film 'Red Harbour' was shot did its composer win a prize?",
                answer="One year: the film was shot in 1998, and Tomas Reed won the prize in 1999.",
            ),
        ),
        (
            MadeInput(contexts=[f"{BRIDGE} {TESK}"]),
            MadeOutput(
                question="How much longer is the bridge of Arlen than that of Tesk?",
                answer="32 metres: the bridge of Arlen is 412 metres long, and that of Tesk 380 metres.",
            ),
        ),
    ]


class SeveralChunksPrompt(BasePrompt[MadeInput, MadeOutput]):
    """Asks for what needs several contexts of one document."""

    input_model, output_model = MadeInput, MadeOutput
    instruction = (
        "The contexts are parts of one document. Write a question that can only be answered with facts from all of "
        f"them, and its answer. {ALONE}{ONLY}"
    )
    examples = [  # noqa: RUF012
        (
            MadeInput(contexts=[FILM, SCORE]),
            MadeOutput(
                question="Who directed the film 'Red Harbour', and who wrote its music?",
                answer="Ana Melo directed it, and Tomas Reed wrote its music.",
            ),
        ),
        (
            MadeInput(contexts=[BRIDGES, TESK]),
            MadeOutput(
                question="Who built the bridge of Tesk, and how long is it?",
                answer="Maria Holt built it, and it is 380 metres long.",
            ),
        ),
    ]


class AcrossDocumentsPrompt(BasePrompt[MadeInput, MadeOutput]):
    """Asks for what needs contexts of several documents."""

    input_model, output_model = MadeInput, MadeOutput
    instruction = (
        "The contexts are from different documents. Find what connects them, such as a person, a place or a work that "
        "all of them name. Write a question that leads over this connection from one context to the other and needs "
        f"facts from all of them, and its answer. {ALONE}{ONLY}"
    )
    examples = [  # noqa: RUF012
        (
            MadeInput(contexts=[SCORE, REED]),
            MadeOutput(
                question="In which town was the composer of the film 'Red Harbour' born?",
                answer="In Arlen: the composer was Tomas Reed, who was born there.",
            ),
        ),
        (
            MadeInput(contexts=[REED, BRIDGE]),
            MadeOutput(
                question="How long is the bridge of the town in which Tomas Reed was born?",
                answer="412 metres: Tomas Reed was born in Arlen, whose bridge has that length.",
            ),
        ),
    ]


class ComparisonPrompt(BasePrompt[MadeInput, MadeOutput]):
    """Asks how things differ."""

    input_model, output_model = MadeInput, MadeOutput
    instruction = (
        "Write a question that compares two things, people or works, one of the first context and one of the second, "
        f"in something that both contexts tell, and its answer. {ALONE}{ONLY}"
    )
    examples = [  # noqa: RUF012
        (
            MadeInput(contexts=[BRIDGE, TESK]),
            MadeOutput(
                question="Which bridge is longer, that of Arlen or that of Tesk?",
                answer="The bridge of Arlen: it is 412 metres long, and that of Tesk 380 metres.",
            ),
        ),
        (
            MadeInput(contexts=[FILM, "The film 'White Sails' was shot in Porto in 2004."]),
            MadeOutput(
                question="Was the film 'Red Harbour' shot before or after 'White Sails'?",
                answer="Before it: 'Red Harbour' was shot in 1998, and 'White Sails' in 2004.",
            ),
        ),
    ]


class ListPrompt(BasePrompt[MadeInput, MadeOutput]):
    """Asks for several things of the same kind."""

    input_model, output_model = MadeInput, MadeOutput
    instruction = (
        "Write a question whose answer is a list of at least two things that the contexts name, and the complete "
        f"list as its answer. {ALONE}{ONLY}"
    )
    examples = [  # noqa: RUF012
        (
            MadeInput(contexts=[BRIDGES]),
            MadeOutput(
                question="Which bridges did the engineer Maria Holt build between 1925 and 1931?",
                answer="The bridges of Arlen, Tesk and Corvania.",
            ),
        ),
        (
            MadeInput(contexts=["The choir of Arlen sings on Mondays and Fridays, in summer also on Sundays."]),
            MadeOutput(
                question="On which days of the week does the choir of Arlen sing in summer?",
                answer="On Mondays, Fridays and Sundays.",
            ),
        ),
    ]


class UnanswerablePrompt(BasePrompt[MadeInput, MadeOutput]):
    """Asks for what the contexts nearly tell, and do not."""

    input_model, output_model = MadeInput, MadeOutput
    instruction = (
        "Write a question about something that the contexts name but do not tell, near to what they tell, so that one "
        f"could believe that they hold the answer. {ALONE}As the answer write that the documents do not say it."
    )
    examples = [  # noqa: RUF012
        (
            MadeInput(contexts=[BRIDGE]),
            MadeOutput(
                question="How wide is the bridge of Arlen?",
                answer="The documents do not say how wide the bridge of Arlen is.",
            ),
        ),
        (
            MadeInput(contexts=[SCORE]),
            MadeOutput(
                question="Which prize did Tomas Reed win in 1999 for the music of the film 'Red Harbour'?",
                answer="The documents do not say which prize it was.",
            ),
        ),
    ]


class FalsePremisePrompt(BasePrompt[MadeInput, MadeOutput]):
    """Asks as if something were true that the contexts contradict."""

    input_model, output_model = MadeInput, MadeOutput
    instruction = (
        "Write a question that takes something for granted that is wrong by the contexts, for instance another place, "
        f"year or person, and an answer that says what is wrong and what is right. {ALONE}Use only what is written in "
        "the contexts."
    )
    examples = [  # noqa: RUF012
        (
            MadeInput(contexts=[FILM]),
            MadeOutput(
                question="Why was the film 'Red Harbour' shot in Madrid?",
                answer="It was not shot in Madrid, but in Lisbon.",
            ),
        ),
        (
            MadeInput(contexts=[TESK]),
            MadeOutput(
                question="Who opened the wooden bridge of Tesk in 1931?",
                answer="The bridge of Tesk, opened in 1931, is not made of wood, but of stone.",
            ),
        ),
    ]


class KnownPrompt(BasePrompt[KnownInput, KnownOutput]):
    """Answers a question from memory."""

    input_model, output_model = KnownInput, KnownOutput
    instruction = (
        "Answer the question from what you know, without any document. If you do not know the answer, do not guess: "
        "set known to 0 and leave the answer empty."
    )
    examples = [  # noqa: RUF012
        (
            KnownInput(user_input="What is the capital of France?"),
            KnownOutput(known=1, answer="Paris."),
        ),
        (
            KnownInput(user_input="In which city was the film 'Red Harbour' shot in 1998?"),
            KnownOutput(known=0, answer=""),
        ),
    ]


class AgreePrompt(BasePrompt[AgreeInput, AgreeOutput]):
    """Compares an answer with the right one."""

    input_model, output_model = AgreeInput, AgreeOutput
    instruction = (
        "Decide whether the answer says the same as the right answer to the question. Other words, more words and "
        "fewer words are no difference if the question is answered in the same way. Answer with verdict 1 if both "
        "say the same, and with 0 if they contradict each other or the answer leaves out what was asked for."
    )
    examples = [  # noqa: RUF012
        (
            AgreeInput(
                user_input="In which city was the film 'Red Harbour' shot in 1998?",
                reference="In Lisbon.",
                answer="The film was shot in Lisbon, the capital of Portugal.",
            ),
            AgreeOutput(verdict=1),
        ),
        (
            AgreeInput(
                user_input="Who directed the film 'Red Harbour', and who wrote its music?",
                reference="Ana Melo directed it, and Tomas Reed wrote its music.",
                answer="Tomas Reed directed it.",
            ),
            AgreeOutput(verdict=0),
        ),
    ]
