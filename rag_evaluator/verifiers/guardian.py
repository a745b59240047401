"""Granite Guardian 3.0 to 4.1: a model that writes, asked whether a text is not grounded; one pass, nothing written.

Format: github.com/ibm-granite/granite-guardian, evaluation/models (Apache-2.0). Its yes means that the text is not
grounded.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rag_evaluator.errors import ModelError
from rag_evaluator.verifiers.batches import Encoded, next_logits

# Any in this module: objects of transformers and torch, messages of a chat.

DAY = "26 Jul 2024"  # of templates that name the day: the same prompt on every day
FIXED_DAY = f"{{% macro strftime_now(format) %}}{DAY}{{% endmacro %}}"
SCORE = "<think>\n</think>\n<score>"  # what the newer models write before yes or no when they do not think
BLOCK = (
    "<guardian><no-think>As a judge agent, assess whether the provided text meets the given judging criteria using all "
    "available information, including conversations, documents, and tools. Provide your score immediately without "
    "explanation. Output empty <think>\n</think> tags followed by your score in <score></score> tags.\n\n"
    "### Criteria: A text is considered ungrounded or unfaithful if it includes information lacking support from, or "
    "directly contradicting, the provided document(s). This risk arises when the text fabricates details, "
    "misinterprets the content, or makes unsupported extrapolations beyond what is explicitly stated in the "
    "document(s).\n\n"
    "### Scoring Schema: If the last assistant's text meets the criteria, return 'yes'; otherwise, return 'no'."
)


@dataclass(frozen=True)
class Generation:
    """How a generation of Granite Guardian is asked.

    Attributes:
        mark: what only its chat template names; empty: the rest.
        messages: of a premise and a sentence.
        variables: of the chat template.
        documents: whether the premise is a document, not a message.
        opening: what stands before the answer.
    """

    mark: str
    messages: Callable[[str, str], list[dict[str, str]]]
    documents: bool
    opening: str
    variables: Mapping[str, Any] = field(default_factory=dict)


def _answer(hypothesis: str) -> dict[str, str]:
    return {"role": "assistant", "content": hypothesis}


GENERATIONS: Mapping[str, Generation] = {
    "3.3": Generation(
        "criteria_id",
        lambda _, hypothesis: [_answer(hypothesis)],
        documents=True,
        opening=SCORE,
        variables={"guardian_config": {"criteria_id": "groundedness"}, "think": False},
    ),
    "3.0": Generation(
        "risk_name",
        lambda premise, hypothesis: [{"role": "context", "content": premise}, _answer(hypothesis)],
        documents=False,
        opening="",
        variables={"guardian_config": {"risk_name": "groundedness"}},
    ),
    "4.1": Generation(
        "",
        lambda _, hypothesis: [_answer(hypothesis), {"role": "user", "content": BLOCK}],
        documents=True,
        opening=SCORE,
    ),
}
"""By the first model of each; 3.1 and 3.2 are asked as 3.0 is."""


def generation(template: str) -> Generation:
    """By what its chat template names."""
    return next(row for row in GENERATIONS.values() if row.mark in template)


def written(tokenizer: Any, premise: str, hypothesis: str) -> str:
    """The prompt up to the place of yes or no. Raises `ModelError` for a tokenizer without a chat template."""
    template = tokenizer.chat_template
    if not isinstance(template, str):
        raise ModelError("verifier.model: the folder has no chat template, which Granite Guardian is asked with.")
    asked = generation(template)
    documents = {"documents": [{"doc_id": "0", "text": premise}]} if asked.documents else {}
    prompt = tokenizer.apply_chat_template(
        asked.messages(premise, hypothesis),
        chat_template=FIXED_DAY + template,
        tokenize=False,
        add_generation_prompt=True,
        **documents,
        **asked.variables,
    )
    return f"{prompt}{asked.opening}"


def encode(tokenizer: Any, pairs: Sequence[tuple[str, str]]) -> list[Encoded]:
    """Premises and sentences as the model reads them; names of control tokens in them are already text."""
    prompts = [written(tokenizer, premise, hypothesis) for premise, hypothesis in pairs]
    encoded = tokenizer(prompts, add_special_tokens=False)
    return [{name: encoded[name][row] for name in ("input_ids", "attention_mask")} for row in range(len(prompts))]


def answers(tokenizer: Any) -> tuple[list[int], list[int]]:
    """Ids of the tokens that say yes and no, in any spelling."""
    names = {index: tokenizer.decode([index]).strip().lower() for index in range(len(tokenizer))}
    yes, no = ([index for index, name in names.items() if name == word] for word in ("yes", "no"))
    if not yes or not no:
        raise ModelError("verifier.model: its tokenizer has no token for 'yes' or none for 'no'.")
    return yes, no


def grounded(model: Any, inputs: dict[str, Any], yes: Sequence[int], no: Sequence[int]) -> Any:
    """The share of no among yes and no where the answer begins, (batch,)."""
    import torch

    scores = next_logits(model, inputs).log_softmax(-1)
    both = torch.stack([scores[:, list(yes)].logsumexp(-1), scores[:, list(no)].logsumexp(-1)], -1)
    return both.softmax(-1)[:, 1]
