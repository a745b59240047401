"""The typed inputs and answers of the prompts that are not ragas'; their texts are packs in `orig_prompts/`.

Class names, docstrings and descriptions of answers are part of a prompt: the judge is shown their JSON schema.
"""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, TypeAdapter, WithJsonSchema, create_model

from rag_evaluator.config import all_features, load, pack_folders
from rag_evaluator.files import JsonDict
from rag_evaluator.ragas_library import BasePrompt

from .pack import ENGLISH, Key, Pack, pack_file, pack_path, read_pack

READ = BeforeValidator(TypeAdapter(int).validate_python)
"""Reads `"1"` as 1, which LLMs write and the integers of ragas' models accept; a bare `Literal` does not."""
SHOWN = WithJsonSchema({"type": "integer"}, mode="validation")
"""The prompt shows the schema of `validation`: a plain integer, as in ragas' prompts. `tighten` reads the scale."""
ModelPair = tuple[type[BaseModel], type[BaseModel]]
Verdict = Annotated[Literal[0, 1], READ, SHOWN]
Choice = Annotated[Literal[1, 2], READ, SHOWN]
Label = Annotated[Literal[1, 2, 3, 4, 5], READ, SHOWN]


def _input(name: str, **fields: Any) -> type[BaseModel]:
    """The model of what is asked about, whose prompt shows its values only: name of a field -> its type."""
    known: JsonDict = {field: kind if isinstance(kind, tuple) else (kind, ...) for field, kind in fields.items()}
    made: type[BaseModel] = create_model(name, __module__=__name__, **known)
    return made


FilterInput = _input("FilterInput", user_input=str, context=str)
CompareInput = _input("CompareInput", user_input=str, context_1=str, context_2=str)
AnswerInput = _input("AnswerInput", user_input=str, contexts=list[str])
ReduceInput = _input("ReduceInput", user_input=str, answers=list[str])  # answers made from parts of the contexts
SupportInput = _input("SupportInput", user_input=str, answer=str, context=str)
ChunkInput = _input(
    "ChunkInput", user_input=str, reference=str, reference_contexts=(list[str] | None, None), context=str
)
MatchInput = _input("MatchInput", reference_context=str, contexts=list[str])
RubricInput = _input("RubricInput", user_input=str, response=str, reference=str)
SentencesInput = _input("SentencesInput", user_input=str, sentences=list[str])  # each with its number
AnswerableInput = _input("AnswerableInput", user_input=str, contexts=list[str])
RefusedInput = _input("RefusedInput", user_input=str, response=str)
# The premise comes first: the questions about one row begin alike, and the judge reads that beginning once.
VerifyInput = _input("VerifyInput", premise=str, user_input=(str | None, None), hypothesis=str)
RewriteInput = _input("RewriteInput", history=list[str], user_input=str)
CustomInput = _input("CustomInput", question=str, scale=dict[str, str], values=dict[str, str])


class FilterOutput(BaseModel):
    """Whether the context holds the answer."""

    verdict: Verdict = Field(description="1 if the context holds the answer to the question, else 0")


class CompareOutput(BaseModel):
    """Which context answers the question better."""

    choice: Choice = Field(description="1 if the first context answers the question better, 2 if the second does")


class ReferenceOutput(BaseModel):
    """An answer, if there is one."""

    answerable: Verdict = Field(description="1 if the question can be answered, else 0")
    answer: str = Field(description="The full answer; empty if the question cannot be answered")


class SupportOutput(BaseModel):
    """Whether the context supports the answer."""

    verdict: Verdict = Field(description="1 if the context supports at least a part of the answer, else 0")


class ChunkOutput(BaseModel):
    """Whether the context is relevant."""

    reason: str = Field(description="Why the context is relevant or not, in one sentence")
    verdict: Verdict = Field(description="1 if the context is relevant, else 0")


class MatchOutput(BaseModel):
    """Whether the expected context was found."""

    reason: str = Field(description="Which context matches, or why none does, in one sentence")
    verdict: Verdict = Field(description="1 if at least one context matches the expected context, else 0")


class RubricOutput(BaseModel):
    """How far the response agrees with the reference."""

    reason: str = Field(description="Where the response agrees with the reference and where not")
    label: Label = Field(description="5 full agreement, 4 slight differences, 3 in part, 2 a small part only, 1 none")


class SentencesOutput(BaseModel):
    """The sentences that help."""

    numbers: list[int] = Field(description="The numbers of the sentences that help, ascending; empty if none does")


class AnswerableOutput(BaseModel):
    """Whether the contexts hold the answer."""

    reason: str = Field(description="Which context holds the answer, or what is missing, in one sentence")
    verdict: Verdict = Field(description="1 if the question can be answered from the contexts, else 0")


class RefusedOutput(BaseModel):
    """Whether the response refuses to answer."""

    reason: str = Field(description="What the response does, in one sentence")
    verdict: Verdict = Field(description="1 if the response refuses to answer, else 0")


class VerifyOutput(BaseModel):
    """Whether the premise supports the hypothesis."""

    answer: Literal["yes", "no"]


class RewriteOutput(BaseModel):
    """The question, to be understood without the history."""

    question: str = Field(description="The last question with what it refers to, in its own language; not its answer")


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
    ("history", "rewrite_prompt"): (RewriteInput, RewriteOutput),
    ("custom", "prompt"): (CustomInput, CustomOutput),
}
"""(owner, prompt) -> models of input and answer. An owner is a metric, metrics that share prompts, or a task."""


@cache
def prompt_models() -> Mapping[Key, ModelPair]:
    """`OWN_PROMPTS`, and those of the features."""
    tables = [load(table) for feature in all_features().values() for table in feature.prompts.values()]
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
    folders = pack_folders("orig_prompts")
    paths = (pack_file(folder, key, ENGLISH) for folder in folders)
    return read_pack(next(filter(None, paths), pack_path(folders[0], key, ENGLISH)))


def own_prompts() -> dict[Key, "BasePrompt[Any, Any]"]:
    """Our prompts in English, those of features too."""
    return {key: OwnPrompt(*key) for key in prompt_models()}
