"""The typed inputs and answers of the prompts that are not ragas'; their texts are the packs in `orig_prompts/`.

Class names, docstrings and descriptions are part of a prompt: the judge is shown the JSON schema of its answer.
"""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, TypeAdapter, WithJsonSchema

from rag_evaluator.config.features import all_features, load
from rag_evaluator.models.ragas_library import BasePrompt
from rag_evaluator.prompts.pack import ENGLISH, Key, Pack, pack_path, read_pack
from rag_evaluator.resources import packaged

READ = BeforeValidator(TypeAdapter(int).validate_python)
"""Reads `"1"` as 1, which LLMs write and the integers of ragas' models accept; a bare `Literal` does not."""
SHOWN = WithJsonSchema({"type": "integer"}, mode="validation")
"""The prompt shows the schema of `validation`: a plain integer, as in ragas' prompts. `tighten` reads the scale."""
ModelPair = tuple[type[BaseModel], type[BaseModel]]
Verdict = Annotated[Literal[0, 1], READ, SHOWN]
Choice = Annotated[Literal[1, 2], READ, SHOWN]
Label = Annotated[Literal[1, 2, 3, 4, 5], READ, SHOWN]


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


class RubricInput(BaseModel):
    """A question, its answer and the reference."""

    user_input: str = Field(description="The question")
    response: str = Field(description="The response to judge")
    reference: str = Field(description="The expected answer")


class RubricOutput(BaseModel):
    """How far the response agrees with the reference."""

    reason: str = Field(description="Where the response agrees with the reference and where not")
    label: Label = Field(description="5 full agreement, 4 slight differences, 3 in part, 2 a small part only, 1 none")


class SentencesInput(BaseModel):
    """A question and the numbered sentences of its contexts."""

    user_input: str = Field(description="The question")
    sentences: list[str] = Field(description="The sentences of the contexts, each with its number")


class SentencesOutput(BaseModel):
    """The sentences that help."""

    numbers: list[int] = Field(description="The numbers of the sentences that help, ascending; empty if none does")


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


class VerifyInput(BaseModel):
    """A text, a sentence about which is asked, and what may be true of both.

    The premise comes first: the questions about one row begin alike, and the judge reads that beginning once.
    """

    premise: str = Field(description="The text that may support the hypothesis")
    user_input: str | None = Field(default=None, description="The question that the hypothesis is about")
    hypothesis: str = Field(description="The sentence to judge")
    options: list[str] = Field(description="Two sentences, of which one is true")


class VerifyOutput(BaseModel):
    """Which option is true."""

    choice: Choice = Field(description="1 if the first option is true, 2 if the second is")


class CustomInput(BaseModel):
    """The user's question, the meaning of the labels, and what it is asked about."""

    question: str = Field(description="The question to answer")
    scale: dict[str, str] = Field(description="What each label means")
    values: dict[str, str] = Field(description="The texts that the question is about, by name")


class CustomOutput(BaseModel):
    """The label that fits."""

    reason: str = Field(description="Why this label fits, in one or two sentences")
    label: int = Field(description="The number in the scale that fits best")


OWN_PROMPTS: Mapping[Key, ModelPair] = {
    ("sort", "filter_prompt"): (FilterInput, FilterOutput),
    ("sort", "compare_prompt"): (CompareInput, CompareOutput),
    ("generate", "answer_prompt"): (AnswerInput, ReferenceOutput),
    ("generate", "reduce_prompt"): (ReduceInput, ReferenceOutput),
    ("generate", "support_prompt"): (SupportInput, SupportOutput),
    ("retrieval", "chunk_prompt"): (ChunkInput, ChunkOutput),
    ("retrieval", "match_prompt"): (MatchInput, MatchOutput),
    ("answer_rubric", "prompt"): (RubricInput, RubricOutput),
    ("context_relevancy", "prompt"): (SentencesInput, SentencesOutput),
    ("refusal_correctness", "answerable_prompt"): (AnswerableInput, AnswerableOutput),
    ("refusal_correctness", "refused_prompt"): (RefusedInput, RefusedOutput),
    ("groundedness", "prompt"): (VerifyInput, VerifyOutput),
    ("custom", "prompt"): (CustomInput, CustomOutput),
}
"""(owner, prompt) -> models of input and answer. An owner is a metric, metrics that share prompts, or a task."""


@cache
def prompt_models() -> Mapping[Key, ModelPair]:
    """`OWN_PROMPTS`, and those of the features."""
    tables = [load(feature.prompts) for feature in all_features().values() if feature.prompts]
    return {**OWN_PROMPTS, **{key: models for table in tables for key, models in table.items()}}


class OwnPrompt(BasePrompt[BaseModel, BaseModel]):
    """A prompt in the form of ragas' own: instruction and examples from its English pack, models from `prompt_models`.

    Attributes:
        pack: the English pack; a prompt of another language (`TracedPrompt`) has its own under this name.

    Raises `PromptError` where the pack is missing or is not readable.
    """

    def __init__(self, owner: str, name: str) -> None:
        self.pack = pack = _english_pack((owner, name))
        self.input_model, self.output_model = prompt_models()[owner, name]
        self.instruction = pack.instruction
        self.examples = [
            (self.input_model.model_validate(example["input"]), self.output_model.model_validate(example["output"]))
            for example in pack.examples
        ]


@cache
def _english_pack(key: Key) -> Pack:
    return read_pack(pack_path(packaged("orig_prompts"), key, ENGLISH))


def own_prompts() -> dict[Key, "BasePrompt[Any, Any]"]:
    """Our prompts in English, those of features too."""
    return {key: OwnPrompt(*key) for key in prompt_models()}
